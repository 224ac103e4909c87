"""Library: loading time of large descriptions beside the readers of Pinocchio and MuJoCo, taken in turns."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lie_dynamics_ros.lie_dynamics import Model

from ..results import Figure, at_most

LINKS, ARMS = 191, 900
RUNS = {"URDF": 25, "MJCF": 5}
#: Largest ratios to the other reader's time.
MOST = {"URDF": 5.0, "MJCF": 1.3}


def run() -> tuple[list[Figure], Any]:
    import mujoco
    import pinocchio

    urdf, mjcf = urdf_tree(), mjcf_arms()
    pairs: dict[str, tuple[str, Callable[[], Any], Callable[[], Any]]] = {
        "URDF": (
            f"{LINKS} links beside Pinocchio's reader",
            lambda: Model.from_urdf(urdf),
            lambda: pinocchio.buildModelFromXML(urdf),
        ),
        "MJCF": (
            f"{3 * ARMS} degrees of freedom beside MuJoCo's compiler, which it includes",
            lambda: Model.from_mjcf(mjcf),
            lambda: mujoco.MjModel.from_xml_string(mjcf),
        ),
    }
    figures, raw = [], {}
    for kind, (what, ours, theirs) in pairs.items():
        both = [(processor_time(ours), processor_time(theirs)) for _ in range(RUNS[kind] + 1)][1:]
        raw[kind] = both
        mine, other = (statistics.median(column) for column in zip(*both, strict=True))
        figures += [
            Figure(f"{kind} of {what}", mine, "s"),
            Figure(f"{kind}: the other reader", other, "s"),
            at_most(f"{kind}: ratio", mine / other, "", MOST[kind]),
        ]
    return figures, raw


def processor_time(call: Callable[[], Any]) -> float:
    """Time of the processor that a call takes [s]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        call()
        return time.process_time() - start


def urdf_tree() -> str:
    """A tree of links with inertias in turned frames, every third joint fixed."""
    rng = np.random.default_rng(0)
    text = ['<robot name="tree"><link name="l0"/>']
    for i in range(1, LINKS):
        x, mass, roll, yaw = rng.uniform(0.1, 2.0, 4)
        text.append(
            f'<link name="l{i}"><inertial><origin xyz="{x:.4f} 0.1 0.2" rpy="{roll:.4f} 0.1 0.2"/>'
            f'<mass value="{mass:.4f}"/><inertia ixx="0.1" iyy="0.1" izz="0.12" ixy="0.001" ixz="0" iyz="0"/>'
            "</inertial></link>"
        )
        kind = "revolute" if i % 3 else "fixed"
        moves = (
            '<axis xyz="0 0.6 0.8"/><limit lower="-1" upper="2" effort="10" velocity="3"/>'
            '<dynamics damping="0.1" friction="0.2"/>'
        )
        text.append(
            f'<joint name="j{i}" type="{kind}"><parent link="l{rng.integers(max(0, i - 6), i)}"/><child link="l{i}"/>'
            f'<origin xyz="0.1 0.2 {x:.4f}" rpy="0.1 0.2 {yaw:.4f}"/>{moves if i % 3 else ""}</joint>'
        )
    return "".join([*text, "</robot>"])


def mjcf_arms() -> str:
    """Arms of three joints beside each other on the world."""
    arms = [
        f'<body name="a{k}" pos="0 {k} 1"><joint name="turn{k}" axis="0 0 1"/><geom size="0.1" pos="0.1 0 0"/>'
        f'<body name="b{k}" pos="0.3 0 0"><joint name="lift{k}" axis="0 1 0" damping="0.1"/>'
        f'<geom type="capsule" size="0.05 0.1"/><body name="c{k}" pos="0.3 0 0">'
        f'<joint type="slide" name="push{k}" axis="1 0 0" range="-1 1" limited="true"/>'
        '<geom type="box" size="0.05 0.1 0.1"/></body></body></body>'
        for k in range(ARMS)
    ]
    return "".join(["<mujoco><worldbody>", *arms, "</worldbody></mujoco>"])
