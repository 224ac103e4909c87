"""Robot descriptions in URDF, read and written."""
