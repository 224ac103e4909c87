"""Inputs: states, commands and trajectories, checked and by joint."""
