"""Equality constraints of MJCF as loops and couplings; MuJoCo is optional, see `model.mjcf`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..errors import DescriptionWarning
from ..lie import se3
from ..model.mjcf import MjcfNames, compiled_mjcf, pose_of, site_frames
from .coupling import Coupling
from .loop import Loop

_SCALARS = (2, 3)  # mjtJoint: slide, hinge


def read_equalities(source: Any) -> list[Loop | Coupling]:
    """Return the equality constraints of a robot in MJCF; see `ConstraintSet.from_mjcf`.

    Warns
    -----
    DescriptionWarning
        Once, for the constraints that are neither loops nor couplings, and those that are switched off.
    """
    compiled = compiled_mjcf(source)
    names = MjcfNames(compiled)
    found: list[Loop | Coupling] = []
    missing: list[str] = []
    for k in range(compiled.neq):
        made = _constraint(compiled, k, names) if compiled.eq_active0[k] else "is switched off"
        if isinstance(made, str):
            missing.append(f"'{names.of('equality', k)}' {made}")
        else:
            found.append(made)
    if missing:
        message = f"equality constraints: {'; '.join(missing)}: not among the constraints"
        warnings.warn(message, DescriptionWarning, stacklevel=3)
    return found


def _constraint(compiled: Any, k: int, names: MjcfNames) -> Loop | Coupling | str:
    """Return a constraint, or what keeps it from being one."""
    import mujoco

    kind, name, data = mujoco.mjtEq(compiled.eq_type[k]), names.of("equality", k), compiled.eq_data[k]
    pair = int(compiled.eq_obj1id[k]), int(compiled.eq_obj2id[k])
    if kind == mujoco.mjtEq.mjEQ_JOINT:
        return _coupling(compiled, pair, data, name, names)
    if kind not in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
        return f"is of kind {kind.name.removeprefix('mjEQ_').lower()}"
    welded = kind == mujoco.mjtEq.mjEQ_WELD
    by_sites = compiled.eq_objtype[k] == mujoco.mjtObj.mjOBJ_SITE
    if welded and data[10] == 0.0:  # torquescale
        if by_sites:
            welded = False
        else:
            return _connection(pair, data, name, names)
    loop = Loop.welded if welded else Loop.spherical
    if by_sites:
        sites = site_frames(names)
        first, second = (sites[i] for i in pair)
        return loop(first, second, name=name)
    first, second = (names.of("body", i) for i in pair)
    if welded:
        placements = pose_of(data[3:6], data[6:10]), se3.from_parts(np.eye(3), data[:3])
    else:
        placements = se3.from_parts(np.eye(3), data[:3]), se3.from_parts(np.eye(3), data[3:6])
    return loop(first, second, name=name, first_placement=placements[0], second_placement=placements[1])


def _connection(pair: tuple[int, int], data: Any, name: str, names: MjcfNames) -> Loop:
    """Return a weld of ``torquescale="0"``, which holds the anchor alone: no rotation."""
    first, second = (names.of("body", i) for i in pair)
    anchor = se3.from_parts(np.eye(3), data[:3])
    return Loop.spherical(
        first, second, name=name, first_placement=pose_of(data[3:6], data[6:10]), second_placement=anchor
    )


def _coupling(compiled: Any, pair: tuple[int, int], data: Any, name: str, names: MjcfNames) -> Coupling | str:
    """Return q1 - q1_0 = c0 + c1 (q2 - q2_0) as a coupling; powers of q2 are none."""
    joints = [joint for joint in pair if joint >= 0]
    if any(compiled.jnt_type[joint] not in _SCALARS for joint in joints):
        return "couples joints of more than one coordinate"
    if data[2:5].any() and len(joints) == 2:
        return "has powers of a coordinate"
    those = [names.of("joint", joint) for joint in joints]
    rest = [float(compiled.qpos0[compiled.jnt_qposadr[joint]]) for joint in joints]
    ratios = [1.0, -float(data[1])][: len(joints)]
    offset = float(data[0]) + sum(ratio * q for ratio, q in zip(ratios, rest, strict=True))
    return Coupling(dict(zip(those, ratios, strict=True)), offset, name)
