"""Build a Model body by body."""

from __future__ import annotations

import numpy.typing as npt

from .bodies import BodyTree
from .model import Model


class ModelBuilder(BodyTree):
    """Collects bodies, parents first, and makes a Model of them.

    Parameters
    ----------
    gravity : array-like, shape (3,)
        Acceleration of free fall in the world frame [m/s^2].
    world : str
        Name of the inertial frame.
    judge_inertias : bool
        Refuse inertias that no body can have; False where they have been checked, perhaps with what is welded to them.

    Examples
    --------
    >>> builder = ModelBuilder()
    >>> rod = SpatialInertia(1.0, [0.5, 0, 0], np.diag([0.0, 1.0, 1.0]) / 12.0)
    >>> model = builder.add("upper", joint=revolute([0, 1, 0]), inertia=rod).build()
    """

    def __init__(
        self, gravity: npt.ArrayLike = (0.0, 0.0, -9.81), world: str = "world", judge_inertias: bool = True
    ) -> None:
        super().__init__(world, judge_inertias)
        self._gravity = gravity

    def build(self, name: str = "robot") -> Model:
        """Return the model of the bodies added so far.

        Raises
        ------
        InputError
            If gravity is no finite 3-vector.
        """
        return Model(name, *self.parts()).with_gravity(self._gravity)
