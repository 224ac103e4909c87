"""What the node computed_torque publishes besides efforts and reports."""
