"""A parameter p as Tables 5 to 7 ask for it: Kim (92), and the rates, commands and gravity that depend on p."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import AnyArray
from ..errors import InputError
from ..lie import inertial_parameters
from ..lie.se3 import ad
from .kim_bodies import Body, Robot


@dataclass(eq=False)
class Slopes:
    """Derivatives along p of what the tables are given; zero until something is filled in.

    Attributes
    ----------
    dh, dF_ext : ndarray, shape (n_bodies, 6)
        T^-1 dT/dp of T_{lambda(i), i} (89), and dF_ext/dp.
    dI : ndarray, shape (n_bodies, 6, 6)
        Of the generalised inertias.
    dS, dS_rate : list of ndarray, shape (6, n_i)
        Of the joint Jacobians and of their time derivatives.
    dqd, dqdd, dtau : ndarray, shape (nv,)
        Of rates and commands; of the latter what is given counts.
    ddV_0 : ndarray, shape (6,)
        Of dV_0 = (0, -g).
    """

    dh: AnyArray
    dF_ext: AnyArray
    dI: AnyArray
    dS: list[AnyArray]
    dS_rate: list[AnyArray]
    dqd: AnyArray
    dqdd: AnyArray
    dtau: AnyArray
    ddV_0: AnyArray

    @classmethod
    def none(cls, robot: Robot) -> Slopes:
        """Return the parameter that nothing depends on."""
        n = len(robot.bodies)
        dS, dS_rate = ([np.zeros_like(b.S) for b in robot.bodies] for _ in range(2))
        dqd, dqdd, dtau = np.zeros((3, len(robot.qd)))
        zero = np.zeros((n, 6))
        return cls(zero, zero.copy(), np.zeros((n, 6, 6)), dS, dS_rate, dqd, dqdd, dtau, np.zeros(6))


def along_coordinate(robot: Robot, coordinate: int) -> Slopes:
    """Return the slopes along q^k: dh = S^k (90), dS and d(dS/dt) of its joint, zero for all others (91).

    In a joint made of axes dS^a/dq^b = -[S^b, S^a] for b > a. The columns of ball and free joints are constant.

    Raises
    ------
    InputError
        For a user-defined joint, which does not give dS/dq.
    """
    found = Slopes.none(robot)
    i, k = _owner(robot, coordinate)
    b = robot.bodies[i]
    found.dh[i] = b.S[:, k]
    found.dS[i], rate = _along(b, k), robot.qd[b.at]
    for a in range(len(rate)):
        for c in range(a + 1, len(rate)) if b.kind.steps else ():
            turned = ad(found.dS[i][:, c]) @ b.S[:, a] + ad(b.S[:, c]) @ found.dS[i][:, a]
            found.dS_rate[i][:, a] -= turned * rate[c]
    return found


def along_rate(robot: Robot, coordinate: int) -> Slopes:
    """Return the slopes along qd^k: dS/dt is linear in qd, so d(dS/dt)/dqd^k = dS/dq^k.

    Errors are those of `along_coordinate`.
    """
    found = Slopes.none(robot)
    i, k = _owner(robot, coordinate)
    found.dqd[coordinate] = 1.0
    found.dS_rate[i] = _along(robot.bodies[i], k)
    return found


def along_inertia(robot: Robot, body: int, which: int) -> Slopes:
    """Return the slopes along one of the ten inertial parameters of a body, as `SpatialInertia.parameters` has them."""
    found = Slopes.none(robot)
    found.dI[body] = inertial_parameters.generalized_inertia(np.eye(10)[which])
    return found


def _owner(robot: Robot, coordinate: int) -> tuple[int, int]:
    """Return the number of the joint that a coordinate belongs to, and which of its coordinates it is."""
    i = next(i for i, b in enumerate(robot.bodies) if b.at.start <= coordinate < b.at.stop)
    return i, coordinate - robot.bodies[i].at.start


def _along(b: Body, k: int) -> AnyArray:
    """Return dS/dq^k."""
    if b.kind.custom is not None:
        raise InputError(f"joint {b.joint!r} is user-defined: its dS/dq is expected from the user", name=b.joint)
    dS = np.zeros_like(b.S)
    for a in range(k) if b.kind.steps else ():
        dS[:, a] = -ad(b.S[:, k]) @ b.S[:, a]
    return dS
