"""Dynamics as functions of PyTorch and JAX, whose automatic differentiation uses the exact derivatives of this library.

`torch_functions` and `jax_functions` import their packages when they are called: neither is needed otherwise.
"""

from . import jax_functions, torch_functions

__all__ = ["jax_functions", "torch_functions"]
