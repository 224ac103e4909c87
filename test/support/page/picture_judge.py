"""Whether what is written in a figure can be read: no text lies on another or leaves the picture, no legend on a curve.

Every figure that a test saves is judged: `judge_figures` makes saving one that cannot be read an error.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

TOUCH = 1.0
"""By how much boxes may overlap [pixels]: their borders are empty."""
DENSE = 400
"""Points into which each piece of a curve is cut at most."""


def _texts(figure: Figure) -> list[tuple[str, Any]]:
    """Texts of a figure and their boxes; a legend is one."""
    renderer = figure.canvas.get_renderer()
    found: list[tuple[str, Any]] = [("legend of the figure", legend) for legend in figure.legends]
    found += [(f"title {text.get_text()!r}", text) for text in figure.texts]
    for axes in filter(lambda axes: axes.get_visible(), figure.axes):
        parts = [axes.title, axes._left_title, axes._right_title]
        parts += [] if axes.name == "3d" else axes.texts  # in space they are placed while they are drawn
        if axes.axison:
            for axis in axes._axis_map.values():
                least, most = sorted(axis.get_view_interval())
                parts.append(axis.label)
                parts += [t.label1 for t in axis.get_major_ticks() if least <= t.get_loc() <= most]
        found += [(repr(text.get_text()), text) for text in parts if text.get_visible() and text.get_text().strip()]
        if axes.get_legend():
            found.append(("legend", axes.get_legend()))
    return [(name, artist.get_window_extent(renderer)) for name, artist in found]


def _on_the_way(points: np.ndarray) -> np.ndarray:
    """Points along a curve, close to each other."""
    counts = np.clip(np.abs(np.diff(points, axis=0)).max(axis=1), 2, DENSE).astype(int)
    long = np.flatnonzero(counts > 2)  # the others are their ends
    return np.concatenate([points, *(np.linspace(*points[k : k + 2], counts[k]) for k in long)])


def flaws(figure: Figure, cut: bool = True, drawn: bool = False) -> list[str]:
    """Say what covers what in a figure, and what is cut off at its border; not so with ``cut=False``.

    It is drawn for that, unless it has been ``drawn`` as it is, in pixels of the same size.
    """
    canvas = FigureCanvasAgg(figure)
    if not drawn:
        canvas.draw()
    renderer = canvas.get_renderer()
    said = []
    texts = _texts(figure)
    if cut:
        whole = figure.bbox.padded(TOUCH)
        said += [
            f"{name} is cut off" for name, box in texts if not (whole.contains(*box.min) and whole.contains(*box.max))
        ]
    for (first, a), (second, b) in combinations(texts, 2):
        overlap = [min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)]
        if min(overlap) > TOUCH:
            said.append(f"{first} lies on {second}")
    for axes in figure.axes:
        if axes.get_legend() is None:
            continue
        box = axes.get_legend().get_window_extent(renderer)
        for line in axes.lines:
            points = line.get_transform().transform(np.column_stack(line.get_data(orig=False)).astype(float))
            points = points[np.isfinite(points).all(axis=1)]
            if len(points) and ((box.min <= (way := _on_the_way(points))) & (way <= box.max)).all(axis=1).any():
                said.append(f"a legend lies on the curve {line.get_label()!r}")
    return said


def judge_figures() -> None:
    """Make `Figure.savefig` refuse what cannot be read, from now on."""
    save = Figure.savefig
    if getattr(save, "judges", False):
        return

    def judge_and_save(figure: Figure, file: Any, **keywords: Any) -> None:
        usual, tight = figure.dpi, keywords.get("bbox_inches") == "tight"
        figure.dpi = keywords.setdefault("dpi", usual)
        try:
            save(figure, file, **keywords)
            pixels = keywords.get("format", str(file)[-3:]) == "png"
            found = flaws(figure, cut=not tight, drawn=pixels and not tight)
        finally:
            figure.dpi = usual
        assert not found, f"{file}: {found}"

    judge_and_save.judges = True  # type: ignore[attr-defined]
    Figure.savefig = judge_and_save  # type: ignore[method-assign]
