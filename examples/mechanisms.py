"""Mechanisms ready by name: inverse kinematics, all assembly modes, a picture of each; tracked by their motors."""

import argparse
from pathlib import Path

import numpy as np

from lie_dynamics_ros.lie_dynamics import ClosedLoopTracker, forward_kinematics, frame_pose, mechanism
from lie_dynamics_ros.lie_dynamics.constraints.mechanisms import MECHANISMS
from lie_dynamics_ros.lie_dynamics.geometry.plots import save_figure

#: What is flat is drawn so, by two of the axes.
PLANES = {"five-bar": (0, 1), "four-bar": (0, 1), "planar 3-RRR": (0, 1), "four-bar arm": (0, 2)}


def lines(made, q):
    """Links as lines (n, 3): spokes from each joint to those on the same body and to ends of loops; plates, around."""
    poses, model = forward_kinematics(made.model, q), made.model
    ends = {joint.body: [poses[joint.index, :3, 3]] for joint in model.joints}
    for joint in model.joints:
        if joint.parent_body in ends:
            ends[joint.parent_body].append(poses[joint.index, :3, 3])
    for loop in made.constraints.loops:
        for name, place in ((loop.first, loop.first_placement), (loop.second, loop.second_placement)):
            if (body := model.frame(name).body) >= 0:
                ends[model.body_names[body]].append((frame_pose(model, q, name) @ place)[:3, 3])
    moved = model.body_names[model.frame(made.platform).body]
    if len(ends[moved]) < 3:
        ends[moved].append(made.pose(q)[:3, 3])
    for joint in model.joints:
        points = np.array(ends[joint.body])
        if len(points) > 2 and joint.body == moved and joint.body != "forearm":
            corners = points[1:] if joint.kind == "free" else points
            x, y, _ = (corners - corners.mean(axis=0)).T
            corners = corners[np.argsort(np.arctan2(y, x))]
            yield np.concatenate([corners, corners[:1]])
        else:
            yield from (np.array([points[0], end]) for end in points[1:])


def picture(name, made, modes):
    """The home configuration, and all that have its motors' positions."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    plane = PLANES.get(name)
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    for place, states, title in ((1, [made.q], "at home"), (2, modes, f"{len(modes)} assembly modes")):
        ax = figure.add_subplot(1, 2, place, **({} if plane else {"projection": "3d"}))
        for k, q in enumerate(states):
            for points in lines(made, q):
                drawn = points.T[list(plane)] if plane else points.T
                ax.plot(*drawn, "o-", color=f"C{k % 10}", markersize=3, linewidth=2.0 if place == 1 else 1.0)
        ax.set(xlabel="x [m]", title=f"{name}, {title}")
        ax.set_ylabel("y [m]" if plane != (0, 2) else "z [m]")
        if plane:
            ax.set_aspect("equal")
        else:  # one scale for all axes, and room for their labels
            ax.set_box_aspect(np.ptp([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()], axis=1), zoom=0.8)
            ax.view_init(elev=20.0, azim=-65.0)
            ax.locator_params(nbins=3)
            ax.yaxis.labelpad = 8.0
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the pictures")
    parser.add_argument("--only", nargs="+", choices=list(MECHANISMS), default=list(MECHANISMS), help="these")
    arguments = parser.parse_args()
    for name in arguments.only:
        made = mechanism(name)
        found = made.assembly_modes(made.motors(made.q))
        tracker = ClosedLoopTracker(made.model, made.constraints, made.q, made.actuated)
        state = tracker.update(made.motors(made.q) + 1e-3)
        print(f"{name}: {made.model.nv} coordinates, {made.constraints.size} constraints; {found.message};", end=" ")
        print(f"largest error {found.residuals.max():.0e}; {state.message}")
        stem = made.model.name
        print("picture", save_figure(picture(name, made, found.q), arguments.output / f"mechanism_{stem}.png"))


if __name__ == "__main__":
    main()
