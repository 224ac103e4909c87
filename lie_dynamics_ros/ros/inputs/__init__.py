"""Inputs: descriptions and the models made of them; states, commands and trajectories, checked and by joint."""
