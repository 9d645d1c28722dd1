"""How a built-in tool says that it could not do what was asked."""

from __future__ import annotations


class ToolFailure(Exception):
    """Why a call came to nothing, in words for the model: the host tells it these words and no more."""


def os_failure(shown: str, error: OSError) -> ToolFailure:
    """What the system said of a path, without its error numbers."""
    return ToolFailure(f"{shown}: {error.strerror or type(error).__name__}")
