"""The table of `test_any_world`, and what its entries share."""

import numpy as np

from lie_dynamics_ros.lie_dynamics import Parameter

CASES = {}


def case(function):
    """Register a function of a World that returns a list of arrays, brought back."""
    CASES[function.__name__.strip("_")] = function
    return function


def state(w):
    return w.model, w.q, w.qd, w.qdd


def given(w):
    return np.arange(len(w.d)) % 2 == 0


def parameters(w):
    """Parameters of every kind, the same in all worlds."""
    world = np.concatenate([np.cross(w.shift, w.R[:, 0]), w.R[:, 0]])
    joints = {j.kind: j.name for j in w.model.joints}
    root = w.model.joints[0].name
    twist = np.array([0.3, -0.5, 0.2, 0.4 * w.scale, 0.1 * w.scale, -0.2 * w.scale])
    found = [
        Parameter.q(0) * w.d[0], Parameter.qd(len(w.d) - 1) * w.d[-1], Parameter.qdd(1) * w.d[1],
        Parameter.inertia(0, "m"), Parameter.inertia(w.model.n_bodies - 1, "hx") * w.scale,
        Parameter.placement(root, twist), Parameter.placement(w.model.joints[-1].name, twist, "parent"),
        Parameter.gravity(w.R[:, 1] * w.scale), Parameter.external_force(0, world * w.scale, "world"),
        Parameter.external_force(w.model.n_bodies - 1, [0, 0, 0, *w.R[:, 2] * w.scale], "aligned"),
    ]  # fmt: skip
    for kind in ("planar", "prismatic", "cylindrical", "universal"):
        if kind in joints:
            found += [Parameter.axis(joints[kind], [0.2, -0.3, 0.4], w.model.joint(joints[kind]).type.nv - 1)]
    if "planar" in joints:
        found += [Parameter.axis(joints["planar"], [0.2, -0.3, 0.4], k) for k in (0, 1)]
    return found


def reach(w, parameter):
    """How far away what a parameter is about lies: by its definition a lever, whose end has the digits it has."""
    change = parameter.changes[0]
    if change.what == "wrench" and change.part == "world":
        return np.abs(w.shift).max() / w.scale
    if change.what in ("placement", "axis"):
        joint = w.model.joint(change.where)
        if joint.kind in ("free", "planar") and joint.parent_body == "world":
            return None  # turns the robot about where its coordinates are counted from
    return 0.0
