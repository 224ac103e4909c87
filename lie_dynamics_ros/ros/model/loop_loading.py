"""From the parameter loops to the constraints of a robot."""

from __future__ import annotations

from ...core.errors import DescriptionError
from ...lie_dynamics import ConstraintSet, Coupling, LieDynamicsError, Loop, Model
from ...lie_dynamics.yaml_text import is_yaml_text
from .robot_description import locate


def load_constraints(source: str, model: Model, prefix: str, mjcf: str = "") -> ConstraintSet:
    """Return what YAML text, a file path or a URI says of loops and couplings; nothing holds where it is empty.

    The text names joints as `model` does; the constraints are those of the model whose joints have the prefix. Equality
    constraints of the MJCF that the model was made of count besides.

    Raises
    ------
    DescriptionError
        It cannot be read, or does not fit the robot; begins with the parameter's name.
    """
    named = model.with_joint_prefix(prefix)
    loops: list[Loop] = []
    couplings: list[Coupling] = []
    try:
        sets = [ConstraintSet.from_mjcf(model, mjcf)] if mjcf else []
        if source.strip():
            sets.append(ConstraintSet.from_yaml(model, source if is_yaml_text(source) else locate(source)))
    except (LieDynamicsError, DescriptionError) as error:
        raise DescriptionError(f"loops: {error}") from error
    for found in sets:
        loops += found.loops
        couplings += [
            Coupling({prefix + joint: value for joint, value in one.coefficients.items()}, one.offset, one.name)
            for one in found.couplings
        ]
    return ConstraintSet(named, [*loops, *couplings])
