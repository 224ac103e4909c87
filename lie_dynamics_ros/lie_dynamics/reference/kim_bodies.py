"""Kim's list of symbols (section 2.1): what each body and its joint give to Tables 2 to 7 at one state."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..arrays import AnyArray
from ..errors import DescriptionError, InputError
from ..lie import se3
from ..lie._arrays import as_real
from ..model import layout
from ..model.joint_types import JointType
from ..model.model import Model
from ..model.pack import get_placement


@dataclass(frozen=True, eq=False)
class Body:
    """Body i and the joint between it and its parent, in frame {i}.

    Attributes
    ----------
    joint : str
        Name of the joint.
    kind : JointType
        What the joint does.
    parent : int
        lambda(i); -1 stands for the inertial frame {0}.
    at : slice
        Entries of q_i's rates in qd, qdd and tau.
    T : ndarray, shape (4, 4)
        T_{lambda(i), i}, pose of {i} in {lambda(i)} [m].
    S, S_rate : ndarray, shape (6, n_i)
        Joint Jacobian T^-1 dT/dq_i and its time derivative.
    inertia : ndarray, shape (6, 6)
        Generalised inertia I_i. (22)
    F_ext : ndarray, shape (6,)
        Wrench of the environment on the body [N m, N].
    """

    joint: str
    kind: JointType
    parent: int
    at: slice
    T: AnyArray
    S: AnyArray
    S_rate: AnyArray
    inertia: AnyArray
    F_ext: AnyArray


@dataclass(frozen=True, eq=False)
class Robot:
    """All bodies at one state, parents first, with qd and dV_0 = (0, -g), the footnote to (41)."""

    bodies: tuple[Body, ...]
    qd: AnyArray
    dV_0: AnyArray

    def mu(self, i: int) -> list[int]:
        """Return mu(i), the children of body i."""
        return [k for k, b in enumerate(self.bodies) if b.parent == i]


@dataclass(eq=False, kw_only=True)
class Quantities:
    """Results of the tables, by the number of the body; -1 stands for {0}.

    V, dV, F are as in Table 2; eta, I_hat, B_hat, Psi, Pi, beta as in Tables 3 and 4.
    """

    V: dict[int, AnyArray] = field(default_factory=dict)
    dV: dict[int, AnyArray] = field(default_factory=dict)
    F: dict[int, AnyArray] = field(default_factory=dict)
    eta: dict[int, AnyArray] = field(default_factory=dict)
    I_hat: dict[int, AnyArray] = field(default_factory=dict)
    B_hat: dict[int, AnyArray] = field(default_factory=dict)
    Psi: dict[int, AnyArray] = field(default_factory=dict)
    Pi: dict[int, AnyArray] = field(default_factory=dict)
    beta: dict[int, AnyArray] = field(default_factory=dict)


@dataclass(eq=False)
class Run(Quantities):
    """One run of Table 2, 3 or 4; qdd and tau (nv,) end up complete.

    `given` says of each body whether its joint's acceleration is given (i in u); X is Ad of T_{lambda(i), i}^-1.
    """

    robot: Robot
    qdd: AnyArray
    tau: AnyArray
    given: tuple[bool, ...]
    X: dict[int, AnyArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.V[-1], self.dV[-1] = np.zeros(6), self.robot.dV_0
        for i, b in enumerate(self.robot.bodies):
            self.X[i] = se3.Ad(se3.inverse(b.T))


def robot_at(model: Model, q: npt.ArrayLike, qd: npt.ArrayLike, f_ext: npt.ArrayLike | None = None) -> Robot:
    """Return the symbols of all bodies at `q` (nq,), `qd` (nv,), with wrenches `f_ext` (n_bodies, 6) in their frames.

    Raises
    ------
    DescriptionError
        For coupled joints, and for models that count armature, damping or friction, which the paper does not.
    InputError, GroupError
        For states or wrenches of another shape, or not finite, and quaternions that are no rotations.
    """
    _require_rigid_bodies(model)
    x, rate = of_size(q, model.nq, "q"), of_size(qd, model.nv, "qd")
    wrenches = np.zeros((model.n_bodies, 6)) if f_ext is None else as_real(f_ext, (model.n_bodies, 6), "f_ext")
    if wrenches.ndim != 2:
        raise InputError(f"f_ext: one state, shape ({model.n_bodies}, 6), is expected, got {wrenches.shape}")
    bodies = []
    for joint in model.joints:
        motion, S, S_rate = joint_motion(joint.type, x[joint.q_slice], rate[joint.v_slice])
        bodies.append(Body(
            joint.name, joint.type, model.frames[joint.parent_body].body, joint.v_slice,
            get_placement(model.table, joint) @ motion, S, S_rate, model.inertia(joint.index).matrix(),
            wrenches[joint.index],
        ))  # fmt: skip
    return Robot(tuple(bodies), rate, np.concatenate([np.zeros(3), -model.gravity]))


def of_size(value: npt.ArrayLike, size: int, name: str) -> AnyArray:
    """Return a vector (size,); one state, no batch."""
    vector = as_real(value, (size,), name)
    if vector.ndim != 1:
        raise InputError(f"{name}: one state, shape ({size},), is expected, got {vector.shape}", name=name)
    return vector


def joint_motion(kind: JointType, q: AnyArray, qd: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return T(q), S = T^-1 dT/dq and dS/dt of a joint, apart from where it sits.

    A joint made of axes is a product of exponentials, T = exp(A_1 q_1) ... exp(A_n q_n). Column a of S is A_a carried
    back over the axes after it, so dS^a/dq^b = -[S^b, S^a] for b > a.
    """
    n = kind.nv
    if kind.custom is not None:
        return tuple(np.asarray(f(*x)) for f, x in (
            (kind.custom.transform, (q,)), (kind.custom.subspace, (q,)), (kind.custom.subspace_rate, (q, qd)),
        ))  # type: ignore[return-value]  # fmt: skip
    if kind.kind in ("spherical", "free"):
        position = q[4:] if kind.kind == "free" else np.zeros(3)
        return se3.from_position_quaternion(position, q[:4]), np.eye(6)[:, :n], np.zeros((6, n))
    T, S, S_rate = np.eye(4), np.zeros((6, n)), np.zeros((6, n))
    for a in reversed(range(n)):
        step = kind.steps[a]
        A = np.concatenate([step.rotation * np.array(step.axis), step.translation * np.array(step.axis)])
        S[:, a] = se3.Ad(se3.inverse(T)) @ A
        T = se3.exp(A * q[a]) @ T
        for b in range(a + 1, n):
            S_rate[:, a] -= se3.ad(S[:, b]) @ S[:, a] * qd[b]
    return T, S, S_rate


def joints_in_u(model: Model, prescribed: npt.ArrayLike) -> tuple[bool, ...]:
    """Return for each joint whether it is in u, from the mask `prescribed` (nv,) of `hybrid_dynamics`.

    Raises
    ------
    InputError
        If the mask is of another shape, or splits a joint, which Tables 4 and 7 do not do.
    """
    mask = np.asarray(prescribed)
    if mask.shape != (model.nv,) or mask.dtype != np.bool_:
        raise InputError(f"prescribed: booleans of shape ({model.nv},) are expected, got {prescribed!r}")
    for joint in model.joints:
        part = mask[joint.v_slice]
        if part.any() != part.all():
            raise InputError(
                f"joint {joint.name!r}: all of its coordinates in u or none is expected, got {part.tolist()}",
                name=joint.name, value=part,
            )  # fmt: skip
    return tuple(bool(mask[joint.v_slice].all()) for joint in model.joints)


def _require_rigid_bodies(model: Model) -> None:
    for joint in model.joints:
        if joint.coupled:
            raise DescriptionError(f"joint {joint.name!r} follows another: the tables need independent joints")
    if model.actuation_terms is not None or model.rows[1:, layout.ARMATURE].any():
        raise DescriptionError("armature, damping or friction: the tables know rigid bodies alone, with_joint_terms()")
