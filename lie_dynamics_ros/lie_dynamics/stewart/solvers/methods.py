"""Names and options of the forward kinematics solvers: which chart and which iteration a method stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

import numpy as np

from ..errors import StewartError
from ..geometry.inverse_kinematics import Array
from .charts import Chart, LegEquations, PoseSE3, Quaternion, RollPitchYaw
from .iterations import GaussNewtonOptions, LevenbergMarquardtOptions, Outcome, gauss_newton, levenberg_marquardt


class Settings:
    """Options by name, each taken once; what nobody takes is an error that lists the known ones."""

    def __init__(self, method: str, options: dict[str, Any]) -> None:
        self.method = method
        self._options = options
        self._known: list[str] = []

    def take(self, name: str, default: Any) -> Any:
        """Return an option, or its default."""
        self._known.append(name)
        return self._options.pop(name, default)

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> Any:
        """Return an option that must be one of some words."""
        value = self.take(name, default)
        if value not in allowed:
            raise StewartError(f"option {name} is {value!r}, expected one of {', '.join(map(repr, allowed))}")
        return value

    def refuse_rest(self) -> None:
        """Raise StewartError for options that the method does not know."""
        if self._options:
            unknown, known = ", ".join(sorted(self._options)), ", ".join(self._known)
            raise StewartError(f"method {self.method!r} has no option {unknown}; its options are {known}")


Iterate = Callable[[Chart, LegEquations, Array, "tuple[int, ...]", bool], Outcome]


def _gauss_newton(settings: Settings) -> Iterate:
    """Read the options of A1 and return the iteration."""
    allowed = {
        "accept": ("monotone", "strict", "decrease", "always"),
        "shrink": ("square", "power"),
        "order": ("square then test", "test then square"),
    }
    values: dict[str, Any] = {}
    for field in fields(GaussNewtonOptions):
        if field.name in allowed:
            values[field.name] = settings.choice(field.name, allowed[field.name], str(field.default))
        else:
            values[field.name] = settings.take(field.name, field.default)
    alpha = np.asarray(values.pop("alpha"), dtype=np.float64)
    if not np.all((alpha > 0.0) & (alpha < 1.0)) and values["accept"] != "always":
        raise StewartError(f"option alpha is {alpha}, expected step factors between 0 and 1, both excluded")

    def iterate(chart: Chart, equations: LegEquations, x: Array, batch: tuple[int, ...], record: bool) -> Outcome:
        spread = np.broadcast_to(alpha, batch).reshape(-1)
        return gauss_newton(chart, equations, x, GaussNewtonOptions(alpha=spread, **values), record)

    return iterate


def _levenberg_marquardt(settings: Settings, **defaults: float) -> Iterate:
    """Read the options of A2 and return the iteration."""
    values = {
        field.name: settings.take(field.name, defaults.get(field.name, field.default))
        for field in fields(LevenbergMarquardtOptions)
    }
    tau = np.asarray(values.pop("tau"), dtype=np.float64)
    if not np.all(tau > 0.0):
        raise StewartError(f"option tau is {tau}, expected positive damping ratios")

    def iterate(chart: Chart, equations: LegEquations, x: Array, batch: tuple[int, ...], record: bool) -> Outcome:
        spread = np.broadcast_to(tau, batch).reshape(-1)
        return levenberg_marquardt(chart, equations, x, LevenbergMarquardtOptions(tau=spread, **values), record)

    return iterate


def _on_se3(settings: Settings, default: Literal["body", "spatial"]) -> Chart:
    return PoseSE3(settings.choice("screw", ("body", "spatial"), default))


def _on_quaternions(settings: Settings) -> Chart:
    rotation = settings.choice("rotation", ("homogeneous", "normalised"), "normalised")
    return Quaternion(rotation, float(settings.take("weight", 1.0)), bool(settings.take("rescale", False)))


#: The solvers by name: what to hold the pose in, and how to iterate.
METHOD_BUILDERS: dict[str, Callable[[Settings], tuple[Chart, Iterate]]] = {
    "auto": lambda settings: (_on_se3(settings, "body"), _levenberg_marquardt(settings, tau=0.1)),
    "gn-se3": lambda settings: (_on_se3(settings, "body"), _gauss_newton(settings)),
    "lm-se3": lambda settings: (_on_se3(settings, "spatial"), _levenberg_marquardt(settings)),
    "gn-r6": lambda settings: (RollPitchYaw(), _gauss_newton(settings)),
    "lm-r6": lambda settings: (RollPitchYaw(), _levenberg_marquardt(settings)),
    "gn-quat": lambda settings: (_on_quaternions(settings), _gauss_newton(settings)),
    "lm-quat": lambda settings: (_on_quaternions(settings), _levenberg_marquardt(settings)),
}
