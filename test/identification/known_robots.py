"""Robots whose parameters are known, what somebody guesses of them, and motions."""

import numpy as np
from support.sample_trees import branched, to_model

from lie_dynamics_ros.lie_dynamics import ModelBuilder, SpatialInertia, inverse_dynamics, joint_types

LINK = (
    '<link name="{0}"><inertial><origin xyz="{1}"/><mass value="{2}"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.002" ixz="-0.001" iyz="0.003"/></inertial></link>'
)
JOINT = (
    '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="{3}"/><axis xyz="{4}"/>'
    '<limit lower="-2.5" upper="2.5" effort="50" velocity="3"/></joint>'
)
ARM = "<robot name='arm'><link name='base'/>" + "".join(
    [LINK.format("a", "0.05 0.02 0.1", 3.0), LINK.format("b", "0.2 0.03 0", 2.0), LINK.format("c", "0.1 0 0.04", 1.0),
     JOINT.format("turn", "base", "a", "0 0 0.2", "0 0 1"), JOINT.format("lift", "a", "b", "0 0.1 0.1", "0 1 0"),
     JOINT.format("bend", "b", "c", "0.4 0 0", "0 1 0.2")]) + "</robot>"  # fmt: skip


def planar_arm(length=1.0, gravity=(0.0, -9.81, 0.0)):
    rod, place = SpatialInertia(1.0, [0.5, 0.0, 0.0], np.diag([0.0, 1.0, 1.0]) / 12.0), np.eye(4)
    place[0, 3] = length
    builder = ModelBuilder(gravity=gravity).add("a", None, joint_types.revolute(), inertia=rod)
    return builder.add("b", "a", joint_types.revolute(), place, rod).build("2R")


def tree_of(kinds, seed, massless=()):
    rng = np.random.default_rng(seed)
    parents = [None, *range(len(kinds) - 1)]
    tree = branched(rng, kinds, parents, massless)
    return tree, to_model(tree)


def guess_of(model, rng, spread=0.4):
    """The model with other inertias."""
    for k, name in enumerate(model.body_names):
        own = model.inertia(k)
        if own.mass:
            mass, com = own.mass * np.exp(spread * rng.normal()), own.com + 0.05 * spread * rng.normal(size=3)
            model = model.with_inertia(name, SpatialInertia(mass, com, own.inertia * np.exp(spread * rng.normal())))
    return model


def all_parameters(model, *coefficients):
    own = [model.inertia(b).parameters() for b in range(model.n_bodies)]
    return np.concatenate([np.ravel(own), *coefficients])


def random_motion(model, rng, count):
    q = np.array([model.random(rng) for _ in range(count)])
    return q, *rng.uniform(-2.0, 2.0, (2, count, model.nv))


def waves(rng, time, n, frequencies, sizes):
    """Positions, rates, accelerations (k, n): sums of sines, of frequencies (m,) [Hz] and sizes (m, 1, 1 or n)."""
    rate = 2.0 * np.pi * np.array(frequencies)[:, None, None]
    angle = rate * time[:, None] + rng.uniform(0.0, 6.0, (len(frequencies), 1, n))
    return [(sizes * x).sum(axis=0) for x in (np.sin(angle), rate * np.cos(angle), -(rate**2) * np.sin(angle))]


FREQUENCIES, SIZES = (0.13, 0.29, 0.47), np.array([0.6, 0.4, 0.3])[:, None, None]


def recording(model, rng, seconds=10.0, size=1.0):
    """Times, positions and noisy efforts, with friction."""
    time = np.arange(0.0, seconds, 0.005)
    q, qd, qdd = waves(rng, time, model.nv, FREQUENCIES, size * SIZES)
    tau = inverse_dynamics(model, q, qd, qdd) + 0.3 * qd + 0.5 * np.tanh(qd / 0.02)
    return time, q, tau + 0.05 * rng.normal(size=tau.shape)
