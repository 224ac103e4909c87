"""Configurations on the manifold: neutral, random, integrate, difference."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import AnyArray, Array, ArrayLike
from ..errors import InputError
from ..lie import quaternion, se3
from ..lie._arrays import as_numbers
from .model_data import ModelData
from .structure import Joint


def _manifold_joints(model: ModelData) -> list[Joint]:
    return [joint for joint in model.joints if joint.kind in ("spherical", "free")]


def neutral(model: ModelData) -> Array:
    """See `Model.neutral`."""
    q = np.zeros(model.nq)
    for joint in _manifold_joints(model):
        q[joint.q_slice.start + 3] = 1.0
    return q


def random(model: ModelData, rng: np.random.Generator | int) -> Array:
    """See `Model.random`."""
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        rng = np.random.default_rng(rng)
    if isinstance(rng, (int, np.integer)) or not hasattr(rng, "uniform"):
        expected = "numpy.random.default_rng(seed), or a seed from 0 on"
        raise InputError(f"rng: {expected}, is expected, got {rng!r}", name="rng", expected=expected)
    lower, upper = model.limits.lower, model.limits.upper
    reach = np.ones(model.nq)
    for joint in model.joints:
        if joint.coupled:
            continue
        for k, step in enumerate(joint.type.steps):
            if step.rotation:
                reach[joint.q_slice.start + k] = np.pi
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), np.minimum(-reach, upper - reach), -reach))
    high = np.where(np.isfinite(upper), upper, np.maximum(reach, low + reach))
    q = rng.uniform(low, high)
    for joint in _manifold_joints(model):
        start = joint.q_slice.start
        q[start : start + 4] = quaternion.normalize(rng.normal(size=4))
    return q


def checked(value: ArrayLike, size: int, name: str, model: ModelData) -> Array:
    """Return `value` as a finite array (..., size), or raise an InputError that names the coordinate."""
    array = shaped(value, size, name, model)
    require_finite(array, name, model)
    return array


def shaped(value: ArrayLike, size: int, name: str, model: ModelData) -> Array:
    """Return `value` as an array (..., size) of numbers, or raise an InputError.

    A table with named columns, such as a DataFrame, is taken by the names of the joints, in any order, further columns
    aside; names that lack a joint are refused. Columns that are only numbered count by their place.
    """
    if type(value) is not np.ndarray:
        value = by_name(value, size, name, model)
    array = as_numbers(value, name)
    if array.ndim < 1 or array.shape[-1] != size:
        raise InputError(
            f"{name}: shape (..., {size}) is expected by model {model.name!r}, got {array.shape}",
            name=name,
            value=array.shape,
            expected=f"(..., {size})",
        )
    return array


def by_name(value: ArrayLike, size: int, name: str, model: ModelData) -> ArrayLike:
    """Return the columns of the joints of a table whose columns have names, see `shaped`; anything else as it is."""
    columns = getattr(value, "columns", None)
    if columns is None or not any(isinstance(label, str) for label in columns):
        return value
    names = [coordinate_name(model, i, name in ("q", "q0", "q1")) for i in range(size)]
    labels = list(columns)
    missing = [joint for joint in names if labels.count(joint) != 1]
    if missing or len(set(names)) != size:
        lacking = missing[0] if missing else max(names, key=names.count)
        raise InputError(
            f"{name}: a column for each of the joints {names} is expected, got {labels}; {lacking!r} is not there once "
            "(an array without names is taken by its order)",
            name=name,
            value=labels,
            expected=", ".join(names),
        )
    table = np.asarray(value)
    return table[..., [labels.index(joint) for joint in names]]


def rates(value: ArrayLike, name: str, model: Any) -> Array:
    """Return rates, accelerations or forces (..., nv) as an array, a table by its names; no other checks."""
    return np.asarray(value if type(value) is np.ndarray else by_name(value, model.nv, name, model), np.float64)


def require_finite(array: Array, name: str, model: ModelData) -> None:
    """Raise an InputError that names the joint where `array` holds NaN or infinity."""
    if not np.isfinite(array).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        joint = coordinate_name(model, at[-1], name in ("q", "q0", "q1"))
        raise InputError(
            f"{name}: finite numbers are expected, got {array[at]} for joint {joint!r} (index {at})",
            name=joint,
            value=array[at],
            expected="a finite number",
        )


def require_result(model: ModelData, *results: Array) -> None:
    """Raise an InputError where results of finite inputs hold NaN or infinity."""
    if not all(np.isfinite(result).all() for result in results):
        raise InputError(f"model {model.name!r}: the result overflows; the inputs are finite but too large")


def coordinate_name(model: ModelData, index: int, position: bool) -> str:
    """Return the name of the joint that owns a position or velocity coordinate."""
    for joint in model.joints:
        part = joint.q_slice if position else joint.v_slice
        if not joint.coupled and part.start <= index < part.stop:
            return joint.name
    return f"coordinate {index}"


def common_batch(**arrays: Array) -> tuple[int, ...]:
    """Return the axes that arrays (..., n) have in common before their last; raises InputError."""
    try:
        return np.broadcast_shapes(*(array.shape[:-1] for array in arrays.values()))
    except ValueError:
        listed = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"batch dimensions do not fit each other: {listed}") from None


def integrate(model: ModelData, q: ArrayLike, v: ArrayLike) -> Array:
    """See `Model.integrate`."""
    q, v = checked(q, model.nq, "q", model), checked(v, model.nv, "v", model)
    batch = common_batch(q=q, v=v)
    result: AnyArray = np.broadcast_to(q, (*batch, model.nq)).astype(np.result_type(q, v))
    result[..., model.vector_q] += v[..., model.vector_v]
    for joint in _manifold_joints(model):
        a, x = q[..., joint.q_slice], v[..., joint.v_slice]
        if joint.kind == "spherical":
            result[..., joint.q_slice] = _product(a, x)
            continue
        step = se3.exp(x)
        rotation = quaternion.to_matrix(a[..., :4])
        result[..., joint.q_slice.start : joint.q_slice.start + 4] = _product(a[..., :4], x[..., :3])
        moved = (rotation @ step[..., :3, 3:])[..., 0]
        result[..., joint.q_slice.start + 4 : joint.q_slice.stop] = a[..., 4:] + moved
    return result


def _product(a: Array, x: Array) -> Array:
    """Return a exp(x), normalised: round-off must not pile up over many steps."""
    return quaternion.normalize(quaternion.multiply(a, quaternion.exp(x)))


def difference(model: ModelData, q0: ArrayLike, q1: ArrayLike) -> Array:
    """See `Model.difference`."""
    q0, q1 = checked(q0, model.nq, "q0", model), checked(q1, model.nq, "q1", model)
    batch = common_batch(q0=q0, q1=q1)
    v: AnyArray = np.empty((*batch, model.nv), np.result_type(q0, q1))
    v[..., model.vector_v] = q1[..., model.vector_q] - q0[..., model.vector_q]
    for joint in _manifold_joints(model):
        a, b = q0[..., joint.q_slice], q1[..., joint.q_slice]
        if joint.kind == "spherical":
            v[..., joint.v_slice] = quaternion.log(quaternion.multiply(quaternion.conjugate(a), b))
        else:
            A = se3.from_position_quaternion(np.zeros(3), a[..., :4])
            B = se3.from_position_quaternion(b[..., 4:] - a[..., 4:], b[..., :4])  # far away, no digit is lost
            v[..., joint.v_slice] = se3.log(se3.compose(se3.inverse(A), B))
    return v
