"""The pose of a Stewart platform from the lengths of its legs."""
