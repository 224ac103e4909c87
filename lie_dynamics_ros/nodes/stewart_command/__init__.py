"""Set points of the legs of a Stewart platform from poses, twists, paths and trajectories."""
