"""Estimation of what touches a robot, with how certain that is: contacts from efforts, wrenches, force sensors."""

from .contact_observer import ContactObserver, ContactState
from .contact_wrench import ContactWrench, contact_wrench
from .sensor_noise import SensorNoise

__all__ = ["ContactObserver", "ContactState", "ContactWrench", "SensorNoise", "contact_wrench"]
