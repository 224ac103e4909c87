"""Geometry and the papers' closed forms under one name: all that `geometry` and `reference` offer."""

from . import geometry, reference
from .geometry import *  # noqa: F403
from .reference import *  # noqa: F403

__all__ = [*geometry.__all__, *reference.__all__]  # noqa: PLE0604
