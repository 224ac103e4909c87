"""In place of the driver of a Stewart platform."""
