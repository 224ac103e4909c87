"""The node contact: what touches a robot, from joint states with efforts."""
