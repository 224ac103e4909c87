"""Geometry of a robot in closed form: screws, factorisations, Christoffel symbols, curvature, geodesics."""
