"""Compiled judgement of contacts."""
