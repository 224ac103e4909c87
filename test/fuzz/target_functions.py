"""Every public function of the library with hostile arguments: an error of the library, or numbers that are finite.

Arguments are changed one or two at a time: into what is no such thing, into numbers of any size, into other shapes and
memory layouts, batches among them.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lie_dynamics_ros.lie_dynamics import LieDynamicsError, StewartPlatform

from .target import DefectError, Target

NUMBERS = (0.0, -0.0, 5e-324, 1e-160, 1e-8, np.pi, -np.pi, 1e6, 1e15)
"""Finite numbers that a function must answer with finite ones, or refuse."""
HUGE = (1e154, -1e200, 1e308, np.nan, np.inf, -np.inf)
"""Numbers that may overflow; then the library says so."""
TYPES = ("<f8", ">f8", "<f4", "<f2", "c16")


class Subject(Target):
    """See the module."""

    cases = 20_000

    def __enter__(self) -> Subject:
        import test_hostile_arguments as table

        self._table = table
        for name in table.FUNCTIONS:
            function, given = self._arguments(name)
            function(**given)
        return self

    def _arguments(self, name: str) -> tuple[Callable[..., Any], dict[str, Any]]:
        function, given = self._table.arguments(name)
        if name.startswith("constrained_inverse_"):
            given["actuated"] = np.ones(4, bool)
        return function, given

    def check(self, rng: np.random.Generator, index: int) -> None:
        name = self._table.FUNCTIONS[index % len(self._table.FUNCTIONS)]
        function, given = self._arguments(name)
        keys = list(given)
        changed = []
        for key in rng.permutation(keys)[: int(rng.choice([1, 1, 2]))]:
            value, how = self._hostile(rng, str(key), given[key])
            given[key] = value
            changed.append(f"{key}: {how}")
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                result = function(**given)
        except LieDynamicsError as error:
            if len(str(error)) > 4000:
                raise DefectError(f"{name}: a refusal of {len(str(error))} characters; {changed}") from error
            return
        except Exception as error:
            raise DefectError(f"{name}: {type(error).__name__}: {str(error)[:200]}; {changed}") from error
        for where, numbers in _numbers(result):
            if not np.isfinite(numbers).all():
                raise DefectError(f"{name}: {where or 'the result'} is not finite; {changed}")

    def _hostile(self, rng: np.random.Generator, key: str, good: Any) -> tuple[Any, str]:
        table = self._table
        if key not in table.ARRAYS:
            values = table.HOSTILE.get(key)
            if not values:
                return good, "as it should be"
            value = values[int(rng.integers(len(values)))]
            return value, f"{str(value)[:40]!r}"
        good = np.array(good, dtype=float)
        kind = int(rng.integers(7))
        if kind == 0:
            values = table.hostile_arrays(key)
            what = str(rng.choice(list(values)))
            value = values[what]
            return (value[0] if isinstance(value, tuple) else value), what
        if kind in (1, 2):
            numbers = NUMBERS if kind == 1 else HUGE
            number = float(rng.choice(numbers))
            good.flat[int(rng.integers(good.size))] = number
            return good, f"with {number:g}"
        if kind == 3:
            scale = float(rng.choice([1e-300, 1e-10, 1e5, 1e10]))
            return good * scale, f"times {scale:g}"
        if kind == 4:
            shape = tuple(int(n) for n in rng.integers(0, 4, size=rng.integers(0, 4)))
            return np.ones(shape), f"of shape {shape}"
        if kind == 5:
            batch = np.broadcast_to(good, (int(rng.integers(0, 20)), *good.shape))
            return batch, f"of shape {batch.shape}, every state the same memory"
        wide = np.zeros((*good.shape[:-1], 2 * good.shape[-1]), dtype=str(rng.choice(TYPES)))
        wide[..., ::2] = good
        view = wide[..., ::2]
        view.flags.writeable = False
        return view, f"every second number of {wide.dtype}"


def _numbers(result: Any, where: str = "", depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Return all arrays of numbers in a result, with their names."""
    if isinstance(result, float | complex):
        yield where, np.array(result)
    elif isinstance(result, np.ndarray) and result.dtype.kind in "fc":
        yield where, result
    elif isinstance(result, tuple | list) and depth < 3:
        for k, part in enumerate(result):
            yield from _numbers(part, f"{where}[{k}]", depth + 1)
    elif isinstance(result, StewartPlatform) or getattr(result, "converged", True) is False:
        return  # what was given; what is told to be no result
    elif dataclasses.is_dataclass(result) and depth < 3:
        for field in dataclasses.fields(result):
            yield from _numbers(getattr(result, field.name), f"{where}.{field.name}", depth + 1)
