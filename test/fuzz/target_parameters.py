"""Random subsets of all parameters of all nodes set at once to hostile values while the nodes are active.

What is refused changes nothing and has a reason; what is taken reads back; nodes live on and answer with finite
numbers.
"""

from __future__ import annotations

import numpy as np

from .node_target import NodeTarget
from .target import DefectError


class Subject(NodeTarget):
    """See the module."""

    cases = 1000

    def prepare(self) -> None:
        self.start_all()

    def __exit__(self, *arguments: object) -> None:
        for driven in self.driven:
            driven.close()
        super().__exit__(*arguments)

    def check(self, rng: np.random.Generator, index: int) -> None:
        from rclpy.parameter import Parameter
        from test_parameter_values import values_for

        driven = self.driven[index % len(self.driven)]
        node, name = driven.node, driven.way
        all_ = [p for p in sorted(node.get_parameters_by_prefix("")) if p != "use_sim_time"]
        before = {p: node.get_parameter(p) for p in all_}
        asked = []
        for setting in rng.permutation(all_)[: rng.integers(1, 5)]:
            values = list(values_for(before[setting], True))
            type_, value = values[int(rng.integers(len(values)))]
            asked.append(Parameter(str(setting), type_, value))
        what = f"{name}: " + ", ".join(f"{p.name} = {str(p.value)[:40]}" for p in asked)
        result = node.set_parameters_atomically(asked)
        if node.state != "active" or node.failure:
            raise DefectError(f"{what}: the node is {node.state}: {node.failure}")
        expected = dict(before)
        if result.successful:
            expected.update({p.name: p for p in asked})
        elif not result.reason or len(result.reason) > 2500:
            raise DefectError(f"{what}: refused with a reason of {len(result.reason)} characters")
        for setting, parameter in expected.items():
            found = node.get_parameter(setting).value
            if repr(found) != repr(parameter.value) and list(found) != list(parameter.value):
                raise DefectError(f"{what}: {setting} reads back {str(found)[:80]}, {result}")
        try:
            numbers = driven.answer()
        except AssertionError as error:
            raise DefectError(f"{what}: no answer: {str(error)[:1000]}") from error
        finally:
            back = node.set_parameters_atomically([before[p.name] for p in asked]) if result.successful else None
        if not np.isfinite(numbers).all():
            raise DefectError(f"{what}: the answer is {numbers}")
        if back is not None and not back.successful:
            raise DefectError(f"{what}: what was in force before is refused now: {back.reason}")
