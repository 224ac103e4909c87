"""Compiled Newton steps and their proofs."""
