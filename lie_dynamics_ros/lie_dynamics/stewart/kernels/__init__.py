"""Compiled kernels of Stewart platforms."""
