"""A tree with ball and free joints among others, as the tests of this folder use it."""

import numpy as np
from support.sample_trees import branched, to_model


def tree():
    kinds = ["free", "revolute", "spherical", "prismatic", "universal"]
    return to_model(branched(np.random.default_rng(3), kinds, [None, 0, 1, 2, 2]))


def normalized(model, q):
    """Configurations whose quaternions have length 1."""
    q = np.array(q)
    for joint in model.joints:
        if joint.kind in ("free", "spherical"):
            part = q[..., joint.q_slice][..., :4]
            part /= np.linalg.norm(part, axis=-1, keepdims=True)
    return q


def states(model, rng, *batch):
    q = np.array([model.random(rng) for _ in range(int(np.prod(batch)))]).reshape(*batch, model.nq)
    return q, *rng.normal(size=(2, *batch, model.nv))
