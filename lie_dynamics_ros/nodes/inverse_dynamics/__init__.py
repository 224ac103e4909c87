"""Efforts that produce desired accelerations."""
