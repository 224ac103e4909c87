"""Requests to the node computed_torque by topic, action and service, in messages."""
