"""Evaluate many states in one call: how far a 1 kg payload raises the torques over all of an arm's postures."""

import argparse
import time
from pathlib import Path

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model, forward_kinematics, gravity_force


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    parser.add_argument("--states", type=int, default=200_000, help="random postures")
    arguments = parser.parse_args()
    model = Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")
    hand = model.joints[-1].body
    loaded = model.with_payload(hand, 1.0, [0.0, 0.0, 0.1])
    rng = np.random.default_rng(0)
    low, high = model.limits.lower, model.limits.upper
    postures = rng.uniform(low, high, (arguments.states, model.nq))

    gravity_force(model, postures[:10])  # compiled or loaded, whichever comes first
    start = time.perf_counter()
    empty_handed = gravity_force(model, postures)
    spent = time.perf_counter() - start
    with_load = gravity_force(loaded, postures, threads=2)
    print(
        f"{arguments.states} postures in {1e3 * spent:.1f} ms: {1e9 * spent / arguments.states:.0f} ns each, one thread"
    )
    one_by_one = np.array([gravity_force(model, q) for q in postures[:1000]])
    print(f"one at a time they are the same, to {np.abs(one_by_one - empty_handed[:1000]).max():.1e} N m")
    for name, before, after in zip(
        model.joint_names, np.abs(empty_handed).max(axis=0), np.abs(with_load).max(axis=0), strict=True
    ):
        print(f"  {name:<16} largest holding torque {before:7.2f} N m, with 1 kg in the hand {after:7.2f} N m")

    from matplotlib.figure import Figure

    reach = np.linalg.norm(forward_kinematics(model, postures)[:, -1, :2, 3], axis=1)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    edges = np.linspace(0.0, reach.max(), 60)
    cell = np.digitize(reach, edges) - 1
    for label, torque in (("empty", empty_handed), ("1 kg", with_load)):
        shoulder = np.abs(torque[:, 1])
        highest = [shoulder[cell == k].max(initial=0.0) for k in range(edges.size - 1)]
        axes.plot(0.5 * (edges[1:] + edges[:-1]), highest, label=label)
    axes.set(
        xlabel="hand's distance from the vertical axis [m]", ylabel=f"largest torque of {model.joint_names[1]} [N m]"
    )
    figure.legend(loc="outside upper right", ncols=4)
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "batch_evaluation.png"
    figure.savefig(file, dpi=120)
    print("picture", file)


if __name__ == "__main__":
    main()
