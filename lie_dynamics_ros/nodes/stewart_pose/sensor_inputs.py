"""Sensors of a platform's file that the node stewart_pose takes in, and a report of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import ConfigurationError
from ...core.leg_state import LEGS
from ...lie_dynamics.stewart import LegReadings, PlatformSensors
from ...ros.inputs.leg_inputs import LegInputs
from ...ros.inputs.partial_states import AGE_LIMIT

if TYPE_CHECKING:
    from ...ros.wire.compatibility import Logger


def make_inputs(
    settings: Mapping[str, Any], legs: Sequence[str], readings: LegReadings, sensors: PlatformSensors
) -> LegInputs:
    """Return what makes states of messages; raises ConfigurationError where the topics do not fit the sensors."""
    names = [settings["joint_prefix"] + sensor.name for sensor in sensors.sensors]
    shared = set(names) & set(legs)
    if shared:
        raise ConfigurationError(f"a sensor of the platform's file is named as a leg: {', '.join(shared)}")
    count, topics = len(settings["leg_topics"]), any(settings["leg_topics"])
    if topics and count not in (LEGS, LEGS + len(names)):
        more = f", or also of {', '.join(names)}" if names else ""
        raise ConfigurationError(f"leg_topics has {count} names; expected one for each of {', '.join(legs)}{more}")
    further = list(zip(names, sensors.scales, sensors.offsets, strict=True)) if settings["fusion"] else []
    inputs = LegInputs(legs, readings, settings["fusion"], further)
    inputs.age_limit = round(settings[AGE_LIMIT.name] * 1e9)
    return inputs


def tell_of(sensors: PlatformSensors, settings: Mapping[str, Any], log: Logger) -> None:
    """Tell what of the platform's file does not count."""
    fusion = settings["fusion"]
    for name in sensors.overruled(settings):
        log.warning(f"the parameter {name} counts, not its entry in the platform's file")
    if sensors.sensors and not fusion:
        names = ", ".join(sensor.name for sensor in sensors.sensors)
        log.warning(f"further sensors of the platform's file count with the parameter fusion only: {names}")
    delays = [name for name in ("leg_delays", "leg_delay_deviations") if np.any(sensors.readings.get(name, 0.0))]
    if delays and not fusion:
        log.warning(f"{' and '.join(delays)} of the platform's file count with the parameter fusion only")
