"""Calibration of a platform's geometry."""
