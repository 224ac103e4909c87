"""What the nodes share: everything between ROS messages and the library."""
