"""Copying: by the terminal (OSC 52), and by the platform's own tool if there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

from tildone.kit.formatting import format_count

TIMEOUT_SECONDS = 5
_TOOLS = (
    ("pbcopy", "", ()),
    ("wl-copy", "WAYLAND_DISPLAY", ()),
    ("xclip", "DISPLAY", ("-selection", "clipboard")),
    ("xsel", "DISPLAY", ("--clipboard", "--input")),
    ("clip.exe", "WSL_DISTRO_NAME", ()),
)


def platform_tool(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the command that copies what it reads; empty if there is none, or if it would copy on another machine."""
    if environ.get("SSH_CONNECTION"):
        return []
    for name, needs, options in _TOOLS:
        path = shutil.which(name, path=environ.get("PATH")) if not needs or environ.get(needs) else None
        if path:
            return [path, *options]
    return []


def copy_by_tool(text: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Copy a text by the platform's tool, and return whether that has worked."""
    command = platform_tool(environ)
    if not command:
        return False
    try:
        # Not captured: such a tool may stay in the background, with its output open.
        done = subprocess.run(  # noqa: S603  a tool by its full path, which reads the text
            command,
            input=text.encode(errors="replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def copied_words(text: str, *, certain: bool) -> str:
    """Return what to tell the person. A copy is not certain if only the terminal was asked for it."""
    if not certain:
        return "copied, if the terminal allows it"
    return f"copied {format_count(text.count(chr(10)) + 1, 'line')}"
