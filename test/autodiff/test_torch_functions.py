"""Dynamics for PyTorch: values, gradients against differences by PyTorch's own check, batches, types."""

import numpy as np
import pytest
from moving_tree import normalized, states, tree
from support.compare import relative

import lie_dynamics_ros.lie_dynamics as ld
from lie_dynamics_ros.lie_dynamics.autodiff import torch_functions
from lie_dynamics_ros.lie_dynamics.errors import InputError

torch = pytest.importorskip("torch", reason="PyTorch is too large to be among the tools of the tests")

NAMES = ("inverse_dynamics", "forward_dynamics")


def tensors(arrays, **options):
    return [torch.tensor(array, requires_grad=True, **options) for array in arrays]


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name, rng):
    model = tree()
    function = getattr(torch_functions, name)

    def of_entries(q, *rates):
        parts, done = [], 0
        for joint in model.joints:  # a quaternion of another length counts as its direction
            if joint.kind in ("free", "spherical"):
                start = joint.q_slice.start
                turn = q[..., start : start + 4]
                parts += [q[..., done:start], turn / turn.norm(dim=-1, keepdim=True)]
                done = start + 4
        return function(model, torch.cat([*parts, q[..., done:]], -1), *rates)

    assert torch.autograd.gradcheck(of_entries, tensors(states(model, rng, 2)), eps=1e-6, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_broadcasting(name, rng):
    model = tree()
    q, qd, last = states(model, rng, 2, 3)
    found = getattr(torch_functions, name)(model, *tensors((q[0, 0], qd[:, :1], last)))
    expected = getattr(ld, name)(model, q[0, 0], qd[:, :1], last)
    assert relative(found.detach().numpy(), expected) < 1e-14
    found.sum().backward()


def test_gradients_are_the_derivatives_of_the_library(rng):
    model = tree()
    arguments = states(model, rng)
    whole = tensors(arguments)
    torch_functions.inverse_dynamics(model, *whole)[3].backward()
    d = ld.inverse_dynamics_derivatives(model, *arguments)
    assert relative(whole[1].grad.numpy(), d.dqd[3]) < 1e-14 and relative(whole[2].grad.numpy(), d.dqdd[3]) < 1e-14


def test_single_precision_stays_single(rng):
    model = tree()
    arguments = states(model, rng)
    single = tensors([a.astype(np.float32) for a in arguments])
    found = torch_functions.inverse_dynamics(model, *single)
    assert found.dtype == torch.float32
    expected = ld.inverse_dynamics(model, normalized(model, arguments[0]), *arguments[1:])
    assert relative(found.detach().numpy(), expected) < 1e-4
    found.sum().backward()
    assert single[0].grad.dtype == torch.float32


def test_second_derivatives_are_refused(rng):
    model = tree()
    whole = tensors(states(model, rng))
    (slope,) = torch.autograd.grad(torch_functions.inverse_dynamics(model, *whole).sum(), whole[1], create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        (slope.sum() + whole[1].sum()).backward()


def test_bad_input_is_named(rng):
    model = tree()
    q, qd, qdd = tensors(states(model, rng))
    with pytest.raises(InputError, match="qd"):
        torch_functions.inverse_dynamics(model, q, qd[:-1], qdd)
