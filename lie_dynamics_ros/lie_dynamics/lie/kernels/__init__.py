"""Compiled parts of the exponential."""
