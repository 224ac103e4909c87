"""Inverse and forward dynamics of JAX arrays, on the processor, with exact first derivatives in both modes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..model.arguments import require_model
from ..model.model import Model
from . import FORWARD, INVERSE, Dynamics


def inverse_dynamics(model: Model, q: Any, qd: Any, qdd: Any) -> Any:
    """Return the joint forces (..., nv) of a motion, as `lie_dynamics.inverse_dynamics`, for JAX arrays.

    Works within `jax.jit`, `jax.vmap`, `jax.jvp` and `jax.grad`, as a callback to this process.

    Parameters
    ----------
    model : Model
        The robot.
    q, qd, qdd : jax.Array, shape (..., nq), (..., nv), (..., nv)
        Configurations, rates, accelerations; leading axes are broadcast. Numbers are float64 within; results are of
        the type they are promoted to, float32 unless ``jax_enable_x64`` is set. Derivatives along entries of
        quaternions are those of f(q / |q|). Second derivatives are refused by JAX.

    Raises
    ------
    ImportError
        Where JAX is not installed.
    InputError
        For shapes that do not fit, and numbers that are not finite; within `jax.jit` JAX wraps it.
    """
    return _apply(INVERSE, model, q, qd, qdd)


def forward_dynamics(model: Model, q: Any, qd: Any, tau: Any) -> Any:
    """Return the accelerations (..., nv) that joint forces cause; else as `inverse_dynamics` here."""
    return _apply(FORWARD, model, q, qd, tau)


def _apply(dynamics: Dynamics, model: Model, *arguments: Any) -> Any:
    import jax.numpy as jnp

    require_model(model)
    arrays = [jnp.asarray(argument) for argument in arguments]
    batch = jnp.broadcast_shapes(*(array.shape[:-1] for array in arrays))
    kind = jnp.result_type(*arrays)
    whole = [jnp.broadcast_to(array.astype(kind), (*batch, array.shape[-1])) for array in arrays]
    return _function(dynamics, model)(*whole)


@lru_cache(maxsize=64)
def _function(dynamics: Dynamics, model: Model) -> Any:
    import jax

    def value(*arrays: Any) -> Any:
        shape = jax.ShapeDtypeStruct((*arrays[1].shape[:-1], model.nv), arrays[1].dtype)
        return jax.pure_callback(_called(dynamics.value, model), shape, *arrays, vmap_method="broadcast_all")

    def derivatives(*arrays: Any) -> Any:
        batch, kind = arrays[1].shape[:-1], arrays[1].dtype
        shapes = tuple(jax.ShapeDtypeStruct((*batch, model.nv, array.shape[-1]), kind) for array in arrays)
        return jax.pure_callback(_called(dynamics.derivatives, model), shapes, *arrays, vmap_method="broadcast_all")

    function = jax.custom_jvp(value)

    @function.defjvp  # type: ignore[untyped-decorator]
    def _tangents(arrays: Any, tangents: Any) -> Any:
        pairs = zip(derivatives(*arrays), tangents, strict=True)
        return value(*arrays), sum((block @ tangent[..., None])[..., 0] for block, tangent in pairs)

    return function


def _called(function: Any, model: Model) -> Any:
    """Return a function for `jax.pure_callback`: numbers in, numbers of the same type out."""

    def call(*arrays: Any) -> Any:
        numbers = [np.asarray(array, dtype=np.float64) for array in arrays]
        found = function(model, *numbers)
        kind = arrays[0].dtype
        return tuple(x.astype(kind) for x in found) if isinstance(found, tuple) else found.astype(kind)

    return call
