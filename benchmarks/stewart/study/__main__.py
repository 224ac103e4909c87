"""Command line of the study; see the package's text."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from lie_dynamics_ros.lie_dynamics.files import write_file

from . import basins, designs, figures, report, tables
from .progress import Progress

_TITLE = "# Forward kinematics of the Stewart platform: six solvers, paper and ours"
_INTRODUCTION = (
    "Written by `python -m benchmarks.stewart.study`. What is run, in which reading of the paper, "
    "and what its misprints are, is in `doc/stewart.md`. The first two tables are one reading for all rows; rows that "
    "do not agree with the paper say so."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study, print its tables, write them and the figures."""
    parser = argparse.ArgumentParser(prog="stewart.study", description="Reproduce Tables 2, 3 and Figures 6 to 9.")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"), help="folder of the markdown file")
    parser.add_argument("--figures", type=Path, default=Path("doc/figures"), help="folder of the PNG files")
    parser.add_argument("--targets", type=int, default=1500, help="random targets; 0 leaves these studies out")
    parser.add_argument("--resolution", type=int, default=121, help="guesses along each side of the basin picture")
    parser.add_argument("--no-readings", action="store_true", help="leave the other readings of the paper out")
    parser.add_argument("--no-figures", action="store_true", help="draw nothing (no matplotlib needed)")
    chosen = parser.parse_args(arguments)

    total = tables.count_steps(not chosen.no_readings)
    total += basins.count_steps(chosen.targets) + designs.count_design_steps() if chosen.targets else 0
    total += 0 if chosen.no_figures else len(figures.METHODS)
    with Progress(total) as bar:
        rows = tables.run_tables(bar.step)
        parts = [_TITLE, _INTRODUCTION, report.tables_markdown(rows)]
        if not chosen.no_readings:
            parts.append(report.readings_markdown(tables.run_other_readings(bar.step)))
        if chosen.targets:
            parts.append(report.basins_markdown(basins.run_basins(chosen.targets, bar.step)))
            parts.append(report.designs_markdown(designs.run_designs(chosen.targets, bar.step), chosen.targets))
        pictures: list[Path] = []
        if not chosen.no_figures:
            pictures = figures.plot_figures(rows, chosen.figures)
            pictures.append(figures.plot_basins(chosen.figures / "stewart_basins.png", chosen.resolution, bar.step))
    text = "\n\n".join(part.strip() for part in parts) + "\n"
    target = chosen.results / "stewart_study.md"
    write_file(target, text)
    print(text)
    print("written:", ", ".join(str(path) for path in (target, *pictures)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
