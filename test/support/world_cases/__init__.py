"""The functions of `test_any_world`, each brought back from any world to one: `CASES`, by their names."""

from . import derivatives, loops, trees  # they fill the table
from .table import CASES

__all__ = ["CASES", "derivatives", "loops", "trees"]
