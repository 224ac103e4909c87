"""Outputs: answers, diagnostics, timing."""
