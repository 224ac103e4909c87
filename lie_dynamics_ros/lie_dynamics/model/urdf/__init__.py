"""Robot descriptions in URDF, read and written."""

from .reader import read_urdf

__all__ = ["read_urdf"]
