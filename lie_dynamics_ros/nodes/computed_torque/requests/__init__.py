"""What is asked of the node computed_torque by topic, action and service, in messages."""
