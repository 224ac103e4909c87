"""Base of nodes whose robot is a tree of joints, from its description."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from ...core.frame_names import check_prefix
from ...core.robot_options import Payload, RobotOptions
from ...lie_dynamics import JointFriction, Model
from ..inputs.base_input import check_base
from ..inputs.robot_inputs import RobotInputs
from ..model.model_loading import load_base, load_friction, load_model
from .robot_node import Core, RobotNode


class TreeNode(RobotNode[Core]):
    """A `RobotNode` whose core is made of a model alone; subclasses fill in `make_core` in place of `build`."""

    @abstractmethod
    def make_core(self, model: Model, options: Any, friction: JointFriction | None) -> Core:
        """Prepare everything for a robot; raises with the reason where that cannot be done. Changes nothing else."""

    def build(self, description: str, values: Mapping[str, Any]) -> tuple[RobotInputs, Core]:
        """Prepare the dynamics of this robot; raises with the reason where that cannot be done."""
        prefix = values["joint_prefix"]
        check_prefix(values["frame_prefix"])
        joints = [prefix + joint for joint in values["joints"] if joint]
        model = load_model(description, values, self.get_logger())
        friction = load_friction(description, values, model)
        options: RobotOptions = self.options_of(values)
        Payload.from_values(values).put_on(model)  # as it will be, where it is not held yet
        model = model.with_joint_prefix(prefix)
        core = self.make_core(model, options, friction)
        base = load_base(description, values, model) if check_base(values) else None
        if base is not None:
            core.mount_on(base)
        return RobotInputs(model, joints, base), core
