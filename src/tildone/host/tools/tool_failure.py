"""The error of a built-in tool."""

from __future__ import annotations


class ToolFailure(Exception):
    """Why a call failed. The host shows the model this message and nothing else."""


def os_failure(shown: str, error: OSError) -> ToolFailure:
    """The failure for an error of the operating system on a path, without the error number."""
    return ToolFailure(f"{shown}: {error.strerror or type(error).__name__}")
