"""Compiled recursions along a path."""
