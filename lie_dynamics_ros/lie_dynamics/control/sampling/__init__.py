"""Feedback that is sampled, delayed and held: what it can carry."""
