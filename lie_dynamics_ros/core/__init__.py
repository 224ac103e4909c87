"""Shared parts of the nodes' cores: values, errors, joints by name, a robot with its options. No ROS in here."""
