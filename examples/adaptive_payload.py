"""A 7-joint arm picks up a payload that its model does not know; the adaptive controller finds it."""

import argparse
from pathlib import Path

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.lie_dynamics.control import AdaptiveController, computed_torque
from lie_dynamics_ros.lie_dynamics.simulation import Simulator

MIDDLE = np.array([0.0, 0.0, 0.0, -1.7, 0.0, 1.8, 0.5])
SWING = np.array([0.6, 0.5, 0.6, 0.5, 0.8, 0.8, 0.9])
PACE = 2 * np.pi * np.array([0.23, 0.31, 0.37, 0.41, 0.29, 0.47, 0.53])
LINK, PAYLOAD, PERIOD = "panda_link7", 1.5, 1e-3


def desired(t):
    """Sines at seven frequencies: a motion that shows all parameters of the last link."""
    s, c = np.sin(PACE * t), np.cos(PACE * t)
    return MIDDLE + SWING * s, SWING * PACE * c, -SWING * PACE**2 * s


def track(robot, control, duration):
    """Run a controller in closed loop and return times and the largest error of a joint at each."""
    motion = robot.run(round(duration / PERIOD), control)
    wanted = np.array([desired(t)[0] for t in motion.time])
    return motion.time, np.abs(motion.q - wanted).max(axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    parser.add_argument("--duration", type=float, default=20.0, help="simulated time [s]")
    arguments = parser.parse_args()
    model = Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")
    loaded = model.with_payload(LINK, PAYLOAD, [0.02, 0.01, 0.12], np.diag([0.004, 0.005, 0.003]))
    start = desired(0.0)[:2]

    plain = track(
        Simulator(loaded, *start),
        lambda t, q, qd: computed_torque(model, q, qd, *desired(t), 100.0, 20.0),
        arguments.duration,
    )
    learner = AdaptiveController(model, rate=10.0, kd=10.0, gamma=0.03, bodies=[LINK])
    masses = []

    def adaptive(t, q, qd):
        masses.append(learner.inertia(LINK).mass - model.inertia(LINK).mass)
        return learner.update(q, qd, *desired(t), PERIOD)

    learned = track(Simulator(loaded, *start), adaptive, arguments.duration)
    late = plain[0] > 0.75 * arguments.duration
    print(f"payload {PAYLOAD} kg, unknown to the model; largest joint error in the last quarter:")
    print(f"  computed torque with the wrong model  {plain[1][late].max() * 1e3:.2f} mrad")
    print(f"  adaptive                              {learned[1][late].max() * 1e3:.3f} mrad")
    print(f"  estimated payload                     {masses[-1]:.4f} kg ({abs(masses[-1] / PAYLOAD - 1):.2%} off)")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    error, mass = figure.subplots(2, 1, sharex=True)
    error.semilogy(*plain, label="computed torque, model without payload")
    error.semilogy(*learned, label="adaptive")
    error.set(ylabel="largest joint error [rad]", ylim=(1e-6, 1.0))
    error.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    mass.plot(learned[0][:-1], masses, label="estimate")
    mass.axhline(PAYLOAD, color="black", linestyle="--", label="truth")
    mass.set(xlabel="time [s]", ylabel="mass of the payload [kg]")
    mass.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "adaptive_payload.png"
    figure.savefig(file, dpi=120)
    print("picture", file)


if __name__ == "__main__":
    main()
