"""Forward kinematics from a guess, and the memory that Newton's method works on."""
