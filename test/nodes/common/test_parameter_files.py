"""Parameter files and pages say what the nodes declare."""

import importlib.util
import re
from pathlib import Path

import pytest
import yaml
from node_robots import ARM

from lie_dynamics_ros.nodes.closed_loop import node as closed_loop
from lie_dynamics_ros.nodes.computed_torque import node as computed_torque
from lie_dynamics_ros.nodes.contact import node as contact
from lie_dynamics_ros.nodes.hybrid_dynamics import node as hybrid_dynamics
from lie_dynamics_ros.nodes.interfaces import COMMON as EVERY_NODE
from lie_dynamics_ros.nodes.interfaces import INTERFACES
from lie_dynamics_ros.nodes.inverse_dynamics import node as inverse_dynamics
from lie_dynamics_ros.nodes.simulated_robot import node as simulated_robot
from lie_dynamics_ros.nodes.simulated_stewart import node as simulated_stewart
from lie_dynamics_ros.nodes.stewart_command import node as stewart_command
from lie_dynamics_ros.nodes.stewart_pose import node as stewart_pose
from lie_dynamics_ros.nodes.tool_wrench import node as tool_wrench
from lie_dynamics_ros.nodes.viewer import node as viewer
from lie_dynamics_ros.ros.node.described_node import DESCRIPTION_SETTINGS
from lie_dynamics_ros.ros.node.managed_node import COMMON_SETTINGS
from lie_dynamics_ros.ros.node.parameters import make_descriptor

ROOT = Path(__file__).resolve().parents[3]
DESCRIBED = (*COMMON_SETTINGS, *DESCRIPTION_SETTINGS)
ALL = {
    "closed_loop": (*DESCRIBED, *closed_loop.SETTINGS),
    "computed_torque": (*DESCRIBED, *computed_torque.SETTINGS),
    "contact": (*DESCRIBED, *contact.SETTINGS),
    "hybrid_dynamics": (*DESCRIBED, *hybrid_dynamics.SETTINGS),
    "inverse_dynamics": (*DESCRIBED, *inverse_dynamics.SETTINGS),
    "simulated_robot": (*COMMON_SETTINGS, *simulated_robot.SETTINGS),
    "simulated_stewart": (*COMMON_SETTINGS, *simulated_stewart.SETTINGS),
    "tool_wrench": (*DESCRIBED, *tool_wrench.SETTINGS),
    "viewer": (*DESCRIBED, *viewer.SETTINGS),
    "stewart_command": (*COMMON_SETTINGS, *stewart_command.SETTINGS),
    "stewart_pose": (*COMMON_SETTINGS, *stewart_pose.SETTINGS),
}
# A node's own takes the place of a common one of the same name.
NODES = {name: tuple({setting.name: setting for setting in settings}.values()) for name, settings in ALL.items()}
each_node = pytest.mark.parametrize("name", NODES)


def test_nodes_that_command_nothing_real_leave_real_time_to_others():
    priorities = {name: next(s.default for s in NODES[name] if s.name == "thread_priority") for name in NODES}
    assert {name for name, priority in priorities.items() if not priority} == {
        "viewer",
        "simulated_robot",
        "simulated_stewart",
    }


@each_node
def test_the_parameter_file_gives_every_default(name):
    content = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text())
    assert content["/**"][name]["ros__parameters"] == {setting.name: setting.default for setting in NODES[name]}


@each_node
def test_the_page_names_every_parameter_with_its_rule(name):
    page = (ROOT / "doc" / "nodes" / f"{name}.md").read_text()
    marks = {"any time": "", "while unconfigured": "u", "at start": "s"}
    for setting in NODES[name]:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{setting.name}` |")]
        default, mark = (cell.strip() for cell in row.split("|")[2:4])
        assert mark == marks[setting.when], row
        if not default.startswith("the package"):
            assert yaml.safe_load(default.strip("`")) == setting.default, row


@each_node
def test_every_number_has_a_range_that_descriptor_and_page_give(name):
    page = (ROOT / "doc" / "nodes" / f"{name}.md").read_text().splitlines()
    for setting in NODES[name]:
        number = setting.default[0] if isinstance(setting.default, list) else setting.default
        if isinstance(number, (bool, str)):
            continue
        assert setting.high is not None and setting.low <= setting.high, setting.name
        descriptor = make_descriptor(setting)
        (given,) = descriptor.integer_range if isinstance(number, int) else descriptor.floating_point_range
        assert (given.from_value, given.to_value) == (setting.low, setting.high)
        (row,) = [line for line in page if line.startswith(f"| `{setting.name}` |")]
        ranges = re.findall(r"(-?[\d.]+(?:e-?\d+)?) to (-?[\d.]+(?:e-?\d+)?)", row)
        assert (setting.low, setting.high) in [(float(low), float(high)) for low, high in ranges], row


@each_node
def test_the_node_starts_with_its_parameter_file_and_describes_every_parameter(bench, name):
    file = ROOT / "config" / f"{name}.yaml"
    side = "publisher" if name.startswith("simulated") else "subscription"
    depth = {f"qos_overrides.{bench.namespace}/joint_states.{side}.depth": 7}
    fresh = name == "inverse_dynamics"  # as users start it
    node = bench.start(name, arguments=["--params-file", str(file)], fresh=fresh, **depth)
    if name in ("closed_loop", "computed_torque", "contact", "hybrid_dynamics", "inverse_dynamics", "tool_wrench"):
        bench.publish_description(ARM)
    bench.wait_state(node, "active")
    for setting in NODES[name]:
        if setting.name != "robot_description":  # of which a simulated robot has its own
            assert bench.get(node, setting.name) == setting.default
        descriptor = bench.describe(node, setting.name)
        assert descriptor.description.endswith((".", "].")), setting.name
        assert descriptor.read_only == (setting.when == "at start")
        if setting.high is not None:
            (range_,) = descriptor.floating_point_range or descriptor.integer_range
            assert (range_.from_value, range_.to_value) == (setting.low, setting.high)
    assert bench.get(node, next(iter(depth))) == 7
    assert_page_names_all(bench, name)
    assert_list_names_all(bench, name)


# A row of a page about a topic or a service; "(out, optional)" and "only where ..." need not be there.
ROW = re.compile(
    r"\| `(?P<name>~/[a-z_]+|[/a-z_]+(?=` \())` (?:\((?:in|out)(?P<optional>, optional)?\) )?"
    r"\| `(?P<type>[A-Za-z0-9_/]+)` \|(?P<rest>.*)"
)
COMMON = ("rcl_interfaces/", "lifecycle_msgs/", "rosgraph_msgs/", "type_description_interfaces/")
OWN_TYPES = importlib.util.find_spec("lie_dynamics_interfaces") is not None


def named(interface):
    """All names of an interface."""
    return {*interface.publishes, *interface.subscribes, *interface.serves}


def test_the_list_of_interfaces_is_that_of_the_nodes():
    assert set(INTERFACES) == set(NODES)


@each_node
def test_the_page_names_what_the_list_of_interfaces_names(name):
    page = (ROOT / "doc" / "nodes" / f"{name}.md").read_text()
    rows = {row["name"] for row in map(ROW.match, page.splitlines()) if row}
    assert rows - {"/diagnostics"} <= named(INTERFACES[name])
    for topic in named(INTERFACES[name]):
        assert f"`{topic}`" in page, f"{topic} is not on the page"


def assert_list_names_all(bench, name):
    """Check that a node opens what the list of interfaces says of every node, and nothing that it does not say."""
    always = named(EVERY_NODE) - {"/clock"}  # only where time is simulated
    bench.wait(lambda: always <= opened(bench, name), f"all of {always}")
    assert opened(bench, name) <= named(EVERY_NODE) | named(INTERFACES[name])


def assert_page_names_all(bench, name):
    """Check that a node offers what its page says, and nothing else but what every node has."""
    page = (ROOT / "doc" / "nodes" / f"{name}.md").read_text()
    promised = set()
    for row in filter(None, map(ROW.match, page.splitlines())):
        own = row["type"].startswith("lie_dynamics_interfaces/") or "/" not in row["type"]
        sometimes = row["optional"] or "only where" in row["rest"] or "with `publish_clock`" in row["rest"]
        if not sometimes and (OWN_TYPES or not own):
            promised.add(row["name"])
    assert len(promised) >= 3
    # What a node has is discovered piece by piece; what is never discovered is not there.
    bench.wait(lambda: promised <= offered(bench, name), f"all of {promised}")
    for topic in offered(bench, name):
        assert f"`{topic}`" in page, f"{topic} is not on the page"


def offered(bench, name):
    """Topics and services of a node, as its page names them, that have been discovered; all nodes' own left out."""
    return opened(bench, name, COMMON)


def opened(bench, name, but=()):
    """The same, but for types that begin so."""
    graph = bench.node
    there = {node for node, namespace in graph.get_node_names_and_namespaces() if namespace == bench.namespace}
    if name not in there:
        return set()
    pairs = [
        pair
        for ask in (
            graph.get_publisher_names_and_types_by_node,
            graph.get_subscriber_names_and_types_by_node,
            graph.get_service_names_and_types_by_node,
        )
        for node in {name, f"_{name}_requests"} & there  # the hidden one takes its long requests
        for pair in ask(node, bench.namespace)
    ]
    own = f"/_{name}_requests/"  # what each node has
    found = {topic for topic, types in pairs if own not in topic and not types[0].startswith(tuple(but))}
    return {topic.replace(f"{bench.namespace}/{name}/", "~/").removeprefix(f"{bench.namespace}/") for topic in found}
