"""Kim Table 7, derivative of recursive hybrid dynamics along a parameter, line by line.

Misprints corrected: for joints in u the paper prints qd for qdd in dbeta_i/dp and in d(dV_i)/dp, and leaves the hat of
B out; what it shares with Table 6 is corrected there.
"""

from __future__ import annotations

from ..arrays import AnyArray
from .kim_bodies import Run
from .kim_parameter import Slopes
from .kim_table_6 import (
    SlopesOfRun,
    slope_acceleration,
    slope_articulated,
    slope_dV,
    slope_eliminated,
    slope_velocities,
)


def hybrid_dynamics_derivative(run: Run, p: Slopes) -> tuple[AnyArray, AnyArray]:
    """Return dqdd/dp and dtau/dp (nv,), complete, from a run of Table 4 and what depends on p.

    Changes of qdd are read where the acceleration is given, those of tau where it is not.
    """
    bodies = run.robot.bodies
    d = SlopesOfRun(run, p, p.dqdd.copy())
    slope_tau = p.dtau.copy()
    slope_velocities(d)

    for i in reversed(range(len(bodies))):  # backward recursion
        b = bodies[i]
        slope_articulated(d, i)
        if run.given[i]:
            qdd, dqdd = run.qdd[b.at], p.dqdd[b.at]
            d.Pi[i] = d.I_hat[i]
            d.beta[i] = (
                d.B_hat[i] + d.I_hat[i] @ (run.eta[i] + b.S @ qdd)
                + run.I_hat[i] @ (d.eta[i] + p.dS[i] @ qdd + b.S @ dqdd)
            )  # fmt: skip
        else:
            slope_eliminated(d, i)

    for i, b in enumerate(bodies):  # forward recursion
        if not run.given[i]:
            slope_acceleration(d, i)
        slope_dV(d, i)
        if run.given[i]:
            slope_F = d.I_hat[i] @ run.dV[i] + run.I_hat[i] @ d.dV[i] + d.B_hat[i]
            slope_tau[b.at] = p.dS[i].T @ run.F[i] + b.S.T @ slope_F
    return d.qdd, slope_tau
