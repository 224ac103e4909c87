"""What Drake, which reads SDF by libsdformat, finds for the robots of this folder: poses, mass matrix, efforts.

It wrote drake.json, with Drake 1.51.1 on Python 3.11: ``pip install drake==1.51.1; python ask_drake.py > drake.json``.
Drake has coordinates of its own for balls: angles, whose rates are the angular velocity in the frame of the parent.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from pydrake.math import RollPitchYaw
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import BodyIndex, MultibodyForces

GRAVITY = {"arm": [0.4, -0.3, -9.7]}  # Drake passes over that of the world


def answer(path: Path, rng: np.random.Generator) -> dict:
    """Return names, a state, and what follows from it."""
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(path))
    plant.mutable_gravity_field().set_gravity_vector(GRAVITY.get(path.stem, [0.0, 0.0, -9.81]))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    joints = (plant.get_joint(k) for k in plant.GetJointIndices())
    moving = [joint for joint in joints if joint.num_velocities()]
    q = rng.uniform(-0.9, 0.9, plant.num_positions())
    v, vdot = rng.normal(size=(2, plant.num_velocities()))
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    tau = plant.CalcInverseDynamics(context, vdot, forces)  # with damping and gravity
    bodies = (plant.get_body(k) for k in map(BodyIndex, range(plant.num_bodies())))
    return {
        "joints": {joint.name(): told(joint, q, v, vdot, tau) for joint in moving},
        "poses": {
            body.scoped_name().get_full(): plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4().tolist()
            for body in bodies
        },
        "mass_matrix": plant.CalcMassMatrix(context).tolist(),
    }


def told(joint, *state: np.ndarray) -> dict:
    """Return the entries of a joint of positions, velocities, accelerations and efforts, and its own figures."""
    q, *rest = state
    first, at = joint.position_start(), joint.velocity_start()
    found = {
        key: value[at : at + joint.num_velocities()].tolist()
        for key, value in zip(("v", "vdot", "tau"), rest, strict=True)
    }
    found |= {"at": at, "q": q[first : first + joint.num_positions()].tolist()}
    found["damping"] = joint.default_damping_vector().tolist()
    found |= {"lower": joint.position_lower_limits().tolist(), "upper": joint.position_upper_limits().tolist()}
    if joint.type_name() == "ball_rpy":
        found["rotation"] = RollPitchYaw(q[first : first + 3]).ToRotationMatrix().matrix().tolist()
    return found


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    found = {path.stem: answer(path, rng) for path in sorted(Path(__file__).parent.glob("*.sdf"))}
    print(json.dumps(found))
