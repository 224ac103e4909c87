"""What moves the base that a robot stands on, and tells of it."""
