"""Poses and lengths in millimetres, angles in degrees: refused or told by everything that takes them."""

import inspect
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.grids import all_of

from lie_dynamics_ros.lie_dynamics import stewart
from lie_dynamics_ros.lie_dynamics.stewart import StewartError, StewartPlatform, StewartWarning, reference_platform

PLATFORM = reference_platform()
FAR = PLATFORM.home_pose.copy()
FAR[:3, 3] *= 1e3
LENGTHS = 1e3 * PLATFORM.leg_lengths(PLATFORM.home_pose)
SIX = np.full(6, 0.1)
NEAR = np.tile(PLATFORM.home_pose, (30, 1, 1))
NEAR[:, :3, :3] = Rotation.from_rotvec(np.random.default_rng(0).uniform(-0.1, 0.1, (30, 3))).as_matrix()
MANY = NEAR.copy()
MANY[:, :3, 3] *= 1e3
SHORT = PLATFORM.leg_lengths(NEAR)

METHODS = {
    name: {"pose": FAR} | {key: SIX for key in ("twist", "acceleration") if key in inspect.signature(of).parameters}
    for name, of in inspect.getmembers(StewartPlatform, inspect.isfunction)
    if "pose" in inspect.signature(of).parameters and name not in ("show", "checked_pose")
}
FUNCTIONS = {
    "assembly_modes": [(LENGTHS,)],
    "calibrate": [(MANY, SHORT), (NEAR, 1e3 * SHORT)],
    "calibrate_measured": [(MANY, SHORT)],
    "holding_forces": [(FAR, SIX)],
    "identifiability_report": [(MANY,)],
    "leg_forces_for_wrench": [(FAR, SIX)],
    "leg_length_second_derivatives": [(FAR,)],
    "solve_forward_kinematics": [(LENGTHS, PLATFORM.home_pose), (SHORT[0], FAR), (SHORT, MANY)],
    "solve_from_home": [(LENGTHS,)],
    "stiffness": [(FAR, SIX)],
    "travel_left": [(FAR,)],
    "wrench_of_leg_forces": [(FAR, SIX)],
    "StewartTracker": [(FAR,)],
    "StewartFusion": [(FAR,)],
}
OTHERS = {  # of rotary legs, or no poses and lengths
    *("architecture_report", "calibrate_rotary", "level_home", "poses_near", "poses_to_measure", "workspace_slice"),
}


def told(function, *given, **named):
    """What is said of the unit, by an error or a warning."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            function(*given, **named)
        except StewartError as error:
            return str(error)
    return " ".join(str(one.message) for one in found if issubclass(one.category, StewartWarning))


def test_the_list_names_all_that_take_a_platform():
    found = {
        name
        for name, thing in vars(stewart).items()
        if inspect.isfunction(thing) and {"platform", "nominal"} & {*inspect.signature(thing).parameters}
    }
    assert found <= {*FUNCTIONS, *OTHERS}, found


@all_of("name", METHODS)
def test_poses_of_methods(name):
    assert "millimetres" in told(getattr(PLATFORM, name), **METHODS[name])


@all_of(("name", "given"), [(name, one) for name, rows in FUNCTIONS.items() for one in rows])
def test_poses_and_lengths_of_functions(name, given):
    assert "millimetres" in told(getattr(stewart, name), PLATFORM, *given)


SERVOS = stewart.semi_regular_rotary_platform(0.1, 0.07, 0.2, 0.2, 0.02, 0.11)
DEGREES = np.full(6, 30.0)
AT_HOME = {"pose": SERVOS.home_pose, "angles": DEGREES}
ANGLES = {
    name: {key: AT_HOME[key] for key in inspect.signature(of).parameters if key in AT_HOME}
    for name, of in inspect.getmembers(stewart.RotaryPlatform, inspect.isfunction)
    if inspect.signature(of).parameters.keys() >= {"self", "angles"} and not name.startswith("_")
}
#: Of these methods, what takes angles that another one has looked at.
LOOKED_AT = {"derivatives", "time_to_singularity", "tip_rates", "turned"}


@pytest.mark.parametrize("name", sorted(ANGLES.keys() - LOOKED_AT))
def test_angles_of_methods(name):
    assert "degrees" in told(getattr(SERVOS, name), **ANGLES[name])


def test_angles_of_functions_and_in_files():
    text = SERVOS.to_yaml()
    fusion = stewart.StewartFusion(SERVOS, SERVOS.home_pose)
    points = SERVOS.base_points, SERVOS.platform_points, SERVOS.axes, SERVOS.horns, SERVOS.rods
    assert "degrees" in told(stewart.solve_forward_kinematics, SERVOS, DEGREES, SERVOS.home_pose)
    assert "degrees" in told(stewart.calibrate_rotary, SERVOS, NEAR, np.tile(DEGREES, (30, 1)))
    assert "degrees" in told(fusion.update, DEGREES, dt=0.01)
    assert "degrees" in told(stewart.RotaryPlatform, *points, home_angles=DEGREES)
    assert "degrees" in told(stewart.RotaryPlatform, *points, angle_limits=(-60.0, 60.0))
    for key, value in (("home_angles", "30.0"), ("angle_limits", "[-60, 60]")):
        rows = [f"  {key}: {value}" if row.strip().startswith(key) else row for row in text.splitlines()]
        assert "degrees" in told(stewart.RotaryPlatform.from_yaml, "\n".join(rows) + "\n")
    assert "degrees" in stewart.StewartTracker(SERVOS, SERVOS.home_pose).update(DEGREES).message
    for angles in (SERVOS.home_angles, np.full(6, 2.0), np.full(6, np.nan)):
        assert not told(SERVOS.tips, angles)


def test_first_lengths_of_a_fusion_and_home_poses():
    fusion = stewart.StewartFusion(PLATFORM, PLATFORM.home_pose)
    assert "millimetres" in told(fusion.update, LENGTHS, dt=0.01)
    points = PLATFORM.base_points, PLATFORM.platform_points
    assert "millimetres" in told(StewartPlatform, *points, home_pose=FAR)
    for pose in (PLATFORM.home_pose, np.full((4, 4), np.nan)):
        assert not told(PLATFORM.leg_lengths, pose)
