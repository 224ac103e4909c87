"""Compiled recursions of constraints."""
