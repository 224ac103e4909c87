"""Files of platforms, constraints and friction, changed in values, structure and characters, and bombs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import ConstraintSet, JointFriction, LieDynamicsError, Model
from lie_dynamics_ros.lie_dynamics.stewart.geometry.any_platform import any_platform

from .target import DefectError, Target
from .xml_mutations import mutated_text

LOOPS = """
loops:
  - name: tip
    kind: spherical
    first: {frame: panda_link7, position: [0.0, 0.0, 0.1], rpy: [0, 0, 1.57]}
    second: {frame: panda_link0, position: [0.4, 0.0, 0.6], quaternion: [0, 0, 0, 1]}
couplings:
  - {follower: panda_joint2, leader: panda_joint1, ratio: 0.5, offset: 0.1}
  - {name: sum, coefficients: {panda_joint3: 1, panda_joint4: -2.0}, offset: 0}
mimics: false
"""
DESIGN = (
    "semi_regular: {base_radius: 0.3, platform_radius: 0.2, base_half_angle: 0.2, platform_half_angle: 0.7}\n"
    "leg_limits: [0.4, 0.7]\nallow_singular: false\n"
    "home_pose: {position: [0.0, 0.0, 0.5], quaternion: [0.0, 0.0, 0.0, 1.0]}\n"
)
VALUES: tuple[Any, ...] = (
    None, True, False, "false", "true", "1e3", "", "x" * 5000, 0, -1, 10**400, 1e308, -1e308, 5e-324, float("nan"),
    float("inf"), [], {}, [[]], [1], {"a": 1}, {1: 2}, [1.0] * 1000, "2024-01-01", b"\x00", "0x10", "1_000",
)  # fmt: skip


FRICTION = """
joints:
  panda_joint1: {damping: 0.5, friction: [1.2, 1.0], static_friction: [1.5, 1.3], stribeck_speed: 0.05}
  panda_joint4: {friction: 0.7, load_friction: 0.03, smoothing_speed: 0.02}
"""


def bombs() -> tuple[str, ...]:
    """Texts of some hundred bytes that ask for gigabytes, minutes or a deep stack."""
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 12)
    )
    numbers = (
        "base_points: &p [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [2, 0, 0], [0, 2, 0]]\nplatform_points: *p\n"
    )
    merges = "a: &a {x: 1}\n" + "".join(f"k{k}: {{<<: [{', '.join(['*a'] * 50)}]}}\n" for k in range(20))
    return (
        laughs,
        f"base_points: {laughs!r}",
        numbers,
        merges,
        "loops: " + "[" * 100_000,
        "loops: " + "{a: " * 50_000,
        "- " * 100_000,
        "? " * 100_000,
        "&a [*a]",
        "loops: &a\n  - *a\n",
        "loops: !!python/object/apply:os.system ['true']\n",
        "base_points: !!set {a, b}\n",
        "leg_limits: 1" + "0" * 100_000 + "\n",
        "a: " + "9" * 20_000 + ":59:59:59\n",
        "%YAML 9.9\n---\na: 1\n",
        "a: 1\n---\nb: 2\n",
        "\ufeff" + DESIGN,
        DESIGN + DESIGN,
        DESIGN.encode("utf-16").decode("latin1"),
        "semi_regular: {<<: {base_radius: 0.3}}\n",
    )


@cache
def arm() -> Model:
    """The robot that constraints are read for."""
    return Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")


def read_platform(text: str) -> object:
    return any_platform(text)


def read_loops(text: str) -> object:
    return ConstraintSet.from_yaml(arm(), text)


def read_friction(text: str) -> object:
    return JointFriction.from_yaml(text, arm())


@cache
def originals() -> tuple[tuple[str, Callable[[str], object]], ...]:
    """Texts to change, each with its reader."""
    shipped = sorted((Path(lie_dynamics_ros.__file__).parent / "platforms").glob("*.yaml"))
    texts = [path.read_text(encoding="utf-8") for path in shipped]
    return (*((text, read_platform) for text in [*texts, DESIGN]), (LOOPS, read_loops), (FRICTION, read_friction))


class Subject(Target):
    """See the module."""

    cases = 1000

    def __enter__(self) -> Subject:
        for text, read in originals():
            read(text)
        return self

    def check(self, rng: np.random.Generator, index: int) -> None:
        every = bombs()
        if index < 2 * len(every):
            text, read = every[index // 2], (read_platform, read_loops)[index % 2]
        else:
            original, read = originals()[int(rng.integers(len(originals())))]
            text = mutated_text(original, rng) if rng.random() < 0.4 else _changed(original, rng)
        try:
            read(f"{text}\n")
        except LieDynamicsError as error:
            if len(str(error)) > 2000:
                raise DefectError(f"a refusal of {len(str(error))} characters") from error


def _changed(text: str, rng: np.random.Generator) -> str:
    content = yaml.safe_load(text)
    for _ in range(int(rng.integers(1, 4))):
        _change(content, rng)
    return str(yaml.safe_dump(content, allow_unicode=True))


def _change(content: Any, rng: np.random.Generator) -> None:
    """Change one value somewhere below."""
    while True:
        keys = list(content) if isinstance(content, dict) else list(range(len(content)))
        if not keys:
            return
        key = keys[int(rng.integers(len(keys)))]
        below = content[key]
        if isinstance(below, dict | list) and below and rng.random() < 0.75:
            content = below
            continue
        kind = rng.integers(4)
        if kind == 0:
            del content[key]
        elif kind == 1 and isinstance(content, list):
            content.append(below)
        elif kind == 2 and isinstance(content, dict):
            content[f"{key}x"] = content.pop(key)
        else:
            content[key] = VALUES[int(rng.integers(len(VALUES)))]
        return
