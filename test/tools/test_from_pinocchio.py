"""Every row of the tables on the page "From Pinocchio" gives the same numbers on both sides."""

import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.compare import relative

import lie_dynamics_ros
import lie_dynamics_ros.lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.lie import se3, so3

pin = pytest.importorskip("pinocchio", reason="the oracle, pin, is not installed")

PAGE = (Path(__file__).resolve().parents[2] / "doc" / "from_pinocchio.md").read_text()
ROWS = re.findall(r"^\| `((?:pin\.|kinematics).*?)` \| `((?:ld|model|so3|se3)\..*?)` \|", PAGE, re.MULTILINE)


@cache
def names():
    """What the expressions of the page are about: one random state of the package's arm in both libraries."""
    file = str(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")
    m, model = pin.buildModelFromUrdf(file), ld.Model.from_urdf(file)
    assert list(m.names)[1:] == list(model.joint_names) and m.nq == m.nv == model.nv
    d, rng, swap = m.createData(), np.random.default_rng(5), [3, 4, 5, 0, 1, 2]
    q, q2 = model.random(rng), model.random(rng)
    v, a, tau = rng.normal(size=(3, model.nv))
    wrenches = rng.normal(size=(model.n_bodies, 6))
    fext = pin.StdVec_Force()
    for row in [np.zeros(6), *wrenches]:
        fext.append(pin.Force(row[swap]))
    w, V = rng.normal(size=3), rng.normal(size=6)

    def kinematics(q, v=np.zeros(model.nv), a=np.zeros(model.nv)):  # noqa: B008
        pin.computeJointJacobiansTimeVariation(m, d, q, v)
        pin.forwardKinematics(m, d, q, v, a)
        return d

    everything = SimpleNamespace(**locals(), pin=pin, ld=ld, so3=so3, se3=se3, np=np, last=m.njoints - 1)
    return vars(everything) | {"hand": model.body_names[-1], "R": so3.exp(w), "T": se3.exp(V)}


@pytest.mark.parametrize(("theirs", "ours"), ROWS)
def test_both_sides_are_the_same(theirs, ours):
    expected = np.array(eval(theirs, dict(names())))  # copied, since Pinocchio writes into its data
    assert relative(eval(ours, dict(names())), expected) < 1e-12


def test_no_row_is_left_out():
    tables = PAGE.split("## Function by function")[1].split("## What has no")[0]
    assert len(ROWS) == tables.count("\n| `") > 35
