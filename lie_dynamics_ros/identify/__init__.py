"""The command `identify`: from a bag to an identified robot, and the motion to record for that."""
