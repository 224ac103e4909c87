"""Fusion of legs, IMU and further sensors of a Stewart platform, with faulty sensors left out."""
