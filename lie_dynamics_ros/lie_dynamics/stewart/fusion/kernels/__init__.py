"""Compiled recursions of the fusion."""
