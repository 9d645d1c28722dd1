"""Programs that some tests need and a machine may lack: such a test is skipped, and the summary says why."""

import shutil

import pytest


def need(program: str) -> None:
    """Skip the test if a program is not on PATH."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
