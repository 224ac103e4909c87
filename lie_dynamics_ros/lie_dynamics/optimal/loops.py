"""Motions of closed loops along independent coordinates y: all others follow from the constraints.

    q = phi(y),   qd = G yd,   qdd = G ydd + dG/dt yd,   [A; E] G = [0; 1]

with A of the constraints, and E that picks the independent coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..constraints.constraint_set import ConstraintSet
from ..constraints.derivatives import constrained_inverse_derivatives, constraint_derivatives
from ..constraints.dynamics import constrained_inverse_dynamics
from ..constraints.inputs import as_mask, read_states
from ..constraints.quantities import constraint_error, constraint_quantities
from ..errors import InputError, SingularityError
from ..model.model import Model

#: Errors of closed loops, of independent coordinates that are met, and how far one step of them goes at most.
_CLOSED, _STRIDE = 1e-12, 0.1
_NEWTON = 8
#: Smallest pivot of [A; E], as a part of the largest, that counts: below, the coordinates are not independent.
_PIVOT = 1e-8
#: Steps of differences, in units of one and the size of what is stepped.
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class LoopMotion:
    """States (k, ...) along a path of independent coordinates, and how they change with it."""

    loops: ClosedLoops
    path: Array  # (3, k, r)
    q: Array
    qd: Array
    qdd: Array
    change: Array  # G, (k, nv, r)
    factors: tuple[Array, Array]

    def solved(self, rows: Array) -> Array:
        """Return what [A; E] takes to `rows` (k, m + r, ...)."""
        Q, R = self.factors
        return np.asarray(np.linalg.solve(R, Q.transpose(0, 2, 1) @ rows), dtype=np.float64)

    def jacobian(self) -> Array:
        """Return how (u, qd, qdd) change with (y, yd, ydd), (k, 3 nv, 3 r)."""
        loops, G = self.loops, self.change
        k, n, r = G.shape
        model, constraints = loops.model, loops.constraints
        states = read_states(model, constraints, {"q": self.q, "qd": self.qd})
        d = constraint_derivatives(model, constraints, states, self.qdd, np.zeros((k, constraints.size)))
        none = np.zeros((k, r, r))

        def follows(rows: Array) -> Array:
            return self.solved(np.concatenate([-rows, none], axis=1))

        rate = follows(d.rate_dq @ G)
        whole = np.zeros((k, 3, n, 3, r))
        for a in range(3):
            whole[:, a, :, a] = G
        whole[:, 1, :, 0] = rate
        whole[:, 2, :, 0] = follows(d.acceleration_dq @ G + d.acceleration_dqd @ rate)
        whole[:, 2, :, 1] = follows(d.acceleration_dqd @ G)
        return whole.reshape(k, 3 * n, 3 * r)

    def forces(self) -> Array:
        """Return the joint forces (k, nv) that the motors give."""
        loops = self.loops
        found = constrained_inverse_dynamics(
            loops.model, loops.constraints, self.q, self.qd, self.qdd,
            actuated=loops.actuated, resolution="least_torque",
        )  # fmt: skip
        return np.asarray(found.tau)

    def dynamics(self) -> Array:
        """Return derivatives of the joint forces along u, qd and qdd: (k, nv, 3 nv)."""
        loops = self.loops
        d = constrained_inverse_derivatives(
            loops.model, loops.constraints, self.q, self.qd, self.qdd,
            actuated=loops.actuated, resolution="least_torque",
        ).tau  # fmt: skip
        return np.concatenate([d.dq, d.dqd, d.dgiven], axis=-1)

    def twice(self, states: Array, forces: Array) -> Array:
        """Return second derivatives along (y, yd, ydd), (k, 3 r, 3 r), of states . (u, qd, qdd) + forces . tau.

        States are (k, 3 nv), forces (k, nv). Central differences of first derivatives, which are exact.
        """
        k, r = self.path.shape[1:]
        size = 1.0 + np.abs(self.path).max(axis=(1, 2))
        step = np.repeat(_STEP * size, r)  # (3 r,)
        moves = np.diag(step).reshape(3 * r, 3, 1, r)
        slopes = []
        for sign in (1.0, -1.0):
            paths = (self.path + sign * moves).transpose(1, 0, 2, 3).reshape(3, 3 * r * k, r)
            y, yd, ydd = paths
            motion = self.loops.motion(y, yd, ydd, near=np.tile(self.q, (3 * r, 1)), keep=False)
            rows = np.tile(states, (3 * r, 1)) + (np.tile(forces, (3 * r, 1))[:, None] @ motion.dynamics())[:, 0]
            slopes.append((rows[:, None] @ motion.jacobian())[:, 0].reshape(3 * r, k, 3 * r))
        found = ((slopes[0] - slopes[1]) / (2.0 * step[:, None, None])).transpose(1, 0, 2)
        return np.asarray(0.5 * (found + found.transpose(0, 2, 1)))


class ClosedLoops:
    """A model with constraints, its motors, and coordinates that move it. It remembers the last motion as a guess."""

    def __init__(
        self, model: Model, constraints: ConstraintSet, start: Array, actuated: npt.ArrayLike | None,
        independent: Sequence[str] | None,
    ) -> None:  # fmt: skip
        self.model, self.constraints = model, constraints
        self.actuated = np.ones(model.nv, dtype=bool) if actuated is None else as_mask(model, actuated, "actuated")
        error = float(np.abs(constraint_error(model, constraints, start)).max(initial=0.0))
        if error > 1e-6:
            raise InputError(f"start: loops that are closed are expected, they are open by {error:.3g}", name="start")
        A = constraint_quantities(model, constraints, start, np.zeros(model.nv)).jacobian
        freedom = model.nv - int(np.linalg.matrix_rank(A, tol=1e-9 * max(float(np.abs(A).max(initial=0.0)), 1.0)))
        self.columns = self._chosen(A, freedom, independent)
        self.places = model.vector_q[np.searchsorted(model.vector_v, self.columns)]
        self.pick = np.eye(model.nv)[self.columns]
        self.known: tuple[Array, Array] = (start[self.places][None], start[None])

    def _chosen(self, A: Array, freedom: int, independent: Sequence[str] | None) -> npt.NDArray[np.intp]:
        """Return the coordinates that move the rest: those named, or motors first, by pivots of the null space."""
        model = self.model
        if independent is not None:
            found = np.array([model.joint(name).v_slice.start for name in independent], dtype=np.intp)
            plain = np.isin(found, model.vector_v).all()
            if len(found) != freedom or len(set(found.tolist())) != freedom or not plain:
                raise InputError(
                    f"independent: {freedom} different joints of one coordinate are expected, got {list(independent)}",
                    name="independent",
                )
            return np.sort(found)
        _, _, right = np.linalg.svd(A)
        null = right[model.nv - freedom :].T
        chosen: list[int] = []
        motors = [int(i) for i in model.vector_v if self.actuated[i]]
        for candidates in (motors, [int(i) for i in model.vector_v if not self.actuated[i]]):
            rows = null[candidates].copy()
            while len(chosen) < freedom and len(candidates):
                norms = np.linalg.norm(rows, axis=1)
                best = int(norms.argmax())
                if norms[best] < 1e-6:
                    break
                direction = rows[best] / norms[best]
                chosen.append(candidates[best])
                rows = rows - (rows @ direction)[:, None] * direction
                null = null - (null @ direction)[:, None] * direction
        if len(chosen) < freedom:
            raise InputError("independent: no joints were found that move all others; name them", name="independent")
        return np.sort(np.array(chosen, dtype=np.intp))

    def motion(self, y: Array, yd: Array, ydd: Array, near: Array | None = None, keep: bool = True) -> LoopMotion:
        """Return the closed motion of independent coordinates and their rates, each (k, r); on from guesses near it."""
        q = self._closed(y, near)
        if keep:
            self.known = (np.concatenate([self.known[0][:1], y]), np.concatenate([self.known[1][:1], q]))
        model, k, r = self.model, *y.shape
        rows, rates = self._matrix(q, np.zeros((k, model.nv)))[0], np.zeros((k, self.constraints.size, r))
        factors = _factored(rows)
        motion = LoopMotion(self, np.stack([y, yd, ydd]), q, q[:, :0], q[:, :0], q[:, :0], factors)
        G = motion.solved(np.concatenate([rates, np.broadcast_to(np.eye(r), (k, r, r))], axis=1))
        qd = (G @ yd[..., None])[..., 0]
        bias = constraint_quantities(model, self.constraints, q, qd).bias
        qdd = motion.solved(np.concatenate([-bias, ydd], axis=1)[..., None])[..., 0]
        return LoopMotion(self, motion.path, q, qd, qdd, G, factors)

    def _matrix(self, q: Array, qd: Array) -> tuple[Array, Array]:
        found = constraint_quantities(self.model, self.constraints, q, qd)
        pick = np.broadcast_to(self.pick, (len(q), *self.pick.shape))
        return np.concatenate([found.jacobian, pick], axis=1), found.error

    def _closed(self, y: Array, near: Array | None) -> Array:
        """Return closed configurations (k, nq) with these coordinates, by steps from the nearest that are known."""
        if near is None:
            at, configurations = self.known
            nearest = ((y[:, None] - at[None]) ** 2).sum(axis=-1).argmin(axis=1)
            near = configurations[nearest]
        q, none = near.copy(), np.zeros((len(y), self.model.nv))
        begin = q[:, self.places]
        count = max(1, int(np.ceil(np.abs(y - begin).max(initial=0.0) / _STRIDE)))
        if count > 1000:
            raise SingularityError("independent coordinates: steps of a reasonable size are expected")
        for j in range(1, count + 1):
            goal = begin + j / count * (y - begin)
            for _ in range(_NEWTON if j == count else 2):
                rows, error = self._matrix(q, none)
                missing = np.concatenate([-error, goal - q[:, self.places]], axis=1)
                if np.abs(missing).max(initial=0.0) <= _CLOSED:
                    break
                Q, R = _factored(rows)
                step = np.linalg.solve(R, Q.transpose(0, 2, 1) @ missing[..., None])[..., 0]
                q = self.model.integrate(q, np.clip(step, -0.5, 0.5))
        error = np.abs(constraint_error(self.model, self.constraints, q)).max(initial=0.0)
        if error > 1e-10 or np.abs(q[:, self.places] - y).max(initial=0.0) > 1e-10:
            raise SingularityError(f"loops do not close along the path: they are open by {float(error):.3g}")
        return np.asarray(q)


def _factored(rows: Array) -> tuple[Array, Array]:
    """Return Q, R of [A; E] (k, m + r, nv), or raise an error where coordinates are not independent."""
    Q, R = np.linalg.qr(rows)
    pivots = np.abs(np.einsum("kii->ki", R))
    if pivots.shape[1] and (pivots.min(axis=1) < _PIVOT * pivots.max(axis=1)).any():
        raise SingularityError("independent coordinates: those given do not move all others everywhere along the path")
    return Q, R
