"""Pinocchio in the library's coordinates. Joints are matched by name, never by number.

Its free joint has q = (p, quaternion) and v = (v, w), its continuous joint q = (cos, sin), its wrenches begin with
the force.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from . import robots

SWAP = [3, 4, 5, 0, 1, 2]  # linear first <-> angular first


def pinocchio():
    return pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")


def spatial(matrix):
    """A 6x6 matrix with linear parts first as one with angular parts first, or the other way round."""
    return np.asarray(matrix)[..., SWAP, :][..., :, SWAP]


class PinOracle:
    """A pinocchio model, with maps between its coordinates and those of the library's `model`."""

    def __init__(self, pin_model, model):
        self.pin, self.model, self.our = pinocchio(), pin_model, model
        self.model.gravity.linear = model.gravity
        self.data = self.model.createData()
        pin_names = list(self.model.names)[1:]
        assert sorted(pin_names) == sorted(model.joint_names)
        self.to_joint = [self.model.getJointId(joint.name) for joint in model.joints]
        v_map = np.empty(model.nv, dtype=int)  # index in pinocchio's v of each of our coordinates
        for joint, j in zip(model.joints, self.to_joint, strict=True):
            start, size = self.model.joints[j].idx_v, self.model.joints[j].nv
            assert size == joint.v_slice.stop - joint.v_slice.start, joint.name
            v_map[joint.v_slice] = start + np.array(SWAP if joint.kind == "free" else range(size))
        self.v_map = v_map

    def q(self, q):
        """Our configuration (nq,) in pinocchio's entries."""
        out = np.empty(self.model.nq)
        for joint, j in zip(self.our.joints, self.to_joint, strict=True):
            pj, part = self.model.joints[j], np.asarray(q)[joint.q_slice]
            if joint.kind == "free":
                part = np.concatenate([part[4:], part[:4]])
            elif pj.nq == 2 and pj.nv == 1:
                part = np.array([np.cos(part[0]), np.sin(part[0])])
            assert len(part) == pj.nq, joint.name
            out[pj.idx_q : pj.idx_q + pj.nq] = part
        return out

    def v(self, v):
        """Our rates, accelerations or forces (nv,) in pinocchio's order."""
        out = np.empty(self.model.nv)
        out[self.v_map] = v
        return out

    def from_v(self, v):
        """Pinocchio's (nv,) in our order."""
        return np.asarray(v)[..., self.v_map]

    def from_square(self, matrix):
        """Pinocchio's (nv, nv) in our order."""
        return np.asarray(matrix)[np.ix_(self.v_map, self.v_map)]

    def wrenches(self, f_ext):
        """Our wrenches (n_bodies, 6) as pinocchio's list over joints."""
        out = self.pin.StdVec_Force()
        for _ in range(self.model.njoints):
            out.append(self.pin.Force.Zero())
        for row, j in zip(np.zeros((self.our.n_bodies, 6)) if f_ext is None else f_ext, self.to_joint, strict=True):
            out[j] = self.pin.Force(np.asarray(row)[SWAP])
        return out

    def inverse_dynamics(self, q, qd, qdd, f_ext=None):
        state = self.q(q), self.v(qd), self.v(qdd)
        return self.from_v(self.pin.rnea(self.model, self.data, *state, self.wrenches(f_ext)))

    def forward_dynamics(self, q, qd, tau, f_ext=None):
        state = self.q(q), self.v(qd), self.v(tau)
        return self.from_v(self.pin.aba(self.model, self.data, *state, self.wrenches(f_ext)))

    def mass_matrix(self, q):
        upper = np.triu(self.pin.crba(self.model, self.data, self.q(q)))
        return self.from_square(upper + np.triu(upper, 1).T)

    def poses(self, q):
        self.pin.forwardKinematics(self.model, self.data, self.q(q))
        return np.array([self.data.oMi[j].homogeneous for j in self.to_joint])


@cache
def robot(name, floating_base=False):
    """The library's model of a robot and its oracle; skips the test where either package is missing."""
    pin = pinocchio()
    path = str(robots.path(name))
    if floating_base:
        pin_model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    else:
        pin_model = pin.buildModelFromUrdf(path)
    model = robots.load(name, floating_base)
    return model, PinOracle(pin_model, model)


def states(model, rng, *sizes):
    """Random (q, v, v, ...) with figures of order one: sizes (nv,) for each further argument."""
    return model.random(rng), *(rng.normal(size=size) for size in sizes)
