"""Bounds of second derivatives: chains from each loop's first frame to its second, largest rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...errors import InputError
from ...lie._arrays import real_numbers
from ...model import layout
from ...model.model import Model
from ..constraint_set import ConstraintSet
from ..kernels import loops as lk
from ..kernels import second_derivatives as sk


def largest_rates(model: Model, given: npt.ArrayLike | Mapping[str, Any] | None) -> Array:
    """Return the largest rate of each coordinate (nv,); those of a rotation or a displacement all have its own.

    Raises
    ------
    InputError
        Unless each joint has a number above zero; a free joint a linear and an angular one [m/s, rad/s].
    """
    if given is None:
        return np.ones(model.nv)
    rates = np.empty(model.nv)
    if not isinstance(given, Mapping):
        array = real_numbers(given, "max_speed")
        if array.shape != (model.nv,):
            raise InputError(
                f"max_speed: a mapping from joints to their largest rates, or {model.nv} numbers, are expected, "
                f"got shape {array.shape}",
                name="max_speed",
            )
        given = {joint.name: array[joint.v_slice] for joint in model.joints}
    for joint in model.joints:
        if joint.name not in given:
            raise InputError(f"max_speed: joint {joint.name!r} is missing", name=joint.name)
        value = real_numbers(given[joint.name], f"max_speed: joint {joint.name!r}")
        part = rates[joint.v_slice]
        if joint.kind == "free" and value.shape == (2,):
            part[:3], part[3:] = value[1], value[0]
        elif joint.kind == "free" and value.shape == (6,):
            part[:3], part[3:] = np.linalg.norm(value[:3]), np.linalg.norm(value[3:])
        elif joint.kind == "spherical" and value.shape == (3,):
            part[:] = np.linalg.norm(value)
        elif joint.kind != "free" and value.shape in ((), part.shape):
            part[:] = value
        else:
            wanted = "(m/s, rad/s) is" if joint.kind == "free" else "one number is"
            raise InputError(
                f"max_speed: joint {joint.name!r}: {wanted} expected, got {given[joint.name]!r}", name=joint.name
            )
    if not (np.isfinite(rates).all() and (rates > 0.0).all()):
        raise InputError("max_speed: finite numbers above zero are expected", name="max_speed", value=given)
    return rates


def coordinate_groups(model: Model, rates: Array) -> Array:
    """Return the table of groups of `kernels.second_derivatives`."""
    groups = []
    for joint in model.joints:
        first, place = joint.v_slice.start + 1, joint.q_slice.start
        if joint.kind in ("spherical", "free"):
            groups.append([first, 3, 1.0 / rates[first - 1], place, sk.ROTATION])
            if joint.kind == "free":
                groups.append([first + 3, 3, 1.0 / rates[first + 2], place + 4, sk.DISPLACEMENT])
        else:
            count = joint.v_slice.stop - joint.v_slice.start
            groups += [[first + c, 1, 1.0 / rates[first + c - 1], place + c, sk.SINGLE] for c in range(count)]
    return np.array(groups, float).reshape(-1, sk.GROUP_WIDTH)


def loop_chains(model: Model, constraints: ConstraintSet, rates: Array) -> tuple[Array, Array]:
    """Return the tables of chains and links of `kernels.second_derivatives`."""
    chains: list[list[float]] = []
    links: list[list[float]] = []
    for loop in constraints._loops:
        first, stop = len(links), int(loop[lk.ANCESTOR])
        for side, column in ((2, lk.ROW_2), (1, lk.ROW_1)):
            joints = []
            i = int(loop[column])
            while i != stop:
                joints.append(_links(model, i, side, rates))
                i = int(model.rows[int(model.rows[i, layout.FIRST]), layout.PARENT])
            for parts in joints if side == 2 else joints[::-1]:
                links += parts
        kinds = constraints._scalars[int(loop[lk.START]) : int(loop[lk.START] + loop[lk.COUNT]), lk.TYPE]
        placed = loop[lk.ROW_1] != stop and (kinds == lk.ALONG).sum() < 3
        chains.append([first, len(links) - first, sum(link[sk.TURN] for link in links[first:]), placed])
    return np.array(chains, float).reshape(-1, sk.CHAIN_SIZE), np.array(links, float).reshape(-1, sk.LINK_SIZE)


def _links(model: Model, row: int, side: int, rates: Array) -> list[list[float]]:
    """Return the links of the joint that ends with a row; what a free joint slides comes before what it turns."""
    first = int(model.rows[row, layout.FIRST])
    kind, rate = model.rows[first, layout.KIND], rates[first - 1]
    if kind == layout.AXIS:
        return [[row, 1, side, 1, rate, abs(model.rows[row, layout.AXIS_W]) * rate]]
    turn = [[first, 3, side, 2, rate, rate]]
    return [[first + 3, 3, side, 3, rates[first + 2], 0.0], *turn] if kind == layout.FREE else turn
