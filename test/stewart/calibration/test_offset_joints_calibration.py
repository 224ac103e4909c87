"""Calibration of platforms on offset universal joints, against legs that are bodies on hinges and slides in MuJoCo."""

import re

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from stewart_oracle import random_pose, turned
from support.page.left_out import leave_out_pictures
from test_calibrate_stewart_command import LEGS, record

from lie_dynamics_ros.identify.calibrate_command import main
from lie_dynamics_ros.lie_dynamics.stewart import (
    OffsetPlatform,
    PlatformSensors,
    StewartError,
    StewartPlatform,
    calibrate_measured,
    poses_to_measure,
    reference_platform,
)

mujoco = pytest.importorskip("mujoco")
HOME = np.eye(4)
HOME[2, 3] = 0.5
POINTS = reference_platform()
BODY = '<body pos="{}"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{}'


class Leg:
    """One leg as a chain from the base: hinge, offset, hinge, slide, hinge about itself, hinge, offset, hinge."""

    def __init__(self, A, b, s, t, first, second):
        B = b + HOME[:3, 3]

        def feet(x):
            circles = []
            for point, axis, offset, angle in ((A, s, first, x[0]), (B, t, second, x[1])):
                across = np.linalg.svd(axis[None])[2][1]
                circles.append(point + offset * Rotation.from_rotvec(angle * axis).apply(across))
            return circles

        starts = [minimize(lambda x: np.linalg.norm(np.subtract(*feet(x))), x0) for x0 in ([0, 0], [2, 4], [4, 2])]
        C, D = feet(min(starts, key=lambda one: one.fun).x)
        along = (D - C) / np.linalg.norm(D - C)
        joints = (
            (A, (("hinge", s),)),
            (C - A, (("hinge", np.cross(s, C - A)),)),
            (D - C, (("slide", along), ("hinge", along))),
            (np.zeros(3), (("hinge", np.cross(t, D - B)),)),
            (B - D, (("hinge", t),)),
        )
        text = ""
        for at, axes in joints:
            there = "".join('<joint type="{}" axis="{} {} {}"/>'.format(kind, *axis) for kind, axis in axes)
            text += BODY.format(" ".join(map(str, at)), there)
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler angle="radian"/><worldbody>{text}{"</body>" * 5}</worldbody></mujoco>'
        )
        self.data, self.b, self.home = mujoco.MjData(self.model), b, np.linalg.norm(D - C)

    def length(self, T):
        """At which the chain's end is where the platform's point is, and turned as the platform."""

        model, data, slopes = self.model, self.data, np.zeros((2, 3, 6))
        data.qpos[:] = 0.0
        for _ in range(20):  # Newton's method, by MuJoCo's own Jacobian
            # The second body's hinge and slide pass through its own place: the foot on the base.
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            R = data.xmat[-1].reshape(3, 3)
            turn = Rotation.from_matrix(T[:3, :3].T @ R).as_rotvec()
            off = np.concatenate([data.xpos[-1] - T[:3, :3] @ self.b - T[:3, 3], turn])
            if np.abs(off).max() < 1e-13:
                break
            mujoco.mj_jacBody(model, data, *slopes, model.nbody - 1)
            data.qpos -= np.linalg.solve(np.concatenate([slopes[0], R.T @ slopes[1]]), off)
        assert np.abs(off).max() < 1e-9
        return self.home + data.qpos[2]


class Machine:
    """A platform some millimetres off its drawing, with its axes and offsets, and what is measured of it."""

    def __init__(self, seed=3, count=26):
        rng = np.random.default_rng(seed)
        self.drawn = OffsetPlatform.square_at(
            StewartPlatform(POINTS.base_points, POINTS.platform_points, (0.2, 0.8), home_pose=HOME), HOME, 0.03, 0.02
        )
        base, top = (x + rng.normal(scale=1e-3, size=(6, 3)) for x in (POINTS.base_points, POINTS.platform_points))
        axes = self.drawn.base_axes, self.drawn.platform_axes
        self.legs = [Leg(*one, 0.03, 0.02) for one in zip(base, top, *axes, strict=True)]
        self.offsets = rng.normal(scale=1e-3, size=6)
        self.poses = np.stack([random_pose(rng, 0.1, 0.4) for _ in range(count + 8)])
        lengths = np.array([[leg.length(T) for leg in self.legs] for T in self.poses])
        self.fresh, self.fresh_lengths = self.poses[count:], lengths[count:]
        self.poses, self.readings = self.poses[:count], lengths[:count] - self.offsets
        self.tracker, self.target = random_pose(rng, 2.0, 1.2), random_pose(rng, 0.1, 1.0, 0.1)
        seen = self.tracker @ self.poses @ np.linalg.inv(self.target)
        self.seen = turned(seen, rng.normal(size=(count, 6)) * np.repeat((5e-5, 2e-5), 3))
        self.readings += rng.normal(scale=1e-5, size=self.readings.shape)

    def wrong(self, joints, offsets, frames):
        """Root mean square of readings that a calibrated platform tells of poses that were not measured [m]."""
        there = np.linalg.inv(frames.base_frame) @ self.tracker @ self.fresh
        told = joints.leg_lengths(there @ np.linalg.inv(self.target) @ frames.platform_frame) - offsets
        return np.sqrt(np.mean((told - self.fresh_lengths + self.offsets) ** 2))


@pytest.fixture(scope="module")
def machine():
    return Machine()


def test_lengths_are_those_of_the_bodies(machine):
    drawn = OffsetPlatform.square_at(StewartPlatform(POINTS.base_points, POINTS.platform_points), HOME, 0.03, 0.02)
    T = machine.poses[0]
    axes = drawn.base_axes, drawn.platform_axes
    legs = [Leg(*one, 0.03, 0.02) for one in zip(POINTS.base_points, POINTS.platform_points, *axes, strict=True)]
    np.testing.assert_allclose(drawn.leg_lengths(T), [leg.length(T) for leg in legs], atol=1e-8)


@pytest.fixture(scope="module")
def found(machine):
    return calibrate_measured(machine.drawn, machine.seen, machine.readings)


def test_from_poses_in_unknown_frames(machine, found):
    assert found.used.all() and not found.problems and found.noise_ratio < 3.0
    for before, after in zip(*found.pose_errors(), strict=True):
        assert 10.0 * after < before
    assert np.abs(found.offsets - machine.offsets).max() < 5.0 * found.deviations[36:].max()
    wrong = machine.wrong(found.joints, found.offsets, found)
    assert wrong < 5e-5 < 0.05 * machine.wrong(machine.drawn, 0.0, found)
    with pytest.raises(StewartError, match="whole poses are expected"):
        calibrate_measured(machine.drawn, machine.seen, machine.readings, measured="position")


def test_poses_to_measure_next(machine):
    sigma = np.repeat((5e-5, 2e-5), 3)
    plan = poses_to_measure(machine.drawn, 30, pose_sigma=sigma, tilt=0.3)
    assert plan.deviation_after < 0.1 * plan.deviation_before
    np.testing.assert_allclose(machine.drawn.leg_lengths(plan.poses), plan.lengths, atol=1e-12)
    low, high = machine.drawn.points.leg_limits.T
    assert ((plan.lengths > low) & (plan.lengths < high)).all()
    drawn = machine.drawn
    tight = OffsetPlatform(
        StewartPlatform(POINTS.base_points, POINTS.platform_points, (0.2, 0.21), home_pose=HOME),
        drawn.base_axes, drawn.platform_axes, drawn.base_offsets, drawn.platform_offsets,
    )  # fmt: skip
    with pytest.raises(StewartError, match="no pose within"):
        poses_to_measure(tight, 3)


@pytest.mark.slow  # in every run the command of legs on points, and what is called here, above
def test_the_command(machine, found, tmp_path, capsys, monkeypatch):
    leave_out_pictures(monkeypatch)
    drawing, out = tmp_path / "in.yaml", tmp_path / "new"
    drawing.write_text(machine.drawn.to_yaml())
    record(tmp_path / "bag", machine.readings, machine.seen)
    assert main([str(tmp_path / "bag"), "--platform", str(drawing), "--out", str(out), "--next", "3"]) == 0
    said = capsys.readouterr().out
    before, after = map(float, re.search(r"distance: ([\d.]+) mm, ([\d.]+)", said).groups())
    assert 10.0 * after < before
    platform = OffsetPlatform.from_yaml(out / "platform.yaml")
    assert (platform.base_offsets == 0.03).all() and (platform.platform_offsets == 0.02).all()
    offsets = np.array(PlatformSensors.from_yaml(out / "platform.yaml", platform.points).readings["length_offsets"])
    assert machine.wrong(platform, offsets, found) < 5e-5
    # The node stewart_pose takes point joints, so there are no parameters for it.
    assert sorted(path.name for path in out.iterdir()) == ["next_poses.yaml", "platform.yaml", "report.html"]
    assert LEGS[0] in (out / "report.html").read_text()
