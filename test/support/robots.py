"""Robots of the package example-robot-data, each loaded by the library and by Pinocchio; and the package's Panda."""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest

import lie_dynamics_ros

OWN = Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf"
PANDA = "panda_description/urdf/panda.urdf"
UR5 = "ur_description/urdf/ur5_robot.urdf"
TALOS = "talos_data/robots/talos_reduced.urdf"
PR2 = "pr2_description/urdf/pr2.urdf"  # continuous joints off the axes, prismatic ones, fixed links in the chain


@cache
def folder():
    """The folder that holds all robots, or None."""
    roots = [Path(entry) / "cmeel.prefix" / "share" for entry in sys.path]
    roots += [Path(prefix) / "share" for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    roots.append(Path(sys.prefix) / "share")
    for root in roots:
        if (root / "example-robot-data" / "robots").is_dir():
            return root / "example-robot-data" / "robots"
    return None


def path(robot):
    """Path of a robot's URDF; skips the test where the package is missing."""
    if folder() is None:
        pytest.skip("example-robot-data is not installed")
    return folder() / robot


def all_robots():
    """Names of all URDF files, or one skipped parameter."""
    return urdf_files() or [pytest.param("", marks=pytest.mark.skip(reason="example-robot-data is not installed"))]


def urdf_files():
    """Names of all URDF files, relative to the folder; empty where it is not installed."""
    return sorted(str(file.relative_to(folder())) for file in folder().rglob("*.urdf")) if folder() else []


@cache
def load(robot, floating_base=False):
    """The library's model of a robot, whatever its inertias."""
    from lie_dynamics_ros.lie_dynamics import Model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Model.from_urdf(path(robot), floating_base, inertia_check="warn")


@cache
def panda():
    """The library's model of the package's own arm, which has no fingers."""
    from lie_dynamics_ros.lie_dynamics import Model

    return Model.from_urdf(OWN)
