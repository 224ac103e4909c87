"""The directive ``{api} room``: the public names of a room of the library, each with its docstring."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

LIBRARY = "lie_dynamics_ros.lie_dynamics"


def public_names(room: Any) -> Iterator[tuple[str, Any]]:
    """Names that a module offers, and what they stand for: those it lists, or else those it or its rooms define."""
    names = getattr(room, "__all__", None)
    package = hasattr(room, "__path__")
    for name in sorted(names or vars(room)):
        value = getattr(room, name)
        home = getattr(value, "__module__", "")
        if names or (
            not name.startswith("_") and (home.startswith(room.__name__) if package else home == room.__name__)
        ):
            yield name, value


def _kind(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return "module"
    return "class" if inspect.isclass(value) else "function" if callable(value) else "data"


class Api(SphinxDirective):
    """Documents a room; what is a module in it has its functions documented with it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the documentation of all names."""
        module = import_module(self.arguments[0])
        content = "\n".join(self._lines(module))
        return self.parse_text_to_nodes(f"````{{eval-rst}}\n{content}\n````", allow_section_headings=True)

    def _lines(self, module: Any) -> Iterator[str]:
        first = (
            {id(value) for _, value in public_names(import_module(LIBRARY))} if module.__name__ != LIBRARY else set()
        )
        for name, value in public_names(module):
            kind = _kind(value)
            if kind == "module" and id(value) not in first:
                yield from (f".. rubric:: {name}", "", *(value.__doc__ or "").splitlines(), "")
                for inner, function in public_names(value):
                    yield from self._entry(function, inner, value.__name__, kind=_kind(function))
            elif id(value) in first:
                yield from (f"- ``{name}``: :doc:`with the names of the library </api/library>`", "")
            else:
                yield from self._entry(value, name, module.__name__, kind)

    def _entry(self, value: Any, name: str, room: str, kind: str) -> Iterator[str]:
        if kind == "module":
            return
        yield f".. auto{kind}:: {room}.{name}"
        if kind == "class":
            yield from ("   :members:", "   :exclude-members: count, index")
        yield ""


def bars(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Let |x| in docstrings be what it is in mathematics, outside of code."""
    for k, line in enumerate(lines):
        parts = line.split("`")
        lines[k] = "`".join([part if i % 2 else part.replace("|", "\\|") for i, part in enumerate(parts)])


def setup(app: Any) -> dict[str, bool]:
    """Make the directive known to Sphinx."""
    app.add_directive("api", Api)
    app.connect("autodoc-process-docstring", bars)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
