"""Checks that all functions of a model share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .model import Model

F = TypeVar("F", bound=Callable[..., Any])


def require_model(model: object) -> None:
    """Raise an InputError for anything but a Model."""
    if not isinstance(model, Model):
        raise InputError(f"model: a Model is expected, got {model!r}", name="model", value=model, expected="a Model")


def zero_velocity(model: Model) -> npt.NDArray[np.float64]:
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
