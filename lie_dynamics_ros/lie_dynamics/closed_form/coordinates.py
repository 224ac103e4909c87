"""Where the algebra of this room ends: joints whose rates are no derivatives of coordinates."""

from __future__ import annotations

from ..errors import DescriptionError
from ..model.model import Model

_REASONS = {
    "spherical": "its rates are no derivatives of coordinates",
    "free": "its rates are no derivatives of coordinates",
    "custom": "its screws change with its own coordinates in a way only its user knows",
}


def require_axes(model: Model, what: str, also: tuple[str, ...] = ()) -> None:
    """Refuse joints that are not made of axes, but for the kinds in `also`.

    Raises
    ------
    DescriptionError
        Names the joint and what was asked for.
    """
    for joint in model.joints:
        reason = _REASONS.get(joint.kind)
        if reason is not None and joint.kind not in also:
            raise DescriptionError(
                f"joint {joint.name!r}: {what} needs joints made of axes, this one is {joint.kind!r}: {reason}; "
                "a composite joint of axes is expected, e.g. three revolute ones",
                name=joint.name,
                value=joint.kind,
                expected="a joint made of axes",
            )


def require_independent(model: Model, what: str) -> None:
    """Refuse models with coupled mimic joints.

    Raises
    ------
    DescriptionError
        Names the first joint that follows another.
    """
    if model._coupling is not None:
        name = next(joint.name for joint in model.joints if joint.coupled)
        raise DescriptionError(
            f"joint {name!r}: {what} needs independent joints, this one follows another; "
            "the model before with_coupled_mimics() is expected",
            name=name,
        )
