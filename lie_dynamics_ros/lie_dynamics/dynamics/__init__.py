"""Algorithms on trees of rigid bodies."""
