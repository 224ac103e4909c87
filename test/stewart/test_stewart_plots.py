"""Pictures are drawn without a display, and show what they should."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics.stewart import StewartTracker, reference_platform, workspace_slice
from lie_dynamics_ros.lie_dynamics.stewart.plots import (
    plot_platform,
    plot_tracking,
    plot_workspace_slice,
    save_figure,
)

ROOT = Path(__file__).resolve().parents[2]


def is_small_png(path):
    content = path.read_bytes()
    return content.startswith(b"\x89PNG") and 3_000 < len(content) < 200_000


def test_platform_is_drawn_joint_to_joint(tmp_path):
    platform = reference_platform()
    moved = platform.home_pose.copy()
    moved[:3, 3] += [0.1, 0.0, 0.1]
    figure = plot_platform(platform, np.stack([platform.home_pose, moved]), ["home", "moved"])
    assert [ax.get_title() for ax in figure.axes] == ["home", "moved"]
    lines = [np.array(line.get_data_3d()).T for line in figure.axes[1].get_lines()]
    legs = [line for line in lines if len(line) == 2][:6]
    np.testing.assert_allclose([leg[0] for leg in legs], platform.base_points)
    np.testing.assert_allclose([leg[1] for leg in legs], platform.platform_points + moved[:3, 3])
    assert [text.get_text() for text in figure.axes[0].texts] == list("123456")
    assert is_small_png(save_figure(figure, tmp_path / "made" / "platform.png"))
    assert len(plot_platform(platform, platform.home_pose).axes) == 1


def test_slice_shows_the_reachable_poses_only(tmp_path):
    platform = reference_platform(leg_limits=(0.45, 0.6))
    found = workspace_slice(platform, ("x", np.linspace(-0.3, 0.3, 9)), ("z", np.linspace(0.3, 0.7, 7)))
    figure = plot_workspace_slice(found)
    shown = np.ma.filled(figure.axes[0].collections[0].get_array(), np.nan).reshape(7, 9)
    np.testing.assert_array_equal(np.isfinite(shown.T), found.reachable)
    np.testing.assert_array_equal(shown.T[found.reachable], found.condition_number[found.reachable])
    assert is_small_png(save_figure(figure, tmp_path / "slice.png"))
    nothing = workspace_slice(reference_platform(leg_limits=(2.0, 3.0)), ("x", [0.0, 0.1]), ("z", [0.4, 0.5]))
    assert not nothing.reachable.any()
    assert is_small_png(save_figure(plot_workspace_slice(nothing), tmp_path / "nothing.png"))


def test_tracking_shows_what_was_followed_and_hides_what_was_not(tmp_path):
    platform = reference_platform()
    times = np.linspace(0.0, 1.0, 41)
    poses = np.tile(platform.home_pose, (41, 1, 1))
    poses[:, 2, 3] += 0.05 * np.sin(2.0 * np.pi * times)
    measured = platform.leg_lengths(poses)
    measured[20] = np.nan
    figure = plot_tracking(times, StewartTracker(platform, platform.home_pose).update_many(measured))
    height = figure.axes[1].get_lines()[2].get_ydata()
    assert np.isnan(height[20])
    np.testing.assert_allclose(np.delete(height, 20), np.delete(poses[:, 2, 3], 20), atol=1e-12)
    assert len(figure.axes) == 4 and len(figure.axes[0].get_lines()) == 6
    assert is_small_png(save_figure(figure, tmp_path / "tracking.png"))


def test_importing_the_room_loads_no_plotting():
    code = (
        "import sys, lie_dynamics_ros.lie_dynamics.stewart\n"
        "print([name for name in ('matplotlib', 'scipy.linalg', 'scipy.optimize') if name in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "[]"
