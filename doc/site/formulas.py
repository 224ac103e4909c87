"""Formulas as MathML, which browsers show without a script or a network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

WIDE = "overflow-x: auto; overflow-y: hidden; padding: 0.4em 0"
"""Of formulas that stand by themselves: on a narrow screen they scroll to the side, and are not cut above or below."""


def _visit(self: Any, node: nodes.Element) -> None:
    block = isinstance(node, nodes.math_block)
    formula = convert(node.astext().strip(), display="block" if block else "inline")
    self.body.append(f'<div style="{WIDE}">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer of conf.py."""
    app.add_html_math_renderer("mathml", inline_renderers=(_visit, None), block_renderers=(_visit, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
