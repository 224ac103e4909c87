"""Derivatives of dynamics under constraints."""
