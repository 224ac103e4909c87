"""The documentation site builds without a warning: `make docs`, without running the examples."""

import ast
import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import lie_dynamics_ros.lie_dynamics as ld

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    for needed in ("sphinx_gallery", "mathjax"):
        pytest.importorskip(needed, reason="what make docs installs is not installed")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-q",
        "-E",
        "-b",
        "html",
        "-D",
        "sphinx_gallery_conf.plot_gallery=0",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "doc", tmp_path], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    library = (tmp_path / "api/library.html").read_text()
    assert not [name for name in ld.__all__ if f'id="lie_dynamics_ros.lie_dynamics.{name}"' not in library]


def test_every_room_has_a_page():
    pages = {page.stem for page in (ROOT / "doc/api").glob("*.md")}
    assert pages == {"library", *ld._ROOMS} - {"closed_form", "dynamics"}  # other names of what is there already
    for room in pages - {"library"}:
        assert f"```{{api}} lie_dynamics_ros.lie_dynamics.{room}\n" in (ROOT / f"doc/api/{room}.md").read_text()


def test_every_name_of_the_library_belongs_to_one_task_or_is_an_error():
    tree = ast.parse((ROOT / "doc/site/api.py").read_text())
    (tasks,) = [n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "TASKS"]
    tasks = ast.literal_eval(tasks)
    names = [name for _, listed in tasks.values() for name in listed.split()]
    assert len(names) == len(set(names)) and set(names) <= set(ld.__all__)
    rest = set(ld.__all__) - set(names) - set(ld._ROOMS)
    assert all(issubclass(getattr(ld, name), Exception) for name in rest)
    for guide, _ in tasks.values():
        assert "](api/library.md)" in (ROOT / f"doc/{guide}.md").read_text(), f"{guide} has no link back"


def test_every_function_shows_its_equation_or_is_none_that_has_one():
    """Of the library and of the rooms that calculate, but those of names that pages of guides explain one by one."""
    spec = spec_from_file_location("equations", ROOT / "doc/site/equations.py")
    equations = module_from_spec(spec)
    spec.loader.exec_module(equations)
    rooms = ["closed_form", "control", "estimation", "identification", "plots", "simulation", "stewart"]
    modules = [ld, *(import_module(f"{ld.__name__}.{room}") for room in rooms)]
    offered = {name: getattr(module, name) for module in modules for name in getattr(module, "__all__", dir(module))}
    functions = {n for n, f in offered.items() if inspect.isfunction(f) and f.__module__.startswith(ld.__name__)}
    functions = {name for name in functions if not name.startswith("_")}
    assert functions - set(equations.EQUATIONS) == equations.WITHOUT
    assert set(equations.EQUATIONS) <= functions
    for latex in equations.EQUATIONS.values():
        assert latex.count("{") == latex.count("}") and latex.count(r"\left") == latex.count(r"\right")


def test_what_is_searched_by_other_words_is_there():
    tree = ast.parse((ROOT / "doc/site/api.py").read_text())
    (sought,) = [n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "SOUGHT"]
    assert set(ast.literal_eval(sought)) <= {*ld.__all__, *dir(ld.control)}


def test_every_example_is_in_one_group_of_the_gallery():
    tree = ast.parse((ROOT / "doc/site/gallery.py").read_text())
    (groups,) = [n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "GROUPS"]
    names = [name for _, listed in ast.literal_eval(groups).values() for name in listed.split()]
    assert sorted(names) == sorted(script.stem for script in (ROOT / "examples").glob("*.py"))


def test_every_page_is_reachable():
    """Sphinx warns of others; here without Sphinx, for folders that it knows by patterns."""
    index = (ROOT / "doc/index.md").read_text().splitlines()
    for page in sorted((ROOT / "doc").rglob("*.md")):
        name = page.relative_to(ROOT / "doc").with_suffix("").as_posix()
        assert name == "index" or name in index or f"{name.rpartition('/')[0]}/*" in index, (
            f"{name} is not in doc/index.md"
        )


def headings(page):
    """Anchors of a page's headings, as GitHub and MyST make them."""
    found = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


def test_links_to_headings_lead_somewhere():
    checked = 0
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "doc").rglob("*.md")]):
        for target, anchor in re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", page.read_text()):
            place = (page.parent / target) if target else page
            if "://" not in target and place.suffix == ".md":
                assert anchor in headings(place), f"{page.name}: {target}#{anchor}"
                checked += 1
    assert checked > 30
