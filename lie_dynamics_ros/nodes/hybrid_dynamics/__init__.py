"""Accelerations and efforts of all joints, where one of the two is prescribed for each."""
