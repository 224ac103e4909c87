"""Mechanisms by name as tests see them."""
