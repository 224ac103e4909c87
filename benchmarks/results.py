"""How results are kept: one JSON file and one table per benchmark in ``benchmarks/results``."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
PACKAGES = ("numpy", "scipy", "numba", "pin", "ros-rclpy", "ros-rmw-fastrtps-cpp")


@dataclass(frozen=True)
class Figure:
    """One measured figure.

    Attributes
    ----------
    name : str
        What was measured.
    value : float
    unit : str
    target : str
        What it should reach, for people; empty where there is none.
    met : bool or None
        Whether it does; None without a target.
    interval : tuple of float, optional
        In which the figure lies with a probability of 95 %, where that is known.
    """

    name: str
    value: float
    unit: str
    target: str = ""
    met: bool | None = None
    interval: tuple[float, float] | None = None


def at_most(name: str, value: float, unit: str, limit: float, interval: tuple[float, float] | None = None) -> Figure:
    """A figure that should be at most ``limit``."""
    return Figure(name, value, unit, f"at most {limit:g}", value <= limit, interval)


def at_least(name: str, value: float, unit: str, limit: float) -> Figure:
    """A figure that should be at least ``limit``."""
    return Figure(name, value, unit, f"at least {limit:g}", value >= limit)


def machine() -> dict[str, Any]:
    """What the figures were measured on: processor, versions; nothing that tells whose machine it is."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "AVX-512": _has_avx512(),
        "load before": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "ros": os.environ.get("ROS_DISTRO", ""),
        **versions,
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def _has_avx512() -> str:
    """Whether the processor has the vectors that batches are made for."""
    try:
        return "yes" if " avx512f " in Path("/proc/cpuinfo").read_text() else "no"
    except OSError:
        return "unknown"


def save(
    name: str, title: str, figures: Sequence[Figure], where: dict[str, Any], raw: Any = None, more: str = ""
) -> str:
    """Write the JSON file and the table, with more text below it; returns the table."""
    FOLDER.mkdir(exist_ok=True)
    content = {"title": title, "machine": where, "figures": [asdict(figure) for figure in figures], "raw": raw}
    (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    lines = [f"# {title}", "", "| what | measured | target | met |", "|---|---|---|---|"]
    for figure in figures:
        met = "" if figure.met is None else "yes" if figure.met else "no"
        spread = "({:.4g} to {:.4g})".format(*figure.interval) if figure.interval else ""
        measured = " ".join(word for word in (f"{figure.value:.4g}", figure.unit, spread) if word)
        lines.append(f"| {figure.name} | {measured} | {figure.target} | {met} |")
    lines += ["", "Measured on: " + ", ".join(f"{key} {value}" for key, value in where.items() if value) + ".", ""]
    lines += [more, ""] if more else []
    table = "\n".join(lines)
    (FOLDER / f"{name}.md").write_text(table, encoding="utf-8")
    return table
