"""Derivatives for single kinds of joints: Pinocchio where it is right, the dense definition where it is not.

Pinocchio 4.1.0 leaves out how S depends on q within its own frame: its derivatives along q and qd of inverse and
forward dynamics are wrong, by as much as the whole, for universal and composite joints and Euler angles, its own
JointModelUniversal and JointModelSphericalZYX included. Along qdd and tau they are right.
"""

import numpy as np
import pytest
from dynamics.derivatives.test_derivatives_pinocchio import theirs
from dynamics.test_pinocchio_joints import both
from support.compare import relative
from support.pin_oracle import pinocchio
from support.sample_trees import branched

from lie_dynamics_ros import lie_dynamics as ld

RIGHT = ["revolute", "prismatic", "helical", "cylindrical", "spherical", "free"]
WRONG = ["universal", "euler_angles", "composite", "planar"]


@pytest.mark.parametrize("kind", RIGHT + WRONG)
def test_each_kind(kind, rng):
    pinocchio()
    kinds = ["revolute", kind, "prismatic", kind, "revolute"]
    tree = branched(rng, kinds, [None, 0, 1, 1, 3])
    model, oracle = both(tree, kinds)
    q, (qd, qdd) = tree.random(rng), rng.normal(size=(2, tree.nv))
    f_ext = rng.normal(size=(model.n_bodies, 6))
    found = ld.inverse_dynamics_derivatives(model, q, qd, qdd, f_ext)
    *first, mass = theirs(oracle, "computeRNEADerivatives", q, qd, qdd, f_ext)
    if kind in WRONG:
        units, h = np.eye(model.nv), 1e-30
        along_q = [tree.inverse_dynamics(q, qd, qdd, f_ext, step=1j * h * e) for e in units]
        along_qd = [tree.inverse_dynamics(q, qd + 1j * h * e, qdd, f_ext) for e in units]
        first = [np.imag(block).T / h for block in (along_q, along_qd)]
    for block, expected in zip((found.dq, found.dqd, found.dqdd), (*first, mass), strict=True):
        assert relative(block, expected) < 1e-12
    for make, expected in zip((ld.Parameter.q, ld.Parameter.qd, ld.Parameter.qdd), (*first, mass), strict=True):
        columns = ld.inverse_dynamics_sensitivity(model, q, qd, qdd, [make(k) for k in range(model.nv)], f_ext)
        assert relative(columns.T, expected) < 1e-12
    forward = ld.forward_dynamics_derivatives(model, q, qd, qdd, f_ext)
    *_, inverse_mass = blocks = theirs(oracle, "computeABADerivatives", q, qd, qdd, f_ext)
    assert relative(forward.dtau, inverse_mass) < 1e-10  # condition of the mass matrix
    if kind in RIGHT:
        assert relative(forward.dq, blocks[0]) < 1e-10
        assert relative(forward.dqd, blocks[1]) < 1e-10
