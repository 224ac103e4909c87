"""What all functions of a model ask of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..lie._arrays import numbers
from .model import Model

F = TypeVar("F", bound=Callable[..., Any])


def require_model(model: object) -> None:
    """Raise an InputError for what is no Model."""
    if not isinstance(model, Model):
        raise InputError(f"model: a Model is expected, got {model!r}", name="model", value=model, expected="a Model")


def zero_of(model: Model) -> npt.NDArray[np.float64]:
    """Return the model's rates at rest; raises InputError for what is no Model."""
    try:
        return model._zero
    except AttributeError:
        require_model(model)
        raise


def number_of(name: str, value: object, expected: str, good: Callable[[float], bool]) -> float:
    """Return a number, or raise an InputError where it is none, or none that is `good`: `expected` says which are."""
    number = numbers(value)
    if isinstance(value, (bool, str, bytes)) or number.ndim or not good(float(number)):
        raise InputError(f"{name}: {expected} is expected, got {value!r}", name=name, value=value, expected=expected)
    return float(number)


def count_of(name: str, value: object, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`, or raise an InputError."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        expected = f"a whole number from {least} to {most}"
        raise InputError(f"{name}: {expected} is expected, got {value!r}", name=name, value=value, expected=expected)
    return int(value)


def of_model(function: F) -> F:
    """Let a function refuse what is no Model; those that take but a few microseconds do so by themselves."""

    @wraps(function)
    def call(model: Any, *args: Any, **options: Any) -> Any:
        require_model(model)
        return function(model, *args, **options)

    return cast(F, call)
