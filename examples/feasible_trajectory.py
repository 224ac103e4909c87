"""A trajectory that is too fast for an arm: which limits it exceeds, and the same path in the shortest time."""

import argparse
from pathlib import Path

import numpy as np

import lie_dynamics_ros
from lie_dynamics_ros.lie_dynamics import Model
from lie_dynamics_ros.lie_dynamics.control import Trajectory
from lie_dynamics_ros.lie_dynamics.control.feasibility import feasibility, plot_feasibility, retime
from lie_dynamics_ros.lie_dynamics.geometry.plots import save_figure

URDF = Path(lie_dynamics_ros.__file__).parent / "urdf" / "panda_arm.urdf"
START = np.array([0.0, -0.3, 0.0, -1.9, 0.0, 1.7, 0.5])
MIDDLE = START + np.array([0.5, 0.6, -0.4, 0.5, 0.4, 0.3, 0.4])
GOAL = START + np.array([0.9, 0.3, -0.6, -0.2, 0.8, 0.5, 0.9])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the picture")
    folder = parser.parse_args().output
    model = Model.from_urdf(URDF).with_payload("panda_link7", 3.0, [0.0, 0.0, 0.12])
    rest = np.zeros(7)
    asked = Trajectory(
        model, [0.0, 0.3, 0.6], [START, MIDDLE, GOAL], [rest, (GOAL - START) / 0.6, rest], [rest, rest, rest]
    )
    judged = feasibility(model, asked)
    print(f"as asked, {asked.duration:.2f} s: a trajectory {judged.excess}")
    found = retime(model, asked)
    slower = found.trajectory(model)
    print(f"retimed: {slower.duration:.2f} s, {found.factor:.2f} times as long")
    again = feasibility(model, slower)
    for kind in ("velocity", "effort"):
        before, after = judged.use(kind).max(), again.use(kind).max()
        print(f"largest {kind} over its limit: {before:.2f} as asked, {after:.3f} retimed")
    figure = plot_feasibility(judged, again, titles=("as asked", "retimed"))
    print("picture:", save_figure(figure, folder / "feasible_trajectory.png"))
    assert again.feasible


if __name__ == "__main__":
    main()
