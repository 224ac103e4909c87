"""What comes in: states, commands and trajectories, checked and by joint."""
