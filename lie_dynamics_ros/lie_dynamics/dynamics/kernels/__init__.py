"""Compiled recursions over the tree."""
