"""The directive ``{api} room``: the public names of a room of the library, each with its docstring."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

LIBRARY = "lie_dynamics_ros.lie_dynamics"
PACKAGE = "lie_dynamics_ros."
TASKS = {
    "Models": (
        "models",
        "Model ModelBuilder BodySpring TorsionSpring joint_types SpatialInertia JointFriction",
    ),
    "Dynamics": (
        "dynamics",
        "inverse_dynamics forward_dynamics hybrid_dynamics mass_matrix mass_matrix_rate solve_mass_matrix bias_force "
        "gravity_force coriolis_matrix external_wrench",
    ),
    "Kinematics": (
        "dynamics",
        "forward_kinematics frame_pose jacobian jacobian_rate body_velocities body_accelerations",
    ),
    "Energy and momentum": (
        "dynamics",
        "kinetic_energy potential_energy momentum center_of_mass centroidal_momentum_matrix total_mass "
        "center_of_mass_derivatives centroidal_momentum_derivatives",
    ),
    "Derivatives": (
        "derivatives",
        "inverse_dynamics_derivatives forward_dynamics_derivatives hybrid_dynamics_derivatives bias_force_derivatives "
        "gravity_force_derivatives Parameter inverse_dynamics_sensitivity forward_dynamics_sensitivity "
        "hybrid_dynamics_sensitivity torque_regressor inverse_dynamics_second_derivatives "
        "forward_dynamics_second_derivatives hybrid_dynamics_second_derivatives",
    ),
    "Geometry": (
        "closed_form",
        "christoffel_symbols christoffel_derivatives coriolis_product mass_matrix_derivatives curvature_tensor "
        "ricci_tensor scalar_curvature sectional_curvature is_flat",
    ),
    "Closed loops": (
        "closed_loops",
        "ConstraintSet Loop Coupling UserConstraint mimic_couplings ConstrainedModel Resolution Baumgarte assemble "
        "Assembly consistent_velocity consistent_acceleration project_to_constraints constrained_forward_dynamics "
        "constrained_inverse_dynamics constrained_hybrid_dynamics ConstrainedDynamics constrained_forward_derivatives "
        "constrained_inverse_derivatives constrained_hybrid_derivatives ConstrainedDerivatives "
        "constrained_forward_sensitivity constrained_inverse_sensitivity constrained_hybrid_sensitivity "
        "ConstrainedSensitivity constraint_error constraint_jacobian constraint_bias constraint_quantities "
        "loop_wrenches MotorDynamics platform_wrench PlatformWrench "
        "constrained_travel_left",
    ),
    "Mechanisms and their tracking": ("closed_loop_tracking", "mechanism Mechanism ClosedLoopTracker"),
    "Stewart platforms": (
        "stewart",
        "StewartPlatform StewartTracker assembly_modes solve_forward_kinematics",
    ),
    "Optimal motions": ("optimal_motion", "optimal_motion torque_optimal_motion MotionCost"),
}
"""Of the library's own names: the tasks that they serve, with the guide to each, and the names in reading order."""
SOUGHT = {
    "inverse_dynamics": "ID, RNEA, inverse dynamics", "forward_dynamics": "FD, ABA, forward dynamics",
    "mass_matrix": "CRBA, mass matrix", "gravity_compensation": "gravity compensation",
    "gravity_force": "gravity torques", "assemble": "loop closure", "solve_forward_kinematics": "hexapod",
}  # fmt: skip
"""What functions are searched by, besides their names: abbreviations of algorithms, and plain words."""


def public_names(room: Any) -> Iterator[tuple[str, Any]]:
    """Names that a module offers, and what they stand for: those it lists, or else those it or its rooms define."""
    names = getattr(room, "__all__", None)
    package = hasattr(room, "__path__")
    for name in sorted(names or vars(room)):
        value = getattr(room, name)
        home = getattr(value, "__module__", "")
        if names or (
            not name.startswith("_") and (home.startswith(room.__name__) if package else home == room.__name__)
        ):
            yield name, value


@cache
def _all() -> set[int]:
    """What the pages show, of all rooms."""
    library = import_module(LIBRARY)
    rooms = [library, *(getattr(library, name) for name in library._ROOMS)]
    return {id(value) for room in rooms for _, value in public_names(room)}


def _first_line(value: Any) -> str:
    """Return what a docstring says first, without what a table or Markdown would take for its own."""
    line = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
    code = re.split("(`[^`]*`)", line.replace("|", "\\|"))
    return "".join(x if i % 2 else re.sub(r"([*$_])", r"\\\1", x).replace("<", "&lt;") for i, x in enumerate(code))


def _kind(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return "module"
    return "class" if inspect.isclass(value) else "function" if callable(value) else "data"


class Api(SphinxDirective):
    """Documents a room; what is a module in it has its functions documented with it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the documentation of all names; those of the library itself by tasks, with the guide to each."""
        module = import_module(self.arguments[0])
        if module.__name__ != LIBRARY:
            content = "\n".join(self._lines(module))
            return self.parse_text_to_nodes(f"````{{eval-rst}}\n{content}\n````", allow_section_headings=True)
        values, text = dict(public_names(module)), []
        for task, (guide, names) in TASKS.items():
            text += [f"## {task}", "", f"Guide: [{guide}](../{guide}.md).", "", "| | |", "|---|---|"]
            for n in names.split():
                shown = f"`{n}`" if _kind(values[n]) == "module" else f"[`{n}`](#{LIBRARY}.{n})"
                text.append(f"| {shown} | {_first_line(values[n])} |")
            text += ["", *self._directives(values, names.split())]
        grouped = {name for _, names in TASKS.values() for name in names.split()}
        text += ["## Errors", "", *self._directives(values, sorted(values.keys() - grouped))]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)

    def _directives(self, values: dict[str, Any], names: list[str]) -> list[str]:
        lines = [line for n in names for line in self._entry(values[n], n, LIBRARY)]
        return ["````{eval-rst}", *lines, "````", ""]

    def _lines(self, module: Any) -> Iterator[str]:
        first = (
            {id(value) for _, value in public_names(import_module(LIBRARY))} if module.__name__ != LIBRARY else set()
        )
        for name, value in public_names(module):
            if id(value) in first:
                yield from (f"- ``{name}``: :doc:`with the names of the library </api/library>`", "")
            else:
                yield from self._entry(value, name, module.__name__)

    def _entry(self, value: Any, name: str, room: str) -> Iterator[str]:
        kind = _kind(value)
        if kind == "module":
            yield from (f".. rubric:: {name}", "", *(value.__doc__ or "").splitlines(), "")
            for inner, function in public_names(value):
                if _kind(function) != "module":
                    yield from self._entry(function, inner, value.__name__)
            return
        if name in SOUGHT and room.rpartition(".")[2] in ("lie_dynamics", "control"):
            yield from (".. index:: " + ", ".join(f"! {words}" for words in SOUGHT[name].split(", ")), "")
        yield f".. auto{kind}:: {room}.{name}"
        if kind == "class":
            yield from ("   :members:", "   :exclude-members: count, index")
            bases, ours = value.__mro__[1:], _all()
            shown = [base.__name__ for base in bases if id(base) in ours or not base.__module__.startswith(PACKAGE)]
            if len(shown) < len(bases):  # of those that no page shows, the members are shown with the class
                yield f"   :inherited-members: {', '.join(shown)}"
        yield ""


def bars(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Let |x| in docstrings be what it is in mathematics, outside of code."""
    for k, line in enumerate(lines):
        parts = line.split("`")
        lines[k] = "`".join([part if i % 2 else part.replace("|", "\\|") for i, part in enumerate(parts)])


def setup(app: Any) -> dict[str, bool]:
    """Make the directive known to Sphinx."""
    app.add_directive("api", Api)
    app.connect("autodoc-process-docstring", bars)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
