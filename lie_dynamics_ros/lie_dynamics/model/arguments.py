"""Models as arguments: what functions refuse, and require of their joints."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from ..arrays import Array
from ..errors import DescriptionError, InputError
from .model import Model

F = TypeVar("F", bound=Callable[..., Any])


def require_model(model: object) -> None:
    """Raise an InputError for anything but a Model."""
    if not isinstance(model, Model):
        raise InputError(f"model: a Model is expected, got {model!r}", name="model", value=model, expected="a Model")


def zero_velocity(model: Model) -> Array:
    """Return the model's rates at rest; raises InputError for anything but a Model."""
    try:
        return model.zero_velocity
    except AttributeError:
        require_model(model)
        raise


def validate_model(function: F) -> F:
    """Let a function refuse anything but a Model; those that take but a few microseconds do so by themselves."""

    @wraps(function)
    def call(model: Any, *args: Any, **options: Any) -> Any:
        require_model(model)
        return function(model, *args, **options)

    return cast(F, call)


def require_coordinates(model: Model, what: str) -> None:
    """Refuse joints whose rates are no derivatives of coordinates.

    Raises DescriptionError, which names the joint and what was requested.
    """
    _refuse(model, what, ("spherical", "free"), "joints with coordinates", "its rates are no derivatives of any")


def require_screws(model: Model, what: str) -> None:
    """Refuse user-defined joints; errors as `require_coordinates`."""
    _refuse(model, what, ("custom",), "joints made of screws", "its motion is no exponential of any")


def _refuse(model: Model, what: str, kinds: tuple[str, ...], needs: str, reason: str) -> None:
    for joint in model.joints:
        if joint.kind in kinds:
            raise DescriptionError(
                f"joint {joint.name!r}: {what} needs {needs}, this one is {joint.kind!r}: {reason}; "
                "a composite joint of axes is expected, e.g. three revolute ones",
                name=joint.name,
                value=joint.kind,
                expected=needs,
            )


def require_independent(model: Model, what: str) -> None:
    """Refuse models with coupled mimic joints.

    Raises DescriptionError, which names the first joint that follows another.
    """
    if model.coupling is not None:
        name = next(joint.name for joint in model.joints if joint.coupled)
        raise DescriptionError(
            f"joint {name!r}: {what} needs independent joints, this one follows another; "
            "the model before with_coupled_mimics() is expected",
            name=name,
        )


def require_single_coordinates(model: Model, what: str) -> None:
    """Refuse robots without joints, and with joints that have other than one coordinate of their own.

    Raises DescriptionError, which names the first such joint.
    """
    require_coordinates(model, what)
    require_independent(model, what)
    if not model.joints:
        raise DescriptionError(f"robot {model.name!r}: {what} needs joints, there are none", name=model.name)
    for joint in model.joints:
        if joint.type.nv != 1:
            raise DescriptionError(
                f"joint {joint.name!r}: {what} needs joints of one coordinate, this one has {joint.type.nv}",
                name=joint.name,
                value=joint.kind,
                expected="joints of one coordinate",
            )
