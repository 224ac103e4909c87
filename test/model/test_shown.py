"""What models and results show of themselves: on a few lines, and as tables in notebooks, with names escaped."""

import ast
import re
from dataclasses import is_dataclass
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import lie_dynamics_ros
from lie_dynamics_ros import lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import MECHANISMS
from lie_dynamics_ros.lie_dynamics.control import Trajectory
from lie_dynamics_ros.lie_dynamics.simulation import simulate
from lie_dynamics_ros.lie_dynamics.stewart import OffsetPlatform, reference_platform, solve_from_home

ROOT = Path(ld.__file__).parent


class Cells(HTMLParser):
    """The texts of a table's cells, row by row."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag in {"table", "caption", "thead", "tbody", "tr", "th", "td"} and not attrs
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data


def decorated():
    """All classes that are decorated, by module and name."""
    for file in sorted(ROOT.rglob("*.py")):
        text = file.read_text()
        if "@shown" in text:
            name = ".".join(file.relative_to(ROOT.parent).with_suffix("").parts)
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and any(getattr(d, "id", "") == "shown" for d in node.decorator_list):
                    yield getattr(import_module(f"lie_dynamics_ros.{name}"), node.name)


def test_all_that_are_decorated_show_themselves():
    classes = list(decorated())
    assert len(classes) > 40
    for cls in classes:
        assert cls.__repr__.__module__ == cls._repr_html_.__module__ == "lie_dynamics_ros.lie_dynamics.shown", cls
        assert is_dataclass(cls) or cls._fields


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_by_name_is_short(name):
    made = ld.mechanism(name)
    assert len(repr(made)) < 2500 and made._repr_html_().startswith("<table>")


def results():
    model = ld.Model.from_urdf(ROOT.parent / "urdf" / "panda_arm.urdf")
    q, zero = model.neutral(), np.zeros(model.nv)
    platform = reference_platform()
    made = ld.mechanism("delta")
    yield ld.inverse_dynamics_derivatives(model, q, zero, zero), "dq=array (7, 7)"
    yield simulate(model, q, zero, zero, duration=0.01, step=1e-3), "qdd=array (10, 7)"
    yield Trajectory(model, [0.0, 2.0], [q, q]).at(1.0), "qd=[0., 0., 0., 0., 0., 0., 0.]"
    yield platform, "base_points=array (6, 3)"
    yield OffsetPlatform.square_at(platform, platform.home_pose, 0.03, 0.02), "base_axes=array (6, 3)"
    yield solve_from_home(platform, platform.leg_lengths(platform.home_pose)), "pose=array (4, 4)"
    yield made, "model=<Model 'delta'"
    yield ld.assemble(made.model, made.constraints, made.q), "converged=True"


@pytest.mark.parametrize(("result", "part"), results(), ids=lambda x: type(x).__name__)
def test_a_result_is_a_few_lines_and_a_table(result, part):
    text = repr(result)
    assert part in text and len(text) < 2500 and text.startswith(type(result).__name__)
    head, *rows = Cells(result._repr_html_()).rows
    assert head == ["", "value"] and [f"{name}={value}" for name, value in rows] == [
        line.strip().removesuffix(",") for line in re.sub(r"\)$", "", text).splitlines()[1:]
    ]


def test_a_model_is_a_table_of_its_joints_with_masses_and_limits():
    name = "<b>&arm"
    builder = ld.ModelBuilder()
    rod = ld.SpatialInertia(1.5, [0.1, 0.0, 0.0], 0.01 * np.eye(3))
    builder.add(name, joint=ld.joint_types.revolute([0, 0, 1]), inertia=rod, lower=-1.0, upper=2.0, velocity=3.0)
    builder.add("hand", name, joint=ld.joint_types.spherical(), inertia=rod)
    model = builder.build("two")
    head, first, second = Cells(model._repr_html_()).rows
    row = dict(zip(head, first, strict=True))
    assert row["body"] == name and row["from"] == "world" and row["type"] == "revolute" and row["mass"] == "1.5"
    assert row["position"] == "-1 to 2" and row["velocity"] == "3" and row["effort"] == "inf"
    assert second[head.index("from")] == name and second[head.index("type")] == "spherical"


def test_a_trajectory_says_what_it_is():
    model = ld.Model.from_urdf(ROOT.parent / "urdf" / "panda_arm.urdf")
    q = model.neutral()
    assert repr(Trajectory(model, [0.0, 2.0], [q, q])) == "<Trajectory of 'panda': 2 points in 2 s, linear>"


def test_names_that_are_not_imported_yet_are_completed():
    assert {"Controller", "lie_dynamics"} <= set(dir(lie_dynamics_ros))
    assert set(ld.__all__) <= set(dir(ld))
