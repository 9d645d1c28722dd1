"""How a built-in tool says that it could not do what was asked."""

from __future__ import annotations


class Failed(Exception):
    """Why a call came to nothing, in words for the model: the host tells it these words and no more."""


def because(shown: str, error: OSError) -> Failed:
    """What the system said of a path, without its error numbers."""
    return Failed(f"{shown}: {error.strerror or type(error).__name__}")
