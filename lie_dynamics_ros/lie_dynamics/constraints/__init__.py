"""Closed loops, couplings and other constraints on a tree, and the dynamics under them. See ``doc/closed_loops.md``."""
