"""An arm in MuJoCo behind a driver that does not do what it is told."""

import numpy as np


class ImperfectDriver:
    """Stands for the `MujocoArm` in a `ControlLoop`.

    Parameters
    ----------
    arm : MujocoArm
    sign : ndarray, shape (n,)
        By which efforts are multiplied.
    most : ndarray, shape (n,)
        Within which they are clipped [N m, N].
    gravity : float
        How many times the efforts that hold the arm the driver adds.
    stribeck : ndarray, shape (n,)
        Friction at low speed besides what MuJoCo has [N m, N].
    """

    def __init__(self, arm, sign=1.0, most=np.inf, gravity=0.0, stribeck=0.0):
        self.__dict__.update(_arm=arm, sign=sign, _most=most, _gravity=gravity, _stribeck=stribeck)

    def __getattr__(self, name):
        return getattr(self._arm, name)

    def advance(self, tau, steps):
        tau, arm = np.clip(self.sign * tau, -self._most, self._most), self._arm
        for _ in range(steps):
            rubs = self._stribeck * np.exp(-((arm.qd / 0.05) ** 2)) * np.tanh(arm.qd / 0.01)
            arm.advance(tau - rubs + (self._gravity * arm.gravity(arm.q) if self._gravity else 0.0), 1)
