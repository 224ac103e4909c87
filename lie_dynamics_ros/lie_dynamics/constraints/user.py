"""`UserConstraint`: an equation f(q) = 0 given by a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..errors import DescriptionError
from ..model.model import Model

# Central differences of order six: nodes and weights of the first and second derivative.
_NODES = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
_FIRST = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0
_SECOND = np.array([2.0, -27.0, 270.0, 270.0, -27.0, 2.0]) / 180.0
_CENTRE = -490.0 / 180.0
#: Steps [rad, m] that balance truncation and round-off.
FIRST_STEP, SECOND_STEP = 2e-3, 1e-2


@dataclass(frozen=True, eq=False)
class UserConstraint:
    """An equation f(q) = 0 of any number of components, given by Python functions of one configuration.

    Parameters
    ----------
    name : str
        Name in reports.
    size : int
        Number of components.
    function : callable
        ``function(q)`` of q (nq,) returns f (size,), or a number if the size is one. Smooth in a neighbourhood of 0.01
        rad or m where derivatives are to be found.
    jacobian : callable, optional
        ``jacobian(q)`` returns A (size, nv): f(integrate(q, v)) = f(q) + A v + ... By differences when left out, to
        some 1e-11 of f.
    bias : callable, optional
        ``bias(q, qd)`` returns dA/dt qd (size,). By differences when left out.

    Raises
    ------
    DescriptionError
        If the size is no number above zero; later, if a function returns another shape, or NaN.
    """

    name: str
    size: int
    function: Callable[[Array], npt.ArrayLike]
    jacobian: Callable[[Array], npt.ArrayLike] | None = None
    bias: Callable[[Array, Array], npt.ArrayLike] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.size, (int, np.integer)) or self.size < 1:
            raise DescriptionError(
                f"constraint {self.name!r}: a size of at least 1 is expected, got {self.size!r}", name=self.name
            )

    def error(self, q: Array) -> Array:
        """Return f (size,)."""
        return self._checked("function", self.function(q), (self.size,))

    def matrix(self, model: Model, q: Array) -> Array:
        """Return A (size, nv)."""
        if self.jacobian is not None:
            return self._checked("jacobian", self.jacobian(q), (self.size, model.nv))
        columns = [first_difference(self.error, model, q, e) for e in np.eye(model.nv)]
        return np.array(columns).T.reshape(self.size, model.nv)

    def rate_of_matrix(self, model: Model, q: Array, qd: Array) -> Array:
        """Return dA/dt qd (size,)."""
        if self.bias is not None:
            return self._checked("bias", self.bias(q, qd), (self.size,))
        if self.jacobian is not None:
            return first_difference(lambda x: self.matrix(model, x) @ qd, model, q, qd)
        speed = float(np.abs(qd).max(initial=0.0))
        if speed == 0.0:
            return np.zeros(self.size)
        direction = qd / speed
        total = _CENTRE * self.error(q)
        for node, weight in zip(_NODES, _SECOND, strict=True):
            total = total + weight * self.error(model.integrate(q, node * SECOND_STEP * direction))
        return np.asarray(total * (speed / SECOND_STEP) ** 2)

    def _checked(self, what: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
        array = np.asarray(value, dtype=float)
        if array.ndim == 0 and shape == (1,):
            array = array.reshape(1)
        if array.shape != shape or not np.isfinite(array).all():
            raise DescriptionError(
                f"constraint {self.name!r}: its {what} must return finite numbers of shape {shape}, got {value!r}",
                name=self.name,
                value=value,
                expected=str(shape),
            )
        return array


def first_difference(function: Callable[[Array], Array], model: Model, q: Array, direction: Array) -> Array:
    """Return the derivative of a function of q along a tangent vector (nv,), by central differences of order six."""
    speed = float(np.abs(direction).max(initial=0.0))
    if speed == 0.0:
        return np.zeros_like(function(q))
    step = FIRST_STEP / speed
    terms = [w * function(model.integrate(q, x * step * direction)) for x, w in zip(_NODES, _FIRST, strict=True)]
    return np.asarray(sum(terms) / step)
