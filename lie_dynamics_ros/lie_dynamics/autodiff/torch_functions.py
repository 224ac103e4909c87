"""Inverse and forward dynamics of PyTorch tensors, on the processor, with exact first derivatives."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..model.arguments import require_model
from ..model.model import Model
from . import FORWARD, INVERSE, Dynamics


def inverse_dynamics(model: Model, q: Any, qd: Any, qdd: Any) -> Any:
    """Return the joint forces (..., nv) of a motion, as `lie_dynamics.inverse_dynamics`, for tensors.

    Parameters
    ----------
    model : Model
        The robot.
    q, qd, qdd : torch.Tensor, shape (..., nq), (..., nv), (..., nv)
        Configurations, rates, accelerations; leading axes are broadcast. Numbers are float64 within; the result has the
        type and device of what they are promoted to. Derivatives along entries of quaternions are those of
        f(q / |q|). Second derivatives are refused.

    Raises
    ------
    ImportError
        Where PyTorch is not installed.
    InputError
        For shapes that do not fit, and numbers that are not finite.
    """
    return _apply(INVERSE, model, q, qd, qdd)


def forward_dynamics(model: Model, q: Any, qd: Any, tau: Any) -> Any:
    """Return the accelerations (..., nv) that joint forces cause; else as `inverse_dynamics` here."""
    return _apply(FORWARD, model, q, qd, tau)


def _apply(dynamics: Dynamics, model: Model, *arguments: Any) -> Any:
    import torch

    require_model(model)
    tensors = [torch.as_tensor(argument) for argument in arguments]
    batch = torch.broadcast_shapes(*(tensor.shape[:-1] for tensor in tensors))
    kind = tensors[0].dtype
    for tensor in tensors[1:]:
        kind = torch.promote_types(kind, tensor.dtype)
    whole = [tensor.to(kind).expand(*batch, tensor.shape[-1]) for tensor in tensors]
    return _function().apply(dynamics, model, *whole)


@cache
def _function() -> Any:
    import torch

    class Slopes(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, dynamics: Dynamics, model: Model, gradient: Any, *tensors: Any) -> Any:
            blocks = dynamics.derivatives(model, *map(_numbers, tensors))
            row = _numbers(gradient)[..., None, :]
            return tuple(gradient.new_tensor((row @ block)[..., 0, :]) for block in blocks)

        @staticmethod
        def backward(context: Any, *gradients: Any) -> Any:  # or PyTorch would take slopes for constants
            raise RuntimeError("dynamics of lie_dynamics have first derivatives only, second ones were requested")

    class Evaluation(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, dynamics: Dynamics, model: Model, *tensors: Any) -> Any:
            context.dynamics, context.model = dynamics, model
            context.save_for_backward(*tensors)
            return tensors[0].new_tensor(dynamics.value(model, *map(_numbers, tensors)))

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return None, None, *Slopes.apply(context.dynamics, context.model, gradient, *context.saved_tensors)

    return Evaluation


def _numbers(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy().astype(np.float64)
