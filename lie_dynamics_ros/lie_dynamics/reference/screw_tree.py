"""A robot as screws and home poses: the data of the product of exponentials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, ArrayLike
from ..errors import DescriptionError, InputError
from ..lie import SpatialInertia, se3
from ..lie._arrays import as_real
from ..model import layout
from ..model.arguments import require_independent, require_screws
from ..model.joint_types import JointType, Step, free, spherical
from ..model.model import Model, ModelBuilder
from ..model.pack import get_placement
from ..shown import shown


@shown
@dataclass(frozen=True, eq=False)
class ScrewTree:
    """A tree of nodes, one for each step of a joint: a screw, a home pose, and the inertia that moves with it.

    A joint made of axes is a run of nodes with one coordinate each, the body on the last of them; a ball or free joint
    is one node with three or six. Everything at q = 0 (a ball or free joint at the identity).

    Attributes
    ----------
    names : tuple of str
        Name of each node: its body's, with the step appended where the joint has several.
    parents : tuple of int
        Node that each one moves on, -1 for the world; smaller than its own index.
    q_slices, v_slices : tuple of slice
        Coordinates of each node in q and qd.
    screws : tuple of ndarray, shape (6, k)
        A_i, seen from the world at home. PBP (13).
    home : ndarray, shape (n_nodes, 4, 4)
        M_i, pose of each node's frame at home, that of the body it belongs to. PBP (31), but at the link's own frame.
    inertias : ndarray, shape (n_nodes, 6, 6)
        J_i about the node's frame, zero where no body hangs. PBP (21).
    armature : ndarray, shape (nv,)
        Rotor inertias that the model counts.
    bodies : tuple of int
        Node of each body.
    gravity : ndarray, shape (3,)
        Acceleration of free fall in the world frame [m/s^2].
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    q_slices: tuple[slice, ...]
    v_slices: tuple[slice, ...]
    screws: tuple[Array, ...]
    home: Array
    inertias: Array
    armature: Array
    bodies: tuple[int, ...]
    gravity: Array

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.q_slices[-1].stop if self.q_slices else 0

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return self.v_slices[-1].stop if self.v_slices else 0

    @property
    def body_screws(self) -> tuple[Array, ...]:
        """S_i = Ad_{M_i^-1} A_i, seen from the node's own frame. PBP (23)."""
        inverse = se3.Ad(se3.inverse(self.home))
        return tuple(np.asarray(Ad @ A) for Ad, A in zip(inverse, self.screws, strict=True))

    def path(self, node: int) -> list[int]:
        """Return the nodes from the base to `node`, it included."""
        path = []
        while node >= 0:
            path.append(node)
            node = self.parents[node]
        return path[::-1]

    def node(self, body: str | int) -> int:
        """Return the node of a body, given by index or name.

        Raises
        ------
        InputError
            If there is no such body; the message lists those there are.
        """
        names = [self.names[i] for i in self.bodies]
        if isinstance(body, str) and body in names:
            return self.bodies[names.index(body)]
        if not isinstance(body, str) and 0 <= body < len(self.bodies):
            return self.bodies[body]
        raise InputError(f"no body {body!r}; there are {names}", name=str(body), expected="a body")

    def require_axes(self, what: str) -> None:
        """Raise a DescriptionError that names a ball or free joint, if there is one."""
        for name, screws in zip(self.names, self.screws, strict=True):
            if screws.shape[1] != 1:
                raise DescriptionError(
                    f"body {name!r}: {what} needs joints made of axes, this body is on a ball or free joint", name=name
                )

    @classmethod
    def from_model(cls, model: Model) -> ScrewTree:
        """Return the screws and home poses of a model.

        Raises
        ------
        DescriptionError
            For a user-defined joint, whose motion is no exponential, or a coupled one; names it.
        """
        require_screws(model, "a product of exponentials")
        require_independent(model, "a product of exponentials")
        node_of = {-1: -1}  # last node of each body
        home_of: dict[int, Array] = {-1: np.eye(4)}
        names: list[str] = []
        parents: list[int] = []
        q_slices: list[slice] = []
        v_slices: list[slice] = []
        screws: list[Array] = []
        home: list[Array] = []
        inertias: list[Array] = []
        for joint in model.joints:
            above = model.frames[joint.parent_body].body
            parent, M = node_of[above], np.asarray(home_of[above] @ get_placement(model.table, joint))
            home_of[joint.index] = M
            steps = [np.concatenate([s.rotation * np.array(s.axis), s.translation * np.array(s.axis)])[:, None]
                     for s in joint.type.steps]  # fmt: skip
            if joint.kind in ("spherical", "free"):
                steps = [np.eye(6)[:, : joint.type.nv]]
            q, v = joint.q_slice.start, joint.v_slice.start
            for number, S in enumerate(steps):
                last = number == len(steps) - 1
                names.append(joint.body if last else f"{joint.body}[{number}]")
                parents.append(parent)
                parent = len(names) - 1
                size_q, size_v = (1, 1) if joint.type.steps else (joint.type.nq, joint.type.nv)
                q_slices.append(slice(q, q + size_q))
                v_slices.append(slice(v, v + size_v))
                q, v = q + size_q, v + size_v
                screws.append(se3.Ad(M) @ S)
                home.append(M)
                inertias.append(model.inertia(joint.index).matrix() if last else np.zeros((6, 6)))
            node_of[joint.index] = parent
        if model.actuation_terms is not None and model.actuation_terms.free_rotors:
            raise DescriptionError("armature along the position of a free joint: zero is expected in the reference")
        return cls(
            tuple(names), tuple(parents), tuple(q_slices), tuple(v_slices), tuple(screws),
            np.array(home).reshape(-1, 4, 4), np.array(inertias).reshape(-1, 6, 6),
            model.rows[1:, layout.ARMATURE].copy(), tuple(node_of[b] for b in range(model.n_bodies)), model.gravity,
        )  # fmt: skip

    @classmethod
    def from_screws(
        cls,
        screws: ArrayLike,
        home: ArrayLike,
        inertias: Sequence[SpatialInertia] | None = None,
        parents: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
    ) -> ScrewTree:
        """Return the tree of bodies on axes with the given screws, as textbooks give them.

        Parameters
        ----------
        screws : array-like, shape (n, 6)
            A_i, angular part first, seen from the world at q = 0 [rad/rad, m/rad or m/m].
        home : array-like, shape (n, 4, 4)
            M_i, pose of each body at q = 0 [m].
        inertias : sequence of SpatialInertia, optional
            In the bodies' frames; massless when left out.
        parents : sequence of int, optional
            Body that each one moves on, -1 for the world; a chain when left out.
        names : sequence of str, optional
            Names of the bodies; "body 0" and so on when left out.
        gravity : array-like, shape (3,)
            Acceleration of free fall [m/s^2].

        Raises
        ------
        InputError, GroupError
            For wrong shapes, a screw of zero, parents that do not come first, or homes that are no rigid motions.
        """
        A, M = as_real(screws, (6,), "screws"), se3.check(home, "home")
        n = len(A)
        if A.shape != (n, 6) or M.shape != (n, 4, 4):
            raise InputError(f"screws and home: (n, 6) and (n, 4, 4) are expected, got {A.shape} and {M.shape}")
        above = tuple(range(-1, n - 1)) if parents is None else tuple(int(p) for p in parents)
        if len(above) != n or any(not -1 <= p < i for i, p in enumerate(above)):
            raise InputError(f"parents: each of {n} bodies on one before it, or -1, is expected, got {above}")
        for i, screw in enumerate(A):
            if not screw.any():
                raise InputError(f"screws: the screw of body {i} is zero", name="screws", value=screw)
        J = np.zeros((n, 6, 6)) if inertias is None else np.array([inertia.matrix() for inertia in inertias])
        labels = tuple(f"body {i}" for i in range(n)) if names is None else tuple(names)
        if len(J) != n or len(set(labels)) != n:
            raise InputError(f"inertias and names: {n} of each, names all different, are expected")
        slices = tuple(slice(i, i + 1) for i in range(n))
        columns = tuple(a[:, None] for a in A)
        return cls(labels, above, slices, slices, columns, M, J, np.zeros(n), tuple(range(n)),
                   as_real(gravity, (3,), "gravity"))  # fmt: skip

    def to_model(self, name: str = "robot") -> Model:
        """Return the model with these screws, home poses and inertias, same coordinates in the same order.

        Every node becomes a joint of its own. A body whose frame is not on its axis is carried by a further frame that
        is, called "<name> axis", and its own frame is found under its name.

        The same robot, so the same dynamics. Ploen (37) depends on the origins of the frames: `coriolis_matrix` of this
        model by "ploen" is that of the frames on the axes, not `ploen_matrices(self, ...).skew_coriolis()`.
        """
        builder = ModelBuilder(self.gravity, judge_inertias=False)
        for i, (label, S) in enumerate(zip(self.names, self.body_screws, strict=True)):
            parent = None if self.parents[i] < 0 else self.names[self.parents[i]]
            above = np.eye(4) if self.parents[i] < 0 else self.home[self.parents[i]]
            placement, on_axis = se3.inverse(above) @ self.home[i], np.eye(4)
            if S.shape[1] == 3:
                kind = spherical()
            elif S.shape[1] == 6:
                kind = free()
            else:
                kind, on_axis = _axis_joint(S[:, 0])
            inertia = SpatialInertia.from_matrix(self.inertias[i])
            armature = self.armature[self.v_slices[i]]
            if not on_axis[:3, 3].any():
                builder.add(label, parent, kind, placement, inertia, armature=armature)
                continue
            moved = inertia.transformed(se3.inverse(on_axis))
            builder.add(f"{label} axis", parent, kind, placement @ on_axis, moved, label, armature=armature)
            builder.add(label, f"{label} axis", placement=se3.inverse(on_axis))
        return builder.build(name).with_joint_terms(armature=bool(self.armature.any()))


def _axis_joint(S: Array) -> tuple[JointType, Array]:
    """Return the joint with screw S in the body frame, and a frame on its axis seen from the body frame."""
    w, v, frame = S[:3], S[3:], np.eye(4)
    rate = float(np.linalg.norm(w))
    if rate == 0.0:
        size = float(np.linalg.norm(v))
        return _joint("prismatic", v / size, 0.0, size), frame
    offset = np.cross(w, v) / rate**2
    if np.linalg.norm(offset) > 1e-12:
        frame[:3, 3] = offset
    along = float(w @ v) / rate
    return _joint("helical" if along != 0.0 else "revolute", w / rate, rate, along), frame


def _joint(kind: str, axis: Array, rotation: float, translation: float) -> JointType:
    x, y, z = (float(c) for c in axis)
    return JointType(kind, (Step((x, y, z), rotation, translation),), 1, 1)
