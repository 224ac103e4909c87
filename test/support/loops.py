"""Loops for tests: between random bodies of a sample tree, with random placements."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.lie_dynamics import Loop
from lie_dynamics_ros.lie_dynamics.constraints.kinds import SIZES, WITH_AXIS, WITH_SECOND_AXIS

from .sample_trees import unit


def random_pose(rng):
    T = np.eye(4)
    T[:3, :3] = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
    T[:3, 3] = rng.uniform(-0.5, 0.5, 3)
    return T


def random_loop(rng, kind, first, second, name=""):
    axis = unit(rng) if kind in WITH_AXIS and kind != "welded_in_plane" else None
    return Loop(
        kind,
        first,
        second,
        name=name or kind,
        axis=axis,
        second_axis=unit(rng) if kind in WITH_SECOND_AXIS else None,
        length=0.6 if kind == "distance" else None,
        first_placement=random_pose(rng),
        second_placement=random_pose(rng),
    )


def random_loops(rng, tree):
    """One loop of each kind between random bodies, some of them the world."""
    loops = []
    for k, kind in enumerate(SIZES):
        a, b = rng.choice(tree.moving, 2, replace=False).tolist()
        loops.append(random_loop(rng, kind, *((a, "world"), ("world", b), (a, b))[k % 3]))
    return loops
