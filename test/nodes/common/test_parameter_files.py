"""Parameter files, pages and policies of SROS 2 say what the nodes declare and offer."""

import importlib.util
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml
from node_robots import ARM

from lie_dynamics_ros.core.parameters import Parameters
from lie_dynamics_ros.nodes.interfaces import COMMON as EVERY_NODE
from lie_dynamics_ros.nodes.interfaces import INTERFACES, OTHERS, policies
from lie_dynamics_ros.nodes.interfaces import main as write_policies
from lie_dynamics_ros.nodes.parameters import main, node_settings, parameter_file, parameter_table
from lie_dynamics_ros.ros.node.parameters import make_descriptor

ROOT = Path(__file__).resolve().parents[3]
NODES = {name: node_settings(name) for name in INTERFACES}
each_node = pytest.mark.parametrize("name", NODES)


def test_nodes_that_command_nothing_real_leave_real_time_to_others():
    priorities = {name: next(s.default for s in NODES[name] if s.name == "thread_priority") for name in NODES}
    assert {name for name, priority in priorities.items() if not priority} == {
        "viewer",
        "simulated_robot",
        "simulated_stewart",
    }


def kinds_of(kind):
    """The subclasses of a class, and theirs."""
    return {kind} | {one for below in kind.__subclasses__() for one in kinds_of(below)}


def test_every_class_of_parameters_has_the_defaults_that_it_declares_and_they_are_valid():
    kinds = [kind for kind in kinds_of(Parameters) if kind.settings()]
    assert len(kinds) > 30
    for kind in kinds:
        made = vars(kind())
        for setting in kind.settings():
            value = made[setting.name]
            assert (list(value) if isinstance(value, tuple) else value) == setting.default, (kind, setting.name)
            setting.check(setting.default)
        assert kind.from_values(kind.defaults() | {"of another node": 1}) == kind()


@each_node
def test_the_parameter_file_gives_every_default(name):
    text = (ROOT / "config" / f"{name}.yaml").read_text()
    assert text == parameter_file(name), "make parameters"
    content = yaml.safe_load(text)
    assert content["/**"][name]["ros__parameters"] == {setting.name: setting.default for setting in NODES[name]}


@each_node
def test_the_page_shows_the_table_of_what_the_node_declares(name):
    page = (ROOT / "doc" / "nodes" / f"{name}.md").read_text()
    assert f"```{{parameters}} {name}\n" in page
    table = parameter_table(name)
    marks = {"any time": "", "while unconfigured": "unconfigured", "at start": "start"}
    for setting in NODES[name]:
        (row,) = [line for line in table.splitlines() if line.startswith(f"| `{setting.name}` |")]
        default, mark, meaning = (cell.strip() for cell in re.split(r"(?<!\\)\|", row)[2:5])
        assert mark == marks[setting.when] and len(meaning) > 8, row
        assert yaml.safe_load(default.strip("`")) == setting.default, row


@each_node
def test_every_number_has_a_range_that_descriptor_and_table_give(name):
    table = parameter_table(name).splitlines()
    for setting in NODES[name]:
        number = setting.default[0] if isinstance(setting.default, list) else setting.default
        if isinstance(number, (bool, str)):
            continue
        assert setting.high is not None and setting.low <= setting.high, setting.name
        descriptor = make_descriptor(setting)
        (given,) = descriptor.integer_range if isinstance(number, int) else descriptor.floating_point_range
        assert (given.from_value, given.to_value) == (setting.low, setting.high)
        (row,) = [line for line in table if line.startswith(f"| `{setting.name}` |")]
        ranges = re.findall(r"Range: (-?[\d.]+(?:e-?\d+)?) to (-?[\d.]+(?:e-?\d+)?)\.", row)
        assert (setting.low, setting.high) in [(float(low), float(high)) for low, high in ranges], row


def test_files_of_all_nodes_are_written_into_a_folder(tmp_path):
    assert main(["--write", str(tmp_path)]) == 0
    assert {file.stem for file in tmp_path.iterdir()} == set(NODES)


def test_tables_are_printed_by_the_names_of_nodes(capsys):
    assert main(["contact"]) == 0
    assert capsys.readouterr().out == parameter_table("contact") + "\n"
    with pytest.raises(ValueError, match="no node is named 'contacts'; expected one of: closed_loop, "):
        parameter_table("contacts")


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
    names = [setting.name for setting in NODES[name]]
    values, descriptors = bench.get_all(node, names), bench.describe_all(node, names)
    for setting, value, descriptor in zip(NODES[name], values, descriptors, strict=True):
        if setting.name != "robot_description":  # of which a simulated robot has its own
            assert value == setting.default
        assert descriptor.name == setting.name
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

FOLDER = Path(__file__).resolve().parents[3] / "config" / "policies"
RIGHTS = {"topics": {"publish", "subscribe"}, "services": {"reply", "request"}, "actions": {"execute", "call"}}


def test_the_files_are_those_that_are_generated(tmp_path):
    assert write_policies([str(tmp_path)]) == 0
    fresh = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert fresh == policies()
    assert {path.name: path.read_text() for path in FOLDER.iterdir()} == fresh  # make policies


@pytest.mark.parametrize("node", [*INTERFACES, *OTHERS])
def test_a_policy_has_the_form_of_the_schema_and_allows_what_the_list_names(node):
    root = ET.fromstring(policies()[f"{node}.policy.xml"])
    assert (root.tag, root.attrib) == ("policy", {"version": "0.2.0"})
    (enclave,) = root.findall("enclaves/enclave")
    assert enclave.get("path") == f"/lie_dynamics/{node}"
    (profile,) = enclave.findall("profiles/profile")
    assert profile.attrib == {"ns": "/", "node": node}
    found = {}
    for group in profile:
        ((right, rule),) = group.attrib.items()
        assert right in RIGHTS[group.tag] and rule == "ALLOW"
        names = [item.text for item in group]
        assert {item.tag for item in group} == {group.tag[:-1]} and len(set(names)) == len(names)
        found[right] = set(names)
    wanted = {**INTERFACES, **OTHERS}[node]
    assert found == {
        "publish": {*EVERY_NODE.publishes, *wanted.publishes},
        "subscribe": {*EVERY_NODE.subscribes, *wanted.subscribes},
        "reply": {*EVERY_NODE.serves, *wanted.serves},
        **({"execute": set(wanted.acts)} if wanted.acts else {}),
        **({"request": set(wanted.requests)} if wanted.requests else {}),
        **({"call": set(wanted.calls)} if wanted.calls else {}),
    }
