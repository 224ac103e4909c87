"""Rotation vectors and twists on which closed forms and series are known to go wrong."""

import numpy as np

KINDS = ("uniform", "tangent", "near identity", "identity", "near pi", "exactly pi")
BATCHES = ((), (1,), (3,), (2, 3))


def directions(rng, batch):
    x = rng.normal(size=(*batch, 3))
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def rotation_vectors(kind, batch, rng):
    """Angles up to pi; on purpose very close to 0 and to pi."""
    axis = directions(rng, batch)
    exponent = rng.uniform(-12, -3, size=(*batch, 1))
    angle = {
        "uniform": rng.uniform(0.0, np.pi, size=(*batch, 1)),
        "tangent": np.minimum(np.abs(rng.normal(size=(*batch, 1))), np.pi - 0.1),
        "near identity": 10.0**exponent,
        "identity": np.zeros((*batch, 1)),
        "near pi": np.pi - 10.0**exponent,
        "exactly pi": np.full((*batch, 1), np.pi),
    }[kind]
    return angle * axis


def twists(kind, batch, rng):
    w = rotation_vectors(kind, batch, rng)
    scale = 10.0 ** rng.uniform(-3, 2) if kind != "identity" else 1.0
    return np.concatenate([w, scale * rng.normal(size=(*batch, 3))], axis=-1)


def distance(actual, expected):
    """Largest difference, relative to the largest expected entry."""
    expected = np.asarray(expected)
    return np.abs(np.asarray(actual) - expected).max() / max(np.abs(expected).max(), np.finfo(float).tiny)
