"""Reports as one HTML file with its pictures inside."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from .files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child{text-align:left}img{max-width:100%}.bad{color:#a00}"
)


def write_page(path: str | PathLike[str], title: str, parts: Sequence[str]) -> Path:
    """Write a page of parts that are HTML, make its folder where it is missing, and return the path."""
    target = Path(path)
    head = f"<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>{escape(title)}</title>"
    write_file(target, head + f"<style>{_STYLE}</style>" + "\n".join(parts) + "</html>\n")
    return target


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of plain texts."""
    lines = ["<tr>" + "".join(f"<th>{escape(x)}</th>" for x in heads) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in rows]
    return "<table>" + "".join(lines) + "</table>"


def picture(figure: Figure, name: str) -> str:
    """Return a picture, inside the page; `name` stands where pictures are not shown."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    file = BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(file, format="png", dpi=80, metadata={"Software": None})
    return f"<img alt='{escape(name)}' src='data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}'>"
