"""Status codes of kernels as exceptions."""

from __future__ import annotations


def raise_if_rejected(status: int) -> int:
    """Return the status of a direct kernel that was called with arrays made for it.

    Raises
    ------
    TypeError
        It did not take them (-1), of another type or shape or not contiguous, and has left its output as it was.
    """
    if status < 0:
        raise TypeError("a kernel was called with arrays that it does not take")
    return status
