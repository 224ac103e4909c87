"""Outputs of the node computed_torque besides efforts and reports."""
