"""package.xml, setup.py and CITATION.cff say the same, and name what the code imports; keys are known to rosdep."""

import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import setuptools
import yaml

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ElementTree.parse(ROOT / "package.xml").getroot()
INTERFACES = ElementTree.parse(ROOT / "lie_dynamics_interfaces/package.xml").getroot()
PROJECT = (ROOT / "pyproject.toml").read_text()
TYPED = (ROOT / "lie_dynamics_ros/lie_dynamics/py.typed").exists()
ROSDEP_KEYS = {
    *("python3-hypothesis", "python3-matplotlib", "python3-numba", "python3-numpy", "python3-pytest"),
    *("python3-pytest-benchmark", "python3-pytest-xdist", "python3-scipy", "python3-sympy", "python3-yaml"),
}
"""Those in use, as rosdistro has them (rosdep/python.yaml of August 2026); look a new one up there."""
ROS_PACKAGES = {
    *("ament_cmake", "ament_index_python", "builtin_interfaces", "control_msgs", "diagnostic_msgs", "geometry_msgs"),
    *("launch", "launch_ros", "launch_testing", "launch_testing_ros", "lifecycle_msgs", "nav_msgs", "pinocchio"),
    *("rcl_interfaces", "rclpy", "rosgraph_msgs", "rosidl_default_generators", "rosidl_default_runtime"),
    *("sensor_msgs", "std_msgs", "std_srvs", "tf2_msgs", "trajectory_msgs", "visualization_msgs"),
}
"""Released in Jazzy, Kilted and Lyrical, as their distribution.yaml has them."""
NOT_IMPORTED = {"lifecycle_msgs", "lie_dynamics_interfaces"}
"""Needed all the same: rclpy's life cycle speaks it, and what is imported by a name that a constant holds."""
KEYS = {"yaml": "python3-yaml", "numpy": "python3-numpy", "scipy": "python3-scipy", "numba": "python3-numba",
        "matplotlib": "python3-matplotlib"}  # fmt: skip
BY_PIP = {"jax", "llvmlite", "mujoco", "pkg_resources", "rich", "rosbags", "setuptools", "toppra", "torch",
          "trimesh", "typing_extensions", "viser", "websockets"}  # fmt: skip
"""Comes with numba or viser, for type checkers alone, or is optional and named in the extras of setup.py."""


@pytest.fixture(scope="module")
def described():
    """What setup.py passes on."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setuptools, "setup", lambda **facts: found.update(facts))
        patch.chdir(ROOT)
        runpy.run_path(str(ROOT / "setup.py"))
    return found


def text(root, tag):
    return " ".join(root.findtext(tag).split())


def dependencies(root, *kinds):
    return {node.text: node.attrib for kind in kinds for node in root.findall(f"{kind}depend")}


def imported():
    """Top-level modules, not of the standard library, that the package and the launch files import anywhere."""
    for folder in ("lie_dynamics_ros", "launch"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            yield from re.findall(r"^ *from (\w+)[\w.]* import ", text, re.MULTILINE)
            for names in re.findall(r"^ *import (\w.*)$", text, re.MULTILINE):
                yield from (name.split(".")[0].split()[0] for name in names.split(","))


def test_the_same_facts_everywhere(described):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    wheel = (ROOT / "lie_dynamics_interfaces/pyproject.toml").read_text()
    assert described["name"] == text(PACKAGE, "name")
    assert text(PACKAGE, "description").startswith(described["description"])
    versions = [text(PACKAGE, "version"), text(INTERFACES, "version"), citation["version"]]
    assert {*versions, *re.findall(r'^version = "(.*)"', wheel, re.MULTILINE)} == {described["version"]}
    assert {text(PACKAGE, "license"), text(INTERFACES, "license"), citation["license"]} == {described["license"]}
    maintainers = [root.find("maintainer") for root in (PACKAGE, INTERFACES)]
    assert {maintainer.text for maintainer in maintainers} == {described["maintainer"], described["author"]}
    assert len({maintainer.get("email") for maintainer in maintainers}) == 1


def test_badges_are_true(described):
    page = (ROOT / "README.md").read_text()
    badges = dict(re.findall(r"^!\[([\w ]+): (.+)\]\(doc/figures/badges/", page, re.MULTILINE))
    for path in (ROOT / "doc/figures/badges").glob("*.svg"):
        name, _, value = ElementTree.parse(path).getroot().get("aria-label").partition(": ")
        assert badges.pop(name) == value
        facts = {
            "License": lambda: described["license"],
            "Python": lambda: "3.10 to 3.13" if described["python_requires"] == ">=3.10,<3.14" else "",
            "ROS 2": lambda: re.search(
                r'^supported="(\w+) \(default\), (\w+)"', (ROOT / "tools/environment.sh").read_text(), re.MULTILINE
            ).expand(r"\1, \2").title(),
            "Typed": lambda: "mypy strict" if re.search("^strict = true$", PROJECT, re.MULTILINE) and TYPED else "",
            "Runs on hardware": lambda: "none on record",
        }  # fmt: skip
        assert facts[name]() == value
    assert not badges


def test_what_is_imported_is_named_and_nothing_else():
    modules = set(imported()) - sys.stdlib_module_names - {"lie_dynamics_ros"} - BY_PIP
    named = set(dependencies(PACKAGE, "exec_", ""))
    assert {KEYS.get(name, name) for name in modules} | NOT_IMPORTED == named


def test_versions_are_those_of_setup(described):
    """Keys of rosdep have no versions: package.xml asks for those that setup.py asks for."""
    asked = dependencies(PACKAGE, "exec_")
    for wanted in described["install_requires"]:
        name, least = re.fullmatch(r"(\w+)(?:>=([\d.]+))?.*", wanted).groups()
        if name != "setuptools":
            assert asked[KEYS.get("yaml" if name == "pyyaml" else name)].get("version_gte") == least, name


def test_the_keys_are_known():
    for root in (PACKAGE, INTERFACES):
        keys = set(dependencies(root, "", "buildtool_", "exec_", "test_")) - {"lie_dynamics_interfaces"}
        assert not keys - ROSDEP_KEYS - ROS_PACKAGES


def test_change_logs_have_this_version_on_top_of_those_before(described):
    released = yaml.safe_load((ROOT / "CITATION.cff").read_text())["date-released"]
    for file in (ROOT / "CHANGELOG.rst", ROOT / "lie_dynamics_interfaces/CHANGELOG.rst"):
        first, *others = re.findall(r"^(.+)\n-+$", file.read_text(), re.MULTILINE)
        assert (others[0] if first == "Forthcoming" else first) == f"{described['version']} ({released})"
