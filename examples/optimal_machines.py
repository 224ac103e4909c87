"""Optimal motions with fewer and with more motors than freedoms: a pole swings up on a cart, a five-bar reaches."""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import (
    ModelBuilder,
    MotionCost,
    SpatialInertia,
    assemble,
    constraint_error,
    forward_dynamics,
    joint_types,
    mechanism,
    optimal_motion,
)
from lie_dynamics_ros.lie_dynamics.geometry.plots import new_figure, save_figure

SWING, REACH = 1.5, 0.8


def cart_and_pole():
    """Return a cart of 1 kg on a rail, with a mass of 0.3 kg on a rod of 0.5 m that no motor turns."""
    builder, point = ModelBuilder(), np.zeros((3, 3))
    cart, pole = SpatialInertia(1.0, np.zeros(3), point), SpatialInertia(0.3, [0.0, 0.0, -0.5], point)
    builder.add("cart", None, joint_types.prismatic([1, 0, 0]), np.eye(4), cart, lower=-1.0, upper=1.0, effort=20.0)
    builder.add("pole", "cart", joint_types.revolute([0, 1, 0]), np.eye(4), pole)
    return builder.build()


def swing_up():
    """Return the motion from hanging to standing on its head, by forces on the cart alone."""
    model = cart_and_pole()
    limits = replace(model.limits, effort=np.array([20.0, 0.0]))  # 0: no motor
    cost = MotionCost(torque=[1.0, 1e-3])
    return model, optimal_motion(model, [0.0, 0.0], [0.0, np.pi], SWING, cost=cost, limits=limits, tolerance=1e-3)


def reach(more):
    """Return a five-bar's motion to a point, with its two motors or with another one besides."""
    made = mechanism("five-bar")
    q = made.q.copy()
    q[[made.model.joint(name).q_slice.start for name in made.actuated]] += [0.5, -0.4]
    goal = assemble(made.model, made.constraints, q, held=list(made.actuated)).q
    path = optimal_motion(
        made.model, made.q, goal, REACH, constraints=made.constraints, actuated=[*made.actuated, *more], tolerance=1e-4
    )
    return path, np.abs(constraint_error(made.model, made.constraints, path.q)).max()


def replayed(model, path, steps=3000):
    """Return where the forces of the cart alone bring the robot, integrated from the start."""
    q, qd, dt = path.q[0].copy(), path.qd[0].copy(), path.duration / steps

    def rate(q, qd, force):
        return forward_dynamics(model, q, qd, np.array([force, 0.0]))

    forces = path.at(np.linspace(0.0, path.duration, 2 * steps + 1))[3][:, 0]
    for k in range(steps):
        f0, f1, f2 = forces[2 * k : 2 * k + 3]
        a = rate(q, qd, f0)
        b = rate(q + 0.5 * dt * qd, qd + 0.5 * dt * a, f1)
        c = rate(q + 0.5 * dt * qd + 0.25 * dt**2 * a, qd + 0.5 * dt * b, f1)
        d = rate(q + dt * qd + 0.5 * dt**2 * b, qd + dt * c, f2)
        q = q + dt * qd + dt**2 * (a + b + c) / 6.0
        qd = qd + dt * (a + 2.0 * b + 2.0 * c + d) / 6.0
    return q


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    folder = parser.parse_args().output
    model, up = swing_up()
    off = np.abs(replayed(model, up) - up.q[-1])
    print(f"pole: up in {up.duration:.1f} s by {np.abs(up.tau[:, 0]).max():.1f} N at most, moment of the pole's joint "
          f"{np.abs(up.tau[:, 1]).max():.3f} N m; replayed it ends {off[1]:.3f} rad off")  # fmt: skip
    (two, gap), (three, other) = reach(()), reach(("joint_2",))
    print(f"five-bar: torque squared {two.cost:.3f} with two motors, {three.cost:.3f} with three; "
          f"loops closed within {max(gap, other):.0e}")  # fmt: skip
    figure, axes = new_figure(2, (10.0, 3.6))
    x, angle = up.q.T
    tips = x + 0.5 * np.sin(-angle), -0.5 * np.cos(angle)
    axes[0].plot(*tips, color="C1")
    for k in range(0, len(x), 20):
        axes[0].plot([x[k], tips[0][k]], [0.0, tips[1][k]], color="0.6", lw=0.8)
    axes[0].set(xlabel="along the rail [m]", ylabel="height [m]", aspect="equal", title="a pole swings up")
    for k, (path, label) in enumerate(((two, "two motors"), (three, "three motors"))):
        lines = axes[1].plot(path.time, path.tau, color=f"C{k}")
        lines[0].set_label(label)
    axes[1].set(xlabel="time [s]", ylabel="torque [N m]", title="a five-bar reaches")
    axes[1].legend(fontsize=8)
    print("picture", save_figure(figure, folder / "optimal_machines.png"))


if __name__ == "__main__":
    main()
