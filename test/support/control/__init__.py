"""Controllers and arms in closed loops."""
