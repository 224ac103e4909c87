"""Calls of compiled kernels without numba's dispatcher."""
