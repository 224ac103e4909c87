"""A robot that follows trajectories: joint states in, efforts out."""
