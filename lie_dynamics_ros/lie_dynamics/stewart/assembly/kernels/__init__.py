"""Compiled path tracking and proofs of assembly modes."""
