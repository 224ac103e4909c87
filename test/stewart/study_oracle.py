"""Poses as zeros of eight quadrics in Study coordinates, in any precision: shares no code with the library.

With quaternions e (rotation) and g (translation 2 g e*), y = e b + 2 g - a e times e* is the leg vector times e.e, so
that a leg of length L means y.y = L^2 e.e; e.g = 0, and c.e = 1 for a random c fixes the scale.
"""

import mpmath as mp
import numpy as np


def _left(a):
    x, y, z = a
    return np.array([[0, -x, -y, -z], [x, 0, -z, y], [y, z, 0, -x], [z, -y, x, 0]])


def _right(b):
    x, y, z = b
    return np.array([[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]])


def _scale(rng):
    return rng.normal(size=4) + 1j * rng.normal(size=4)


def study_point(T):
    """Study coordinates (8,) of a pose, e a unit quaternion (w, x, y, z), by an eigenvector."""
    R, p = T[:3, :3], T[:3, 3]
    K = np.zeros((4, 4))
    K[1:, 1:] = R + R.T - np.trace(R) * np.eye(3)
    K[0, 0] = np.trace(R)
    K[0, 1:] = K[1:, 0] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    e = np.linalg.eigh(K)[1][:, 3]
    return np.concatenate([e, 0.5 * _left(p) @ e])


def zeros_by_blind_newton(base, platform, lengths, rng, starts, reach):
    """Return the different regular zeros (k, 8), e.e = 1, to which Newton's method gets from random complex points."""
    maps = np.array([_right(b) - _left(a) for a, b in zip(base, platform, strict=True)])
    c = _scale(rng)
    x = rng.normal(size=(starts, 8, 2)) @ (1.0, 1j)
    x[:, 4:] *= reach
    x /= (x[:, :4] @ c)[:, None]
    last, blur, going = np.full(starts, np.inf), rng.normal(size=(8, 8)), np.arange(starts)
    with np.errstate(all="ignore"):
        for _ in range(80):
            f, jacobian = _quadrics(maps, lengths, c, x[going])
            lost = ~np.isfinite(f).all(axis=1) | ~(np.abs(x[going]).max(axis=1) < 1e30)
            going, f, jacobian = going[~lost], f[~lost], jacobian[~lost]
            # Rounding errors, where Newton's method would meet a matrix that is singular to the last bit.
            size = np.abs(jacobian).max(axis=(1, 2))[:, None, None]
            step = np.linalg.solve(jacobian + 1e-15 * size * blur, f[..., None])[..., 0]
            last[going] = np.linalg.norm(step, axis=1) / np.linalg.norm(x[going], axis=1)
            x[going] -= np.nan_to_num(step)
            going = going[~(last[going] < 1e-13)]
    x = x[last < 1e-11]
    regular = np.linalg.cond(_quadrics(maps, lengths, c, x)[1]) < 1e6
    finite = np.abs((x[:, :4] ** 2).sum(axis=1)) > 1e-5 * (np.abs(x) ** 2).sum(axis=1)
    x = x[regular & finite]
    x = x / np.sqrt((x[:, :4] ** 2).sum(axis=1))[:, None]
    kept = []
    for z in x:
        if all(min(np.abs(z - y).max(), np.abs(z + y).max()) > 1e-6 * np.abs(z).max() for y in kept):
            kept.append(z)
    return np.array(kept).reshape(-1, 8)


def _quadrics(maps, lengths, c, x):
    e, g = x[:, :4], x[:, 4:]
    y = np.einsum("ijk,nk->nij", maps, e) + 2.0 * g[:, None]
    f = np.empty((len(x), 8), dtype=complex)
    jacobian = np.zeros((len(x), 8, 8), dtype=complex)
    squares = lengths**2
    f[:, :6] = (y * y).sum(axis=2) - squares * (e * e).sum(axis=1)[:, None]
    jacobian[:, :6, :4] = 2.0 * (np.einsum("nij,ijk->nik", y, maps) - squares[:, None] * e[:, None])
    jacobian[:, :6, 4:] = 4.0 * y
    f[:, 6], f[:, 7] = (e * g).sum(axis=1), e @ c - 1.0
    jacobian[:, 6, :4], jacobian[:, 6, 4:], jacobian[:, 7, :4] = g, e, c
    return f, jacobian


def alpha_of_refined(base, platform, lengths, T, digits=60):
    """Refine a real pose in high precision; return how far it went (Study coordinates) and Smale's alpha there.

    Below 0.1577 alpha proves that there is one zero near, and a real one, as the start and the equations are real.
    """
    with mp.workdps(digits):
        maps = [mp.matrix((_right(b) - _left(a)).tolist()) for a, b in zip(base, platform, strict=True)]
        # Legs are sums of exact products of the given numbers, so that rounding is that of `digits`.
        squares = [mp.mpf(float(x)) ** 2 for x in lengths]
        first = [mp.mpf(v) for v in study_point(T).tolist()]
        x, c = mp.matrix(first), [mp.mpf(v) for v in study_point(T)[:4].tolist()]
        for _ in range(12):
            f, jacobian = _exact(maps, squares, c, x)
            step = mp.lu_solve(jacobian, f)
            x = x - step
            if mp.norm(step) < mp.mpf(10) ** (-digits // 2):  # the next would be below the last digit
                break
        f, jacobian = _exact(maps, squares, c, x)
        inverse = jacobian**-1
        beta = mp.norm(inverse * f)
        # The second derivative of y.y - L^2 e.e on unit vectors is at most 2 (|map| + 2)^2 + 2 L^2.
        bounds = [2 * (mp.mnorm(m, "f") + 2) ** 2 + 2 * s for m, s in zip(maps, squares, strict=True)]
        second = mp.sqrt(sum(b**2 for b in bounds) + 4)
        gamma = mp.mnorm(inverse, "f") * second / 2
        return float(mp.norm(x - mp.matrix(first))), float(beta * gamma)


def _exact(maps, squares, c, x):
    e, g = x[:4], x[4:]
    f, jacobian = mp.zeros(8, 1), mp.zeros(8, 8)
    for i, (m, square) in enumerate(zip(maps, squares, strict=True)):
        y = m * mp.matrix(e) + 2 * mp.matrix(g)
        f[i] = mp.fdot(y, y) - square * mp.fdot(e, e)
        row = m.T * y
        for j in range(4):
            jacobian[i, j] = 2 * (row[j] - square * e[j])
            jacobian[i, 4 + j] = 4 * y[j]
    f[6], f[7] = mp.fdot(e, g), mp.fdot(c, e) - 1
    for j in range(4):
        jacobian[6, j], jacobian[6, 4 + j], jacobian[7, j] = g[j], e[j], c[j]
    return f, jacobian
