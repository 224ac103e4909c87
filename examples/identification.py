"""Identification of an arm's inertias and friction from a noisy recording, starting from its drawing."""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import ModelBuilder, SpatialInertia, inverse_dynamics, joint_types
from lie_dynamics_ros.lie_dynamics.geometry.plots import save_figure
from lie_dynamics_ros.lie_dynamics.identification import base_parameters, filtered_motion, identify

LENGTHS, MASSES = (0.3, 0.4, 0.35, 0.1), (4.0, 3.0, 2.0, 0.8)
AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
DAMPING, FRICTION = np.array([1.2, 1.0, 0.6, 0.2]), np.array([1.5, 1.2, 0.8, 0.3])
RATE, ENCODER, TORQUE = 500.0, 2e-5, 0.3  # samples a second; noise of positions [rad] and of torques [N m]


def arm(rng=None):
    """Four joints; with a random generator, the arm as it was built, else as it was drawn."""
    builder, parent, place = ModelBuilder(), None, np.eye(4)
    for k, (length, mass, axis) in enumerate(zip(LENGTHS, MASSES, AXES, strict=True)):
        com, size = np.array([0.5 * length, 0.0, 0.0]), np.array([length, 0.08, 0.08])
        if rng is not None:  # cables, gears and a tool that nobody drew
            mass, com = mass * rng.uniform(1.0, 1.5), com + rng.normal(scale=0.03, size=3)
            size = size * rng.uniform(0.9, 1.4, 3)
        inertia = (
            mass
            / 12.0
            * np.diag([size[1] ** 2 + size[2] ** 2, size[0] ** 2 + size[2] ** 2, size[0] ** 2 + size[1] ** 2])
        )
        builder.add(
            f"link {k + 1}",
            parent,
            joint_types.revolute(axis),
            place,
            SpatialInertia(mass, com, inertia),
            f"joint {k + 1}",
        )
        parent, place = f"link {k + 1}", np.eye(4)
        place[0, 3] = length
    return builder.build("arm")


def motion(rng, seconds, nv):
    """Sums of five sines for each joint: times, positions, rates and accelerations."""
    time = np.arange(int(seconds * RATE)) / RATE
    frequency = 2.0 * np.pi * 0.15 * np.arange(1, 6)[:, None]
    amplitude, phase = rng.normal(scale=0.35, size=(5, nv)), rng.uniform(0.0, 2.0 * np.pi, (5, nv))
    angle = frequency * time[:, None, None] + phase
    q = (amplitude * np.sin(angle)).sum(axis=1)
    qd = (amplitude * frequency * np.cos(angle)).sum(axis=1)
    return time, q, qd, -(amplitude * frequency**2 * np.sin(angle)).sum(axis=1)


def record(model, rng, seconds=20.0):
    """What sensors would give: times, positions and torques, with noise."""
    time, q, qd, qdd = motion(rng, seconds, model.nv)
    tau = inverse_dynamics(model, q, qd, qdd) + DAMPING * qd + FRICTION * np.tanh(qd / 0.01)
    return time, q + ENCODER * rng.normal(size=q.shape), tau + TORQUE * rng.normal(size=tau.shape)


def plot(time, tau, drawn, found):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 8), layout="constrained")
    for k, axes in enumerate(figure.subplots(tau.shape[1], 1, sharex=True)):
        axes.plot(time, tau[:, k], color="0.7", label="measured")
        axes.plot(time, drawn[:, k], "--", color="tab:orange", label="drawing, no friction")
        axes.plot(time, found[:, k], color="tab:blue", label="identified")
        axes.set_ylabel(f"joint {k + 1} [N m]")
    figure.suptitle("Torques of a motion that was not used for identification")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.axes[-1].set_xlabel("time [s]")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    arguments = parser.parse_args()
    rng = np.random.default_rng(7)
    built, drawn = arm(rng), arm()

    terms = ("damping", "friction")
    past = filtered_motion(drawn, *record(built, rng), cutoff=5.0)
    print(base_parameters(drawn, terms=terms).report().split("\n")[0])
    result = identify(drawn, past.q, past.qd, past.qdd, past.tau, terms=terms, slide=past.slide)
    print(result.report())
    for k, name in enumerate(built.body_names):
        masses = built.inertia(k).mass, drawn.inertia(k).mass, result.parameters[k, 0]
        print("{}: {:.3f} kg built, {:.3f} drawn, {:.3f} found".format(name, *masses))

    new = filtered_motion(drawn, *record(built, rng, 10.0), cutoff=5.0)
    tau, before = new.tau, inverse_dynamics(drawn, new.q, new.qd, new.qdd)
    after = result.predict(new.q, new.qd, new.qdd, new.slide)
    errors = (np.sqrt(((x - tau) ** 2).mean()) for x in (before, after))
    print("on another motion, root mean square error {:.3f} N m drawn, {:.3f} N m identified".format(*errors))
    figure = plot(new.time, tau, before, after)
    print("picture", save_figure(figure, arguments.output / "identification.png"))


if __name__ == "__main__":
    main()
