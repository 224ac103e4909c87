"""Compiled recursions of derivatives."""
