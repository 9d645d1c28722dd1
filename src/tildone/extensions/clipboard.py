"""The clipboard, by whatever program there is that takes it."""

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
"""Programs that take the clipboard's text, each with the variable that says its display is there."""


def copy_to_clipboard(text: str) -> bool:
    """Put the text into the clipboard; False where no program takes it."""
    encoding = "utf-16" if sys.platform == "win32" else "utf-8"
    for name, *options in programs(sys.platform, os.environ):
        found = which(name)
        if found is None:
            continue
        try:
            # Its output goes nowhere: what holds the clipboard lives on, and would hold our pipes as well.
            run(  # noqa: S603  one of the programs above
                [found, *options],
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
    """The programs worth trying, best first."""
    if platform == "darwin":
        return [("pbcopy",)]
    if platform == "win32":
        return [("clip",)]
    return [program for variable, program in LINUX_PROGRAMS if environ.get(variable)]
