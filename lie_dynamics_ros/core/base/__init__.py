"""Motion of the base that a robot stands on, and its sources."""
