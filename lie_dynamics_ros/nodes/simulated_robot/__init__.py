"""In place of a robot's driver."""
