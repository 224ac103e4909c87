"""Settings of sphinx-gallery: the scripts of examples/, whose pictures are files that they write."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

PICTURES = "demo_output"


def titled_copies(examples: Path, place: Path) -> None:
    """Copy the scripts with a title before their first words, as sphinx-gallery wants it."""
    place.mkdir(parents=True, exist_ok=True)
    title = "Examples"
    (place / "GALLERY_HEADER.rst").write_text(
        f"{title}\n{'=' * len(title)}\n\nScripts of ``examples`` as they are, with what they print and draw.\n"
    )
    for script in sorted(examples.glob("*.py")):
        name = script.stem.replace("_", " ").capitalize().replace("urdf", "URDF").replace("Urdf", "URDF")
        text = re.sub(r'^"""', f'"""{name}\n{"=" * len(name)}\n\n', script.read_text(), count=1)
        copy = place / script.name
        if not copy.exists() or copy.read_text() != text:
            copy.write_text(text)


def pictures(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Show the pictures that a script has written."""
    written = sorted(Path(variables["src_file"]).parent.joinpath(PICTURES).glob("*.png"))
    shown = []
    for picture, path in zip(written, variables["image_path_iterator"], strict=False):
        shutil.move(picture, path)
        shown.append(path)
    return figure_rst(shown, settings["src_dir"])


def gallery_settings(root: Path) -> dict[str, Any]:
    """Return the settings for a checkout."""
    place = root / "doc" / "_build" / "examples"
    titled_copies(root / "examples", place)
    return {
        "examples_dirs": str(place),
        "gallery_dirs": "examples",
        "filename_pattern": r"\.py$",
        "image_scrapers": ("gallery.pictures",),
        "abort_on_example_error": True,
        "download_all_examples": False,
        "show_memory": False,
        "show_signature": False,
        "min_reported_time": 1e9,
        "write_computation_times": False,
    }
