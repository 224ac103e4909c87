"""What launch is to start, from the arguments of a launch file.

What is wrong is told by its name, before the first process is started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...lie_dynamics.texts import quoted
from .argument import LISTS, OF_ALL_NODES, Argument
from .launch_arguments import LAUNCHED_NODES, Part, with_view


def node_options(
    parts: Sequence[Part], arguments: Mapping[str, Argument], texts: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return what launch is to start: name, namespace, parameter file, parameters and renamed topics of each node.

    Raises
    ------
    ValueError
        Names every argument with a value that cannot be, the value, and what was expected.
    """
    parts = with_view(parts)
    values, problems = {}, []
    for name, argument in arguments.items():
        text = texts[name].strip() if argument.kind != "text" else texts[name]
        try:
            if text:
                values[name] = argument.read(name, text)
        except ValueError as error:
            problems.append(str(error))
    if not problems:
        for name in dict.fromkeys(part.each for part in parts if part.each and not part.shared):
            problems += _problems_of_arms(name, values)
    if problems:
        raise ValueError("; ".join(problems))
    if values.get("publish_clock"):  # who answers states that are stamped with simulated time lives in it
        values.setdefault("use_sim_time", True)
    started = [part for part in parts if not part.when or values.get(part.when)]
    found = []
    for part in started:
        options = _options(part, values)
        if part.each and not (part.shared and "joint_prefix" not in values):
            obeys = any(other.node == "simulated_robot" for other in started)
            if part.each == "robots":
                found += [_for_robot(options, robot, obeys) for robot in values[part.each]]
                continue
            found += [_for_arm(options, *arm, obeys, "joint_prefix" in values) for arm in values[part.each].items()]
        else:
            found.append(options)
    return found


ARM = "{arm}"
"""Stands for the namespace of each arm in the value of an argument."""
ROBOT = "{robot}"
"""The same for robots."""


def _problems_of_arms(name: str, values: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the arguments of a file for several arms or robots."""
    if not values.get(name):
        return [f"{name} is empty; expected {LISTS[name]}"]
    if name == "robots":
        return ["view is true with robots; expected one robot"] if values.get("view") else []
    prefix = values.get("joint_prefix", ARM)
    if len(values[name]) > 1 and ARM not in prefix:
        return [f"joint_prefix is {quoted(prefix)} for several arms; expected {ARM} in it, which stands for each"]
    if "joint_prefix" in values and values.get("publish_clock"):
        return ["publish_clock is true with joint_prefix; expected one simulated robot, and each arm has its own"]
    if "joint_prefix" in values and values.get("view"):
        return ["view is true with joint_prefix; expected one robot, and each arm is one of its own"]
    return []


def _for_arm(options: dict[str, Any], namespace: str, base_link: str, simulated: bool, apart: bool) -> dict[str, Any]:
    """Return the options of a node for one arm, whose efforts go to the simulated robot where there is one.

    That is one for all, or in the namespace of each arm where they are robots of their own, ``apart``.
    """
    root = f"/{options['namespace'].strip('/')}".rstrip("/")
    shared = {topic: f"{root}/{topic}" for topic in ("joint_states", "robot_description", "imu", "odometry")}
    if simulated and options["name"] != "simulated_robot":
        shared["~/joint_efforts"] = f"{root}{f'/{namespace}' if apart else ''}/simulated_robot/joint_efforts"
    return {
        **options,
        "namespace": f"{root}/{namespace}",
        "parameters": {**_prefixed(options, ARM, namespace), "base_link": base_link},
        "remappings": [*options["remappings"], *shared.items()],
    }


def _for_robot(options: dict[str, Any], namespace: str, simulated: bool) -> dict[str, Any]:
    """Return the options of a node for one robot, all of whose topics lie in its namespace."""
    obeyed = [("~/joint_efforts", "simulated_robot/joint_efforts")]
    return {
        **options,
        "namespace": f"/{options['namespace'].strip('/')}".rstrip("/") + f"/{namespace}",
        "parameters": _prefixed(options, ROBOT, namespace),
        "remappings": [
            *options["remappings"],
            *(obeyed if simulated and options["name"] != "simulated_robot" else []),
        ],
    }


def _prefixed(options: dict[str, Any], stands: str, namespace: str) -> dict[str, Any]:
    """Return the parameters with the namespace in the place of what stands for it in prefixes."""
    return {
        name: value.replace(stands, namespace) if name.endswith("_prefix") else value
        for name, value in options["parameters"].items()
    }


def _options(part: Part, values: Mapping[str, Any]) -> dict[str, Any]:
    node = LAUNCHED_NODES[part.node]
    given = {name: values[name] for name in (*part.takes, *OF_ALL_NODES) if name in values} | dict(part.fixed)
    parameters = {name: given[name] for name in node.parameters if name in given}
    if part.node == "inverse_dynamics" and "commands" in given:
        parameters["publish_commands"] = True
    return {
        "name": part.node,
        "namespace": values.get("namespace", ""),
        "file": values.get("config", ""),
        "parameters": parameters,
        "remappings": [(topic, given[name]) for name, (topic, _) in node.topics.items() if name in given],
    }
