"""Robot dynamics on Lie groups for ROS 2."""
