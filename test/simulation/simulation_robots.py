"""Robots for the tests of the integrators, and a reference solution that knows only forward dynamics."""

from functools import cache

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from support import sample_trees

from lie_dynamics_ros.lie_dynamics import ModelBuilder, SpatialInertia, forward_dynamics, joint_types

KINDS = ["revolute", "spherical", "prismatic", "universal", "free", "planar", "helical", "cylindrical"]


@cache
def mixed_tree(seed=3):
    """A branched tree with joints of many kinds, on the world."""
    rng = np.random.default_rng(seed)
    return sample_trees.to_model(sample_trees.branched(rng, KINDS, [None, 0, 1, 1, 3, 0, 5, 2]))


@cache
def floating_tree(seed=5):
    """A tree of eight bodies that nothing holds, without gravity."""
    rng = np.random.default_rng(seed)
    kinds = ["free", "revolute", "spherical", "universal", "planar"]
    return sample_trees.to_model(sample_trees.branched(rng, kinds, [None, 0, 0, 2, 1])).with_gravity((0, 0, 0))


def state(model, seed, speed=1.0):
    rng = np.random.default_rng(seed)
    return model.random(rng), speed * rng.normal(size=model.nv)


def slider(mass=2.0, gravity=(0, 0, 0)):
    """A mass on a rail."""
    box = SpatialInertia(mass, np.zeros(3), np.eye(3))
    return ModelBuilder(gravity).add("box", joint=joint_types.prismatic([1, 0, 0]), inertia=box).build("slider")


def pendulum(links=2):
    """A chain of point-like masses on hinges, swinging in a plane."""
    rod = SpatialInertia(1.0, [0.0, 0.0, -0.5], np.diag([1.0, 1.0, 0.01]) / 12)
    builder, parent, at = ModelBuilder((0, 0, -9.81)), None, np.eye(4)
    for k in range(links):
        builder.add(f"rod {k}", parent, joint_types.revolute([0, 1, 0]), at, rod)
        parent, at = f"rod {k}", np.eye(4)
        at[2, 3] = -1.0
    return builder.build("pendulum")


def rates(model, q, qd):
    """dq/dt: quaternions by their differential equation, q (w, 0) / 2, positions by R v."""
    dq = np.zeros(model.nq)
    for joint in model.joints:
        x, v = q[joint.q_slice], qd[joint.v_slice]
        if joint.kind not in ("spherical", "free"):
            dq[joint.q_slice] = v
            continue
        w, (a, b, c, d) = v[:3], x[:4]
        turned = 0.5 * np.array([d * w[0] + b * w[2] - c * w[1], d * w[1] + c * w[0] - a * w[2],
                                 d * w[2] + a * w[1] - b * w[0], -a * w[0] - b * w[1] - c * w[2]])  # fmt: skip
        dq[joint.q_slice] = turned if joint.kind == "spherical" else [*turned, *Rotation.from_quat(x[:4]).apply(v[3:])]
    return dq


def normalised(model, q):
    q = q.copy()
    for joint in model.joints:
        if joint.kind in ("spherical", "free"):
            s = slice(joint.q_slice.start, joint.q_slice.start + 4)
            q[s] /= np.linalg.norm(q[s])
    return q


def reference(model, q, qd, duration, tau):
    """The state at the end, by DOP853 at the tolerance of round-off."""

    def slope(_t, y):
        x, v = normalised(model, y[: model.nq]), y[model.nq :]
        return np.concatenate([rates(model, x, v), forward_dynamics(model, x, v, tau)])

    y = solve_ivp(slope, (0.0, duration), np.concatenate([q, qd]), "DOP853", rtol=2.3e-14, atol=1e-14).y[:, -1]
    return normalised(model, y[: model.nq]), y[model.nq :]
