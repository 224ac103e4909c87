"""A diver in the air: joints follow captured angles, the free body is computed. Hybrid dynamics as Kim has it.

The accelerations of hips and shoulders come from samples with noise, through a smoothing spline; no force acts on the
free joint, whose motion, and the torques of the others, are sought. The momentum about the centre of mass stays.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.interpolate import make_smoothing_spline

from lie_dynamics_ros.lie_dynamics import ModelBuilder, SpatialInertia, center_of_mass, joint_types, momentum
from lie_dynamics_ros.lie_dynamics.simulation import simulate

RATE, DURATION, STEP = 100.0, 1.2, 1e-3  # of the capture [Hz], of the jump [s], of the integration [s]
LIMBS = {"left arm": (0.2, 0.5, 4.0, 0.6), "right arm": (-0.2, 0.5, 4.0, 0.6), "legs": (0.0, 0.0, 22.0, 0.8)}


def diver():
    """A trunk that is free, arms and legs on hinges across it; each limb hangs down along -z."""
    builder = ModelBuilder()
    trunk = SpatialInertia(40.0, [0, 0, 0.25], np.diag([1.4, 1.3, 0.5]))
    builder.add("trunk", None, joint_types.free(), inertia=trunk, joint_name="root")
    for name, (y, z, mass, length) in LIMBS.items():
        at = np.eye(4)
        at[:3, 3] = 0.0, y, z
        limb = SpatialInertia(mass, [0, 0, -0.5 * length], mass * length**2 / 12 * np.diag([1.0, 1.0, 0.05]))
        builder.add(name, "trunk", joint_types.revolute([0, 1, 0]), at, limb, joint_name=f"{name} joint")
    return builder.build("diver")


def captured(rng):
    """Angles of the three joints [rad] as a camera might have them: tucks, and stretches again."""
    t = np.arange(round(DURATION * RATE) + 1) / RATE
    tuck = np.sin(np.pi * t / DURATION) ** 4
    angles = np.stack([-2.8 + 2.0 * tuck, -2.8 + 1.6 * tuck, -2.2 * tuck], axis=-1)
    return t, angles + 0.01 * rng.normal(size=angles.shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    arguments = parser.parse_args()
    model = diver()
    t, angles = captured(np.random.default_rng(1))
    smooth = make_smoothing_spline(t, angles, lam=1e-6)
    times = np.arange(round(DURATION / STEP)) * STEP
    prescribed = np.arange(model.nv) >= 6
    qdd, q, qd = np.zeros((len(times), model.nv)), model.neutral(), np.zeros(model.nv)
    qdd[:, 6:] = smooth.derivative(2)(times + 0.5 * STEP)
    q[7:], qd[6:] = smooth(0.0), smooth.derivative()(0.0)
    qd[:6] = 0.0, 3.0, 0.3, 0.5, 0.0, 5.0  # a somersault that turns a little aside
    settings = {"duration": DURATION, "step": STEP, "method": "rkmk4", "qdd": qdd, "prescribed": prescribed}
    flight = simulate(model, q, qd, **settings)
    spin = momentum(model, flight.q, flight.qd, "com")[:, :3]
    print(f"the momentum about the centre of mass stays, to {np.ptp(spin, axis=0).max():.1e} N m s")
    path = center_of_mass(model, flight.q)
    start = momentum(model, q, qd, "com")[3:] / 70.0
    fall = path[0] + start * flight.time[:, None] + 0.5 * model.gravity * flight.time[:, None] ** 2
    print(f"the centre of mass flies along a parabola, to {np.abs(path - fall).max():.1e} m")
    followed = np.abs(flight.q[:, 7:] - smooth(flight.time)).max()
    print(f"joints are where the capture has them within {1e3 * followed:.2f} mrad")
    print(f"largest torque {np.abs(flight.tau[:, 6:]).max():.0f} N m")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    above, middle, below = figure.subplots(3, 1, sharex=True)
    for k, name in enumerate(LIMBS):
        above.plot(flight.time, flight.q[:, 7 + k], color=f"C{k}")
        above.plot(t, angles[:, k], ".", markersize=2, color=f"C{k}")
        below.plot(times, flight.tau[:, 6 + k], color=f"C{k}", label=name)
    middle.plot(flight.time, flight.qd[:, 1], color="C3", label="trunk")
    above.set(ylabel="captured [rad]")
    middle.set(ylabel="somersault [rad/s]")
    below.set(xlabel="time [s]", ylabel="torque [N m]")
    figure.legend(loc="outside right upper", fontsize="small")
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "motion_capture.png"
    figure.savefig(file, dpi=120)
    print("picture", file)


if __name__ == "__main__":
    main()
