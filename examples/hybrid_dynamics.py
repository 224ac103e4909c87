"""Half of an arm is driven along a motion, the other half hangs loose: hybrid dynamics gives what is not known of each.

The shoulder's accelerations are given and its torques asked for; the wrist's torques are given, friction of its
bearings only, and its accelerations asked for.
"""

import argparse
from pathlib import Path

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model, hybrid_dynamics, inverse_dynamics, kinetic_energy, potential_energy

PERIOD = 1e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    parser.add_argument("--duration", type=float, default=4.0, help="simulated time [s]")
    arguments = parser.parse_args()
    model = Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")
    driven = np.arange(model.nv) < 3
    q, qd = np.array([0.0, 0.3, 0.0, -1.2, 0.0, 1.2, 0.0]), np.zeros(model.nv)
    times = np.arange(round(arguments.duration / PERIOD)) * PERIOD
    angles, torques, largest = [], [], 0.0
    energy, work = kinetic_energy(model, q, qd) + potential_energy(model, q), 0.0
    for t in times:

        def rates(q, qd, time):
            wanted = np.where(driven, 0.8 * np.cos(2.0 * time) * np.array([1, 0.4, 0.6, 0, 0, 0, 0]), 0.0)
            return hybrid_dynamics(model, q, qd, wanted, -0.05 * qd, driven)

        # Runge-Kutta of order 4; the power of all joints is integrated along.
        stages, powers = [], []
        for share in (0.0, 0.5, 0.5, 1.0):
            dq, ddq = stages[-1] if stages else (np.zeros(model.nv), np.zeros(model.nv))
            at_q, at_qd = q + share * PERIOD * dq, qd + share * PERIOD * ddq
            qdd, tau = rates(at_q, at_qd, t + share * PERIOD)
            stages.append((at_qd, qdd))
            powers.append(tau @ at_qd)
            if not powers[1:]:
                angles.append(q)
                torques.append(tau)
                error = inverse_dynamics(model, q, qd, qdd) - tau
                largest = max(largest, np.abs(error).max())
        weights = PERIOD * np.array([1, 2, 2, 1]) / 6.0
        q = q + weights @ np.array([s[0] for s in stages])
        qd = qd + weights @ np.array([s[1] for s in stages])
        work += weights @ powers
    angles, torques = np.array(angles), np.array(torques)
    balance = kinetic_energy(model, q, qd) + potential_energy(model, q) - energy - work
    count = int(driven.sum())
    print(f"{model.name}: accelerations given for {count} joints, torques for the other {model.nv - count}")
    print(f"inverse dynamics of the result gives the same torques, to {largest:.1e} N m")
    print(f"the joints' work is {work:.3f} J, and the energy grew by that, to {abs(balance):.1e} J")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for k, name in enumerate(model.joint_names):
        style = "-" if driven[k] else "--"
        above.plot(times, angles[:, k] - angles[0, k], style, label=name)
        below.plot(times, torques[:, k], style)
    above.set(ylabel="from the start [rad]", title="driven (solid) and loose (dashed) joints")
    below.set(xlabel="time [s]", ylabel="torque [N m]")
    figure.legend(loc="outside right upper", fontsize="x-small")
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "hybrid_dynamics.png"
    figure.savefig(file, dpi=120)
    print("picture", file)


if __name__ == "__main__":
    main()
