"""Build description; complete on its own, so that colcon and pip read the same facts."""

import sys
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "lie_dynamics_ros"
HERE = Path(__file__).resolve().parent  # `colcon build --symlink-install` runs a link to this file
# What builds packages for ROS (colcon, bloom) calls these commands; setup.cfg sends their scripts to
# lib/lie_dynamics_ros, for `ros2 run`. pip puts scripts on PATH, where names need a prefix.
PREFIX = "" if {"install", "develop"} & set(sys.argv) else "lie_dynamics_"
PROGRAMS = {
    **{
        name: f"{PACKAGE}.nodes.{name}.node:main"
        for name in (
            "closed_loop",
            "computed_torque",
            "contact",
            "hybrid_dynamics",
            "inverse_dynamics",
            "simulated_robot",
            "simulated_stewart",
            "stewart_command",
            "stewart_pose",
            "together",
            "tool_wrench",
            "viewer",
        )
    },
    "demo": f"{PACKAGE}.demo.__main__:main",
    "identify": f"{PACKAGE}.identify.command:main",
    "calibrate_stewart": f"{PACKAGE}.identify.calibrate_command:main",
}

setup(
    name=PACKAGE,
    version="1.0.0",
    description="Robot dynamics on Lie groups for ROS 2",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="lie_dynamics_ros maintainers",
    maintainer="lie_dynamics_ros maintainers",
    license="Apache-2.0",
    python_requires=">=3.10,<3.14",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={
        PACKAGE: [
            "lie_dynamics/py.typed",
            "lie_dynamics/*.pyi",
            "lie_dynamics/stewart/assembly/*.npz",
            "ros/*/*.xml",
            "urdf/*.urdf",
            "urdf/*.yaml",
            "platforms/*.yaml",
            "mechanisms/*",
        ]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        (f"share/{PACKAGE}/launch", glob("launch/*.launch.py")),
        (f"share/{PACKAGE}/config", glob("config/*.yaml")),
        (f"share/{PACKAGE}/config/rviz", glob("config/rviz/*.rviz")),
        (f"share/{PACKAGE}/config/foxglove", glob("config/foxglove/*.json")),
        (f"share/{PACKAGE}/config/policies", glob("config/policies/*.xml")),
        (f"share/{PACKAGE}/urdf", glob(f"{PACKAGE}/urdf/*.urdf") + glob(f"{PACKAGE}/urdf/*.yaml")),
        (f"share/{PACKAGE}/platforms", glob(f"{PACKAGE}/platforms/*.yaml")),
        (f"share/{PACKAGE}/mechanisms", glob(f"{PACKAGE}/mechanisms/*")),
    ],
    zip_safe=False,
    # ROS itself (rclpy and the messages) comes from the ROS installation, or from the wheels
    # that tools/requirements-<distro>.txt pins. `make matrix` tests the oldest and newest of Python, numba and numpy;
    # numba says which numpy it takes, and the engine uses names that numba may change in any version.
    install_requires=["setuptools", "numpy>=1.26", "scipy>=1.11", "numba>=0.58,<0.69", "pyyaml"],
    extras_require={
        "demo": ["matplotlib"],
        "mjcf": ["mujoco>=3.3"],
        "torch": ["torch>=2.4"],
        "jax": ["jax>=0.4.36"],
        "view": ["viser>=1.1,<2", "pycollada"],
        "bags": ["rosbags>=0.11", "matplotlib"],
        "cluster": ["dask[array,distributed]>=2024.8"],
        "test": [
            "pytest>=7,<9",
            "pytest-xdist>=3.5",
            "hypothesis",
            "mpmath",
            "pytest-benchmark",
            "pin>=3.3",
            "example-robot-data>=4.2",
            "matplotlib",
            "sympy",
            "mujoco>=3.3",
            "gymnasium>=1.0",
            "toppra>=0.6.2",
            "rosbags>=0.11",
            "viser>=1.1,<2",
            "pycollada",
            "dask[array,distributed]>=2024.8",
        ],
        "docs": [
            "sphinx>=8.1",
            "myst-parser>=4",
            "sphinx-gallery>=0.19",
            "furo",
            "matplotlib",
            "rosbags>=0.11",
        ],
        "lint": ["ruff~=0.17.5", "mypy~=2.4.1", "import-linter>=2.15,<2.17"],
    },
    entry_points={"console_scripts": [f"{PREFIX}{name} = {target}" for name, target in PROGRAMS.items()]},
)
