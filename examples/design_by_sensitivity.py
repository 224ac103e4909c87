"""An arm is designed by sensitivities: lengths and counterweights with the least peak torque along a motion.

The reach of the arm stays. Kim's Table 5 gives how each torque changes with each figure of the drawing; differences
of whole robots judge it.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from lie_dynamics_ros.lie_dynamics import (
    ModelBuilder,
    Parameter,
    SpatialInertia,
    inverse_dynamics,
    inverse_dynamics_sensitivity,
    joint_types,
)

REACH, DENSITY, BACK, TOOL = 1.2, 4.0, 0.25, 3.0  # [m], of the links [kg/m], place of counterweights [m], [kg]
SHARP = 12  # of the smooth maximum: the larger, the closer to the peak
NAMES = ("length of the upper arm [m]", "counterweight of the upper arm [kg]", "counterweight of the forearm [kg]")


def link(length, counterweight, tool=0.0):
    """A rod along x, a counterweight behind the joint, a tool at the end; in the frame of the joint."""
    rod = SpatialInertia(DENSITY * length, [0.5 * length, 0, 0], np.diag([0, 1, 1]) * DENSITY * length**3 / 12)
    return rod + point(counterweight, -BACK) + point(tool, length)


def point(mass, x):
    return SpatialInertia(mass, [x, 0, 0], np.zeros((3, 3)))


def arm(design):
    length, upper, fore = design
    at_elbow = np.eye(4)
    at_elbow[0, 3] = length
    builder = ModelBuilder()
    builder.add("upper arm", None, joint_types.revolute([0, 1, 0]), inertia=link(length, upper), joint_name="shoulder")
    forearm = link(REACH - length, fore, TOOL)
    builder.add("forearm", "upper arm", joint_types.revolute([0, 1, 0]), at_elbow, forearm, joint_name="elbow")
    return builder.build("arm")


def slopes(design):
    """The figures of the drawing as parameters: what each changes in the arm, to first order."""
    length = design[0]

    def inertia(body, change):
        parts = [float(x) * Parameter.inertia(body, k) for k, x in enumerate(change) if x]
        return sum(parts[1:], parts[0])

    def rod(x):  # derivatives of mass, first moment and inertia of a rod that begins at the joint
        return np.array([DENSITY, DENSITY * x, 0, 0, 0, 0, 0, DENSITY * x**2, 0, DENSITY * x**2])

    def mass(x):
        return np.array([1, x, 0, 0, 0, 0, 0, x * x, 0, x * x])

    rest = REACH - length
    tool = np.array([0, TOOL, 0, 0, 0, 0, 0, 2 * TOOL * rest, 0, 2 * TOOL * rest])
    longer = Parameter.placement("elbow", [0, 0, 0, 1, 0, 0], "parent")
    return [
        longer + inertia("upper arm", rod(length)) + inertia("forearm", -rod(rest) - tool),
        inertia("upper arm", mass(-BACK)),
        inertia("forearm", mass(-BACK)),
    ]


def motion(count=200):
    """To and fro in 2 s, joint by joint."""
    t = np.linspace(0, 2, count)[:, None]
    w, size, middle = np.array([np.pi, 2 * np.pi]), np.array([0.7, 0.5]), np.array([-0.5, 0.9])
    return t, middle + size * np.cos(w * t), -size * w * np.sin(w * t), -size * w**2 * np.cos(w * t)


def peak(design, states):
    """Smooth maximum of the torques [N m], and its derivative along the design."""
    model = arm(design)
    tau = inverse_dynamics(model, *states)
    value = (np.abs(tau) ** SHARP).mean() ** (1 / SHARP)
    weights = np.sign(tau) * np.abs(tau / value) ** (SHARP - 1) / tau.size
    return value, (inverse_dynamics_sensitivity(model, *states, slopes(design)) * weights).sum(axis=(1, 2))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    arguments = parser.parse_args()
    t, *states = motion()
    start = np.array([0.6, 0.0, 0.0])
    steps = 1e-5 * np.eye(3)
    differences = [(peak(start + h, states)[0] - peak(start - h, states)[0]) / 2e-5 for h in steps]
    error = np.abs(peak(start, states)[1] - differences).max()
    print(f"derivatives of the peak by Table 5 agree with differences, to {error:.1e} N m for each m or kg")
    bounds = [(0.3, 0.9), (0.0, 60.0), (0.0, 60.0)]
    found = minimize(peak, start, (states,), jac=True, method="L-BFGS-B", bounds=bounds)
    before, after = (inverse_dynamics(arm(design), *states) for design in (start, found.x))
    print(f"peak torque {np.abs(before).max():.1f} -> {np.abs(after).max():.1f} N m, in {found.nfev} evaluations")
    for name, old, new in zip(NAMES, start, found.x, strict=True):
        print(f"{name}: {old:.2f} -> {new:.2f}")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for tau, style, label in ((before, "--", "drawn first"), (after, "-", "designed")):
        for k, joint in enumerate(("shoulder", "elbow")):
            axes.plot(t[:, 0], tau[:, k], style, color=f"C{k}", label=f"{joint}, {label}")
    axes.set(xlabel="time [s]", ylabel="torque [N m]")
    figure.legend(loc="outside right upper", fontsize="small")
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "design_by_sensitivity.png"
    figure.savefig(file, dpi=120)
    print("picture", file)


if __name__ == "__main__":
    main()
