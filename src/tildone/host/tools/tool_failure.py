"""The error of a built-in tool."""

from __future__ import annotations


class ToolFailure(Exception):
    """A tool call failed. The model is shown only this message."""


def os_failure(shown: str, error: OSError) -> ToolFailure:
    """Return the failure for an operating system error on a path, without the error number."""
    return ToolFailure(f"{shown}: {error.strerror or type(error).__name__}")
