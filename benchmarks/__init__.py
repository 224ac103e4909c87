"""Benchmarks: each module with a function ``run`` answers one question; ``python -m benchmarks`` runs them all."""
