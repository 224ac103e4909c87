"""Robots whose parameters are known, what somebody guesses of them, and motions."""

import numpy as np
from support.sample_trees import branched, to_model

from lie_dynamics_ros.lie_dynamics import (
    ModelBuilder,
    SpatialInertia,
    joint_types,
)


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
