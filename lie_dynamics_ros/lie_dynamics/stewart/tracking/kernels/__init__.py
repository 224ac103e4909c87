"""Compiled tracking."""
