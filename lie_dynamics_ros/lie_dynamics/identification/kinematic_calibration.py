"""Kinematic calibration of serial arms by the product of exponentials.

The pose of the tool is a product of placements at zero, each with a small error, and of exponentials of screws,

    T(q) = T_1 exp(e_1) exp(S_1 q_1) ... T_n exp(e_n) exp(S_n q_n) T_tool exp(e_tool).

A motion that commutes with exp(S_i q_i), along and about its axis, can as well be made behind the joint. So e_i is kept
to the twists that do not: four for a revolute joint, two for a prismatic one, all six for the tool. That is the largest
number of parameters that poses can distinguish, 4 r + 2 p + 6 (Everett and Hsu 1988; Okamura and Park 1996 for the
product of exponentials). Zeros of joints and the place of the base are among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..dynamics.kinematics import forward_kinematics, frame_pose, jacobian
from ..errors import DescriptionError, InputError
from ..lie import se3, so3
from ..lie._arrays import real_numbers
from ..lie._tool_readings import ToolCalibration, ToolMeasured, ToolReadings, fit_of, tool_measured
from ..model.arguments import require_model
from ..model.configuration import checked
from ..model.model import Model
from ..model.structure import Joint
from ..shown import shared_options, shown

if TYPE_CHECKING:
    from typing import Unpack

_SIX = ("turn x", "turn y", "turn z", "shift x", "shift y", "shift z")


@shown
@dataclass(frozen=True, eq=False)
class KinematicCalibration(ToolCalibration):
    """Placements of an arm's joints from measurements of its tool.

    Its names say joint, and what of its placement: turns and shifts across its axis; "tool" for the frame. Its values
    are errors of the nominal placements [rad, m], components of e_i. What else it has: see `ToolCalibration`.

    Attributes
    ----------
    directions : ndarray, shape (n, 6)
        Twists of unit size in the frame of the child link at zero, angular part first, that `values` multiply.
    base : ndarray, shape (4, 4)
        Pose of the arm's base in the frame of the measurements.
    """

    directions: Array
    base: Array
    _chain: Chain

    def tool_pose(self, q: npt.ArrayLike) -> Array:
        """Return the calibrated pose of the frame (..., 4, 4) in the frame of the measurements at q (..., nq)."""
        chain = self._chain
        q = checked(q, chain.model.nq, "q", chain.model)
        flat = chain.poses(q.reshape(-1, q.shape[-1])[:, chain.columns], self.values)[-1]
        return np.asarray(flat.reshape(*q.shape[:-1], 4, 4))

    def corrected_urdf(self, urdf: str) -> str:
        """Return the text of a URDF with the placements of the joints corrected.

        The tool's correction goes into the fixed joint of its frame; where the frame is the last link itself, a link
        "<frame>_calibrated" is added.

        Raises
        ------
        DescriptionError
            If a joint of the arm is not in the text.
        """
        chain, root = self._chain, ElementTree.fromstring(urdf)
        joints = {j.get("name"): j for j in root.findall("joint")}
        placements, first = chain.errors(self.values), int(chain.base_free)
        for name, error in zip(chain.joints[first:], placements[first:-1], strict=True):
            if name not in joints:
                raise DescriptionError(f"joint {name!r}: not in this URDF", name=name)
            _correct(joints[name], error)
        holder = next((j for j in root.findall("joint") if _child(j) == chain.frame and j.get("type") == "fixed"), None)
        if holder is None:
            added = f"{chain.frame}_calibrated"
            ElementTree.SubElement(root, "link", name=added)
            holder = ElementTree.SubElement(root, "joint", name=f"{added}_fixed", type="fixed")
            ElementTree.SubElement(holder, "parent", link=chain.frame)
            ElementTree.SubElement(holder, "child", link=added)
        _correct(holder, placements[-1])
        return ElementTree.tostring(root, encoding="unicode")


def _child(joint: ElementTree.Element) -> str | None:
    child = joint.find("child")
    return None if child is None else child.get("link")


def _correct(joint: ElementTree.Element, error: Array) -> None:
    """Multiply the placement of a joint's element by an error from the right."""
    origin = joint.find("origin")
    if origin is None:
        origin = ElementTree.SubElement(joint, "origin")
    xyz, rpy = (np.array((origin.get(key) or "0 0 0").split(), dtype=np.float64) for key in ("xyz", "rpy"))
    rotation, position = se3.to_parts(se3.from_parts(so3.from_rpy(rpy), xyz) @ error)
    origin.set("xyz", " ".join(repr(float(x)) for x in position))
    origin.set("rpy", " ".join(repr(float(x)) for x in so3.to_rpy(rotation)))


@dataclass(frozen=True, eq=False)
class Chain:
    """The joints from the base to a frame: placements at zero, screws in the child's frame, and what may be wrong."""

    model: Model
    frame: str
    joints: tuple[str, ...]
    columns: tuple[int, ...]
    base: Array
    base_free: bool
    placements: Array  # (n + 1, 4, 4), that of the tool last
    screws: Array  # (n, 6)
    names: tuple[str, ...]
    directions: Array  # (p, 6)
    owners: npt.NDArray[np.intp]  # (p,), which placement each parameter is of

    def errors(self, values: Array) -> Array:
        """Return exp(e_i) (n + 1, 4, 4) of parameters (p,)."""
        twists = np.zeros((len(self.placements), 6))
        np.add.at(twists, self.owners, values[:, None] * self.directions)
        return se3.exp(twists)

    def poses(self, q: Array, values: Array) -> Array:
        """Return poses (n + 1, k, 4, 4) in front of each joint, errors included, and of the tool, at q (k, n)."""
        errors, T, found = self.errors(values), np.broadcast_to(self.base, (len(q), 4, 4)), []
        for i, screw in enumerate(self.screws):
            T = T @ (self.placements[i] @ errors[i])
            found.append(T)
            T = T @ se3.exp(q[:, i, None] * screw)
        found.append(T @ (self.placements[-1] @ errors[-1]))
        return np.array(found)

    def sensitivity(self, poses: Array, values: Array) -> Array:
        """Return how the tool moves with the parameters (k, 6, p): turn [rad] in its frame, shift [m] in the world."""
        twists = np.zeros((len(self.placements), 6))
        np.add.at(twists, self.owners, values[:, None] * self.directions)
        moved = (se3.right_jacobian(twists)[self.owners] @ self.directions[..., None])[..., 0]
        tool = poses[-1]
        between = se3.inverse(tool)[None] @ poses[self.owners]  # (p, k, 4, 4)
        body = (se3.Ad(between) @ moved[:, None, :, None])[..., 0]
        shift = (tool[None, :, :3, :3] @ body[..., 3:, None])[..., 0]
        return np.concatenate([body[..., :3], shift], axis=-1).transpose(1, 2, 0)


def arm_chain(model: Model, frame: str, base: Array, base_free: bool) -> Chain:
    """Return the chain of one-freedom joints from the world to a body or frame; errors name a joint that is none."""
    found = model.frame(frame)
    body, joints = found.body, list[Joint]()
    while body >= 0:
        joint = model.joints[body]
        if joint.coupled or any(s.stop - s.start != 1 for s in (joint.q_slice, joint.v_slice)):
            raise DescriptionError(
                f"joint {joint.name!r}: joints of one coordinate each are expected, got kind {joint.kind!r}",
                name=joint.name,
            )  # fmt: skip
        joints.insert(0, joint)
        body = model.body_names.index(joint.parent_body) if joint.parent_body in model.body_names else -1
    if not joints:
        raise InputError(f"frame: one that joints move is expected, got {frame!r}", name="frame", value=frame)
    zero = np.zeros(model.nq)
    at_zero, before = forward_kinematics(model, zero), np.eye(4)
    placements, screws, names, directions, owners = [], [], [], [], []
    for i, joint in enumerate(joints):
        placements.append(se3.inverse(before) @ at_zero[joint.index])
        before = at_zero[joint.index]
        screw = jacobian(model, zero, joint.body)[:, joint.v_slice.start]
        turned = jacobian(model, np.where(np.arange(model.nq) == joint.q_slice.start, 0.7, 0.0), joint.body)
        if np.abs(turned[:, joint.v_slice.start] - screw).max() > 1e-9:
            raise DescriptionError(f"joint {joint.name!r}: a screw that does not change is expected", name=joint.name)
        screws.append(screw)
        for name, direction in _across(screw):
            names.append(f"{joint.name} {name}")
            directions.append(direction)
            owners.append(i)
    placements.append(se3.inverse(before) @ frame_pose(model, zero, frame))
    names += [f"tool {name}" for name in _SIX]
    directions += list(np.eye(6))
    owners += [len(joints)] * 6
    return Chain(
        model, frame, tuple(j.name for j in joints), tuple(j.q_slice.start for j in joints), base, base_free,
        np.array(placements), np.array(screws), tuple(names), np.array(directions), np.array(owners),
    )  # fmt: skip


def _across(screw: Array) -> list[tuple[str, Array]]:
    """Return names and twists across a screw, those that do not commute with it: a basis of the image of ad^T."""
    image = se3.ad(screw).T
    _, sizes, right = np.linalg.svd(image.T)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    plain = [k for k in range(6) if np.linalg.norm(right[rank:] @ np.eye(6)[k]) < 1e-9]
    if len(plain) == rank:  # an axis of the frame
        return [(_SIX[k], np.eye(6)[k]) for k in plain]
    return [(f"across {k}", right[k]) for k in range(rank)]


@shared_options(tool_measured)
def calibrate_kinematics(
    model: Model,
    frame: str,
    q: npt.ArrayLike,
    *,
    base: npt.ArrayLike | None = None,
    **tool: Unpack[ToolMeasured],
) -> KinematicCalibration:
    """Return the errors of an arm's joint placements that explain measurements of its tool best.

    Parameters
    ----------
    model : Model
        The arm as it should be; joints between the world and the frame have one coordinate each.
    frame : str
        Body or frame that is measured.
    q : array-like, shape (k, nq)
        Configurations, as the joints' sensors read [rad, m].
    poses : array-like, shape (k, 4, 4), optional
        Measured poses of the frame.
    positions : array-like, shape (k, 3), optional
        Measured positions of its origin [m]. One of the four kinds is given.
    heights : array-like, shape (k,), optional
        Measured heights of its origin above the xy plane, as a dial gauge has them [m].
    distances : (array-like (m, 2), array-like (m,)), optional
        Pairs of indices into `q`, and measured distances [m] between the frame's origin at the two.
    position_noise, rotation_noise : float
        Standard deviations of each coordinate of a position, of a height or a distance [m], and of each component of a
        turn [rad].
    base : array-like, shape (4, 4), optional
        Pose of the arm's base in the frame of the measurements; the same frame when left out.
    fit_base : bool
        Whether that pose is not known: it is then fitted to the positions at first, and the first joint keeps its
        place on the base.
    max_iterations : int
        Largest number of steps.

    Returns
    -------
    KinematicCalibration
        The parameters with their covariance, and the corrected arm.

    Raises
    ------
    DescriptionError
        For joints of more coordinates, coupled ones, or ones whose screw changes.
    InputError, GroupError
        For bad input.
    """
    require_model(model)
    q = real_numbers(checked(q, model.nq, "q", model), "q")
    if q.ndim != 2:
        raise InputError(f"q: shape (k, {model.nq}) is expected, got {q.shape}", name="q", value=q.shape)
    measured = tool_measured(q, **tool)
    place = np.eye(4) if base is None else np.array(se3.check(base, "base"), dtype=np.float64)
    chain = arm_chain(model, frame, place, measured.fit_base)
    if measured.fit_base:
        if measured.pairs is not None:
            raise InputError("fit_base: distances do not depend on the base", name="fit_base")
        if measured.level:
            raise InputError("fit_base: heights do not tell where the base is", name="fit_base")
        nominal = chain.poses(q[:, chain.columns], np.zeros(len(chain.names)))[-1][:, :3, 3]
        chain = arm_chain(model, frame, _alignment(nominal, measured.points) @ place, True)
    return _fitted(chain, q[:, chain.columns], measured)


def _alignment(a: Array, b: Array) -> Array:
    """Return the pose (4, 4) that brings points a (k, 3) closest to b (k, 3): least squares."""
    left, _, right = np.linalg.svd((b - b.mean(axis=0)).T @ (a - a.mean(axis=0)))
    rotation = left @ np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))]) @ right
    return se3.from_parts(rotation, b.mean(axis=0) - rotation @ a.mean(axis=0))


def _fitted(chain: Chain, q: Array, measured: ToolReadings) -> KinematicCalibration:
    def at(values: Array, _: None) -> tuple[Array, Array, None]:
        poses = chain.poses(q, values)
        return *measured.residuals(poses[-1], chain.sensitivity(poses, values)), None

    start = np.zeros(len(chain.names))
    found = fit_of(at, start, None, start, measured.max_iterations).calibration(chain.names, start)
    base = chain.base
    if chain.base_free:
        first = chain.placements[0] @ chain.errors(found.values)[0] @ se3.inverse(chain.placements[0])
        base = base @ first
    return KinematicCalibration(**vars(found), directions=chain.directions, base=base, _chain=chain)
