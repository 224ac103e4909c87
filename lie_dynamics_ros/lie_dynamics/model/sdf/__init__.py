"""Robot descriptions in SDF, the format of Gazebo, whose joints may form loops."""
