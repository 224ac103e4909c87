"""Motions to record: within limits and planes by other judges, and telling more than chance."""

from itertools import combinations

import numpy as np
import pytest
import yaml
from support import arms
from support.mujoco_arm import MujocoArm

from lie_dynamics_ros.identify.command import main
from lie_dynamics_ros.lie_dynamics import InputError, Model
from lie_dynamics_ros.lie_dynamics.control import Trajectory
from lie_dynamics_ros.lie_dynamics.control.feasibility import feasibility
from lie_dynamics_ros.lie_dynamics.identification import exciting_motion
from lie_dynamics_ros.lie_dynamics.identification.excitation import _distance

PLANES = [((0.0, 0.0, 2.0), 0.0), ((-1.0, 0.0, 0.0), -0.8)]  # a table, and a wall at x = 0.8
CENTERS = {"panda_arm": [0.0, 0.0, 0.0, -1.8, 0.0, 1.8, 0.0], "ur5": [1.0, -1.5, 1.2, -1.0, 0.5, 0.0]}


@pytest.mark.parametrize("name", ["panda_arm", pytest.param("ur5", marks=pytest.mark.slow)])
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


CAPSULES = [
    ("panda_link0", (0.0, 0.0, 0.0), (0.0, 0.0, 0.1), 0.1),
    ("panda_link2", (0.0, 0.0, 0.0), (0.0, -0.08, 0.0), 0.07),
    ("panda_link4", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.08),
    ("panda_link6", (0.0, 0.0, 0.0), (0.08, 0.0, 0.0), 0.06),
    ("panda_link8", (0.0, 0.0, 0.0), (0.0, 0.0, 0.1), 0.07),
]


def test_capsules_keep_their_distance():
    """By MuJoCo's distances of geometries; without capsules the same motion comes nearer."""
    arm = arms.load("panda_arm")
    model = MujocoArm(arm.text, arm.model.joint_names, capsules=CAPSULES)
    given = {"center": [0.0, 0.0, 0.0, -2.5, 0.0, 1.8, 0.0], "trials": 30}
    least = []
    for capsules in ((), CAPSULES):
        found = exciting_motion(arm.model, 12.0, capsules=capsules, gap=0.05, **given)
        distances = []
        for q in found.q[::3]:
            model.set(q, np.zeros(7))
            distances.append([model.distance(*pair) for pair in combinations(range(5), 2) if pair != (3, 4)])
        least.append(np.min(distances))
    assert least[0] < 0.03 and least[1] > 0.05 - 1e-3
    assert found.gap == pytest.approx(least[1], abs=5e-3)


def test_distances_of_lines_also_of_points_parallels_and_crossings():
    """Against the distance of many points of the one line from the other."""
    rng, part = np.random.default_rng(0), np.linspace(0.0, 1.0, 1001)[:, None]
    for k in range(500):
        a, b, c, d = rng.normal(size=(4, 3))
        if k % 5:
            along = rng.normal() * (b - a)
            b, c, d = ((a, c, d), (b, c, c), (b, c, c + along), (b, a + along, d))[k % 5 - 1]
        points, line = a + part * (b - a), d - c
        at = np.clip((points - c) @ line / max(line @ line, 1e-300), 0.0, 1.0)
        least = np.linalg.norm(points - c - at[:, None] * line, axis=1).min()
        assert least - 5e-4 * np.linalg.norm(b - a) - 1e-12 <= _distance(a, b, c, d) <= least + 1e-12


def test_it_tells_more_than_motions_drawn_at_random():
    model = arms.load("panda_arm").model
    chance = [exciting_motion(model, 12.0, center=CENTERS["panda_arm"], trials=1, seed=s).condition for s in range(7)]
    found = exciting_motion(model, 12.0, center=CENTERS["panda_arm"], trials=200)
    assert found.condition < 0.6 * np.median(chance)
    assert found.condition < np.min(chance)
    again = exciting_motion(model, 12.0, center=CENTERS["panda_arm"], trials=200)
    np.testing.assert_array_equal(found.q, again.q)


def test_the_command_writes_a_joint_trajectory(tmp_path, capsys):
    plane = ["--plane", "0", "0", "1", "0"]
    for link, start, end, radius in CAPSULES[::4]:
        plane += ["--capsule", link, *map(str, (*start, *end, radius))]
    urdf = str(arms.OWN)
    center = ["--center", *map(str, CENTERS["panda_arm"])]
    length = ["--seconds", "10", "--trials", "20"]
    assert main(["--plan", "--urdf", urdf, "--out", str(tmp_path), *length, *plane, *center]) == 0
    said = capsys.readouterr().out
    assert "m from the planes" in said and "m between capsules" in said
    message = yaml.safe_load((tmp_path / "plan.yaml").read_text())
    model = Model.from_urdf(urdf)
    assert tuple(message["joint_names"]) == model.joint_names
    points = message["points"]
    times = [p["time_from_start"]["sec"] + 1e-9 * p["time_from_start"]["nanosec"] for p in points]
    path = Trajectory(model, times, *([p[key] for p in points] for key in ("positions", "velocities", "accelerations")))
    assert times[-1] == 10.0 and feasibility(model, path).feasible
    assert main(["--plan", "--urdf", urdf, *plane[:-1], "thick"]) == 1
    assert "--capsule: a link and seven numbers" in capsys.readouterr().err
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
        ({"gap": -1.0}, "gap"),
        ({"capsules": [5]}, "capsules"),
        ({"capsules": None}, "capsules: a sequence"),
        ({"planes": 5}, "planes: a sequence"),
        ({"capsules": [("nowhere", (0, 0, 0), (0, 0, 0), 0.1)]}, "no link or frame 'nowhere'"),
        ({"capsules": [("panda_link0", (0, 0, 0), (0, 0, np.nan), 0.1)]}, "capsules"),
        ({"capsules": [("panda_link0", (0, 0, 0), (0, 0, 1), 0.9), CAPSULES[4]]}, "'panda_link0' and 'panda_link8'"),
        ({"center": np.full(7, 9.0)}, "beyond"),
        ({"center": [1.0]}, "center"),
    ):
        with pytest.raises(InputError, match=said):
            exciting_motion(model, **changed)
