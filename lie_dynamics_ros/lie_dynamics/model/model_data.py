"""Data of a Model, and how its joints, bodies and frames are found by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..arrays import Array, ArrayLike
from ..errors import InputError
from ..lie import SpatialInertia
from ..shown import pictures, table, value_text
from . import layout
from .coupling import MimicCoupling
from .pack import get_inertia, with_columns
from .structure import ActuationTerms, AnySpring, Frame, Joint, JointLimits

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ModelData:
    """Data of a `Model`, immutable.

    Attributes
    ----------
    name : str
        Name of the robot.
    nq, nv, n_bodies : int
        Numbers of position coordinates, of velocity coordinates, and of bodies that move.
    joints : tuple of Joint
        The joints that move; `joint(name)` finds one.
    frames : mapping of str to Frame
        Every body, and every frame fixed to a body or to the world, by name.
    limits : JointLimits
        Limits and losses of the coordinates.
    body_springs : tuple of BodySpring or TorsionSpring
        Springs and dampers between bodies; part of the dynamics only after `Model.with_joint_terms`.
    table, coupling : ndarray; Coupling or None
        The internal interface: what kernels take, rows and columns as `model.layout` names them, and how the
        coordinates of coupled mimic joints follow from the independent ones. So are `rows`, a view of the rows of
        `table` without the columns behind them, to read, not for kernels; `body_rows`, the row that each body hangs on;
        `custom_joints`, those with types of users; `vector_q` and `vector_v`, places of the coordinates that are plain
        numbers; `zero_velocity` (nv,); `actuation_terms`, losses that the model includes and what rotors of free joints
        add; `kernel_frames`, frames as the kernel of Jacobians takes them, kept once they were requested; and `plain`:
        arguments may go straight to the kernels.
    """

    __slots__ = (
        "_by_name",
        "_weightless",
        "actuation_terms",
        "body_rows",
        "body_springs",
        "coupling",
        "custom_joints",
        "frames",
        "joints",
        "kernel_frames",
        "limits",
        "n_bodies",
        "name",
        "nq",
        "nv",
        "plain",
        "rows",
        "table",
        "vector_q",
        "vector_v",
        "zero_velocity",
    )  # fmt: skip

    name: str
    nq: int
    nv: int
    n_bodies: int
    joints: tuple[Joint, ...]
    frames: Mapping[str, Frame]
    limits: JointLimits
    rows: Array
    table: Array
    _by_name: Mapping[str, Joint]
    body_rows: npt.NDArray[np.intp]
    coupling: MimicCoupling | None
    custom_joints: tuple[Joint, ...]
    vector_q: npt.NDArray[np.intp]
    vector_v: npt.NDArray[np.intp]
    actuation_terms: ActuationTerms | None
    body_springs: tuple[AnySpring, ...]
    zero_velocity: Array
    kernel_frames: dict[Any, Array]
    plain: bool

    def __init__(
        self,
        name: str,
        rows: Array,
        joints: tuple[Joint, ...],
        frames: Mapping[str, Frame],
        limits: JointLimits,
        coupling: MimicCoupling | None = None,
    ) -> None:
        plain = [j for j in joints if j.kind not in ("spherical", "free") and not j.coupled]
        body_rows = np.empty(len(joints), dtype=np.intp)
        ends = np.flatnonzero(rows[1:, layout.BODY] >= 0.0) + 1
        body_rows[rows[ends, layout.BODY].astype(np.intp)] = ends
        table = with_columns(rows)
        values = {
            "name": name,
            "nq": limits.lower.size,
            "nv": limits.velocity.size,
            "n_bodies": len(joints),
            "joints": joints,
            "frames": MappingProxyType(dict(frames)),
            "limits": limits,
            "rows": table[: rows.shape[0]],
            "table": table,
            "_by_name": {joint.name: joint for joint in joints},
            "custom_joints": tuple(j for j in joints if j.type.custom is not None),
            "vector_q": np.array([i for j in plain for i in range(j.q_slice.start, j.q_slice.stop)], dtype=np.intp),
            "vector_v": np.array([i for j in plain for i in range(j.v_slice.start, j.v_slice.stop)], dtype=np.intp),
            "body_rows": body_rows,
            "coupling": coupling,
            "zero_velocity": np.zeros(limits.velocity.size),
            "kernel_frames": {},
            "_weightless": None,
            "actuation_terms": None,
            "body_springs": (),
            "plain": coupling is None and all(j.type.custom is None for j in joints),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError(f"a Model does not change: cannot set {key}; its with_... methods return changed copies")

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {self.n_bodies} bodies, nq={self.nq}, nv={self.nv}>"

    def _repr_html_(self) -> str:
        """Return the tree as a table for notebooks: joints with their limits, bodies with their masses [kg]."""
        rows = []
        for joint in self.joints:
            q, v = joint.q_slice, joint.v_slice
            numbers = [limit[q] for limit in (self.limits.lower, self.limits.upper)]
            numbers += [limit[v] for limit in (self.limits.velocity, self.limits.effort)]
            low, high, *most = (f"{x[0]:.5g}" if len(x) == 1 else value_text(x) for x in numbers)
            mass = f"{self.inertia(joint.body).mass:.4g}"
            rows.append((joint.name, joint.type.kind, joint.parent_body, joint.body, mass, f"{low} to {high}", *most))
        head = ("joint", "type", "from", "body", "mass", "position", "velocity", "effort")
        return table(head, rows, repr(self)[1:-1])

    def show(self, q: ArrayLike | None = None) -> Figure:
        """Draw the robot in a configuration (nq,), neutral when left out; see `plots.plot_model`. It needs matplotlib.

        Raises
        ------
        InputError
            For a configuration of another shape, or NaN.
        ImportError
            Without matplotlib.
        """
        figure: Figure = pictures().plot_model(self, q)
        return figure

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that move, in order."""
        return tuple(joint.name for joint in self.joints)

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies that move, in order: `body_names[i]` is carried by `joint_names[i]`."""
        return tuple(joint.body for joint in self.joints)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all bodies and of the frames fixed to them or to the world."""
        return tuple(self.frames)

    def joint(self, name: str) -> Joint:
        """Return the joint of that name.

        Raises
        ------
        InputError
            If there is none; the message lists those there are.
        """
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            message = f"no joint {name!r} moves in model {self.name!r}; its joints are {list(self.joint_names)}"
            raise InputError(message, name=name, expected="a joint name") from None

    def frame(self, name: str | int) -> Frame:
        """Return the frame of that name, or the frame of the body with that index.

        Raises
        ------
        InputError
            If there is none; the message lists those there are.
        """
        if isinstance(name, (int, np.integer)):
            if not 0 <= name < self.n_bodies:
                raise InputError(
                    f"no body {name} in model {self.name!r}: 0 to {self.n_bodies - 1} are expected", value=name
                )
            name = self.joints[name].body
        try:
            return self.frames[name]
        except (KeyError, TypeError):
            message = f"no body or frame {name!r} in model {self.name!r}; there are {list(self.frames)}"
            raise InputError(message, name=str(name), expected="a body or frame name") from None

    def inertia(self, body: str | int) -> SpatialInertia:
        """Return the inertia of a moving body, with all that is welded to it, in its body frame."""
        return get_inertia(self.rows[self.body_rows[self.moving_frame(body).body]])

    def moving_frame(self, name: str | int) -> Frame:
        """Return the frame of that name or body; InputError as `frame`, and for one fixed to the world."""
        frame = self.frame(name)
        if frame.body < 0:
            raise InputError(
                f"frame {name!r} is fixed to the world: a frame on a moving body is expected", name=str(name)
            )
        return frame
