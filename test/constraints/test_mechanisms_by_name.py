"""Ready-made mechanisms by name: inverse kinematics, all assembly modes, the shipped files, and what is refused."""

import inspect
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.compare import assert_same_but_for_round_off, relative
from support.grids import every_run

import lie_dynamics_ros
from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import MECHANISMS, assemblies_from_starts
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms.base import file_name
from lie_dynamics_ros.lie_dynamics.stewart.geometry.workspace import AXES, displaced

URI = "package://lie_dynamics_ros/mechanisms"
SHIPPED = Path(lie_dynamics_ros.__file__).parent / "mechanisms"
INVERSE = [name for name in MECHANISMS if name != "four-bar"]
#: Name -> how many configurations the home positions of the motors have, and over the complex numbers.
COUNTS = {
    "6-UPS": (16, 28), "6-RUS": (8, 28), "delta": (16, 28), "linear delta": (16, 28), "3-RPS": (8, 16),
    "five-bar": (2, 2), "four-bar arm": (2, 2), "planar 3-RRR": (2, 6),
}  # fmt: skip


def moved(made, rng, size=0.03):
    """A closed configuration near home, found without the mechanism's own formulas."""
    q = made.q.copy()
    q[[made.model.joint(name).q_slice.start for name in made.actuated]] += size * rng.normal(size=len(made.actuated))
    found = ld.assemble(made.model, made.constraints, q, held=list(made.actuated))
    assert found.converged
    return found.q


def apart(made, a, b):
    return np.abs(made.model.difference(a, b)).max()


@pytest.mark.parametrize("name", INVERSE)
def test_inverse_kinematics(name, rng):
    made = ld.mechanism(name)
    states = np.array([made.q, *(moved(made, rng) for _ in range(4))])
    for q in states:
        found = made.configuration(made.output(q))
        assert np.abs(ld.constraint_error(made.model, made.constraints, found)).max() < 1e-12
        assert apart(made, q, found) < 1e-10
        assert np.abs(made.inverse_kinematics(made.output(q)) - made.motors(q)).max() < 1e-10
    batch = made.configuration(made.output(states).reshape(5, 1, *np.shape(made.output(made.q))))
    assert batch.shape == (5, 1, made.model.nq)
    assert made.configuration(made.output(states)[:0]).shape == (0, made.model.nq)
    assert max(apart(made, a, b) for a, b in zip(batch[:, 0], states, strict=True)) < 1e-10
    assert np.abs(made.pose(states)[2] - ld.frame_pose(made.model, states[2], made.platform)).max() < 1e-15


@pytest.mark.parametrize("name", COUNTS)
def test_assembly_modes(name, rng):
    made = ld.mechanism(name)
    found = made.assembly_modes(made.motors(made.q))
    assert (len(found), found.complex_count) == COUNTS[name] and found.complete
    assert min(apart(made, q, made.q) for q in found.q) < 1e-9
    q = moved(made, rng)
    found = made.assembly_modes(made.motors(q))
    assert len(found) <= found.complex_count and found.complete and str(len(found)) in found.message
    assert min(apart(made, q, x) for x in found.q) < 1e-9
    for x in found.q:
        assert np.abs(ld.constraint_error(made.model, made.constraints, x)).max() < 1e-10
        assert np.array_equal(made.motors(x), made.motors(q))
    for k, x in enumerate(found.q):
        assert all(np.abs(made.pose(x) - made.pose(y)).max() > 1e-6 for y in found.q[:k])


@pytest.mark.parametrize("unit", [1e-4, 1e3])
@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        ("3-RPS", {"base_radius": 0.3, "platform_radius": 0.15, "height": 0.4}),
        ("planar 3-RRR", {"base_radius": 0.4, "platform_radius": 0.1, "crank": 0.25, "coupler": 0.25}),
        ("delta", {"base_radius": 0.2, "platform_radius": 0.05, "arm": 0.3, "forearm": 0.8, "rod_spacing": 0.1}),
        ("five-bar", {"lengths": (0.4, 0.3, 0.5, 0.5, 0.3)}),
    ],
)
def test_any_unit_of_length(name, lengths, unit):
    made = ld.mechanism(name, **{key: tuple(unit * np.array(x)) if isinstance(x, tuple) else unit * x
                              for key, x in lengths.items()})  # fmt: skip
    found = made.assembly_modes(made.motors(made.q))
    assert (len(found), found.complete) == (COUNTS[name][0], True)
    q = made.configuration(made.output(made.q))
    assert np.abs(made.pose(q) - made.pose(made.q)).max() < 1e-13 * max(unit, 1.0)


def every_mode_is_found(made, positions, starts):
    """What `assemble` reaches from random starts knows nothing of the algebra: it finds nothing else."""
    found = made.assembly_modes(positions)
    search = assemblies_from_starts(made.model, made.constraints, made.actuated, positions, starts)
    assert not search.complete and "may be missing" in search.message
    for q in search.q:
        assert min(np.abs(made.pose(q) - made.pose(x)).max() for x in found.q) < 1e-6
    return found, search


@pytest.mark.parametrize(("name", "size"), [("five-bar", 0.3), ("four-bar arm", 0.3), ("planar 3-RRR", 0.05)])
def test_a_search_finds_no_other_modes(name, size, rng):
    made = ld.mechanism(name)
    found, search = every_mode_is_found(made, made.motors(moved(made, rng, size)), 25)
    assert len(search) == len(found) and search.hits.sum() > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
def test_many_searches_find_no_other_modes(name, rng):
    made = ld.mechanism(name)
    for _ in range(2):
        found, search = every_mode_is_found(made, made.motors(moved(made, rng)), 400)
        assert len(search) == len(found)


@pytest.mark.slow
def test_modes_of_offset_legs_become_those_of_point_joints():
    point = ld.mechanism("6-UPS")
    poses = point.pose(point.assembly_modes(point.motors(point.q)).q)
    small = ld.mechanism("6-UCU", base_offset=1e-8, platform_offset=0.0)
    found = small.assembly_modes(small.motors(small.q))
    assert len(found) == len(poses) and not found.complete and "from 16 poses on point joints" in found.message
    for T in poses:
        assert min(np.abs(small.pose(q) - T).max() for q in found.q) < 1e-5


def test_modes_of_offset_legs_are_found_by_growing_offsets_and_by_random_starts(rng):
    made = ld.mechanism("6-UCU")
    q = moved(made, rng)
    found = made.assembly_modes(made.motors(q))
    assert min(apart(made, q, x) for x in found.q) < 1e-9
    assert found.residuals.max() < 1e-10 and found.complex_count == 0
    assert np.array_equal(made.motors(found.q), np.tile(made.motors(q), (len(found), 1)))


def test_two_modes_of_a_delta_are_level_and_cross_three_spheres():
    made = ld.mechanism("delta")
    angles = np.array([0.1, 0.4, 0.6])
    level = [T for T in made.pose(made.assembly_modes(angles).q) if np.abs(T[:3, :3] - np.eye(3)).max() < 1e-6]
    assert len(level) == 2
    for T in level:
        for k, angle in enumerate(angles):
            c, s = np.cos(2.0 * np.pi * k / 3.0), np.sin(2.0 * np.pi * k / 3.0)
            x = 0.2 - 0.05 + 0.3 * np.cos(angle)
            assert np.linalg.norm(T[:3, 3] - [x * c, x * s, -0.3 * np.sin(angle)]) == pytest.approx(0.8, rel=1e-12)


def test_rods_of_rotary_legs_keep_their_length(rng):
    made = ld.mechanism("6-RUS")
    q = moved(made, rng)
    T, knees = made.pose(q), made.knees(made.motors(q))
    ends = made.geometry.platform_points @ T[:3, :3].T + T[:3, 3]
    assert np.linalg.norm(ends - knees, axis=1) == pytest.approx(np.full(6, 0.2), rel=1e-12)
    assert np.linalg.norm(knees - made.geometry.base_points, axis=1) == pytest.approx(np.full(6, 0.06), rel=1e-12)


def test_poses_that_a_3_rps_can_have(rng):
    made = ld.mechanism("3-RPS")
    for tilt, direction in rng.uniform([-0.6, -np.pi], [0.6, np.pi], (10, 2)):
        T = made.tilted(0.4, tilt, direction)
        assert T[2, 3] == 0.4 and np.arccos(T[2, 2]) == pytest.approx(abs(tilt), abs=1e-7)
        q = made.configuration(T)
        assert np.abs(ld.constraint_error(made.model, made.constraints, q)).max() < 1e-12
        assert np.abs(made.pose(q) - T).max() < 1e-14
    T[0, 3] += 1e-6
    with pytest.raises(ld.InputError, match="beside the plane of its leg"):
        made.configuration(T)


def test_a_platform_that_can_move_with_motors_locked_is_no_complete_answer():
    """Cranks that put the elbows of a 3-RRR as far apart as the platform's corners: it slides in a circle."""
    made = ld.mechanism("planar 3-RRR", base_radius=0.4, platform_radius=0.15, crank=0.25)
    inwards = np.angle(-np.exp(2j * np.pi * np.arange(3) / 3.0))
    assert not made.assembly_modes(inwards).complete
    stretched = ld.mechanism("five-bar").assembly_modes([np.pi, 0.0])
    assert len(stretched) == 1 and not stretched.complete


def test_a_linkage_without_algebra_is_searched():
    made = ld.mechanism("four-bar")
    found = made.assembly_modes([0.6])
    assert len(found) == 2 and not found.complete and found.hits.sum() > 100
    assert min(apart(made, q, made.q) for q in found.q) < 1e-9


@pytest.mark.parametrize("name", MECHANISMS)
def test_shipped_files(name, tmp_path, rng):
    """To be made anew with `mechanism(name).write("lie_dynamics_ros/mechanisms", URI)`."""
    made = ld.mechanism(name)
    for path in made.write(tmp_path, URI):
        assert_same_but_for_round_off((SHIPPED / path.name).read_text(), path.read_text())
    stem = file_name(name)
    model = ld.Model.from_urdf(SHIPPED / f"{stem}.urdf")
    constraints = ld.ConstraintSet.from_yaml(model, SHIPPED / f"{stem}_loops.yaml")
    q, qd, own = model.neutral(), np.empty(model.nv), rng.normal(size=model.nv)
    for joint in model.joints:
        other = made.model.joint(joint.name)
        q[joint.q_slice], qd[joint.v_slice] = made.q[other.q_slice], own[other.v_slice]
    assert constraints.names == made.constraints.names
    parameters = yaml.safe_load((SHIPPED / f"{stem}.yaml").read_text())["/**"]["closed_loop"]["ros__parameters"]
    assert parameters["start_positions"] == pytest.approx(q, abs=1e-12)
    assert parameters["measured_joints"] == list(made.actuated)
    assert all((SHIPPED.parents[1] / uri.replace("package://", "")).is_file()
               for uri in (parameters["robot_description"], parameters["loops"]))  # fmt: skip
    assert np.abs(ld.constraint_error(model, constraints, q)).max() < 1e-12
    assert relative(ld.frame_pose(model, q, made.platform), made.pose(made.q)) < 1e-14
    assert ld.kinetic_energy(model, q, qd) == pytest.approx(ld.kinetic_energy(made.model, made.q, own), rel=1e-12)


def test_functions_are_not_written():
    made = ld.mechanism("five-bar")
    own = ld.UserConstraint("own", 1, lambda q: q[:1])
    with pytest.raises(ld.DescriptionError, match="'own' is a function"):
        ld.ConstraintSet(made.model, [own]).to_yaml()


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.filterwarnings("error")
def test_dimensions_whose_squares_are_beyond_float64_are_refused(name):
    for key, parameter in inspect.signature(MECHANISMS[name]).parameters.items():
        if isinstance(parameter.default, (float, tuple)) and key != "gravity":
            large = np.full(np.shape(parameter.default), 1e308).tolist()
            with pytest.raises(ld.DescriptionError, match=f"{key}: numbers of at most 1e\\+50 are expected"):
                ld.mechanism(name, **{key: large})


def test_names_and_dimensions():
    homeless = ld.StewartPlatform(*np.random.default_rng(0).normal(size=(2, 6, 3)))
    assert type(ld.mechanism("6 rus")) is type(ld.mechanism("6-RUS"))
    for arguments, what in (
        (("gamma", {}), "'gamma' is unknown, known are .*'linear delta'"),
        (("delta", {"reach": 1.0}), "unknown dimension 'reach'; known are .*'forearm'"),
        (("delta", {"arm": -0.3}), "arm: a number above zero is expected, got -0.3"),
        (("delta", {"arm": "long"}), "arm: a number above zero"),
        (("delta", {"angle": "level"}), "angle: a number is expected"),
        (("delta", {"rod_mass": np.nan}), "rod_mass: a number, 0 or more, is expected"),
        (("five-bar", {"cranks": [1.0]}), "cranks: 2 numbers are expected"),
        (("four-bar", {"lengths": [1.0, 0.3, -0.9, 0.7]}), "lengths: 4 numbers above zero are expected"),
        (("four-bar", {"spatial": 1.0}), "True or False is expected"),
        (("four-bar", {"crank": 10**400}), "crank: a number is expected"),
        (("6-UPS", {"platform_inertia": 3.0}), "a SpatialInertia is expected"),
        (("6-UPS", {"geometry": homeless}), "has no home_pose"),
        (("linear delta", {"base_radius": 1.0}), r"rods of 0.35 m do not reach over 0.95 m"),
        (("6-UCU", {"geometry": 3}), "an OffsetPlatform is expected"),
        (("6-UCU", {"base_offset": -0.01}), "base_offset: a number, 0 or more, is expected"),
        (("6-UCU", {"platform_inertia": 3.0}), "a SpatialInertia is expected"),
        (("6-UPS", {"geometry": ld.mechanism("6-UCU").geometry}), "geometry: a StewartPlatform is expected"),
        (("6-RUS", {"rod_length": 0.01}), "do not reach over"),
        (("6-UPS", {"geometry": ld.mechanism("6-RUS").geometry}), "geometry: a StewartPlatform is expected"),
        (("6-RUS", {"geometry": 3}), "geometry: a RotaryPlatform is expected"),
        (("6-RUS", {"geometry": ld.mechanism("6-RUS").geometry, "home": np.eye(4)}), "no points or directions besides"),
        (("6-RUS", {"crank": [0.06] * 5}), "crank: 6 numbers above zero are expected"),
        (("6-RUS", {"motor_axes": [1.0, 0.0, 0.0], "pattern": "radial"}), "one of them is expected"),
        (("6-RUS", {"zero_directions": [1.0, 0.0, 0.0]}), "motor_axes are missing"),
        (("6-RUS", {"crank_mass": np.nan}), "crank_mass: a number above zero"),
        (("3-RPS", {"height": 0.0}), "height: a number above zero"),
        (("planar 3-RRR", {"crank": 0.01}), "out of reach"),
        (("four-bar arm", {"link": 2.0}), "out of reach of the crank"),
        (("6-UPS", {"geometry": 3}), "geometry: a StewartPlatform is expected"),
    ):  # fmt: skip
        with pytest.raises(ld.DescriptionError, match=what):
            ld.mechanism(arguments[0], **arguments[1])


@pytest.mark.parametrize(
    ("name", "output", "what"),
    [
        ("delta", [2.0, 0.0, -0.5], "out of reach of arm_"),
        ("delta", [0.0, 0.0], "3"),
        ("delta", [0.0, np.nan, -0.5], "finite"),
        ("linear delta", [0.5, 0.0, 0.1], "out of reach of slide_"),
        ("five-bar", [5.0, 0.0], "out of reach of crank 1"),
        ("four-bar arm", [5.0, 0.0, 0.0], "out of reach of the forearm"),
        ("planar 3-RRR", [0.5, 0.0, 0.0], "out of reach of motor_"),
        ("6-RUS", np.diag([1.0, 1.0, 1.0, 1.0]) + np.eye(4, k=1) * [0, 0, 0, 3.0], "out of reach of crank_"),
    ],
)  # fmt: skip
def test_out_of_reach(name, output, what):
    with pytest.raises(ValueError, match=what):
        ld.mechanism(name).configuration(output)


@pytest.mark.parametrize("positions", [[0.1], [0.1, 0.2, np.nan], "abc", None, np.ones((2, 3)), [1j, 0, 0], [1e99] * 3])
def test_positions_that_are_none(positions):
    for name in ("delta", "3-RPS"):
        with pytest.raises(ld.InputError):
            ld.mechanism(name).assembly_modes(positions)


def test_no_configuration_is_an_answer():
    assert len(ld.mechanism("3-RPS").assembly_modes([0.1, 0.1, 5.0])) == 0
    assert len(ld.mechanism("3-RPS").assembly_modes([1e-300, 0.4, 0.4])) == 0
    assert len(ld.mechanism("3-RPS").assembly_modes([1e10, 0.4, 0.4])) == 0
    assert len(ld.mechanism("five-bar", lengths=(0.4, 0.3, 0.4, 0.4, 0.3)).assembly_modes([np.pi, 0.0])) == 0
    for name in ("3-RPS", "6-UPS", "6-UCU"):
        made = ld.mechanism(name)
        with pytest.raises(ld.InputError, match=r"above zero|longer than zero"):
            made.assembly_modes(-made.motors(made.q))


#: Dimensions of each leg, as they come out of a workshop.
UNEQUAL = {
    "delta": {
        "base_radius": [0.2, 0.199, 0.2015],
        "platform_radius": (0.05, 0.051, 0.049),
        "arm": [0.3, 0.299, 0.3005],
        "forearm": [0.8, 0.802, 0.797],
        "rod_spacing": [0.1, 0.11, 0.1],
        "angle": [0.3, 0.25, 0.35],
        "tower_angles": (0.01, 2.1, 4.18),
    },
    "linear delta": {
        "base_radius": [0.25, 0.248, 0.2515],
        "platform_radius": [0.05, 0.052, 0.05],
        "forearm": np.array([0.35, 0.3485, 0.351]),
        "rail_angle": [1.57, 1.56, 1.58],
        "slide": [0.6, 0.61, 0.59],
        "tower_angles": (0.0, 2.1, 4.2),
    },
    "3-RPS": {"base_radius": [0.3, 0.29, 0.31], "platform_radius": [0.15, 0.16, 0.145]},
    "6-RUS": {"crank": [0.06, 0.061, 0.059, 0.06, 0.062, 0.06], "rod_length": [0.2, 0.201, 0.199, 0.2, 0.2, 0.202]},
}


@pytest.mark.parametrize("name", every_run(("delta", "3-RPS"), UNEQUAL))
def test_legs_that_differ(name, rng):
    """Loops close, inverse kinematics find what `assemble` found, and what random starts find is among all modes."""
    made = ld.mechanism(name, **UNEQUAL[name])
    assert np.abs(ld.constraint_error(made.model, made.constraints, made.q)).max() < 1e-12
    for q in (made.q, *(moved(made, rng, 0.01) for _ in range(2))):
        found = made.configuration(made.output(q))
        assert apart(made, q, found) < 1e-9
    modes, _ = every_mode_is_found(made, made.motors(q), 6)
    assert modes.complete and min(apart(made, q, x) for x in modes.q) < 1e-8
    key = next(iter(UNEQUAL[name]))
    for wrong, words in (([*UNEQUAL[name][key][:-2], -1.0, 1.0], r"leg [25] is none"), ([0.2, 0.2], r"numbers above")):
        with pytest.raises(ld.DescriptionError, match=f"{key}: .*{words}"):
            ld.mechanism(name, **{key: wrong})


def test_a_delta_whose_legs_differ_stands_where_spheres_cross():
    """Each rod ends on a sphere about its carriage: Pythagoras in the plane of its tower."""
    radius, rods, end = UNEQUAL["linear delta"]["base_radius"], UNEQUAL["linear delta"]["forearm"], 0.05
    made = ld.mechanism("linear delta", base_radius=radius, forearm=rods)
    place, expected = np.array([0.02, -0.01, 0.3]), []
    for k, a in enumerate(np.radians([0, 120, 240])):
        x, y = np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]) @ place[:2]
        expected.append(place[2] + np.sqrt(rods[k] ** 2 - (x + end - radius[k]) ** 2 - y**2))
    assert np.abs(made.inverse_kinematics(place) - expected).max() < 1e-14
    with pytest.raises(ld.InputError, match="slide_2"):
        short = ld.mechanism("linear delta", forearm=[0.35, 0.2, 0.35], base_radius=[0.25, 0.2, 0.25])
        short.inverse_kinematics([0.1, -0.2, 0.3])


def test_travel_left_of_a_linear_delta():
    """Upwards until a carriage is at the end of its rail, sideways until Pythagoras says that a rod is too short."""
    made = ld.mechanism("linear delta")
    q = made.configuration([0.02, -0.01, 0.3])
    found = made.travel_left(q)
    assert found.axes == ("x", "y", "z")
    slides = made.motors(q)
    assert found.forwards[2] == pytest.approx(0.8 - slides.max(), abs=1e-9)
    assert found.reasons[2] == (f"slide_{np.argmin(slides) + 1}", f"slide_{np.argmax(slides) + 1}")
    assert found.backwards[2] == pytest.approx(slides.min(), abs=1e-9)
    for axis, side, reason in ((0, 1.0, found.reasons[0][1]), (1, -1.0, found.reasons[1][0])):
        far = (found.forwards if side > 0 else found.backwards)[axis]
        inside, beyond = ([0.02, -0.01, 0.3] + side * (far + d) * np.eye(3)[axis] for d in (-1e-3, 1e-3))
        assert np.isfinite(made.inverse_kinematics(inside)).all() and reason
        if reason == "reach":
            with pytest.raises(ld.InputError, match="out of reach"):
                made.inverse_kinematics(beyond)


@pytest.mark.slow  # in every run that of a pentapod does, in test_pentapod
def test_travel_left_upwards_of_a_stewart_platform_ends_with_a_leg():
    platform = ld.mechanism("6-UPS")
    left = platform.travel_left(platform.q)
    assert left.axes[3:] == ("about x", "about y", "about z") and (left.forwards > 0.01).all()
    T = platform.output(platform.q)
    T[2, 3] += left.forwards[2]
    names = [platform.model.joint(name) for name in platform.actuated]
    rest = [platform.model.limits.upper[j.q_slice][0] - platform.configuration(T)[j.q_slice][0] for j in names]
    assert min(rest) == pytest.approx(0.0, abs=1e-9) and left.reasons[2][1].startswith("leg_")


@pytest.mark.parametrize(
    "name", every_run(("five-bar", "planar 3-RRR"), ("delta", "five-bar", "planar 3-RRR", "6-RUS"))
)
def test_ways_end_where_motors_have_no_angle(name):
    """Just inside, the closed form has positions of the motors, just outside it has none."""
    made = ld.mechanism(name)
    left, home, size = made.travel_left(made.q), made.pose(made.q), made.output(made.q).shape
    ends = [
        (axis, side * far, reason)
        for axis, back, ahead, reasons in zip(left.axes, left.backwards, left.forwards, left.reasons, strict=True)
        for side, far, reason in ((-1.0, back, reasons[0]), (1.0, ahead, reasons[1]))
    ]
    assert left.axes == {"five-bar": AXES[:2], "delta": AXES[:3], "6-RUS": AXES}.get(name, ("x", "y", "about z"))
    assert sum(reason == "reach" for _, _, reason in ends) >= 4
    for axis, far, reason in ends:
        inside, beyond = (displaced(home, AXES.index(axis), far * (1.0 + off)) for off in (-1e-6, 1e-6))
        if size != (4, 4):
            angles = [np.arctan2(T[1, 0], T[0, 0]) for T in (inside, beyond)]
            inside, beyond = (T[: size[0], 3] for T in (inside, beyond))
            if name == "planar 3-RRR":
                inside, beyond = (np.append(p[:2], angle) for p, angle in zip((inside, beyond), angles, strict=True))
        assert np.isfinite(made.inverse_kinematics(inside)).all()
        if reason == "reach":
            with pytest.raises(ld.InputError, match="out of reach"):
                made.inverse_kinematics(beyond)
