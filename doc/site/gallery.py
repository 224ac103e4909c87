"""Settings of sphinx-gallery: the scripts of examples/, whose pictures are files that they write."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

PICTURES = "demo_output"
GROUPS = {
    "arms": ("Arms", "adaptive_payload controller_in_mujoco design_by_sensitivity feasible_trajectory "
             "gravity_compensation hybrid_dynamics motion_capture optimal_motion torque_optimal_motion touch"),
    "models": ("Models and identification", "batch_evaluation from_bag identification urdf_torques"),
    "platforms": ("Stewart platforms", "stewart_calibration stewart_command stewart_fusion stewart_platform "
                  "stewart_tracking stewart_workspace"),
    "loops": ("Closed loops and geometry", "closed_form_curvature closed_form_geodesics five_bar machines mechanisms "
              "optimal_machines"),
}  # fmt: skip
"""Titles of the groups, by their folders, and the scripts in them."""
MECHANISMS = {"five_bar": "five-bar", "mechanisms": "delta", "machines": "3-RPS", "optimal_machines": "five-bar"}
LINKS = {
    "torque_optimal_motion": 2, "closed_form_curvature": 3, "closed_form_geodesics": 3, "identification": 3,
    "design_by_sensitivity": 2,
}  # fmt: skip
"""Of scripts whose machine is no Panda and no platform: the mechanism, or how many links a planar arm has."""


def titled_copies(examples: Path, place: Path) -> None:
    """Copy the scripts into groups, with a title before their first words, and draw their machines as thumbnails."""
    header(place, "Examples", "=", "Scripts of ``examples`` as they are, with what they print and draw.")
    left = {script.stem for script in examples.glob("*.py")}
    for folder, (title, names) in GROUPS.items():
        header(place / folder, title, "-", "")
        for name in names.split():
            shown = name.replace("_", " ").capitalize().replace("mujoco", "MuJoCo")
            shown = re.sub("urdf", "URDF", shown, flags=re.IGNORECASE)
            script = (examples / f"{name}.py").read_text()
            text = re.sub(r'^"""', f'"""{shown}\n{"=" * len(shown)}\n\n', script, count=1)
            thumbnail = place / "thumbnails" / f"{name}.png"
            thumbnail.parent.mkdir(exist_ok=True)
            if not thumbnail.exists():
                machine(name).savefig(thumbnail, dpi=80)
            text += f"\n# sphinx_gallery_thumbnail_path = '_build/examples/thumbnails/{name}.png'\n"
            copy = place / folder / f"{name}.py"
            if not copy.exists() or copy.read_text() != text:
                copy.write_text(text)
            left.discard(name)
    if left:
        raise ValueError(f"examples in no group of doc/site/gallery.py: {sorted(left)}")


def header(folder: Path, title: str, line: str, words: str) -> None:
    """Write the title of a folder of the gallery."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "GALLERY_HEADER.rst").write_text(f"{title}\n{line * len(title)}\n\n{words}\n")


def machine(name: str) -> Any:
    """Draw the machine of an example, without axes."""
    import numpy as np

    import lie_dynamics_ros
    from lie_dynamics_ros import lie_dynamics as ld
    from lie_dynamics_ros.lie_dynamics.stewart import reference_platform

    turn = np.random.default_rng(sum(map(ord, name))).uniform(-0.4, 0.4, 7)  # each in a posture of its own
    if name.startswith("stewart"):
        platform = reference_platform()
        pose = platform.home_pose.copy()
        pose[:3, 3] += 0.1 * turn[:3]
        figure = platform.show(pose)
    elif name in MECHANISMS:
        figure = ld.mechanism(MECHANISMS[name]).show()
    elif name in LINKS:
        rod, along = ld.SpatialInertia(1.0, [0.5, 0.0, 0.0], 0.08 * np.eye(3)), np.eye(4)
        along[0, 3] = 1.0
        builder, last = ld.ModelBuilder(), None
        for link in range(LINKS[name]):
            hinge = ld.joint_types.revolute([0, -1, 0])
            builder.add(f"link {link + 1}", last, hinge, None if last is None else along, rod)
            last = f"link {link + 1}"
        model = builder.add("tip", last, placement=along).build("arm")
        figure = model.show(1.0 - 0.7 * np.arange(model.nq))
    else:
        model = ld.Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")
        figure = model.show(np.array([0.2, -0.3, 0.0, -1.9, 0.0, 1.6, 0.8]) + turn * [0.3, 1, 1, 1, 1, 1, 1])
    for ax in figure.axes:
        ax.set_axis_off()
        ax.set_box_aspect((1, 1, 1), zoom=1.2)
        ax.set_title("")
        for text in list(ax.texts):
            text.remove()
    figure.set_size_inches(4.0, 3.0)
    return figure


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
        "subsection_order": [f"_build/examples/{folder}" for folder in GROUPS],
        "image_scrapers": ("gallery.pictures",),
        "abort_on_example_error": True,
        "download_all_examples": False,
        "show_memory": False,
        "show_signature": False,
        "remove_config_comments": True,
        "min_reported_time": 1e9,
        "write_computation_times": False,
    }
