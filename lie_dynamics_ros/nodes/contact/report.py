"""Content of the topic ``~/contact_state`` of the node contact. No messages in here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from .core import ContactAnswer


@dataclass(frozen=True, eq=False)
class ContactReport:
    """Fields of the message ContactState, described there; wrenches force first there."""

    touching: bool
    evidence: float
    external_efforts: Array
    effort_covariance: Array
    age: float
    frame_id: str
    wrench: Array
    wrench_covariance: Array
    unfelt: Array
    misfit: float


_FORCE_FIRST = np.array([3, 4, 5, 0, 1, 2])


def make_report(answer: ContactAnswer, frame: str) -> ContactReport:
    """Return the report of an answer, the frame as messages name it."""
    found, wrench = answer.found, answer.wrench
    return ContactReport(
        found.touching,
        found.evidence,
        found.torque,
        found.covariance.reshape(-1),
        found.age,
        frame,
        wrench.wrench[_FORCE_FIRST],
        wrench.covariance[np.ix_(_FORCE_FIRST, _FORCE_FIRST)].reshape(-1),
        np.ascontiguousarray(wrench.unfelt[:, _FORCE_FIRST]).reshape(-1),
        wrench.misfit,
    )
