"""A layout of PlotJuggler for what a launch file starts: efforts, positions and velocities of joints over time.

PlotJuggler names curves of joint states by the joints, so a layout is made for each robot.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from ...core.errors import DescriptionError
from ...lie_dynamics.errors import LieDynamicsError
from ...lie_dynamics.model.urdf.elements import read_robot
from ..model.robot_description import read_description

ANSWERS = ("computed_torque", "inverse_dynamics", "hybrid_dynamics", "closed_loop")
"""Nodes that answer with ``~/joint_efforts``."""
_STREAMER = "ROS2 Topic Subscriber"
_SETTINGS = {
    "use_header_stamp": "false",
    "discard_large_arrays": "true",
    "max_array_size": "100",
    "boolean_strings_to_number": "true",
    "remove_suffix_from_strings": "true",
}
"""Of the streamer; it reads all of them."""
_COLORS = ("#1f77b4", "#d62728", "#1ac938", "#ff7f0e", "#f14cc1", "#9467bd", "#17becf", "#bcbd22")


def topics_of(namespace: str, nodes: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the topics to look at, each with the fields of joint states that are drawn.

    Parameters
    ----------
    namespace : str
        Where joint states are.
    nodes : iterable of mapping
        What launch starts, as `node_options` has it.
    """
    answers = [
        f"{_absolute(node['namespace'])}{node['name']}/joint_efforts" for node in nodes if node["name"] in ANSWERS
    ]
    return {**dict.fromkeys(answers, ("effort",)), f"{_absolute(namespace)}joint_states": ("position", "velocity")}


def joints_of(description: str, prefix: str = "") -> list[str]:
    """Return the names that messages have for the joints of a URDF that move; none where it cannot be read."""
    try:
        robot = read_robot(read_description(description), "robot_description")
    except (DescriptionError, LieDynamicsError):  # the nodes say what is wrong with it
        return []
    return [prefix + joint.get("name", "") for joint in robot.joints if joint.get("type") != "fixed"]


def layout(topics: Mapping[str, Sequence[str]], joints: Sequence[str]) -> str:
    """Return a layout, XML: a plot for each field of each topic, and the streamer that listens to them.

    Without joints the topics are chosen and no curve is drawn.
    """
    plots = [(topic, quantity) for topic, quantities in topics.items() for quantity in quantities]
    root = ET.Element("root")
    tabs = ET.SubElement(root, "tabbed_widget", name="Main Window", parent="main_window")
    tab = ET.SubElement(tabs, "Tab", containers="1", tab_name="robot")
    share = ";".join([f"{1.0 / len(plots):.6f}"] * len(plots))
    container = ET.SubElement(tab, "Container")
    rows = ET.SubElement(container, "DockSplitter", orientation="-", count=str(len(plots)), sizes=share)
    for topic, quantity in plots:
        area = ET.SubElement(rows, "DockArea", name=f"{quantity}, {topic}")
        plot = ET.SubElement(area, "plot", mode="TimeSeries", style="Lines", flip_x="false", flip_y="false")
        for k, joint in enumerate(joints):
            ET.SubElement(plot, "curve", name=f"{topic}/{joint}/{quantity}", color=_COLORS[k % len(_COLORS)])
    ET.SubElement(tabs, "currentTabIndex", index="0")
    ET.SubElement(root, "use_relative_time_offset", enabled="1")
    plugin = ET.SubElement(ET.SubElement(root, "Plugins"), "plugin", ID=_STREAMER)
    for name, value in {**_SETTINGS, "selected_topics": ";".join(topics)}.items():
        ET.SubElement(plugin, name, value=value)
    ET.SubElement(root, "previouslyLoaded_Streamer", name=_STREAMER)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def write(text: str) -> Path:
    """Write a layout to a new file that others cannot change; PlotJuggler reads it when it starts."""
    handle, path = tempfile.mkstemp(prefix="lie_dynamics_ros_", suffix=".xml")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(path)


def _absolute(namespace: str) -> str:
    return f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
