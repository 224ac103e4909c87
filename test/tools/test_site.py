"""The documentation: its site builds without a warning, paths lead somewhere, and code on pages runs."""

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
import yaml

import lie_dynamics_ros.lie_dynamics as ld

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    for needed in ("sphinx_gallery", "mathjax"):
        pytest.importorskip(needed, reason="what make docs installs is not installed")
    options = ["-W", "-q", "-E", "-b", "html", "-D", "sphinx_gallery_conf.plot_gallery=0"]
    command = [sys.executable, "-m", "sphinx", *options]
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

ROOMS = ("", "lie_dynamics_ros", "lie_dynamics_ros/lie_dynamics", "lie_dynamics_interfaces", "test")
"""What paths begin at, besides the folder of the page."""
ALL_PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("doc/**/*.md"), *ROOT.glob("lie_dynamics_ros/**/*.md")])
ELSEWHERE = ("soak_output/", "demo_output/", "my_robot/", "my_platform/", "bin/", "lib/", "left/")
"""Folders that commands make, and a prefix of frames."""
SUFFIXES = (".py", ".md", ".yaml", ".toml", ".cfg", ".cmake", ".cff", ".rst", ".npz", ".urdf", ".pyi")


def named_paths(text):
    """Paths in backticks, without tests' names, placeholders, namespaces and addresses."""
    for words in re.findall(r"`([^`\n]+)`", text):
        for word in words.split():
            path = word.partition("::")[0]
            if (
                path.endswith((*SUFFIXES, "/"))
                and re.fullmatch(r"[\w.][\w./-]*", path)
                and not path.startswith(ELSEWHERE)
            ):
                yield path


def exists(page, path):
    if any((place / path).exists() for place in (page.parent, *(ROOT / room for room in ROOMS))):
        return True
    name = path.rstrip("/")  # a name alone: of a file or folder told before, somewhere in the checkout
    return "/" not in name and any(True for room in (*ROOMS[1:], "doc", "launch") for _ in (ROOT / room).rglob(name))


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_are_there(page):
    text = page.read_text()
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert not [link for link in links if not (page.parent / link).exists()]
    assert not [path for path in named_paths(text) if not exists(page, path)]


def test_there_are_pages_that_name_paths():
    assert len(ALL_PAGES) > 20 and sum(len(list(named_paths(page.read_text()))) for page in ALL_PAGES) > 100

PAGES = {page: page.read_text() for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("doc/**/*.md")])}
FENCE = re.compile(r"^```([^`\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "yaml", "sh", "text"}


def blocks(page, language):
    return [code for kind, code in FENCE.findall(PAGES[page]) if kind == language]


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python_runs(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    for code in blocks(page, "python"):
        line = PAGES[page][: PAGES[page].index(code)].count("\n")
        exec(compile("\n" * line + code, name(page), "exec"), names)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "yaml")], ids=name)
def test_yaml_can_be_read(page):
    assert all(yaml.safe_load(code) for code in blocks(page, "yaml"))


def test_blocks_say_what_they_are():
    pages = sum(bool(blocks(page, "python")) for page in PAGES)
    assert pages >= 6
    for page, text in PAGES.items():
        assert {kind for kind, _ in FENCE.findall(text) if not kind.startswith("{")} <= LANGUAGES, page
