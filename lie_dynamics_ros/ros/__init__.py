"""Shared parts of the nodes: everything between ROS messages and the library."""
