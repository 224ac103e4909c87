"""Platforms: points, inverse kinematics, statics, workspace."""
