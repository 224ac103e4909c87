"""ROS 2 nodes; one module each."""
