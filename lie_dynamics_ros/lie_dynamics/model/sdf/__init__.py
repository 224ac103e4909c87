"""Robot descriptions in SDF, the format of Gazebo, whose joints may form loops."""

from .reader import SdfRobot, read_sdf

__all__ = ["SdfRobot", "read_sdf"]
