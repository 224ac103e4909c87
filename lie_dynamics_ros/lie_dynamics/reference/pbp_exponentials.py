"""Product of exponentials: poses, Jacobians and the adjoint maps that everything else in this room is made of."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from ..arrays import AnyArray
from ..errors import InputError
from ..lie import quaternion, se3
from ..lie._arrays import as_array
from .screw_tree import ScrewTree

Form = Literal["local", "world", "body"]


def _motions(
    tree: ScrewTree, q: npt.ArrayLike, screws: tuple[AnyArray, ...] | None, frames: AnyArray
) -> list[AnyArray]:
    """Return each node's motion: the exponential of its screw, or that of a ball or free joint, seen from a frame."""
    x = as_array(q, (tree.nq,), "q")
    motions = []
    for i, at in enumerate(tree.q_slices):
        if at.stop - at.start == 1:
            assert screws is not None
            motions.append(se3.exp(screws[i][:, 0] * x[..., at]))
            continue
        part = x[..., at]
        position = part[..., 4:] if at.stop - at.start == 7 else np.zeros(3)
        T = se3.from_parts(quaternion.to_matrix(part[..., :4]), position)
        motions.append(np.asarray(frames[i] @ T @ se3.inverse(frames[i])))
    return motions


def _along_paths(tree: ScrewTree, motions: list[AnyArray]) -> list[AnyArray]:
    """Return the product of the motions from the base to each node."""
    products: list[AnyArray] = []
    for parent, motion in zip(tree.parents, motions, strict=True):
        products.append(motion if parent < 0 else np.asarray(products[parent] @ motion))
    return products


def world_products(tree: ScrewTree, q: npt.ArrayLike) -> list[AnyArray]:
    """Return P_i = exp(A_1 x_1) ... exp(A_i x_i) along the path to each node, each (..., 4, 4). PBP (13)."""
    return _along_paths(tree, _motions(tree, q, tree.screws, tree.home))


def local_transforms(tree: ScrewTree, q: npt.ArrayLike) -> list[AnyArray]:
    """Return f_{parent, i} = M_{parent, i} exp(S_i x_i) of each node, each (..., 4, 4). PBP (23)."""
    motions = _motions(tree, q, tree.body_screws, np.broadcast_to(np.eye(4), tree.home.shape))
    found = []
    for i, parent in enumerate(tree.parents):
        M = tree.home[i] if parent < 0 else se3.inverse(tree.home[parent]) @ tree.home[i]
        found.append(np.asarray(M @ motions[i]))
    return found


def node_poses(tree: ScrewTree, q: npt.ArrayLike, form: Form = "world") -> AnyArray:
    """Return the pose (..., n_nodes, 4, 4) of every node's frame; see `product_of_exponentials`."""
    if form == "local":  # PBP (12), with f = M e^{S x} instead of e^{P x} M
        poses = _along_paths(tree, local_transforms(tree, q))
    elif form == "world":  # PBP (13)
        poses = [P @ M for P, M in zip(world_products(tree, q), tree.home, strict=True)]
    elif form == "body":  # PBP (14), B_k = Ad_{M_i^-1} A_k for each body i of its own
        poses = []
        for i, M in enumerate(tree.home):
            T = np.broadcast_to(M, (*np.shape(q)[:-1], 4, 4))
            seen = tuple(se3.Ad(se3.inverse(M)) @ A for A in tree.screws)
            motions = _motions(tree, q, seen, se3.inverse(M) @ tree.home)
            for k in tree.path(i):
                T = T @ motions[k]
            poses.append(T)
    else:
        raise InputError(f"form: 'local', 'world' or 'body' is expected, got {form!r}", name="form", value=form)
    batch = np.shape(q)[:-1]
    return np.stack(poses, axis=-3) if poses else np.empty((*batch, 0, 4, 4))


def product_of_exponentials(tree: ScrewTree, q: npt.ArrayLike, form: Form = "world") -> AnyArray:
    """Return the pose of every body in the world frame as a product of exponentials.

    Parameters
    ----------
    tree : ScrewTree
        Screws and home poses.
    q : array-like, shape (..., nq)
        Configuration [rad, m].
    form : {"local", "world", "body"}
        PBP (12): each exponential next to its own body; (13): all to the left of the home pose, screws seen from the
        world; (14): all to the right of it, screws seen from the body.

    Returns
    -------
    ndarray, shape (..., n_bodies, 4, 4)
        T_world_body [m].
    """
    return np.asarray(node_poses(tree, q, form)[..., list(tree.bodies), :, :])


def exponential_jacobian(
    tree: ScrewTree, q: npt.ArrayLike, body: str | int, form: Literal["world", "body"] = "world"
) -> AnyArray:
    """Return the body Jacobian (..., 6, nv), f^-1 df/dt = J qd, from screws seen from the body (18) or world (20).

    Raises
    ------
    InputError
        For an unknown body or form.
    """
    if form not in ("world", "body"):
        raise InputError(f"form: 'world' or 'body' is expected, got {form!r}", name="form", value=form)
    node = tree.node(body)
    M = tree.home[node]
    to_body = se3.Ad(se3.inverse(M))
    J = np.zeros((*np.shape(q)[:-1], 6, tree.nv), np.result_type(np.asarray(q), np.float64))
    if form == "world":  # PBP (20): Ad_{M^-1} of the screws carried along the path
        P = world_products(tree, q)
        for k in tree.path(node):
            J[..., tree.v_slices[k]] = to_body @ transport(P, node, k) @ tree.screws[k]
        return J
    seen = tuple(to_body @ A for A in tree.screws)  # B_k
    motions = _motions(tree, q, seen, se3.inverse(M) @ tree.home)
    after: AnyArray = np.eye(4)
    for k in tree.path(node)[::-1]:  # PBP (18): e^{-B_n x_n} ... e^{-B_{k+1} x_{k+1}} B_k e^{...}
        J[..., tree.v_slices[k]] = se3.Ad(se3.inverse(after)) @ seen[k]
        after = motions[k] @ after
    return J


def transport(P: list[AnyArray], j: int, a: int) -> AnyArray:
    """Return Ad_j^{a+1} (..., 6, 6): Ad of exp(-A_j x_j) ... exp(-A_{a+1} x_{a+1}), the path from a to j. PBP (37).

    With the parent of i in place of a it is Ad_j^i; -1 stands for the base.
    """
    back = se3.inverse(P[j]) if j >= 0 else np.eye(4)
    return se3.Ad(back @ P[a] if a >= 0 else back)
