"""Diagnostics of the node stewart_pose, once a second."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...lie_dynamics.stewart import TrackedPose
from ...ros.inputs.leg_inputs import LegInputs
from ...ros.inputs.leg_temperatures import OLD
from ...ros.outputs import diagnostics
from ...ros.outputs.certainty import word_for
from ...ros.outputs.diagnostics import Report
from .core import StewartPoseCore
from .fusing import FusingCore

HORIZON, OFFSET_HORIZON = 60.0, 2.0
"""Furthest that the diagnostics look ahead for a singular pose, and on offset joints, where it takes longer [s]."""


def describe_temperatures(inputs: LegInputs, report: Report, active: bool, now: float) -> None:
    """Tell the temperatures at a time [s], and of which legs there is none yet, or an old one."""
    known = inputs.temperatures.values
    report.values["leg temperatures [deg C]"] = ", ".join(f"{value:.1f}" for value in known)
    missing = [leg for leg, value in zip(inputs.measured, known, strict=False) if np.isnan(value)]
    if active and missing:
        report.add(diagnostics.WARN, f"no temperature of {', '.join(missing)} yet: that of reference is taken")
    old = inputs.temperatures.old(now)
    if active and old:
        report.add(diagnostics.WARN, f"temperatures of {', '.join(old)} were told over {OLD:g} s ago")


def describe_fusion(core: FusingCore, names: Sequence[str], report: Report, active: bool) -> None:
    """Tell what is left out, how sure the estimate is, and the delays found."""
    fused, values = core.latest, report.values
    values["tracking"] = "not started" if fused is None else "lost" if core.lost else "fused"
    late, used, core.late, core.used = core.late, core.used, 0, 0
    if active and core.fusion_options.inertial is not None and fused is not None and not used:
        report.add(diagnostics.WARN, "no readings of the IMU that fit the times of the lengths")
    if late:
        text = f"{late} readings of the IMU came after lengths of a later time, and were not used"
        report.add(diagnostics.WARN, text)
    if fused is None:
        if active and core.awaited():
            report.add(diagnostics.WARN, f"not started: no length of {', '.join(core.awaited())} yet")
        return
    faults = core.faults(fused)
    values["left out"] = faults or "none"
    deviations = np.sqrt(np.diagonal(fused.covariance))
    values["deviation of rotation [rad]"] = f"{deviations[:3].max():.3g}"
    values["deviation of position [m]"] = f"{deviations[3:].max():.3g}"
    delays = [*zip(names, fused.delays, fused.delay_deviations, strict=True)]
    if core.fusion_options.inertial is not None:
        delays.append(("IMU", *fused.inertial_delay))
    values["delays [ms]"] = ", ".join(
        f"{name} {1e3 * delay:.2f} +- {1e3 * s:.2f}" if s < np.inf else f"{name} not known yet"
        for name, delay, s in delays
    )
    if active and core.lost:
        report.add(diagnostics.ERROR, f"lost: {core.lost}")
    if active and faults:
        report.add(diagnostics.WARN, f"left out: {faults}")


def describe_tracking(core: StewartPoseCore, settings: Mapping[str, Any], report: Report) -> None:
    """Tell how the last lengths were followed, and what is near."""
    last, tracked, values = core.last, core.tracked, report.values
    if last is None:
        values["tracking"] = "not started"
        return
    values["tracking"] = word_for(last)
    if tracked is None:
        return
    condition = tracked.condition_number
    horizon = OFFSET_HORIZON
    values["proven steps"] = tracked.steps
    if isinstance(tracked, TrackedPose):
        horizon = HORIZON
        values["iterations"] = tracked.iterations
        values["step h"] = f"{tracked.largest_h:.3g}"
    values["residual [m]"] = f"{tracked.residual:.3g}"
    values["condition number"] = f"{condition:.4g}"
    margins, unit = core.platform.motor_margins(tracked.lengths), core.platform.motor_units[0]
    leg = int(margins.argmin())
    if margins[leg] < float("inf"):
        values[f"nearest leg limit [{unit}]"] = f"{margins[leg]:.4g} at {core.legs[leg]}"
    left = tracked.time_to_singularity(horizon)
    values["time to singularity [s]"] = f"{left:.3g}" if left < math.inf else "none ahead"
    if left < settings["singularity_warning"]:
        report.add(diagnostics.WARN, f"{left:.2g} s to a singular pose at the present speed")
    if condition > settings["condition_warning"]:
        report.add(diagnostics.WARN, f"close to a singular pose: condition number {condition:.3g}")
