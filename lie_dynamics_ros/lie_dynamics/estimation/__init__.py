"""Estimation of what touches a robot, with how certain that is: contacts from efforts, wrenches, force sensors."""

from .contact_observer import ContactObserver, ContactState, ContactWrench, contact_wrench
from .force_sensor import ForceSensorCalibration, SensorNoise, calibrate_force_sensor, next_direction, tool_contact

__all__ = [
    "ContactObserver",
    "ContactState",
    "ContactWrench",
    "ForceSensorCalibration",
    "SensorNoise",
    "calibrate_force_sensor",
    "contact_wrench",
    "next_direction",
    "tool_contact",
]
