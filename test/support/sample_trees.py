"""Trees of bodies for tests, each as a `dense.Tree` and as a Model made from the same figures."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lie_dynamics_ros.lie_dynamics import ModelBuilder, SpatialInertia, joint_types

from .dense import Body, Tree
from .motions import Ball, Curve, Floating, Screws, inverse, screw, vee

X, Y, Z, NONE = np.eye(3)[0], np.eye(3)[1], np.eye(3)[2], np.zeros(3)


def unit(rng):
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def turning(axis):
    return np.concatenate([axis, NONE])


def sliding(axis):
    return np.concatenate([NONE, axis])


def smallest_rotation(n):
    """The smallest rotation that takes z to n."""
    axis = np.cross(Z, n)
    if not axis.any():
        return np.eye(3) if n[2] > 0 else np.diag([1.0, -1.0, -1.0])
    angle = np.arctan2(np.linalg.norm(axis), n[2])
    return Rotation.from_rotvec(axis / np.linalg.norm(axis) * angle).as_matrix()


@lru_cache(5000, typed=True)  # a complex number may be equal to a real one
def rail(q):
    """A bent rail with a twist along it: T(q), dT/dq, d2T/dq2."""
    x = turning(np.array([0.6, 0.0, 0.8]))
    R, K = screw(x, np.sin(q)), np.zeros((4, 4))
    K[:3, :3] = [[0, -0.8, 0], [0.8, 0, -0.6], [0, 0.6, 0]]
    c, s = np.cos(q), np.sin(q)
    T, T1, T2 = R.copy(), R @ K * c, R @ (K @ K * c**2 - K * s)
    T[:3, 3] = c, s, 0.3 * q**2
    T1[:3, 3] = -s, c, 0.6 * q
    T2[:3, 3] = -c, -s, 0.6
    for x in (T, T1, T2):
        x.flags.writeable = False
    return T, T1, T2


def _rail_type():
    def subspace(q):
        T, T1, _ = rail(q[0])
        return vee(inverse(T) @ T1)[:, None]

    def rate(q, qd):
        T, T1, T2 = rail(q[0])
        Z = inverse(T) @ T1
        return (vee(inverse(T) @ T2 - Z @ Z) * qd[0])[:, None]

    return joint_types.custom(1, lambda q: rail(q[0])[0], subspace, rate)


def _adjoint_inverse(T):
    R, p = T[:3, :3].T, T[:3, 3]
    out = np.zeros((6, 6), T.dtype)
    out[:3, :3] = out[3:, 3:] = R
    out[3:, :3] = -R @ np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    return out


PERMUTATIONS = np.array([[[(i - j) * (j - k) * (k - i) / 2 for k in range(3)] for j in range(3)] for i in range(3)])
"""By which vectors are multiplied crosswise."""


def custom_of_screws(twists):
    """A user-defined joint whose functions multiply exponentials; of each q they are computed once."""
    twists = np.atleast_2d(twists)

    def transform(q):
        T = np.eye(4)
        for x, qi in zip(twists, q, strict=True):
            T = T @ screw(x, qi)
        return T

    @lru_cache(5000)
    def columns(numbers):
        """S, and its derivatives along each coordinate: dS_i/dq_k is the bracket of S_i and S_k for the i before k."""
        found, T = [], np.eye(4)
        for x, qi in zip(twists[::-1], np.frombuffer(numbers)[::-1], strict=True):
            found.append(_adjoint_inverse(T) @ x)
            T = screw(x, qi) @ T
        S = np.array(found[::-1]).T
        w, v = S[:3], S[3:]
        cross = lambda a, b: np.einsum("abc,bi,ck->aik", PERMUTATIONS, a, b)  # noqa: E731
        bracket = np.concatenate([cross(w, w), cross(w, v) + cross(v, w)])  # [.., i, k]
        return S, bracket * np.triu(np.ones((len(twists),) * 2), 1)

    def subspace(q):
        return columns(np.asarray(q, float).tobytes())[0]

    def rate(q, qd):
        return columns(np.asarray(q, float).tobytes())[1] @ qd

    return joint_types.custom(len(twists), transform, subspace, rate)


def _planar(normal):
    turn = smallest_rotation(normal)
    return Screws(sliding(turn[:, 0]), sliding(turn[:, 1]), turning(normal))


#: name -> function of a random generator that returns (motion for the oracle, joint type for the library).
JOINTS = {}


def _joint(function):
    JOINTS[function.__name__.strip("_")] = function
    return function


@_joint
def revolute(rng):
    n = unit(rng)
    return Screws(turning(n)), joint_types.revolute(3.0 * n)


@_joint
def revolute_reversed(rng):
    return Screws(turning(-Z)), joint_types.revolute(-Z)


@_joint
def continuous(rng):
    return Screws(turning(Y)), joint_types.continuous(Y)


@_joint
def prismatic(rng):
    n = unit(rng)
    return Screws(sliding(n)), joint_types.prismatic(n)


@_joint
def prismatic_reversed(rng):
    return Screws(sliding(-X)), joint_types.prismatic(-X)


@_joint
def helical(rng):
    n, pitch = unit(rng), rng.uniform(-0.5, 0.5)
    return Screws(np.concatenate([n, pitch * n])), joint_types.helical(n, pitch)


@_joint
def cylindrical(rng):
    n = unit(rng)
    return Screws(turning(n), sliding(n)), joint_types.cylindrical(n)


@_joint
def universal(rng):
    a, b = unit(rng), unit(rng)
    return Screws(turning(a), turning(b)), joint_types.universal(a, b)


@_joint
def planar(rng):
    n = unit(rng)
    return _planar(n), joint_types.planar(n)


@_joint
def planar_downwards(rng):
    return _planar(-Z), joint_types.planar(-Z)


@_joint
def euler_angles(rng):
    parts = [joint_types.revolute(n) for n in (Z, Y, X)]
    return Screws(turning(Z), turning(Y), turning(X)), joint_types.composite(*parts)


@_joint
def composite(rng):
    n, pitch = unit(rng), 0.2
    twists = (sliding(X), np.concatenate([n, pitch * n]), turning(-Y), turning(Z))
    parts = (joint_types.prismatic(X), joint_types.helical(n, pitch), joint_types.universal(-Y, Z))
    return Screws(*twists), joint_types.composite(*parts)


@_joint
def spherical(rng):
    return Ball(), joint_types.spherical()


@_joint
def free(rng):
    return Floating(), joint_types.free()


@_joint
def custom_rail(rng):
    return Curve(rail), _rail_type()


@_joint
def custom_ball(rng):
    twists = [turning(Z), turning(Y), turning(X)]
    return Screws(*twists), custom_of_screws(twists)


@_joint
def custom_six(rng):
    twists = [sliding(X), turning(unit(rng)), sliding(Y), turning(Z), sliding(Z), turning(X)]
    return Screws(*twists), custom_of_screws(twists)


@_joint
def fixed(rng):
    return Screws(), joint_types.fixed()


#: Kinds made of steps that others are made of, too: with other signs, in another order, more or fewer of them.
ALIKE = ("revolute", "revolute_reversed", "continuous", "prismatic", "prismatic_reversed", "cylindrical", "planar",
         "planar_downwards", "euler_angles", "custom_ball", "custom_six")  # fmt: skip


def each_kind(*without):
    """Kinds of joints as parameters of a test: those that are like others in long studies only.

    What describes a joint is tested with all of them, in test_dense.py; what is made of that need not be.
    """
    kinds = [kind for kind in JOINTS if kind not in without]
    return [pytest.param(kind, marks=pytest.mark.slow) if kind in ALIKE else kind for kind in kinds]


def body(rng, name, parent, kind, massless=False):
    """A body on a joint of the given kind, with random figures that a body can have."""
    motion, joint_type = JOINTS[kind](rng)
    placement = np.eye(4)
    placement[:3, :3] = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
    placement[:3, 3] = rng.uniform(-0.7, 0.7, 3)
    if massless:
        return Body(name, parent, placement, motion, joint_type=joint_type)
    points, weights = rng.uniform(-0.3, 0.3, (6, 3)), rng.uniform(0.1, 1.0, 6)
    mass, com = weights.sum(), weights @ points / weights.sum()
    away = points - com
    squares = (away**2).sum(1)[:, None, None] * np.eye(3) - away[:, :, None] * away[:, None]
    inertia = np.einsum("k,kab->ab", weights, squares)
    return Body(name, parent, placement, motion, mass, com, inertia, joint_type)


def to_model(tree):
    """The library's Model of a Tree."""
    builder = ModelBuilder(tree.gravity)
    for b in tree.bodies:
        inertia = SpatialInertia(b.mass, b.com, b.inertia)
        builder.add(b.name, b.parent, b.joint_type, b.placement, inertia, joint_name=f"joint {b.name}")
    return builder.build("sample")


def rods_in_a_row(links, gravity=(0.0, 0.0, -9.81)):
    """A Model of rods of 1 m and 1 kg, each on the end of the one before, about z."""
    rod, place = SpatialInertia(1.0, [0.5, 0.0, 0.0], np.diag([0.0, 1.0, 1.0]) / 12.0), np.eye(4)
    builder, parent = ModelBuilder(gravity), None
    for k in range(links):
        builder.add(f"link {k}", parent, joint_types.revolute(), place, rod)
        parent, place = f"link {k}", np.eye(4)
        place[0, 3] = 1.0
    return builder.build()


def chain(rng, kinds):
    """A chain of bodies on joints of the given kinds."""
    bodies, parent = [], None
    for k, kind in enumerate(kinds):
        bodies.append(body(rng, f"{kind} {k}", parent, kind))
        parent = bodies[-1].name
    return Tree(bodies)


def around(rng, kind):
    """Two joints of a kind in a small branched tree with ordinary joints before, between and after them."""
    kinds = ["revolute", kind, "revolute_reversed", kind, "prismatic", "revolute"]
    parents = [None, 0, 1, 2, 1, 3]
    return branched(rng, kinds, parents)


def branched(rng, kinds, parents, massless=()):
    """A tree from joint kinds and indices of parents (None: world)."""
    bodies = []
    for k, (kind, parent) in enumerate(zip(kinds, parents, strict=True)):
        above = None if parent is None else bodies[parent].name
        bodies.append(body(rng, f"{kind} {k}", above, kind, massless=k in massless))
    return Tree(bodies)


def zoo(rng, without=None):
    """Every kind of joint in one tree of several roots, with welded bodies and massless links in the middle."""
    kinds = [kind for kind in JOINTS if kind != without]
    rng.shuffle(kinds)
    parents = [None]
    for k in range(1, len(kinds)):
        parents.append(None if rng.random() < 0.15 else int(rng.integers(max(0, k - 4), k)))
    # A link without mass needs what it carries: not on a joint that lets it move every way.
    held = ("revolute", "revolute_reversed", "continuous", "prismatic", "universal", "fixed", "custom_rail")
    carrying = sorted({p for p, kind in zip(parents, kinds, strict=True) if p is not None and kind in held})
    massless = {k for k in carrying if kinds[k] in held and rng.random() < 0.7}
    return branched(rng, kinds, parents, massless)
