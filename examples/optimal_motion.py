"""An arm goes from one posture to another: by a quintic as fast as its limits let it, and by optimal motions."""

import argparse
from pathlib import Path

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros import Controller
from lie_dynamics_ros.lie_dynamics import Model, MotionCost, forward_dynamics, inverse_dynamics, optimal_motion
from lie_dynamics_ros.lie_dynamics.geometry.plots import new_figure, save_figure

URDF = Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf"
START = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8])
GOAL = np.array([1.2, 0.5, -0.4, -1.2, 0.6, 2.2, -0.5])


def quintic(duration, count=501):
    """Return times, and states of the straight line from rest to rest."""
    s = np.linspace(0.0, 1.0, count)[:, None]
    d, T = GOAL - START, duration
    q = START + d * (10 * s**3 - 15 * s**4 + 6 * s**5)
    qd, qdd = d * (30 * s**2 - 60 * s**3 + 30 * s**4) / T, d * (60 * s - 180 * s**2 + 120 * s**3) / T**2
    return s[:, 0] * T, q, qd, qdd


def shortest(model):
    """Return the shortest duration in which the quintic keeps the limits of velocity and effort, by bisection."""
    low, high = 0.1, 20.0
    while high - low > 1e-3:
        T = 0.5 * (low + high)
        _, q, qd, qdd = quintic(T)
        use = max(
            (np.abs(qd) / model.limits.velocity).max(),
            (np.abs(inverse_dynamics(model, q, qd, qdd)) / model.limits.effort).max(),
        )
        low, high = (T, high) if use > 1.0 else (low, T)
    return high


def summary(model, t, qd, tau):
    """Return the heat of equal motors, the work they do, and the largest part of a limit that is used."""
    heat = np.trapezoid(((tau / model.limits.effort) ** 2).sum(axis=1), t)
    work = np.trapezoid(np.maximum(tau * qd, 0.0).sum(axis=1), t)
    return heat, work, (np.abs(tau) / model.limits.effort).max()


def followed(model, path):
    """Return the largest error of the controller on the way, on an arm that is integrated at 1 kHz."""
    controller, dt = Controller(URDF), 0.001
    q, qd, worst = START.copy(), np.zeros(7), 0.0
    for k in range(round((path.duration + 0.3) / dt)):
        out = controller.update(k * dt, q, qd)
        if k == 0:
            controller.follow(path.time, path.q, path.qd, path.qdd)
        else:
            worst = max(worst, np.abs(out.desired_position - q).max())
        middle = forward_dynamics(model, q, qd, out.effort)
        qd_next = qd + dt * forward_dynamics(model, q + 0.5 * dt * qd, qd + 0.5 * dt * middle, out.effort)
        q, qd = q + 0.5 * dt * (qd + qd_next), qd_next
    return worst, np.abs(q - GOAL).max()


def draw(motions, folder):
    figure, axes = new_figure(2, (10.0, 3.6))
    for color, (label, (t, q, _, tau)) in enumerate(motions.items()):
        for k, joint in enumerate((1, 3)):
            style = ("-", "--")[k]
            axes[0].plot(t, q[:, joint], style, color=f"C{color}", label=f"{label}, joint {joint + 1}")
            axes[1].plot(t, tau[:, joint], style, color=f"C{color}")
    axes[0].set(xlabel="time [s]", ylabel="angle [rad]")
    axes[1].set(xlabel="time [s]", ylabel="torque [N m]")
    figure.legend(loc="outside lower center", ncols=len(motions), fontsize=8)
    return save_figure(figure, folder / "optimal_motion.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    folder = parser.parse_args().output
    model = Model.from_urdf(URDF)
    T = shortest(model)
    print(f"quintic: {T:.3f} s at least")
    t, q, qd, qdd = quintic(T)
    motions = {"quintic": (t, q, qd, inverse_dynamics(model, q, qd, qdd))}
    options = {"limits": model.limits, "smooth_ends": True, "tolerance": 1e-3, "max_modes": 16}
    heat = 1.0 / model.limits.effort**2
    path = optimal_motion(model, START, GOAL, T, cost=MotionCost(torque=heat), **options)
    motions["optimal"] = (path.time, path.q, path.qd, path.tau)
    fast = optimal_motion(model, START, GOAL, (0.3 * T, 2.0 * T), cost=MotionCost(torque=heat, time=10.0), **options)
    motions["quick"] = (fast.time, fast.q, fast.qd, fast.tau)
    for label, (t, _, qd, tau) in motions.items():
        warm, work, peak = summary(model, t, qd, tau)
        print(f"{label}: {t[-1]:.3f} s, heat {warm:.4f}, work {work:.1f} J, "
              f"largest torque {100 * peak:.0f} % of its limit")  # fmt: skip
    print(f"optimal: {path.reason}, limits exceeded by {path.excess:.0e}; quick: {fast.reason}, {fast.excess:.0e}")
    worst, end = followed(model, path)
    print(f"followed by the controller within {1e3 * worst:.1f} mrad, at the end {1e3 * end:.2f} mrad")
    print("picture", draw(motions, folder))


if __name__ == "__main__":
    main()
