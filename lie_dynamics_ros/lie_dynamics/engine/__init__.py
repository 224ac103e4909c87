"""Compiled recursions over a model's arrays: the only room that knows numba."""
