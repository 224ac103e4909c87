"""Compiled tests of contacts."""
