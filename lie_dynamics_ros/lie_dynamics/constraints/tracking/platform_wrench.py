"""`platform_wrench`: what motors exert beyond the model, as a wrench at the platform."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...dynamics.jacobians import FrameKind, jacobian
from ...errors import InputError, SingularityError
from ...lie._arrays import as_real
from ...model.arguments import validate_model
from ...model.configuration import shaped
from ...model.model import Model
from ...shown import shown
from ..constraint_set import ConstraintSet
from ..idle import HELD, idle_freedoms, listed_joints
from ..inputs import require_constraints
from .joints import single_places
from .motion import ClosedMotion

#: Names of the components of a wrench, in order.
COMPONENTS = ("moment_x", "moment_y", "moment_z", "force_x", "force_y", "force_z")
#: Singular values below this part of the largest tell nothing.
_SINGULAR = 1e-6


@shown
@dataclass(frozen=True, eq=False)
class PlatformWrench:
    """A wrench determined by efforts of motors.

    Attributes
    ----------
    wrench : ndarray, shape (..., 6)
        Moment and force that the environment exerts at the frame's origin [N m, N]; zero where not looked for.
    map : ndarray, shape (6, k)
        By which efforts become wrenches.
    condition : float
        Of that map, each component over its own scale: by how much more errors of efforts may count than efforts do.
    """

    wrench: Array
    map: Array
    condition: float

    def covariance(self, noise: npt.ArrayLike) -> Array:
        """Return the covariance (6, 6) by standard deviations of the efforts, one for all or one for each [N m, N]."""
        try:
            spread = self.map * np.broadcast_to(as_real(noise, (), "noise"), self.map.shape[1:])
        except ValueError:
            count = self.map.shape[1]
            raise InputError(f"noise: one number or {count} are expected, got {noise!r}", name="noise") from None
        return np.asarray(spread @ spread.T)


@validate_model
def platform_wrench(
    model: Model,
    constraints: ConstraintSet,
    q: npt.ArrayLike,
    efforts: npt.ArrayLike,
    motors: Sequence[str],
    frame: str,
    *,
    components: Sequence[str] = COMPONENTS,
    axes: FrameKind = "body",
) -> PlatformWrench:
    """Return the wrench at a platform that motors balance by what they exert beyond the model.

    With q' = G y' the motion that keeps loops closed and comes nearest to rates y' of the motors, and J the Jacobian of
    the frame, efforts e beyond those of the model balance a wrench w where e = -(J G)^T w, by virtual work. That is
    solved for the components that are looked for, by least squares where the mechanism has more freedoms.

    Parameters
    ----------
    model, constraints
        The tree and what holds.
    q : array-like, shape (nq,)
        A closed configuration.
    efforts : array-like, shape (..., k)
        Measured ones of the motors, less those that `constrained_inverse_dynamics` returns for the motion [N m, N].
    motors : sequence of str
        Joints of one coordinate.
    frame : str
        A body or frame.
    components : sequence of str
        Components, of `COMPONENTS`, to be determined, in the axes of the frame or as `axes` says; the others are taken
        as zero.
    axes : {"body", "aligned"}
        Axes of the wrench: the frame's, or the world's; its point is the frame's origin.

    Raises
    ------
    InputError
        For more components than freedoms, which efforts cannot determine; for wrong shapes and names.
    SingularityError
        Where some component moves no motor, or the motors do not hold the frame.
    """
    names = tuple(components) if isinstance(components, Iterable) else ()
    if not names or not all(name in COMPONENTS for name in names) or len(set(names)) < len(names):
        raise InputError(f"components: some of {list(COMPONENTS)}, each once, are expected, got {components!r}")
    if axes not in ("body", "aligned"):
        raise InputError(f"axes: 'body' or 'aligned' is expected, got {axes!r}", name="axes")
    places = single_places(model, motors, "motors")
    given = as_real(efforts, (len(places),), "efforts")
    require_constraints(model, constraints)
    closed = np.array(shaped(q, model.nq, "q", model), dtype=float)
    if closed.ndim != 1:
        raise InputError(f"q: one configuration is expected, of shape ({model.nq},), got {closed.shape}", name="q")
    motion = ClosedMotion(model, constraints, closed)
    freedoms = motion.held_by(places)
    J = jacobian(model, motion.q, frame, axes)
    if freedoms < motion.freedoms:
        left = motion.left_by(places)
        if np.abs(J @ left).max() > HELD:  # what they leave is not idle
            raise SingularityError(
                f"model {model.name!r}: the motors {list(motors)} hold {freedoms} of {motion.freedoms} freedoms here; "
                f"{listed_joints(idle_freedoms(model, constraints, motion.q, left))} can still move {frame!r}"
            )
    if len(names) > freedoms:
        raise InputError(
            f"components: the efforts of a mechanism with {freedoms} freedoms tell {freedoms} components at most, "
            f"got {len(names)}",
            name="components",
        )
    at = [COMPONENTS.index(name) for name in names]
    felt = (J @ motion.gain(places, np.ones(len(places))))[at].T  # (k, n)
    sizes = np.linalg.norm(felt, axis=0)
    u, s, vt = np.linalg.svd(felt / np.where(sizes > 0.0, sizes, 1.0), full_matrices=False)
    if not (sizes > 0.0).all() or s[-1] <= _SINGULAR * s[0]:
        raise SingularityError(f"model {model.name!r}: {', '.join(names)} at {frame!r} cannot be distinguished here")
    found = np.zeros((6, len(places)))
    found[at] = -((vt.T / s) @ u.T) / sizes[:, None]
    return PlatformWrench(given @ found.T, found, float(s[0] / s[-1]))
