"""Kernels are compiled for what they declare, and for nothing else; also by many threads at once."""

import subprocess
import sys

import numpy as np
import pytest
from support.sample_trees import chain, to_model

from lie_dynamics_ros.lie_dynamics import forward_kinematics, inverse_dynamics
from lie_dynamics_ros.lie_dynamics.dynamics.inputs import NO_WRENCH
from lie_dynamics_ros.lie_dynamics.dynamics.kernels import inverse_dynamics as kernels
from lie_dynamics_ros.lie_dynamics.engine.compile import COMPILED, KERNELS, inline, kernel


def test_other_types_are_refused(rng):
    """By kernels of batches, which numba's dispatcher serves; `test_direct` tells of those of single states."""
    model = to_model(chain(rng, ["revolute", "prismatic"]))
    kernel, state, given = kernels.inverse_dynamics_batch, np.zeros((1, 2)), np.zeros(0, bool)
    rest = (state, state, np.zeros((1, 0)), np.zeros((1, 0)), given, np.zeros((1, 2)), np.zeros((1, 0)))
    assert kernel(model.table, state, *rest) == 0
    bad = [[[0.0, 0.0]], np.zeros((1, 2), int), np.zeros(2), np.zeros((1, 2), np.float32), None, "xx"]
    if COMPILED:
        bad.append(np.zeros((1, 4))[:, ::2])
    for value in bad:
        with pytest.raises((TypeError, ValueError)):
            kernel(model.table, value, *rest)
    with pytest.raises(TypeError):
        kernel(model.table, state)
    if COMPILED:
        assert len(kernel.signatures) == 1


def test_shapes_are_checked_by_the_kernels(rng):
    """No kernel may read or write beyond an array, whoever calls it."""
    model = to_model(chain(rng, ["revolute", "prismatic"]))
    good, out = np.zeros(2), np.zeros(2)
    for k in range(3):
        for size in (0, 1, 3):
            arrays = [np.zeros(size) if j == k else good for j in range(3)]
            assert kernels.inverse_dynamics(model.table, *arrays, NO_WRENCH, out) != 0
    for shape in ((1, 6), (3, 6), (2, 5), (0, 6)):
        assert kernels.inverse_dynamics(model.table, good, good, good, np.zeros(shape), out) != 0


@pytest.mark.skipif(not COMPILED, reason="plain Python links nothing")
@pytest.mark.parametrize("directly", [True, False])
def test_a_kernel_that_calls_a_kernel_is_not_compiled(directly):
    """It would be linked to what the disk holds of the other one: machine code alone."""
    from numba.core.errors import TypingError

    before = len(KERNELS)

    @kernel("int64(float64[::1])")
    def called(x):
        return x.size

    @inline
    def between(x):
        return called(x)

    callee = called if directly else between

    @kernel("int64(float64[::1])")
    def calling(x):
        return callee(x)

    del KERNELS[before:]
    assert called(np.zeros(3)) == 3
    with pytest.raises(TypingError, match="kernel called is called by compiled code: only helpers can be"):
        calling(np.zeros(3))


PROGRAM = """
import sys, threading
import numpy as np
from lie_dynamics_ros.lie_dynamics import Model, inverse_dynamics, forward_kinematics
model = Model.from_urdf('''<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint></robot>''')
start, found = threading.Barrier(16), []

def work():
    start.wait()
    tau = inverse_dynamics(model, np.zeros(1), np.zeros(1), np.ones(1))
    batch = inverse_dynamics(model, np.zeros((3, 1)), np.zeros(1), np.ones(1))
    found.append((tau[0], batch[2, 0], forward_kinematics(model, np.zeros(1))[0, 3, 3]))

threads = [threading.Thread(target=work) for _ in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
assert found == [(1.0, 1.0, 1.0)] * 16, found
"""


def test_first_calls_of_many_threads_at_once(rng):
    model = to_model(chain(rng, ["revolute"]))
    inverse_dynamics(model, [[0.0]], [0.0], [0.0])  # compiled now, so that the other process loads
    forward_kinematics(model, np.zeros(1))
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
