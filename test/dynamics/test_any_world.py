"""No public function loses digits for where a robot stands, how the world is turned, or the unit of length.

The table holds every public function, or the reason why the world has no part in it.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.world_cases import CASES
from support.worlds import ROBOTS, elsewhere, here, power_of_two

from lie_dynamics_ros import lie_dynamics as ld

DISTANCES = (1e-3, 1.0, 1e3, 1e6, 1e8)
SCALES = (1e-3, 0.3, 1e3, 1e8)
DIRECTION = np.array([1.0, -0.75, 0.5])

#: Name -> reason.
EXEMPT = {
    **dict.fromkeys(
        ("DescriptionError", "GroupError", "InertiaError", "InputError", "LieDynamicsError", "SingularityError"),
        "an error",
    ),
    **dict.fromkeys(
        ("Assembly", "Baumgarte", "ConstrainedDerivatives", "ConstrainedDynamics", "ConstrainedModel",
         "ConstrainedSensitivity", "BodySpring", "ConstraintSet", "Coupling", "Loop", "Model", "ModelBuilder",
         "Parameter", "Resolution", "SpatialInertia", "TorsionSpring", "UserConstraint", "joint_types"),
        "holds what functions in the table take or return",
    ),
    **dict.fromkeys(
        ("StewartPlatform", "StewartTracker", "assembly_modes", "solve_forward_kinematics"),
        "a platform is seen from its own base's frame: no world",
    ),
    **dict.fromkeys(("Mechanism", "mechanism"), "makes models, of which the table's functions are asked"),
    **dict.fromkeys(("PlatformWrench", "platform_wrench"), "jacobian and constraint_jacobian, of the table, inverted"),
    **dict.fromkeys(("MotionCost", "optimal_motion"), "torque_optimal_motion, of the table, with other costs"),
    "constrained_travel_left": "follows a frame by frame_pose and jacobian, of the table, to limits of joints",
    "MotorDynamics": "holds results of functions in the table, seen from the motors",
    "ClosedLoopTracker": "follows a mechanism from state to state, whose poses are those of frame_pose",
    "JointFriction": "numbers of each joint by itself: no world",
    "mimic_couplings": "reads names and ratios of coordinates from a description",
    "total_mass": "a sum of masses",
}  # fmt: skip


def differences(found, expected):
    """Relative differences; a result of the second kind may differ by the last digits of what is far away."""
    largest = max((np.abs(y[0] if isinstance(y, tuple) else y).max(initial=0.0) for y in expected), default=0.0)
    for x, y in zip(found, expected if found else [], strict=True):
        x, reach = x if isinstance(x, tuple) else (x, 0.0)
        y = y[0] if isinstance(y, tuple) else y
        if reach is None:
            continue
        assert x.shape == y.shape
        assert np.isfinite(x).all()
        size = max(np.abs(y).max(initial=0.0), 0.01 * largest) or 1.0
        yield np.abs(x - y).max(initial=0.0) / (size * (1.0 + 10.0 * reach))


def worlds():
    for distance in DISTANCES:
        for turn in (np.eye(3), np.roll(np.eye(3), 1, axis=0)):
            yield {"R": turn, "shift": DIRECTION * power_of_two(distance)}
    yield {"R": Rotation.random(random_state=3).as_matrix()}
    for scale in SCALES:
        yield {"scale": power_of_two(scale)}
        yield {"scale": power_of_two(scale), "shift": DIRECTION * power_of_two(scale)}


def test_every_public_function_is_here():
    assert not set(CASES) & set(EXEMPT)
    assert set(CASES) | set(EXEMPT) == set(ld.__all__)


FIRST = dict(zip(ROBOTS, (0, 3, 4, 8, 7), strict=True))
"""World of each robot from which on, in every run, each tenth is tried: places near and far, turned or not, units."""


@pytest.mark.parametrize(
    ("robot", "every"),
    [pytest.param(robot, every, marks=pytest.mark.slow if every == 1 else ()) for every in (10, 1) for robot in ROBOTS],
)
def test_all_functions_in_all_worlds(robot, every, rng):
    made = here(robot, rng)
    first = elsewhere(made)
    expected = {name: function(first) for name, function in CASES.items()}
    worst = {}
    for settings in list(worlds())[FIRST[robot] % every :: every]:
        if robot == "user's" and ("scale" in settings or 0.0 < np.max(settings.get("shift", 0.0)) < 1e7):
            continue  # its functions know one unit of length, and are slow
        w = elsewhere(made, **settings)
        for name, function in CASES.items():
            for x in differences(function(w), expected[name]):
                if x > worst.get(name, (0.0,))[0]:
                    worst[name] = x, {k: np.round(v, 3).tolist() for k, v in settings.items()}
    # Derivatives of constrained dynamics have the square of the condition of A M^-1 A^T in them.
    limits = {name: 1e-9 if name.startswith("constrained_") else 1e-11 for name in CASES}
    assert not {k: v for k, v in worst.items() if not v[0] < limits[k]}
