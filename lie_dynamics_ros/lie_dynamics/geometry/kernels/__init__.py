"""Compiled sums of Christoffel symbols and curvature."""
