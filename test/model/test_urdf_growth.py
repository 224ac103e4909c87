"""The cost of reading grows as the number of links: eight times the links, eight times the time, whatever the shape."""

import time
import warnings

import pytest
from support.grids import every_run

from lie_dynamics_ros.lie_dynamics import Model

BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
SMALL, FACTOR = 50, 8


def robot(count, parent, inside, kind="revolute"):
    parts = ['<robot name="r"><link name="l0"/>']
    for i in range(count):
        parts.append(
            f'<link name="l{i + 1}">{BODY}</link><joint name="j{i}" type="{kind}"><parent link="l{parent(i)}"/>'
            f'<child link="l{i + 1}"/>{inside(i)}</joint>'
        )
    return "".join(parts) + "</robot>"


SHAPES = {
    "chain": lambda n: robot(n, lambda i: i, lambda i: ""),
    "star": lambda n: robot(n, lambda i: 0, lambda i: ""),
    "welded chain": lambda n: robot(n, lambda i: i, lambda i: "", "fixed"),
    "chain of mimics": lambda n: robot(n, lambda i: i, lambda i: f'<mimic joint="j{i - 1}"/>' if i else ""),
    "reversed chain of mimics": lambda n: robot(
        n, lambda i: i, lambda i: f'<mimic joint="j{i + 1}"/>' if i < n - 1 else ""
    ),
    "mimics of nothing": lambda n: robot(n, lambda i: i, lambda i: f'<mimic joint="k{i}"/>'),
    "unknown attributes": lambda n: robot(n, lambda i: i, lambda i: f'<axis xyz="1 0 0" a{i}="1"/>'),
}


USUAL = ("reversed chain of mimics", "unknown attributes")


@pytest.mark.parametrize("shape", every_run(USUAL, SHAPES))
def test_the_cost_is_linear(shape):
    """The least of three runs each, in time of this process; a quadratic part would make the ratio 64."""

    def cost(count):
        text = SHAPES[shape](count)
        runs = []
        for _ in range(3):
            begin = time.process_time()
            model = Model.from_urdf(text, couple_mimics="chain of mimics" in shape)
            runs.append(time.process_time() - begin)
        assert len(model.frames) == count + 2  # the world and the root besides
        return min(runs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cost(10)
        assert cost(FACTOR * SMALL) < 3 * FACTOR * cost(SMALL)


def test_more_than_a_limit_is_refused():
    text = SHAPES["chain"](2)
    assert Model.from_urdf(text, max_size=len(text)).nv == 2
    with pytest.raises(ValueError, match=f"a text of {len(text)} bytes, at most {len(text) - 1} expected"):
        Model.from_urdf(text, max_size=len(text) - 1)
    with pytest.raises(ValueError, match=f"a text of {len(text)} bytes"):
        Model.from_urdf(text.encode(), max_size=len(text) - 1)
