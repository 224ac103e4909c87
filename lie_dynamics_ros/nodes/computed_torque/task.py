"""The controller's core between messages: joints by name, states and wrenches as they come."""

from __future__ import annotations

from ...core.robot_options import RobotOptions
from ...core.robot_task import RobotTask
from .core import ComputedTorqueCore
from .options import Options


class ComputedTorqueTask(RobotTask):
    """A controller of one robot; see `RobotTask`.

    Attributes
    ----------
    core : ComputedTorqueCore
    """

    options: Options
    core: ComputedTorqueCore

    def set_options(self, options: RobotOptions) -> None:
        """Apply options; raises ParameterError, and then leaves all as it was, where the robot cannot have them."""
        assert isinstance(options, Options)
        before: ComputedTorqueCore | None = getattr(self, "core", None)
        self.core = ComputedTorqueCore(self.model, options) if before is None else before.with_options(options)
        super().set_options(options)
        self.options = options

    def take_saturated(self) -> tuple[str, ...]:
        """Joints whose efforts were limited since the last call."""
        return self.core.take_saturated()
