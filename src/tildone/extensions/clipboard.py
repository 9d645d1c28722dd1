"""Copies text to the clipboard with a program of the platform."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from shutil import which
from subprocess import DEVNULL, SubprocessError, run

TIMEOUT_SECONDS = 5

LINUX_PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
)
"""Clipboard programs, each with the environment variable that names its display."""


def copy_to_clipboard(text: str) -> bool:
    encoding = "utf-16" if sys.platform == "win32" else "utf-8"
    for name, *options in programs(sys.platform, os.environ):
        executable = which(name)
        if executable is None:
            continue
        try:
            # No pipes: the process that owns the clipboard stays alive and would keep them open.
            run(  # noqa: S603  one of the programs above
                [executable, *options],
                input=text.encode(encoding, "backslashreplace"),
                stdout=DEVNULL,
                stderr=DEVNULL,
                timeout=TIMEOUT_SECONDS,
                check=True,
            )
        except (OSError, SubprocessError):
            continue
        return True
    return False


def programs(platform: str, environ: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the programs to try, in order of preference."""
    if platform == "darwin":
        return [("pbcopy",)]
    if platform == "win32":
        return [("clip",)]
    return [program for variable, program in LINUX_PROGRAMS if environ.get(variable)]
