"""Five sliding legs and one direction that is held, a pentapod: lengths by distances, forces by virtual work."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics import joint_types as jt
from lie_dynamics_ros.lie_dynamics.identification import calibrate_mechanism

AROUND, ABOVE = np.radians([10.0, 110.0, 130.0, 230.0, 250.0]), np.radians([50.0, 70.0, 170.0, 190.0, 290.0])
BASE = 0.4 * np.stack([np.cos(AROUND), np.sin(AROUND), [0.0, 0.1, 0.0, 0.05, -0.1]], axis=1)
TOP = 0.2 * np.stack([np.cos(ABOVE), np.sin(ABOVE), [0.1, 0.0, -0.1, 0.0, 0.2]], axis=1)
LEGS = [f"leg_{k}" for k in range(1, 6)]
COM, MASS = np.array([0.01, -0.02, 0.05]), 3.0


def at(*place):
    T = np.eye(4)
    T[:3, 3] = place
    return T


def pose_of(x):
    """Position, then a turn about x and one about y of the base: x of the platform stays across y of the base."""
    T = at(*x[:3])
    T[:3, :3] = Rotation.from_euler("xy", x[3:]).as_matrix()
    return T


def lengths_of(x, base=BASE):
    T = pose_of(x)
    return np.linalg.norm(TOP @ T[:3, :3].T + T[:3, 3] - base, axis=1)


def made_of(base_points=BASE, platform_points=TOP):
    """A pentapod of any points, at home."""
    builder, loops = ld.ModelBuilder(gravity=[0.0, 0.0, -9.81]), []
    builder.add("platform", None, jt.free(), None, ld.SpatialInertia(MASS, COM, 0.02 * np.eye(3)))
    for leg, foot, top in zip(LEGS, base_points, platform_points, strict=True):
        builder.add(f"{leg}_cross", None, jt.revolute([1, 0, 0]), at(*foot), None, f"{leg}_first")
        builder.add(f"{leg}_tube", f"{leg}_cross", jt.revolute([0, 1, 0]), None, None, f"{leg}_second")
        builder.add(f"{leg}_rod", f"{leg}_tube", jt.prismatic([0, 0, 1]), None, None, leg, lower=0.3, upper=0.9)
        loops.append(ld.Loop.spherical("platform", f"{leg}_rod", name=f"ball_{leg}", first_placement=at(*top)))
    base = builder.add("base", None).build("pentapod")
    across = ld.Loop("perpendicular", "base", "platform", "no turn", axis=[0.0, 1.0, 0.0], second_axis=[1.0, 0.0, 0.0])
    constraints = ld.ConstraintSet(base, [*loops, across])
    guess = base.neutral()
    for leg, foot, top in zip(LEGS, base_points, platform_points, strict=True):
        x, y, z = top - foot + np.array([0.0, 0.0, 0.5])
        for joint, value in ((f"{leg}_first", -np.arctan2(y, z)), (f"{leg}_second", np.arctan2(x, np.hypot(y, z)))):
            guess[base.joint(joint).q_slice] = value
        guess[base.joint(leg).q_slice] = np.linalg.norm([x, y, z])
    step = np.zeros(base.nv)
    step[base.joint("platform").v_slice] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.5
    found = ld.assemble(base, constraints, base.integrate(guess, step))
    assert found.converged
    return ld.Mechanism(base, constraints, found.q, tuple(LEGS), "platform")


@pytest.fixture(scope="module")
def pentapod():
    made = made_of()
    return made.model, made.constraints, made.q


def test_five_lengths_tell_pose_and_forces(pentapod, rng):
    model, constraints, home = pentapod
    tracker = ld.ClosedLoopTracker(model, constraints, home, LEGS)
    assert not tracker.idle
    for _ in range(5):
        x = np.r_[0.0, 0.0, 0.5, 0.0, 0.0] + rng.uniform(-1.0, 1.0, 5) * [0.05, 0.05, 0.05, 0.2, 0.2]
        state = tracker.update(lengths_of(x)).require()
        assert np.abs(state.pose("platform") - pose_of(x)).max() < 1e-11
        zero = np.zeros(model.nv)
        tau = ld.constrained_inverse_dynamics(model, constraints, state.q, zero, zero, actuated=LEGS).tau
        forces = np.array([tau[model.joint(leg).v_slice][0] for leg in LEGS])
        h = 1e-5 * np.eye(5)
        J = np.array([(lengths_of(x + d) - lengths_of(x - d)) / 2e-5 for d in h])
        weight = lambda y: MASS * 9.81 * (pose_of(y) @ [*COM, 1.0])[2]  # noqa: E731
        assert J @ forces == pytest.approx([(weight(x + d) - weight(x - d)) / 2e-5 for d in h], abs=1e-7)


@pytest.mark.slow  # in every run mechanisms by name, in test_mechanism_calibration
def test_calibration_finds_the_joints_of_a_built_one(rng):
    """A probe's positions of a tool, lengths by distances, zeros of the legs unknown."""
    built, zeros = BASE + 2e-3 * rng.normal(size=(5, 3)), 1e-3 * rng.normal(size=5)
    x = np.r_[0.0, 0.0, 0.5, 0.0, 0.0] + rng.uniform(-1.0, 1.0, (14, 5)) * [0.05, 0.05, 0.05, 0.3, 0.3]
    read, tool = np.array([lengths_of(one, built) for one in x]) - zeros, np.array([0.02, 0.03, 0.1])
    seen = np.array([(pose_of(one) @ np.append(tool, 1.0))[:3] for one in x])
    found = calibrate_mechanism(made_of, read, unknown=("base_points",), positions=seen, tool=tool)
    assert found.converged and found.unidentifiable == () and found.rank == 20
    assert np.abs(found.dimensions["base_points"] - built).max() < 1e-8 and np.abs(found.zeros - zeros).max() < 1e-8


def test_travel_left_upwards_is_that_of_the_longest_leg(pentapod):
    model, constraints, home = pentapod
    left = ld.constrained_travel_left(model, constraints, home, LEGS, "platform")
    assert len(left.axes) == 5 and left.axes[:3] == ("x", "y", "z")
    T = ld.frame_pose(model, home, "platform")
    x = np.r_[T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_euler("xyz")[:2]]
    for side, far, reason in zip((-1.0, 1.0), (left.backwards[2], left.forwards[2]), left.reasons[2], strict=True):
        ends = lengths_of(x + np.r_[0.0, 0.0, side * far, 0.0, 0.0])
        assert ends.min() > 0.3 - 1e-8 and ends.max() < 0.9 + 1e-8
        assert reason.startswith("leg_")
        assert min(abs(ends.min() - 0.3), abs(ends.max() - 0.9)) < 1e-8
