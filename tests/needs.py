"""What some tests need and a machine may lack: such a test is skipped, and the summary says why.

The system is asked, never the code under test: if that is broken, its tests have to fail.
"""

import os
import shutil
import socket
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest


def need(program: str) -> None:
    """Skip the test if a program is not on PATH."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def need_address(host: str) -> None:
    """Skip the test if this machine has no interface with an address."""
    try:
        with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            pass
    except OSError as error:
        pytest.skip(f"this machine has no {host}: {error}")


def need_control_groups() -> None:
    """Skip the test if the kernel lets this process make no control group of version 2, or move no process into it."""
    if problem := _problem_with_control_groups():
        pytest.skip(f"control groups (version 2) cannot be used here: {problem}")


@cache
def _problem_with_control_groups() -> str:
    """Make a group, put a process in it, and let the kernel kill it; return what goes wrong."""
    try:
        mounts = [line.split(" - ") for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
        roots = [place.split()[4] for place, kind in mounts if kind.startswith("cgroup2 ")]
        own = [line for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines() if line[:3] == "0::"]
        group = Path(f"{roots[0]}{own[0][3:]}", f"tests-{os.getpid()}")
        group.mkdir()
    except (OSError, IndexError) as error:
        return str(error) or type(error).__name__
    try:
        with subprocess.Popen(["sleep", "3600"]) as process:
            try:
                (group / "cgroup.procs").write_text(str(process.pid), encoding="utf-8")
                (group / "cgroup.freeze").write_text("1", encoding="utf-8")
                (group / "cgroup.kill").write_text("1", encoding="utf-8")
            finally:
                process.kill()
    except OSError as error:
        return str(error)
    finally:
        with suppress(OSError):
            group.rmdir()
    return ""
