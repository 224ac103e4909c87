"""Inverse dynamics of a tree: the joint forces of a motion."""

from __future__ import annotations

from ..arrays import Array, ArrayLike
from ..model.model import Model
from .inputs import Algorithm, quick_path
from .kernels.inverse_dynamics import any_inverse_dynamics as _any
from .kernels.inverse_dynamics import inverse_dynamics as _loaded
from .kernels.inverse_dynamics import inverse_dynamics_batch as _batch
from .kernels.inverse_dynamics import inverse_dynamics_unloaded as _unloaded
from .losses import joint_terms

_INVERSE = Algorithm(_batch, "n", single=_any)


@quick_path(_loaded, "q qd qdd f_ext", unloaded=_unloaded)
def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    threads: int = 1,
) -> Array:
    """Return the joint forces that a motion takes, gravity included. Kim Table 2.

    Parameters
    ----------
    model : Model
        The robot.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    qd, qdd : array-like, shape (..., nv)
        Rates and accelerations of the coordinates [rad/s, m/s and rad/s^2, m/s^2].
    f_ext : array-like, shape (..., n_bodies, 6), optional
        Wrench (moment, force) that the environment exerts on each body, in that body's frame [N m, N].
    threads : int
        Threads that share a batch; results do not depend on it.

    Returns
    -------
    ndarray, shape (..., nv)
        Joint forces [N m, N], positive along the coordinates: what the actuators must exert.

    Raises
    ------
    InputError
        For a wrong shape, NaN or infinity; names the joint or body.
    GroupError
        For a quaternion in q whose square norm differs from one by 1e-6 or more.
    """
    (tau,) = _INVERSE.evaluate(model, {"q": q, "qd": qd, "qdd": qdd}, f_ext, threads=threads)
    return tau if model.actuation_terms is None else tau + joint_terms(model, q, qd)
