"""Closed mechanisms written as SDF, whose joints form loops: another tree of the same machine."""

from __future__ import annotations

import numpy as np

from lie_dynamics_ros.lie_dynamics import frame_pose
from lie_dynamics_ros.lie_dynamics.lie import se3, so3

LOOPS = {"spherical": "ball", "universal": "universal", "point_on_line": "revolute", "welded_in_plane": "fixed"}
"""Joints for kinds of loops; the first two of a plane's mechanisms hold more than they need to."""


def pose_element(pose, relative_to=""):
    attribute = f' relative_to="{relative_to}"' if relative_to else ""
    numbers = [*pose[:3, 3], *so3.to_rpy(pose[:3, :3])]
    return f"<pose{attribute}>{' '.join(repr(float(x)) for x in numbers)}</pose>"


def vector(values):
    return " ".join(repr(float(x)) for x in values)


def link_element(name, pose, inertia):
    figures = np.asarray(inertia.inertia)
    keys = ""
    for i, k in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        keys += f"<i{'xyz'[i]}{'xyz'[k]}>{float(figures[i, k])!r}</i{'xyz'[i]}{'xyz'[k]}>"
    center = pose_element(se3.from_parts(np.eye(3), inertia.com))
    inertial = f"<inertial>{center}<mass>{float(inertia.mass)!r}</mass><inertia>{keys}</inertia></inertial>"
    return f'<link name="{name}">{pose_element(pose)}{inertial}</link>\n'


def joint_element(name, kind, parent, child, pose, axes=(), told_in=("", "")):
    found = ""
    for tag, axis, frame in zip(("axis", "axis2"), axes, told_in, strict=False):
        attribute = f' expressed_in="{frame}"' if frame else ""
        found += f"<{tag}><xyz{attribute}>{vector(axis)}</xyz></{tag}>"
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{pose}{ends}{found}</joint>\n'


def as_sdf(model, constraints, q, turned=False):
    """Return a mechanism at a closed configuration as SDF, in which coordinates are told from there.

    Links have the names of bodies and "_link" behind them, which joints may have. Free joints are left out: loops hold
    what they carry. `turned` lets the joints of loops have their links the other way round.
    """
    text, names = "", {}
    for name, frame in model.frames.items():
        names[name] = name
        if frame.body < 0:
            names[name] = "world"
        elif name in model.body_names:
            names[name] = f"{name}_link"
            text += link_element(names[name], frame_pose(model, q, name), model.inertia(name))
        else:
            held = f' attached_to="{model.body_names[frame.body]}_link"'
            text += f'<frame name="{name}"{held}>{pose_element(frame.placement)}</frame>\n'
    for joint in model.joints:
        if joint.kind == "free":
            continue
        axes = [np.array(step.axis) for step in joint.type.steps]
        if joint.kind == "universal":
            axes[0] = so3.exp(axes[1] * q[joint.q_slice][1]).T @ axes[0]
        kind = {"spherical": "ball"}.get(joint.kind, joint.kind)
        text += joint_element(joint.name, kind, names[joint.parent_body], names[joint.body], "", axes)
    for loop in constraints.loops:
        first, second = names[loop.first], names[loop.second]
        base = frame_pose(model, q, loop.first) if first == "world" else np.eye(4)
        pose = pose_element(base @ loop.first_placement, first if first != "world" else "__model__")
        axes = [loop.axis, loop.second_axis][: {"universal": 2, "point_on_line": 1}.get(loop.kind, 0)]
        if axes:
            axes[0] = (base @ loop.first_placement)[:3, :3] @ axes[0]
        if len(axes) == 2:
            axes[1] = loop.second_placement[:3, :3] @ axes[1]
        if turned:
            first, second, axes = second, first, axes[::-1]
        told_in = [first if first != "world" else "__model__", second if second != "world" else "__model__"]
        if turned and len(axes) == 1:
            told_in = told_in[::-1]
        text += joint_element(loop.name, LOOPS[loop.kind], first, second, pose, axes, told_in)
    return f'<?xml version="1.0"?>\n<sdf version="1.9"><model name="{model.name}">\n{text}</model></sdf>\n'
