"""Try an installed package where no ROS is: every room, a torque, a platform, the files, and what a node says.

Run by the Python it is installed in, from outside of the checkout; see tools/dist.py.
"""

import subprocess
import sys
from importlib.metadata import metadata
from importlib.resources import files
from pathlib import Path

import numpy as np

import lie_dynamics_ros.lie_dynamics as ld

ROS = ("rclpy", "ament_index_python", "rcl_interfaces", "lie_dynamics_interfaces", "launch")


def main() -> None:
    """Raise AssertionError where something is not as it should be."""
    place = Path(ld.__file__).parents[2]
    checkout = Path(__file__).resolve().parents[1]
    assert checkout not in Path(ld.__file__).resolve().parents, f"this is the checkout's: {ld.__file__}"
    for name in (*ld.__all__, *ld._ROOMS):
        assert getattr(ld, name) is not None
    model = ld.Model.from_urdf(files("lie_dynamics_ros") / "urdf" / "panda_arm.urdf")
    q = model.random(np.random.default_rng(0))
    zero = np.zeros(model.nv)
    step = 1e-6 * np.eye(model.nv)
    slope = [(ld.potential_energy(model, q + h) - ld.potential_energy(model, q - h)) / 2e-6 for h in step]
    torque = ld.inverse_dynamics(model, q, zero, zero)
    assert np.abs(torque - slope).max() < 1e-6 * np.abs(torque).max(), (torque, slope)
    base = np.array([[np.cos(a), np.sin(a), 0.0] for a in np.deg2rad([0, 40, 120, 160, 240, 280])])
    top = 0.6 * np.array([[np.cos(a), np.sin(a), 0.0] for a in np.deg2rad([-20, 60, 100, 180, 220, 300])])
    platform = ld.StewartPlatform(base, top)
    pose, guess = np.eye(4), np.eye(4)
    pose[:3, 3], guess[2, 3] = (0.05, -0.02, 0.8), 0.7
    found = ld.solve_forward_kinematics(platform, platform.leg_lengths(pose), guess)
    assert found.converged and np.abs(found.pose - pose).max() < 1e-9
    shipped = "platforms/reference_platform.yaml", "mechanisms/delta.urdf", "mechanisms/delta_loops.yaml"
    for name in ("lie_dynamics/py.typed", "lie_dynamics/__init__.pyi", *shipped):
        assert (files("lie_dynamics_ros") / name).is_file(), name
    loaded = [name for name in sys.modules if name.split(".")[0].endswith("_msgs") or name.split(".")[0] in ROS]
    assert not loaded, f"ROS is loaded: {loaded}"
    # Without site-packages, hence without ROS wherever this runs.
    node = [sys.executable, "-S", "-m", "lie_dynamics_ros.nodes.inverse_dynamics.node"]
    done = subprocess.run(node, cwd=place, capture_output=True, text=True, check=False)
    said = done.stderr
    assert done.returncode == 1 and said.startswith("the nodes need ROS 2") and said.count("\n") == 1, said
    about = metadata("lie_dynamics_ros")
    print(f"{about['Name']} {about['Version']} in {place}: passed")


if __name__ == "__main__":
    main()
