"""Friction of joints as real drives have it: dry, with Stribeck's curve, growing with the load; and viscous."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from ..arrays import Array, ArrayLike
from ..errors import DescriptionError, InputError
from ..lie._arrays import flatten_batch, numbers
from ..model.arguments import require_model, require_single_coordinates
from ..model.model import Model
from ..model.structure import _freeze_arrays
from ..shown import shown
from ..texts import LARGEST, listed, quoted
from ..yaml_sections import Section, read_section
from .kernels import friction as kernels

#: Rate within which compensation goes from one side to the other, where nothing is said [rad/s or m/s].
SMOOTHING_SPEED = 0.01
#: Largest `load_friction`: a joint with 1 would move under no force at all.
MOST_LOAD = 0.9

_KEYS = ("damping", "friction", "static_friction", "stribeck_speed", "load_friction", "smoothing_speed")


@shown
@dataclass(frozen=True, eq=False)
class JointFriction:
    """Losses of the drive of each joint, by coordinate; numbers stand for all coordinates.

    At the rate v, with the force x that comes to the bodies, a drive exerts x and the friction

        F(v, x) = d v + s (c + (c_0 - c) exp(-(v / v_s)^2) + m |x|),    s = v / sqrt(v^2 + v_e^2),

    where c and c_0 go from their values backwards to those forwards as s goes from -1 to 1. F has all derivatives
    along v, and is zero at rest: so desired rates can be compensated. In simulation s is the sign of v, and a joint at
    rest holds any force between -(c_0 + m |x|) backwards and c_0 + m |x| forwards.

    Attributes
    ----------
    damping : ndarray, shape (nv,)
        d [N m s/rad or N s/m].
    friction, static_friction : ndarray, shape (2, nv)
        Dry friction c while the joint moves, and c_0 >= c as it begins to, forwards and backwards [N m or N]; one
        number for a coordinate stands for both. c_0 is c where it is left out.
    stribeck_speed : ndarray, shape (nv,)
        v_s, at which the difference has fallen to 1/e [rad/s or m/s]; not zero where there is one.
    load_friction : ndarray, shape (nv,)
        m [1]: how dry friction grows with the force that comes to the bodies, 0 to 0.9.
    smoothing_speed : ndarray, shape (nv,)
        v_e [rad/s or m/s].

    Raises
    ------
    InputError
        For other shapes, numbers that are negative or not finite, and static friction below the other.
    """

    damping: Array
    friction: Array
    static_friction: Array = None  # type: ignore[assignment]  # numbers become arrays
    stribeck_speed: Array = 0.0  # type: ignore[assignment]
    load_friction: Array = 0.0  # type: ignore[assignment]
    smoothing_speed: Array = SMOOTHING_SPEED  # type: ignore[assignment]

    def __post_init__(self) -> None:
        n = np.size(numbers(self.damping))
        for name in _KEYS:
            given = self.friction if name == "static_friction" and self.static_friction is None else getattr(self, name)
            shape = (2, n) if name.endswith("friction") and name != "load_friction" else (n,)
            value = numbers(given)
            try:
                value = np.array(np.broadcast_to(value, shape))
            except ValueError:
                value = np.full(1, np.nan)
            if not ((value >= 0.0) & (value <= LARGEST)).all():
                raise InputError(
                    f"{name}: shape {shape} and numbers from 0 to {LARGEST:g} are expected, got {quoted(given)}",
                    name=name,
                    value=given,
                )
            object.__setattr__(self, name, value)
        for name, bad, expected in (
            ("load_friction", self.load_friction > MOST_LOAD, f"at most {MOST_LOAD:g}"),
            ("smoothing_speed", self.smoothing_speed == 0.0, "a positive rate"),
            ("static_friction", (self.static_friction < self.friction).any(0), "as much as friction, or more,"),
            (
                "stribeck_speed",
                (self.static_friction > self.friction).any(0) & (self.stribeck_speed == 0.0),
                "a positive rate where static_friction exceeds friction",
            ),
        ):
            if np.any(bad):
                value = getattr(self, name)[..., bad].tolist()
                raise InputError(f"{name}: {expected} is expected, got {value}", name=name, value=value)
        _freeze_arrays(self)

    @classmethod
    def from_yaml(cls, source: str | PathLike[str], model: Model, others: Collection[str] = ()) -> JointFriction:
        """Read the friction of a model's joints from YAML text, or the YAML file with that path.

        ::

            joints:
              shoulder: {damping: 2.0, friction: [4.1, 3.6], static_friction: [5.0, 4.4], stribeck_speed: 0.05}
              elbow: {friction: 1.2, load_friction: 0.04}

        Keys are the attributes; pairs are forwards, backwards. What is left out is zero, and joints that are left out
        have no friction. All coordinates of a joint get the same. `others` may be there too, and are not read: joints
        of a robot of which the model is a part.

        Raises
        ------
        DescriptionError
            For what cannot be read, unknown joints or keys, and values of the wrong kind; names the joint.
        """
        require_model(model)
        joints = read_section(source, ("joints",), DescriptionError).need(("joints",), "a mapping of joints by name")
        entries = joints.named_sections("joints", "joint", _KEYS)
        unknown = [name for name in entries if name not in model.joint_names and name not in others]
        if unknown:
            joints.refuse(f"the robot has no joint {listed(unknown)} that moves; it has {listed(model.joint_names)}")
        values: dict[str, Any] = {name: np.zeros((2, model.nv)) for name in _KEYS[1:3]}
        values |= {name: np.zeros(model.nv) for name in _KEYS if name not in values}
        values["smoothing_speed"] += SMOOTHING_SPEED
        for name in model.joint_names:
            entry = entries.get(name)
            if entry is None:
                continue
            own = _read(entry)
            try:
                cls(**own)
            except InputError as error:
                entry.refuse(str(error))
            for key, value in own.items():
                values[key][..., model.joint(name).v_slice] = value
        return cls(**values)

    def to_yaml(self, model: Model) -> str:
        """Return the YAML text that `from_yaml` reads, of a model whose joints have one coordinate each.

        Raises
        ------
        InputError
            For what is no model with as many coordinates.
        DescriptionError
            For joints of several coordinates, and robots without joints.
        """
        require_model(model)
        require_single_coordinates(model, "a friction file")
        if model.nv != len(self.damping):
            raise InputError(f"model: one with {len(self.damping)} coordinates is expected, got {model.nv}")
        lines = ["joints:"]
        for joint in model.joints:
            values = ((name, getattr(self, name)[..., joint.v_slice].ravel().tolist()) for name in _KEYS)
            texts = (f"{name}: {x if len(x) > 1 else x[0]}" for name, x in values)
            lines.append(f"  {json.dumps(joint.name)}: {{{', '.join(texts)}}}")
        return "\n".join(lines) + "\n"

    @cached_property
    def _table(self) -> Array:
        table = np.zeros((kernels.SIZE, len(self.damping)))
        table[kernels.DAMPING], table[[kernels.FORWARD, kernels.BACKWARD]] = self.damping, self.friction
        table[[kernels.STATIC_FORWARD, kernels.STATIC_BACKWARD]] = self.static_friction
        table[kernels.STRIBECK_SPEED], table[kernels.LOAD] = self.stribeck_speed, self.load_friction
        table[kernels.SMOOTHING_SPEED] = self.smoothing_speed
        return table

    def force(self, qd: ArrayLike, transmitted: ArrayLike = 0.0) -> Array:
        """Return F (..., nv) [N m, N]: what drives exert besides the forces that come to the bodies.

        Parameters
        ----------
        qd : array-like, shape (..., nv)
            Rates [rad/s, m/s]; desired ones for compensation, so that noise of measured ones about rest is none in it.
        transmitted : array-like, shape (..., nv), optional
            x, the forces that come to the bodies: those of `inverse_dynamics` [N m, N].

        Raises
        ------
        InputError
            For shapes that do not fit, and numbers that are not finite.
        """
        return apply(kernels.friction_force, self._table, qd, transmitted)

    def transmitted(self, tau: ArrayLike, qd: ArrayLike) -> Array:
        """Return x (..., nv) with x + F(qd, x) = tau: what of the drives' forces comes to the bodies [N m, N].

        Parameters and errors as `force`; for `forward_dynamics` of joints under forces `tau`.
        """
        return apply(kernels.transmitted_force, self._table, qd, tau)


def apply(kernel: Callable[..., int], table: Array, qd: ArrayLike, force: ArrayLike) -> Array:
    """Return what a kernel of `kernels.friction` writes, for any batch; raises InputError."""
    n = table.shape[1]
    if type(qd) is np.ndarray is type(force) and qd.shape == force.shape == (n,):
        out = np.empty((1, n))
        if kernel(table, qd[None], force[None], out) == 1:
            return np.asarray(out[0])
    rates, forces = numbers(qd), numbers(force)
    try:
        shape = np.broadcast_shapes(rates.shape, forces.shape, (n,))
        if shape[-1] != n:
            raise ValueError
    except ValueError:
        raise InputError(f"shape (..., {n}) is expected, got {rates.shape} and {forces.shape}") from None
    rates, forces = (flatten_batch(np.array(np.broadcast_to(a, shape), order="C")) for a in (rates, forces))
    out = np.empty_like(rates)
    if kernel(table, rates, forces, out) != 1:
        raise InputError("rates and forces: finite numbers are expected", name="qd")
    return out.reshape(shape)


def _read(entry: Section) -> dict[str, Any]:
    """Return the attributes (1,) or (2, 1) that a joint's entry gives."""
    own: dict[str, Any] = {"damping": np.zeros(1), "friction": np.zeros((2, 1))}
    for key in _KEYS:
        if key not in entry:
            continue
        if key not in ("friction", "static_friction"):
            own[key] = np.full(1, entry.number(key))
            continue
        value = entry.numbers(key, None)
        if value.shape not in ((), (2,)):
            entry.refuse(f"{key} is {quoted(value.tolist())}, expected one number, or two: forwards, backwards")
        own[key] = np.array(np.broadcast_to(value, 2)).reshape(2, 1)
    own.setdefault("static_friction", own["friction"])
    return own
