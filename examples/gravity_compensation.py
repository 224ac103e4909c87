"""An arm under gravity compensation is pushed by hand, and stays where it is left; without it, it falls."""

import argparse
from pathlib import Path

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model, external_wrench
from lie_dynamics_ros.lie_dynamics.control import MomentumObserver, gravity_compensation
from lie_dynamics_ros.lie_dynamics.simulation import JointPhysics, Simulator

START = np.array([0.0, 0.0, 0.0, -1.7, 0.0, 1.8, 0.5])
HAND, PERIOD = "panda_link7", 1e-3
PUSH = np.array([0.0, 0.0, 0.0, 0.0, 15.0, 0.0])  # moment, force in the world's axes [N m, N]


def push(model, q, t):
    """Push the hand sideways for a second."""
    return external_wrench(model, q, HAND, PUSH, "aligned") if 0.5 <= t < 1.5 else None


def move(model, compensate, duration):
    """Simulate the arm; return times, configurations and the observer's estimate of the force."""
    robot = Simulator(model, START, joints=JointPhysics.from_model(model))
    observer, tau = MomentumObserver(model, 30.0), np.zeros(model.nv)
    times, states, forces = [], [], []
    for _ in range(round(duration / PERIOD)):
        observer.update(robot.q, robot.qd, tau, PERIOD)
        times.append(robot.time)
        states.append(robot.q.copy())
        forces.append(np.linalg.norm(observer.wrench(robot.q, HAND)[3:]))
        tau = gravity_compensation(model, robot.q, robot.qd, 4.0) if compensate else np.zeros(model.nv)
        robot.advance(tau, f_ext=push(model, robot.q, robot.time))
    return np.array(times), np.array(states), np.array(forces)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    arguments = parser.parse_args()
    model = Model.from_urdf(Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf")
    guided, fallen = move(model, True, 3.0), move(model, False, 3.0)
    before, pushed, rest = (guided[1][round(t / PERIOD)] for t in (0.49, 1.5, 2.9))
    print(f"before the push the arm moves by {np.abs(before - START).max():.1e} rad")
    print(f"a push of {np.linalg.norm(PUSH):.0f} N for 1 s moves it by {np.abs(pushed - START).max():.2f} rad,")
    print(f"estimated from its motion as up to {guided[2].max():.1f} N; damping lets it coast", end=" ")
    print(f"{np.abs(rest - pushed).max():.2f} rad more")
    print(f"without compensation it falls by {np.abs(fallen[1][-1] - START).max():.1f} rad, into its stops")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for column, (title, (time, q, force)) in enumerate(
        {"with gravity compensation": guided, "without": fallen}.items()
    ):
        axes[0, column].plot(time, q - START)
        axes[0, column].set(title=title, ylabel="joints, from the start [rad]")
        axes[1, column].plot(time, force)
        axes[1, column].axvspan(0.5, 1.5, alpha=0.2)
        axes[1, column].set(xlabel="time [s]", ylabel="estimated push [N]")
    figure.legend(axes[0, 0].lines, model.joint_names, loc="outside lower center", ncols=7, fontsize="x-small")
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "gravity_compensation.png"
    figure.savefig(file, dpi=120)
    print("picture", file)


if __name__ == "__main__":
    main()
