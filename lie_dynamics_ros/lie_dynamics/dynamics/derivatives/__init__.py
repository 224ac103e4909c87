"""Derivatives of the dynamics: exact, for all coordinates at once or along one parameter."""
