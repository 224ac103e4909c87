"""Display of models and results: `repr` on a few lines, tables in notebooks, pictures, reports; of options in help."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numpy as np

from .arrays import ArrayLike
from .files import png, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NUMBERS = 8
"""Larger arrays are shown by their shapes."""
LONGEST = 160
"""Characters of what else there is."""
_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child{text-align:left}img{max-width:100%}.bad{color:#a00}"
)
_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Arguments = ParamSpec("_Arguments")
_Group = TypeVar("_Group")
_Result = TypeVar("_Result")


def shown(cls: _Class) -> _Class:
    """Give a dataclass or named tuple a short `repr`, large arrays by their shapes, and a table in notebooks."""
    cls.__repr__ = _text  # type: ignore[method-assign, assignment]
    cls._repr_html_ = _table  # type: ignore[attr-defined]
    return cls


def pictures() -> Any:
    """Return the module `plots`, imported when a picture is made, since it imports what it draws."""
    return import_module(f"{__package__}.plots")


class Plotted:
    """A motion that draws itself."""

    def plot(self, names: Sequence[str] = ()) -> Figure:
        """Draw positions, rates, accelerations and efforts over time; see `plots.plot_motion`. It needs matplotlib."""
        figure: Figure = pictures().plot_motion(self, names)
        return figure


class Drawn:
    """A platform on six legs that draws itself."""

    def show(self, pose: ArrayLike | None = None) -> Figure:
        """Draw the platform in a pose (4, 4), at home when left out; see `plots.plot_legs`. It needs matplotlib."""
        figure: Figure = pictures().plot_legs(self, pose)
        return figure


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table in HTML, with a caption where it is not empty; all texts are escaped."""
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    top = "".join(f"<th>{html.escape(word)}</th>" for word in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{above}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def value_text(value: Any) -> str:
    """Return a value on one line: small arrays with four digits, large ones by their shapes."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        if value.size > MOST_NUMBERS:
            return f"array {value.shape}"
        return np.array2string(value, precision=4, separator=", ", max_line_width=10**6).replace("\n", "")
    if isinstance(value, float):
        return f"{value:.6g}"
    words = " ".join(repr(value).split())
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}..."


def _parts(result: Any) -> Iterator[tuple[str, str]]:
    names = getattr(result, "_fields", None) or [f.name for f in fields(result) if f.repr]
    for name in names:
        if not name.startswith("_"):
            yield name, value_text(getattr(result, name))


def _text(self: Any) -> str:
    inner = ",\n    ".join(f"{name}={value}" for name, value in _parts(self))
    return f"{type(self).__name__}(\n    {inner})"


def _table(self: Any) -> str:
    return table(("", "value"), _parts(self), type(self).__name__)


def write_page(path: str | PathLike[str], title: str, parts: Sequence[str]) -> Path:
    """Write a page of parts that are HTML, make its folder where it is missing, and return the path."""
    target = Path(path)
    head = f"<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>{html.escape(title)}</title>"
    write_file(target, head + f"<style>{_STYLE}</style>" + "\n".join(parts) + "</html>\n")
    return target


def picture(figure: Figure, name: str) -> str:
    """Return a picture, inside the page; `name` stands where pictures are not shown."""
    return f"<img alt='{html.escape(name)}' src='data:image/png;base64,{base64.b64encode(png(figure, 80)).decode()}'>"


def shared_options(reader: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Let the last `**options` of a function be the keyword-only arguments of `reader`, which several functions share.

    The function passes them on. Others are refused as Python refuses them, and help shows them as if written out.
    """

    def decorate(function: _Function) -> _Function:
        whole = signature(function)
        own = [p for p in whole.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        shared = [p for p in signature(reader).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
        known = {p.name for p in (*own, *shared)}

        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            for name in options:
                if name not in known:
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
            return function(*args, **options)

        call.__signature__ = whole.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
        return cast(_Function, call)

    return decorate


def grouped(
    group: Callable[_Arguments, _Group],
) -> Callable[[Callable[[_Group], _Result]], Callable[_Arguments, _Result]]:
    """Let a function of one dataclass be called by the fields of that, which help shows as its arguments."""

    def decorate(function: Callable[[_Group], _Result]) -> Callable[_Arguments, _Result]:
        @wraps(function)
        def call(*args: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
            return function(group(*args, **named))

        result = signature(function).return_annotation
        call.__signature__ = signature(group).replace(return_annotation=result)  # type: ignore[attr-defined]
        return call

    return decorate
