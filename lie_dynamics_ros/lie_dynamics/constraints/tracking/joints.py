"""Joints of one coordinate by name, and their places among all coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...model.model import Model


def single_names(model: Model, given: Sequence[str], what: str) -> tuple[str, ...]:
    """Return names of joints of one coordinate, each once and one at least; raises InputError for anything else."""
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else ()
    for joint in (model.joint(name) for name in names):
        if joint.type.nq != 1:
            raise InputError(f"{what}: joint {joint.name!r} has {joint.type.nq} coordinates, one is expected")
    if not names or len(set(names)) < len(names):
        raise InputError(f"{what}: names of joints, each once, are expected, got {given!r}", name=what)
    return names


def single_places(model: Model, given: Sequence[str], what: str) -> npt.NDArray[np.intp]:
    """Return their places among all rates (k,); errors as above."""
    return np.array([model.joint(name).v_slice.start for name in single_names(model, given, what)])
