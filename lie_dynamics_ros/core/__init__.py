"""What the nodes' cores share: values, errors, joints by name, a robot with its options. No ROS in here."""
