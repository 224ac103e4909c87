"""Motions to record: within limits and planes by other judges, and telling more than chance."""

import numpy as np
import pytest
import yaml
from support import arms

from lie_dynamics_ros.identify.command import main
from lie_dynamics_ros.lie_dynamics import InputError, Model
from lie_dynamics_ros.lie_dynamics.control import Trajectory
from lie_dynamics_ros.lie_dynamics.control.feasibility import feasibility
from lie_dynamics_ros.lie_dynamics.identification import exciting_motion

PLANES = [((0.0, 0.0, 2.0), 0.0), ((-1.0, 0.0, 0.0), -0.8)]  # a table, and a wall at x = 0.8
CENTERS = {"panda_arm": [0.0, 0.0, 0.0, -1.8, 0.0, 1.8, 0.0], "ur5": [1.0, -1.5, 1.2, -1.0, 0.5, 0.0]}


@pytest.mark.parametrize("name", CENTERS)
def test_limits_and_planes_are_kept(name):
    arm = arms.load(name)
    found = exciting_motion(arm.model, 20.0, planes=PLANES, clearance=0.05, center=CENTERS[name], trials=150)
    path = Trajectory(arm.model, found.time, found.q, found.qd, found.qdd)
    assert feasibility(arm.model, path).feasible
    for x in (found.qd, found.qdd):
        np.testing.assert_allclose(x[[0, -1]], 0.0, atol=1e-9)
    np.testing.assert_allclose(found.q[[0, -1]], [CENTERS[name]] * 2, atol=1e-12)
    judge = arm.simulated()
    least = np.inf
    start = None
    for q in found.q:
        judge.set(q, np.zeros(arm.model.nv))
        places = judge.data.xpos[1:].copy()  # of all links
        start = places if start is None else start
        moving = [k for k in range(len(places)) if np.abs(places[k] - start[k]).max() > 1e-3]
        least = min([least, *places[moving, 2], *(0.8 - places[moving, 0])])
        efforts = judge.inverse_dynamics(
            q, *(x[np.abs(found.q - q).sum(axis=1).argmin()] for x in (found.qd, found.qdd))
        )
        assert (np.abs(efforts) < 0.61 * arm.limit).all()
    assert least > 0.05 - 1e-3
    assert found.clearance == pytest.approx(least, abs=5e-3)


def test_it_tells_more_than_motions_drawn_at_random():
    model = arms.load("panda_arm").model
    chance = [exciting_motion(model, 12.0, center=CENTERS["panda_arm"], trials=1, seed=s).condition for s in range(7)]
    found = exciting_motion(model, 12.0, center=CENTERS["panda_arm"], trials=400)
    assert found.condition < 0.6 * np.median(chance)
    assert found.condition < np.min(chance)
    again = exciting_motion(model, 12.0, center=CENTERS["panda_arm"], trials=400)
    np.testing.assert_array_equal(found.q, again.q)


def test_the_command_writes_a_joint_trajectory(tmp_path, capsys):
    plane = ["--plane", "0", "0", "1", "0"]
    urdf = str(arms.OWN)
    center = ["--center", *map(str, CENTERS["panda_arm"])]
    length = ["--seconds", "10", "--trials", "50"]
    assert main(["--plan", "--urdf", urdf, "--out", str(tmp_path), *length, *plane, *center]) == 0
    assert "m from the planes" in capsys.readouterr().out
    message = yaml.safe_load((tmp_path / "plan.yaml").read_text())
    model = Model.from_urdf(urdf)
    assert tuple(message["joint_names"]) == model.joint_names
    points = message["points"]
    times = [p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in points]
    path = Trajectory(model, times, *([p[key] for p in points] for key in ("positions", "velocities", "accelerations")))
    assert times[-1] == 10.0 and feasibility(model, path).feasible
    assert main(["--urdf", urdf]) == 1
    assert "a bag, or --plan, is expected" in capsys.readouterr().err


def test_refused():
    model = arms.load("panda_arm").model
    for changed, said in (
        ({"seconds": 1.0}, "seconds"),
        ({"clearance": -1.0}, "clearance"),
        ({"rate": 0.0}, "rate"),
        ({"trials": 0}, "trials"),
        ({"planes": [((0.0, 0.0, 0.0), 1.0)]}, "planes"),
        ({"planes": [5]}, "planes"),
        ({"planes": [((0.0, 0.0, 1.0), 0.9)]}, "closer to a plane"),
        ({"center": np.full(7, 9.0)}, "beyond"),
        ({"center": [1.0]}, "center"),
    ):
        with pytest.raises(InputError, match=said):
            exciting_motion(model, **changed)
