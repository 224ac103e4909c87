"""Library: largest errors of dynamics against 200-bit arithmetic, beside Pinocchio and MuJoCo.

Each library is judged by the numbers that it keeps itself: what it rounded when it read the robot is no error here. An
error is the largest one of a vector relative to its largest entry; the figure is the largest over random states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.lie_dynamics import (
    Model,
    ModelBuilder,
    SpatialInertia,
    forward_dynamics,
    inverse_dynamics,
    joint_types,
)
from lie_dynamics_ros.lie_dynamics.model import layout

from ..results import Figure
from . import _exact as exact
from .library_bench import PANDA, Array

GRAVITY = (0.0, 0.0, -9.81)
#: Its data hold four tables of nv^3 numbers, 32 GB for 1000 bodies.
MOST_FOR_PINOCCHIO = 300
Links = list[exact.Link]


def random_tree(count: int, reach: int, masses: Callable[[np.random.Generator], float], seed: int) -> Model:
    """Bodies on hinges, each on one of the `reach` bodies before it; inertias of six random points."""
    rng, builder = np.random.default_rng(seed), ModelBuilder(GRAVITY)
    for k in range(count):
        points, weights = rng.uniform(-0.2, 0.2, (6, 3)), rng.uniform(0.1, 1.0, 6)
        weights *= masses(rng) / weights.sum()
        mass, com = weights.sum(), weights @ points / weights.sum()
        away = points - com
        inertia = np.einsum("k,kab->ab", weights, (away**2).sum(1)[:, None, None] * np.eye(3))
        inertia -= np.einsum("k,ka,kb->ab", weights, away, away)
        placement = np.eye(4)
        placement[:3, :3] = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
        placement[:3, 3] = rng.uniform(-0.3, 0.3, 3)
        parent = None if k == 0 else f"body {rng.integers(max(0, k - reach), k)}"
        builder.add(f"body {k}", parent, joint_types.revolute(), placement, SpatialInertia(mass, com, inertia))
    return builder.build("tree")


def our_links(model: Model) -> Links:
    links = []
    for row in model.rows[1:]:
        assert row[layout.KIND] == layout.AXIS
        assert (row[layout.AXIS_W], row[layout.AXIS_V]) == (1.0, 0.0)
        about = np.empty((3, 3))
        about[np.triu_indices(3)] = row[layout.INERTIA : layout.INERTIA + 6]
        about.T[np.triu_indices(3)] = row[layout.INERTIA : layout.INERTIA + 6]
        R = exact.exact(row[layout.PLACEMENT : layout.PLACEMENT + 9].reshape(3, 3))
        p, h = (exact.exact(row[k : k + 3]) for k in (layout.ORIGIN, layout.MOMENT))
        mass = exact.mpmath.mpf(float(row[layout.MASS]))
        links.append(exact.Link(int(row[layout.PARENT]) - 1, R, p, mass, h, exact.exact(about)))
    return links


def figures_of(model: Model) -> list[tuple[int, Array, Array, float, Array, Array]]:
    """Parent, rotation, origin, mass, centre and inertia about it of each body, to make it anew elsewhere."""
    found = []
    for row in model.rows[1:]:
        mass, h = row[layout.MASS], row[layout.MOMENT : layout.MOMENT + 3]
        upper = row[layout.INERTIA : layout.INERTIA + 6]
        about = np.array([upper[[0, 1, 2]], upper[[1, 3, 4]], upper[[2, 4, 5]]])
        center = h / mass
        inertia = about - mass * ((center @ center) * np.eye(3) - np.outer(center, center))
        R = row[layout.PLACEMENT : layout.PLACEMENT + 9].reshape(3, 3)
        p = row[layout.ORIGIN : layout.ORIGIN + 3]
        found.append((int(row[layout.PARENT]) - 1, R, p, float(mass), center, inertia))
    return found


class OfPinocchio:
    def __init__(self, model: Model) -> None:
        self.model = pin.Model()
        self.model.gravity.linear = np.array(GRAVITY)
        for k, (parent, R, p, mass, center, inertia) in enumerate(figures_of(model)):
            joint = self.model.addJoint(parent + 1, pin.JointModelRZ(), pin.SE3(R, p), f"joint {k}")
            self.model.appendBodyToJoint(joint, pin.Inertia(mass, center, inertia), pin.SE3.Identity())
        self.data = self.model.createData()

    def links(self) -> Links:
        found = []
        for k in range(1, self.model.njoints):
            place, body = self.model.jointPlacements[k], self.model.inertias[k]
            R, inertia = exact.exact(place.rotation), exact.exact(body.inertia)
            found.append(
                exact.Link.about_center(self.model.parents[k] - 1, R, place.translation, body.mass, body.lever, inertia)
            )
        return found

    def inverse(self, q: Array, qd: Array, qdd: Array) -> Array:
        return np.array(pin.rnea(self.model, self.data, q, qd, qdd))

    def forward(self, q: Array, qd: Array, tau: Array) -> Array:
        return np.array(pin.aba(self.model, self.data, q, qd, tau))


class OfMujoco:
    def __init__(self, model: Model) -> None:
        spec = mujoco.MjSpec()
        spec.option.gravity = GRAVITY
        spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
        spec.compiler.balanceinertia = False
        bodies = [spec.worldbody]
        for parent, R, p, mass, center, inertia in figures_of(model):
            quat = Rotation.from_matrix(R).as_quat()[[3, 0, 1, 2]]
            body = bodies[parent + 1].add_body(name=f"body {len(bodies)}", pos=p, quat=quat)
            body.explicitinertial, body.mass, body.ipos = True, mass, center
            body.fullinertia = [inertia[k] for k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
            body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
            bodies.append(body)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        names = [f"body {k}" for k in range(1, len(bodies))]
        self.ids = [self.model.body(name).id for name in names]
        self.order = np.array([self.model.body(name).jntadr[0] for name in names])

    def links(self) -> Links:
        m, number = self.model, {body: k for k, body in enumerate(self.ids)}
        found = []
        for body in self.ids:
            turn = _rotation(m.body_iquat[body])
            inertia = turn @ np.diag(exact.exact(m.body_inertia[body])) @ turn.T
            parent = number.get(int(m.body_parentid[body]), -1)
            R = _rotation(m.body_quat[body])
            found.append(
                exact.Link.about_center(parent, R, m.body_pos[body], m.body_mass[body], m.body_ipos[body], inertia)
            )
        return found

    def _set(self, q: Array, qd: Array) -> None:
        self.data.qpos[self.order], self.data.qvel[self.order] = q, qd

    def inverse(self, q: Array, qd: Array, qdd: Array) -> Array:
        self._set(q, qd)
        self.data.qacc[self.order] = qdd
        mujoco.mj_inverse(self.model, self.data)
        return np.array(self.data.qfrc_inverse[self.order])

    def forward(self, q: Array, qd: Array, tau: Array) -> Array:
        self._set(q, qd)
        self.data.qfrc_applied[self.order] = tau
        mujoco.mj_forward(self.model, self.data)
        return np.array(self.data.qacc[self.order])


def _rotation(quaternion: Array) -> Any:
    w, x, y, z = exact.exact(quaternion)
    s = 2 / (w * w + x * x + y * y + z * z)
    one = exact.mpmath.mpf(1)
    return np.array(
        [
            [one - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
            [s * (x * y + w * z), one - s * (x * x + z * z), s * (y * z - w * x)],
            [s * (x * z - w * y), s * (y * z + w * x), one - s * (x * x + y * y)],
        ],
        dtype=object,
    )


def subjects() -> dict[str, tuple[Model, int, float]]:
    """Name -> robot, number of states, size of the angles [rad]."""
    panda = Model.from_urdf(PANDA)
    return {
        "Panda": (panda, 20, 3.0),
        "tree of 30 joints": (random_tree(30, 6, lambda rng: 1.0, 1), 8, 3.0),
        "300 bodies": (random_tree(300, 20, lambda rng: 1.0, 4), 1, 3.0),
        "1000 bodies": (random_tree(1000, 20, lambda rng: 1.0, 2), 1, 3.0),
        "mass ratios of 1e9": (random_tree(12, 4, lambda rng: 10.0 ** rng.choice([-6.0, 3.0]), 3), 10, 3.0),
        "angles of 1e6 rad": (panda, 20, 1e6),
    }


def run() -> tuple[list[Figure], Any]:
    """Measure."""
    figures, raw = [], {}
    for name, (model, count, size) in subjects().items():
        rng = np.random.default_rng(0)
        q = rng.uniform(-size, size, (count, model.nv))
        qd, command = rng.normal(size=(2, count, model.nv))
        ours = our_links(model)
        theirs: dict[str, Any] = {"MuJoCo": OfMujoco(model)}
        if model.nv <= MOST_FOR_PINOCCHIO:
            theirs["Pinocchio"] = OfPinocchio(model)
        own = {label: other.links() for label, other in theirs.items()}
        singles: dict[str, Any] = {"inverse": inverse_dynamics, "forward": forward_dynamics}
        batches = {what: function(model, q, qd, command) for what, function in singles.items()}
        judges = {"inverse": exact.inverse_dynamics, "forward": exact.forward_dynamics}
        for what, judge in judges.items():
            worst = dict.fromkeys(("ours, single", "ours, batch", *theirs), 0.0)
            for k in range(count):
                state = q[k], qd[k], command[k]
                wanted = judge(ours, *state, GRAVITY)
                found = {"ours, single": singles[what](model, *state), "ours, batch": batches[what][k]}
                for label, value in found.items():
                    worst[label] = max(worst[label], exact.relative_error(value, wanted))
                for label, other in theirs.items():
                    value = getattr(other, what)(*state)
                    error = exact.relative_error(value, judge(own[label], *state, GRAVITY))
                    worst[label] = max(worst[label], error)
            raw[f"{name}, {what} dynamics"] = worst
            for label, error in worst.items():
                figures.append(Figure(f"{name}, {what} dynamics: {label}", error, "relative error"))
    return figures, raw
