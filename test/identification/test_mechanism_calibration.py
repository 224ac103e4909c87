"""Dimensions of closed mechanisms from measurements: machines of known errors are found again."""

from __future__ import annotations

import numpy as np
import pytest
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics import DescriptionError, InputError, mechanism
from lie_dynamics_ros.lie_dynamics.identification import calibrate_mechanism
from lie_dynamics_ros.lie_dynamics.lie import se3
from lie_dynamics_ros.lie_dynamics.stewart import OffsetPlatform, reference_platform, semi_regular_rotary_platform

RADIUS, RODS, ANGLES = [0.2515, 0.249, 0.2503], [0.3509, 0.3492, 0.3501], np.radians([0.2, 119.9, 240.06])
ZEROS = np.array([1e-3, -1.5e-3, 0.7e-3])


def carriages(places):
    """Positions of a linear delta's carriages, by Pythagoras in the plane of each tower."""
    c, s = np.cos(ANGLES), np.sin(ANGLES)
    x, y = places[:, :1] * c + places[:, 1:2] * s, places[:, 1:2] * c - places[:, :1] * s
    return places[:, 2:] + np.sqrt(np.square(RODS) - (x + 0.05 - RADIUS) ** 2 - y**2)


def places(rng, count, high=0.15):
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, count), 0.12 * np.sqrt(rng.uniform(0.0, 1.0, count))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 0.2 + high * rng.uniform(0.0, 1.0, count)])


def test_a_delta_from_twelve_points(rng):
    """Exact points give the machine itself, noisy ones to the noise: chi-square and deviations are what they say."""
    points, elsewhere = places(rng, 12), places(rng, 8)
    found = calibrate_mechanism("linear delta", carriages(points) - ZEROS, positions=points, position_noise=1e-5)
    assert found.converged and found.rank == 12 and found.unidentifiable == ()
    assert np.abs(found.dimensions["base_radius"] - RADIUS).max() < 1e-10
    assert np.abs(found.dimensions["forearm"] - RODS).max() < 1e-10 and np.abs(found.zeros - ZEROS).max() < 1e-10
    assert np.abs(found.tool_positions(carriages(elsewhere[:5]) - ZEROS) - elsewhere[:5]).max() < 1e-12
    truth = found.values
    noise = 1e-5 * rng.normal(size=points.shape)
    read = carriages(points) - ZEROS
    noisy = calibrate_mechanism("linear delta", read, positions=points + noise, position_noise=1e-5)
    assert noisy.degrees_of_freedom == 24 and 8.0 < noisy.chi_square < 50.0
    assert (np.abs(noisy.values - truth) < 4.5 * noisy.standard_deviations).all()
    off = noisy.tool_positions(carriages(elsewhere) - ZEROS) - elsewhere
    assert np.sqrt(np.mean(off**2)) < 3e-5 and np.sqrt(np.mean((noisy.residuals * 1e-5) ** 2)) < 1.2e-5


def test_heights_tell_less_and_say_so(rng):
    points = places(rng, 14, 0.0)
    found = calibrate_mechanism("linear delta", carriages(points) - ZEROS, heights=points[:, 2], deviation=2e-3)
    assert {"tower_angles 1", "base_radius 1"} <= set(found.unidentifiable) and found.rank < 12
    elsewhere = places(rng, 6, 0.0)
    before = mechanism("linear delta")  # the nominal machine
    modes = before.assembly_modes(carriages(elsewhere)[0] - ZEROS)
    off = min(abs(before.output(x)[2] - elsewhere[0, 2]) for x in modes.q)
    assert off > 3e-4
    assert np.abs(found.tool_positions(carriages(elsewhere) - ZEROS) - elsewhere)[:, 2].max() < 0.2 * off


def test_distances_between_points(rng):
    points = places(rng, 14)
    pairs = np.array([(i, j) for i in range(14) for j in range(i)])
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    found = calibrate_mechanism("linear delta", carriages(points) - ZEROS, distances=(pairs, lengths))
    assert found.converged and found.chi_square < 1e-12
    p = found.tool_positions(carriages(points) - ZEROS)
    assert np.abs(np.linalg.norm(p[pairs[:, 0]] - p[pairs[:, 1]], axis=1) - lengths).max() < 1e-11


FAMILIES = {
    "delta": {"base_radius": [0.2, 0.199, 0.2015], "arm": [0.3, 0.299, 0.3005], "forearm": [0.8, 0.802, 0.797]},
    "3-RPS": {"base_radius": [0.3, 0.299, 0.3008], "platform_radius": [0.15, 0.1507, 0.1493]},
    "five-bar": {"lengths": (0.4003, 0.2994, 0.5002, 0.4991, 0.3007)},
    "6-RUS": {"rod_length": [0.2, 0.2003, 0.1998, 0.2001, 0.2, 0.2], "crank": [0.06, 0.0601, 0.06, 0.0598, 0.06, 0.06]},
}


@pytest.mark.parametrize("name", every_run(("delta", "3-RPS", "five-bar"), FAMILIES))
def test_families(name, rng):
    """Poses, in another frame for platforms, of a machine whose inverse kinematics are closed formulas."""
    true = mechanism(name, **FAMILIES[name])
    zeros = 2e-3 * rng.normal(size=len(true.actuated))
    home = mechanism(name)
    outputs = []
    for _ in range(9):
        move = rng.uniform(-1.0, 1.0, 6)
        if name == "3-RPS":
            outputs.append(true.tilted(0.4 + 0.02 * move[0], 0.08 * abs(move[1]), np.pi * move[2]))
        elif name == "6-RUS":
            outputs.append(home.output(home.q) @ se3.exp([0.05, 0.05, 0.05, 0.01, 0.01, 0.01] * move))
        else:
            at = home.output(home.q)
            outputs.append(at + 0.04 * move[: len(at)])
    q = np.array([true.configuration(x) for x in outputs])
    base = se3.exp([0.01, -0.02, 0.03, 0.004, 0.002, -0.003]) if name in ("3-RPS", "6-RUS") else np.eye(4)
    found = calibrate_mechanism(name, true.motors(q) - zeros, poses=base @ true.pose(q), fit_base=bool(base[0, 1]))
    assert found.converged and found.chi_square < 1e-12
    again = np.array([found.base @ found.made.pose(found.made.configuration(x)) for x in outputs[:2]])
    if found.unidentifiable == ():
        assert np.abs(again - base @ true.pose(q[:2])).max() < 1e-9
        assert np.abs(found.zeros - zeros).max() < 1e-8
    assert np.abs(found.tool_positions(true.motors(q) - zeros) - (base @ true.pose(q))[:, :3, 3]).max() < 1e-10


@pytest.mark.parametrize("kind", every_run(("6-UCU", "6-RUS"), ("6-UPS", "6-UCU", "6-RUS")))
def test_platforms_by_their_geometry(kind, rng):
    """Joint centres from poses, screws of half a lead more and horns from a probe's positions."""
    points, leads = reference_platform(), np.array([0.01, -0.01, 0.02, 0.0, 0.01, 0.01])
    poses = points.home_pose @ se3.exp(rng.uniform(-1.0, 1.0, (9, 6)) * np.repeat((0.25, 0.05), 3))
    if kind == "6-UPS":
        unknown, drawn, value = "platform_points", points, points.platform_points + 1e-3 * rng.normal(size=(6, 3))
        at = poses[:, None, :3, 3] + value @ np.swapaxes(poses[:, :3, :3], -1, -2) - points.base_points
        read = np.linalg.norm(at, axis=-1)
    elif kind == "6-UCU":
        axes, value = ([1.0, 0.2, 0.0], [0.1, 1.0, 0.0]), 1.5 * leads
        unknown, drawn = "screw_leads", OffsetPlatform(points, *axes, 0.03, 0.02, leads)
        read = OffsetPlatform(points, *axes, 0.03, 0.02, value).leg_lengths(poses)
    else:
        shape = 0.062, 0.05, 0.2269, 0.2
        unknown, drawn = "horns", semi_regular_rotary_platform(*shape, 0.02, 0.11)
        value = np.full(6, 0.0205)
        poses = drawn.home_pose @ se3.exp(rng.uniform(-1.0, 1.0, (9, 6)) * np.repeat((0.08, 0.004), 3))
        read = semi_regular_rotary_platform(*shape, 0.0205, 0.11).motor_positions(poses)
    seen = {"poses": poses} if kind == "6-UPS" else {"positions": poses[:, :3, 3]}
    found = calibrate_mechanism(kind, read, dimensions={"geometry": drawn}, unknown=[unknown], fit_zeros=False, **seen)
    assert found.converged and found.unidentifiable == ()
    assert np.abs(found.dimensions[unknown] - value).max() < 1e-9
    assert np.abs(found.made.pose(found.made.q)[:2, 3]).max() < 0.05


def test_what_makes_no_sense_is_refused():
    good = carriages(np.array([[0.0, 0.0, 0.25], [0.05, 0.0, 0.25]]))
    at = np.zeros((2, 3))
    for error, words, arguments in (
        (DescriptionError, "one of", {"name": "gamma"}),
        (DescriptionError, "unknown: some of .* got 'reach'", {"unknown": ["reach"]}),
        (InputError, "one of them", {"heights": [0.0, 0.0]}),
        (InputError, r"shape \(n, 3\)", {"readings": good[0]}),
        (InputError, "row 1", {"readings": good + 9.0}),
        (InputError, "deviation", {"deviation": 0.0}),
        (InputError, "positions", {"positions": at[:1]}),
        (DescriptionError, "leg 2", {"dimensions": {"forearm": [0.35, -0.35, 0.35]}}),
    ):
        with pytest.raises(error, match=words):
            calibrate_mechanism(**{"name": "linear delta", "readings": good, "positions": at, **arguments})
