"""The <world> or <model> of an SDF: which model is the robot, and how things fall there."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from ...arrays import AnyArray
from ...errors import DescriptionError
from ...texts import listed, quoted
from ..checks import suggestion
from ..urdf.fields import Strangers
from .fields import SdfFields
from .scopes import Scope, ScopeReader, SdfFrame

#: Acceleration of free fall in a <world> that tells none, by the format [m/s^2].
WORLD_GRAVITY = (0.0, 0.0, -9.8)
_GRAVITY_MOVED = (1, 6)
"""Version since which it is given beside the <physics> instead of in it."""


def read_world(
    root: Element, origin: str, version: tuple[int, int], strangers: Strangers, left_out: Strangers
) -> tuple[Scope, AnyArray | None]:
    """Return all models of a file, and the gravity of its world; None where a model stands alone.

    Raises
    ------
    DescriptionError
        For several worlds, and for what `ScopeReader` refuses.
    """
    worlds = [child for child in root if child.tag == "world"]
    if len(worlds) > 1 or (worlds and len(root) > 1):
        raise DescriptionError(
            f"{origin}: <sdf> holds {len(worlds)} <world> and {len(root) - len(worlds)} <model>; one of both expected",
            name=origin,
            expected="one <world> or <model>",
        )
    scope = Scope("", None)
    ScopeReader(version, strangers).fill(scope, worlds[0] if worlds else root)
    if not worlds:
        return scope, None
    for child in worlds[0]:
        if child.tag in ("include", "state"):
            left_out.note(f"<{child.tag}>", "the world")
    fields = SdfFields(worlds[0], "the world", "", strangers)
    if version < _GRAVITY_MOVED and not fields.has("gravity"):
        fields = fields.inside("physics")
    return scope, fields.vector("gravity", 3) if fields.has("gravity") else np.array(WORLD_GRAVITY)


def choose_robot(world: Scope, root: Element, origin: str, name: str | None = None) -> SdfFrame:
    """Return the model that is the robot: that of a name, the only one, or the only one that is not static.

    Models in others have names as "outer::inner".

    Raises
    ------
    DescriptionError
        If it is not clear which one that is.
    """
    models = world.of_kind("model")
    if name is not None:
        inside = [frame for scope in world.walk() for frame in scope.of_kind("model")]
        named = {_path(frame): frame for frame in inside}
        if name not in named:
            message = f"{origin}: it holds no model {quoted(name)}{suggestion(name, named)}"
            raise DescriptionError(message, name=origin, value=name, expected="the name of a model")
        return named[name]
    moving = [model for model in models if model.model is not None and not model.model.static]
    for candidates in (moving, models):
        if len(candidates) == 1:
            return candidates[0]
    includes = any(child.tag == "include" for top in root for child in top)
    if moving:
        what = f"{len(moving)} models that are not static, {listed(model.name for model in moving)}"
    else:
        what = f"{len(models)} models that are static" if models else "no <model>"
    hint = ""
    if models:
        hint = f" (choose one by the argument model: {listed(model.name for model in models)})"
    elif includes:
        hint = " (included files are read from package_dirs; `gz sdf -p FILE` writes one file without them)"
    raise DescriptionError(f"{origin}: it holds {what}; one robot expected{hint}", name=origin, expected="one robot")


def _path(frame: SdfFrame) -> str:
    """Return the name of a model with those of the models around it."""
    names, scope = [frame.name.rpartition("::")[2]], frame.scope
    while scope.around is not None:
        names.append(scope.own.name.rpartition("::")[2])
        scope = scope.around
    return "::".join(reversed(names))
