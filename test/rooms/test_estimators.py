"""Every estimator says at the head of its page how robust it is, and how it finds back; a new one has to, too."""

import ast
import re
from pathlib import Path

import pytest

import lie_dynamics_ros

ROOT = Path(lie_dynamics_ros.__file__).parent / "lie_dynamics"
DOC = ROOT.parents[1] / "doc"
PAGES = {
    "ContactObserver": "contact.md",
    "calibrate_force_sensor": "contact.md",
    "StewartFusion": "stewart_fusion.md",
    "StewartTracker": "stewart_tracking.md",
    "ClosedLoopTracker": "closed_loop_tracking.md",
    "OffsetTracker": "closed_loop_tracking.md",  # which it is, of one mechanism
    "identify": "identification.md",
    "identify_robot": "identification.md",
    "identify_payload": "identification.md",
    "gains_from_payload": "identification.md",
    "calibrate_kinematics": "identification.md",
    "calibrate_measured": "stewart_calibration.md",
}
OTHERS = {
    *("MomentumObserver", "AdaptiveController", "ComputedTorquePID"),
    *("calibrate", "calibrate_rotary", "calibrate_mechanism"),
}
"""What judges no sensor: it is updated by, or fits, all that it is given."""
NAMED = re.compile(r"def (update|(identify|calibrate|gains_from)(_\w+)?)\(")
HEAD = "**Robustness.**"


def public(path):
    """Names of public classes with a method `update`, and of functions that identify or calibrate, of a module."""
    text = path.read_text()
    for node in ast.parse(text if NAMED.search(text) else "").body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            if any(isinstance(part, ast.FunctionDef) and part.name == "update" for part in node.body):
                yield node.name
        elif isinstance(node, ast.FunctionDef) and re.match(r"(identify|calibrate|gains_from)(_|$)", node.name):
            yield node.name


def test_the_list_names_all():
    paths = [path for path in ROOT.rglob("*.py") if not {"kernels", "reference"} & {*path.parts}]
    found = {name for path in paths for name in public(path)}
    assert found == {*PAGES, *OTHERS}


@pytest.mark.parametrize("page", sorted({*PAGES.values()}))
def test_its_page_says_it_before_all_else(page):
    text = (DOC / page).read_text()
    before = text.partition(HEAD)[0]
    assert HEAD in text and "\n## " not in before
    said = text.partition(HEAD)[2].partition("\n\n")[0]
    assert all(word in said for word in ("learned", "covariance", "back", "refuted")), said
