"""One robot in worlds that differ by where it stands, how it is turned, and the unit of length.

What a function returns in another world is brought back to the first by `World.back`. Distances and places are binary
fractions short enough that moving them loses no digit: what differs afterwards was lost by the function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.lie_dynamics import ConstraintSet, Loop

from .dense import Body, Tree
from .sample_trees import branched, to_model

#: Robots: kinds of joints, and the index of each one's parent (None: world).
ROBOTS = {
    "fixed": (["revolute", "prismatic", "universal", "helical", "revolute"], [None, 0, 1, 0, 2]),
    "planar": (["planar_downwards", "revolute", "prismatic", "cylindrical", "revolute"], [None, 0, 1, 0, 2]),
    "floating": (["free", "revolute", "prismatic", "spherical", "revolute"], [None, 0, 1, 0, 2]),
    "user's": (["revolute", "custom_rail", "custom_ball", "planar", "prismatic", "revolute"], [None, 0, 1, 0, 2, 4]),
    "several": (
        ["revolute", "free", "prismatic", "planar_downwards", "revolute", "revolute", "spherical", "cylindrical"],
        [None, None, None, None, 0, 1, 2, 3],
    ),
}


def short(x):
    """Round to multiples of 2^-16."""
    return np.round(np.asarray(x) * 2.0**16) / 2.0**16


def power_of_two(x):
    return 2.0 ** np.round(np.log2(x))


@dataclass
class World:
    """A robot, its states and loops; what of it is R x + shift, in units of length 1 / `scale`, elsewhere.

    Attributes
    ----------
    d : ndarray, shape (nv,)
        Velocities here for velocities of one there: the scale for slides, else 1.
    """

    model: object
    constraints: ConstraintSet
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    f_ext: np.ndarray
    d: np.ndarray
    R: np.ndarray
    shift: np.ndarray
    scale: float

    def back(self, x, axes="", power=2, turn=False):
        """Return an array brought back, whose trailing axes are named and which is times length^power as a whole.

        u: a lower index of coordinates, v: an upper one, t: twist, f: wrench, p: inertial parameters, 3: vector,
        b: bodies, s: scalars of constraints. With `turn` an axis t, f or 3 is seen from the world's axes.
        """
        x, s = np.array(x, dtype=float), self.scale
        assert x.ndim == len(axes), (x.shape, axes)
        weights = {
            "u": self.d, "v": 1.0 / self.d, "t": np.repeat([1.0, 1.0 / s], 3), "f": np.repeat([1.0 / s, 1.0], 3),
            "3": np.ones(3), "b": np.ones(1), "s": np.ones(1),
            "p": np.tile([1.0, *[s] * 3, *[s**2] * 6], x.shape[-1] // 10) if "p" in axes else None,
        }  # fmt: skip
        for k, name in enumerate(axes):
            x = np.moveaxis(np.moveaxis(x, k, -1) * weights[name], -1, k)
            if turn and name in "tf3":
                y = np.moveaxis(x, k, -1)
                x = np.moveaxis((y.reshape(*y.shape[:-1], -1, 3) @ self.R).reshape(y.shape), -1, k)
        return x / s**power

    def place(self, p):
        """Return a place (..., 3) seen from the first world."""
        return (p - self.shift) @ self.R / self.scale


def _scaled(joint_type, scale):
    steps = tuple(replace(s, translation=s.translation * scale) if s.rotation else s for s in joint_type.steps)
    return replace(joint_type, steps=steps)


def here(name, rng):
    """A robot where it was made: its tree, and what belongs to it."""
    kinds, parents = ROBOTS[name]
    tree = branched(rng, kinds, parents)
    for k, b in enumerate(tree.bodies):
        b.placement[:3, 3] = short(b.placement[:3, 3]) + (parents[k] is None) * 4.0 * k
        if parents[k] is None and kinds[k] in ("free", "planar_downwards"):  # moved by their coordinates
            b.placement[:3, :3] = np.eye(3)
            b.placement[:3, 3] *= kinds[k] != "free"
    q, n = tree.random(rng), len(tree.moving)
    for b, (i, _) in zip(tree.bodies, tree.parts, strict=True):
        if b.parent is None and b.joint_type.kind == "free":
            q[i][4:] = short(q[i][4:])
        elif b.parent is None and b.joint_type.kind != "spherical":
            q[i] = short(q[i])
    return tree, q, rng.normal(size=(3, tree.nv)), rng.normal(size=(n, 6)), rng.uniform(-0.5, 0.5, (2, 3))


def elsewhere(made, R=None, shift=(0.0, 0.0, 0.0), scale=1.0):
    """The same robot in another world: turned by R, in another unit of length, then moved by `shift`."""
    tree, q, (qd, qdd, tau), f_ext, places = made
    R, shift, q = np.eye(3) if R is None else R, np.asarray(shift), q.copy()
    d, bodies = np.ones(tree.nv), []
    for b, (i, k) in zip(tree.bodies, tree.parts, strict=True):
        placement = b.placement.copy()
        placement[:3, 3] *= scale
        for number, step in enumerate(b.joint_type.steps):
            if step.rotation == 0.0:
                d[k.start + number] = scale
                q[i.start + number] *= scale
        if b.joint_type.kind == "free":
            q[i][4:] *= scale
            d[k][3:] = scale
        if b.parent is None:
            if b.joint_type.kind == "free":
                q[i][:4] = (Rotation.from_matrix(R) * Rotation.from_quat(q[i][:4])).as_quat()
                q[i][4:] = R @ q[i][4:] + shift
            else:
                placement[:3, :3], placement[:3, 3] = R @ b.placement[:3, :3], R @ placement[:3, 3] + shift
            if b.joint_type.kind == "planar":  # moved by its coordinates, as far as they go
                along = placement[:3, :3].T @ shift * [1.0, 1.0, 0.0]
                q[i][:2] += along[:2] * [1.0, -1.0]
                placement[:3, 3] -= placement[:3, :3] @ along
        inertia, com = b.inertia * scale**2, b.com * scale
        bodies.append(Body(b.name, b.parent, placement, b.motion, b.mass, com, inertia, _scaled(b.joint_type, scale)))
    model = to_model(Tree(bodies, R @ tree.gravity * scale))
    on_body, in_world, tip, side = (np.eye(4) for _ in range(4))
    on_body[:3, 3], tip[:3, 3], side[:3, 3] = places[0] * scale, places[1] * scale, places[1, ::-1] * scale
    in_world[:3, :3], in_world[:3, 3] = R, R @ short(places[1]) * scale + shift
    a, b = tree.moving[0], tree.moving[-1]
    loops = [
        Loop("spherical", a, b, first_placement=on_body, second_placement=side, name="within"),
        Loop("point_in_plane", "world", b, name="ground", axis=[1.0, 2.0, 2.0], first_placement=in_world,
             second_placement=tip),
    ]  # fmt: skip
    wrench = np.concatenate([f_ext[:, :3] * scale**2, f_ext[:, 3:] * scale], axis=1)
    force = tau * scale**2 / d
    return World(model, ConstraintSet(model, loops), q, qd * d, qdd * d, force, wrench, d, R, shift, scale)
