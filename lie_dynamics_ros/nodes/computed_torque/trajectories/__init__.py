"""Trajectories: validated as a whole, played on a clock that may be slowed down, followed for goals. No ROS in here."""
