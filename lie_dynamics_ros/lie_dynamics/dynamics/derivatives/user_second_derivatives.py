"""Second derivatives of inverse dynamics along user-defined joints, from its first derivatives.

tau is quadratic in qd and linear in qdd, so that derivatives of its derivatives along these are differences over any
step, without error but rounding. Only those along q twice are differences over a small one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...arrays import Array
from ...lie._arrays import as_numbers
from ...model.configuration import shaped
from ...model.model import Model
from .inverse_derivatives import inverse_dynamics_derivatives

#: Central differences of eighth order, and their step [rad, m]. The derivatives that they difference are differences
#: themselves, with errors of some 1e-13, which become a hundred times that.
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_STEP = 0.01


def user_second_derivatives(
    model: Model,
    dq_dq: Array,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    vector: npt.ArrayLike | None,
    f_ext: npt.ArrayLike | None,
    threads: int,
) -> tuple[Array, Array, Array, Array]:
    """Return what `SecondDerivatives` holds, for a model with user-defined joints.

    `dq_dq` is right for pairs of coordinates of other joints: whatever lies beyond these turns with them as a body.
    """
    n = model.nv
    q, qd, qdd = shaped(q, model.nq, "q", model), shaped(qd, n, "qd", model), shaped(qdd, n, "qdd", model)
    slices = [joint.v_slice for joint in model.joints if joint.type.custom is not None]  # also of coupled ones
    own = sorted({k for part in slices for k in range(part.start, part.stop)})
    y = None if vector is None else as_numbers(vector, "vector")
    wrench = None if f_ext is None else as_numbers(f_ext, "f_ext")[..., None, :, :]

    def contracted(along: Array) -> Array:
        """From (..., k, i, j) to what is returned of tau_i along j and k."""
        found = np.moveaxis(along, -3, -1)
        return found if y is None else np.einsum("...i,...ijk->...jk", y, found)

    def one(q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
        """Return dq and dqd without gravity and wrenches."""
        found = inverse_dynamics_derivatives(model._without_gravity(), q, qd, qdd, threads=threads)
        return found.dq, found.dqd

    units, still, q1, qd1 = np.eye(n), model.zero_velocity, q[..., None, :], qd[..., None, :]
    slope: Array = np.zeros(())
    for size, weight in enumerate(_WEIGHTS, 1):
        step = size * _STEP * units[own]
        ahead, behind = (
            inverse_dynamics_derivatives(
                model, model.integrate(q1, s * step), qd1, qdd[..., None, :], wrench, threads=threads
            ).dq
            for s in (1.0, -1.0)
        )
        slope = slope + weight / _STEP * (ahead - behind)
    part = contracted(slope)
    between = 0.5 * (part[..., own, :] + np.swapaxes(part[..., own, :], -1, -2))
    dq_dq = dq_dq.copy()
    dq_dq[..., own] = part
    dq_dq[..., own, :] = np.swapaxes(part, -1, -2)
    dq_dq[..., np.array(own)[:, None], own] = between

    speed = np.abs(qd1).max(axis=-1, keepdims=True, initial=0.0)
    speed = np.where(speed > 0.0, speed, 1.0)
    ahead, behind = (one(q1, qd1 + s * speed * units, still)[0] for s in (1.0, -1.0))
    dq_dqd = contracted((ahead - behind) / (2.0 * speed[..., None]))
    ahead, behind = (one(q1, s * units, still)[1] for s in (1.0, -1.0))
    twice = contracted((ahead - behind) / 2.0)
    dqd_dqd = 0.5 * (twice + np.swapaxes(twice, -1, -2))
    dq_dqdd = contracted(one(q1, still, units)[0])

    def whole(x: Array) -> Array:
        return np.array(np.broadcast_to(x, dq_dq.shape))

    return dq_dq, whole(dq_dqd), whole(dqd_dqd), whole(dq_dqdd)
