"""Pictures: what is drawn is what was given, at its place, and matplotlib is asked for by name."""

import sys

import numpy as np
import pytest

from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics import plots
from lie_dynamics_ros.lie_dynamics.control import Trajectory
from lie_dynamics_ros.lie_dynamics.simulation import Simulation
from lie_dynamics_ros.lie_dynamics.stewart import OffsetPlatform, reference_platform, semi_regular_rotary_platform

pytest.importorskip("matplotlib", reason="pictures need matplotlib")


def two_links():
    rod = ld.SpatialInertia(1.5, [0.5, 0.0, 0.0], 0.01 * np.eye(3))
    turn, along = ld.joint_types.revolute([0, 0, 1]), np.eye(4)
    along[0, 3] = 1.0
    builder = ld.ModelBuilder().add("$upper", joint=turn, inertia=rod).add("lower", "$upper", turn, along, rod)
    return builder.add("tip", "lower", placement=along).build("arm")


def ends(ax):
    """Ends of the lines of 3-D axes, each (2, 3)."""
    return [np.array(line.get_data_3d()).T for line in ax.get_lines()]


def test_a_model_is_drawn_where_its_joints_are():
    figure = two_links().show([np.pi / 2, np.pi / 2])
    drawn = ends(figure.axes[0])
    for line in ([[0, 0, 0], [0, 1, 0]], [[0, 1, 0], [-1, 1, 0]]):  # the upper body, and the tip's frame
        assert min(np.abs(found - line).max() for found in drawn) < 1e-12
    assert [text.get_text().strip() for text in figure.axes[0].texts] == [r"\$upper", "lower"]
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_motion_is_drawn_over_its_times():
    model = two_links()
    path = Trajectory(model, [1.0, 3.0], [[0.0, 0.0], [1.0, -1.0]], np.zeros((2, 2)), np.zeros((2, 2)))
    figure = path.plot()
    assert [ax.get_ylabel().split()[0] for ax in figure.axes] == ["position", "velocity", "acceleration"]
    first = figure.axes[0].get_lines()[0]
    np.testing.assert_allclose(np.interp(2.0, *first.get_data()), 0.5, atol=1e-3)
    assert path._repr_html_().count("<tr>") == 3
    time, rows = np.linspace(0, 1, 4), np.arange(8.0).reshape(4, 2)
    states = Simulation(time, rows, rows, rows[:3], rows[:3]).plot(["a", "b"])
    assert len(states.axes) == 4 and len(states.axes[3].get_lines()[1].get_xdata()) == 3
    assert [text.get_text() for text in states.legends[0].get_texts()] == ["a", "b"]


def test_platforms_and_mechanisms_are_drawn_at_home_or_in_a_pose():
    platform = reference_platform()
    pose = platform.home_pose.copy()
    pose[2, 3] += 0.1
    top = pose[:3, 3] + platform.platform_points @ pose[:3, :3].T
    drawn = ends(platform.show(pose).axes[0])
    for leg in zip(platform.base_points, top, strict=True):
        assert min(np.abs(found - np.array(leg)).max() for found in drawn if len(found) == 2) < 1e-12
    servos = semi_regular_rotary_platform(0.062, 0.05, 0.2269, 0.2, horns=0.02, rods=0.11)
    lengths = [np.linalg.norm(np.diff(found, axis=0)) for found in ends(servos.show().axes[0]) if len(found) == 2]
    assert np.isclose(lengths, 0.02).sum() == np.isclose(lengths, 0.11).sum() == 6
    offset = OffsetPlatform.square_at(platform, platform.home_pose, 0.03, 0.02)
    lengths = [np.linalg.norm(np.diff(found, axis=0)) for found in ends(offset.show(pose).axes[0]) if len(found) == 2]
    assert np.isclose(lengths, 0.03).sum() == np.isclose(lengths, 0.02).sum() == 6
    assert all(np.isclose(lengths, length).any() for length in offset.leg_lengths(pose))
    assert ld.mechanism("five-bar").show().axes


def test_what_cannot_be_drawn_is_refused(monkeypatch):
    model = two_links()
    with pytest.raises(ld.InputError, match="q: "):
        model.show([0.0])
    with pytest.raises(ld.InputError, match=r"one configuration \(2,\) is expected"):
        model.show(np.zeros((3, 2)))
    with pytest.raises(ld.InputError, match="motion: what has time and q is expected, got int"):
        plots.plot_motion(3)
    with pytest.raises(ld.InputError, match="pose: "):
        plots.plot_legs(reference_platform(), np.zeros(3))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pictures need matplotlib: pip install matplotlib"):
        model.show()
