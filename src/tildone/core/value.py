"""Moved."""

from tildone.value import but, value

__all__ = ["but", "value"]
