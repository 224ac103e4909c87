"""What became of leg lengths, in a sentence for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .kernels import tracker as tk
from .status import TrackingStatus

if TYPE_CHECKING:
    from .result import TrackedPose


def message_for(tracked: TrackedPose) -> str:
    """Return what became of the lengths of a tracked pose, and what its pose is."""
    status = tracked.status
    leg = int(tracked._number(tk.LEG))
    length = tracked.lengths[leg]
    error = tracked._number(tk.ERROR)
    last = "the pose is the last good one"
    if status is TrackingStatus.TRACKED:
        what = ["not continued", "continued"][tracked.continued] + (", certified" if tracked.certified else "")
        return f"tracked in {tracked.steps} proven step(s), h = {tracked.largest_h:.3g} of at most 0.5: {what}"
    if status is TrackingStatus.AMBIGUOUS:
        return _ambiguity(tracked)
    if status is TrackingStatus.OUT_OF_REACH:
        return f"no pose with these lengths was within reach at max_speed: check the lengths, dt and max_speed; {last}"
    if status is TrackingStatus.NOT_FINITE:
        return f"length of leg {leg + 1} is {length}, expected a number: check its sensor; {last}"
    if status is TrackingStatus.NOT_POSITIVE:
        return f"length of leg {leg + 1} is {length} m, expected a positive length; {last}"
    if status is TrackingStatus.LEG_LIMIT:
        low, high = tracked._path._platform.leg_limits[leg]
        if np.isinf(high) and error > 0.0:
            return f"length of leg {leg + 1} is {length:.6g} m, far beyond this platform: millimetres?; {last}"
        return (
            f"length of leg {leg + 1} is {length:.6g} m, {1e3 * abs(error):.3g} mm "
            f"{'above' if error > 0.0 else 'below'} its limits {low:.6g} to {high:.6g} m; {last}"
        )
    covered = f"{100.0 * tracked._number(tk.COVERED):.4g}% of the way from the last good lengths"
    if status is TrackingStatus.SINGULAR:
        return f"the platform would pass a singularity {covered}: which branch it takes there cannot be known; {last}"
    if status is TrackingStatus.NO_POSE:
        return (
            f"no pose near has these lengths: the branch ends {covered}, and the best pose beyond misses leg "
            f"{leg + 1} by {1e3 * error:.3g} mm; {last}"
        )
    if status is TrackingStatus.TOO_FAR:
        return f"the lengths jumped too far: {tracked.steps} proven steps covered {covered}; {last}"
    raise AssertionError(f"no message for {status!r}")


def _ambiguity(tracked: TrackedPose) -> str:
    count = len(tracked.candidates)
    text = f"{count} pose{'s' if count > 1 else ''} with these lengths found within reach at max_speed"
    if not tracked.candidates_complete:
        text += ", and others cannot be excluded"
    if tracked.continued:
        return f"{text}; the pose is the continued one"
    return f"{text}, none of them continued; the pose is the last good one"
