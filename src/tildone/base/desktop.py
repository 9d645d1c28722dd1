"""Programs of the person: the editor that $VISUAL or $EDITOR names, which has the terminal, and the clipboard."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from shutil import which


def editor_command() -> str:
    """Return the command line of the editor; empty if the person has named none."""
    return (os.environ.get("VISUAL") or os.environ.get("EDITOR") or "").strip()


def run_editor(path: str) -> str:
    """Open a file in the editor, wait until it exits, and return why that failed; empty if it has not."""
    command = editor_command()
    if not command:
        return "no editor is configured; set $VISUAL or $EDITOR"
    try:
        words = shlex.split(command, posix=os.name == "posix")
    except ValueError as error:
        return f"cannot run {command}: {error}"
    try:
        code = subprocess.run([*words, path], check=False).returncode  # noqa: S603  the person's own command
    except OSError as error:
        return f"cannot run {words[0]}: {error.strerror}"
    return f"{words[0]} exited with code {code}" if code else ""


def edit_text(text: str) -> str | None:
    """Return the text as it was saved; None if there is no editor, or if it failed."""
    handle, path = tempfile.mkstemp(prefix="tildone-", suffix=".md")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
        if run_editor(path):
            return None
        with open(path, "rb") as file:
            return file.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.remove(path)


CLIPBOARD_SECONDS = 5

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
            subprocess.run(  # noqa: S603  one of the programs above
                [executable, *options],
                input=text.encode(encoding, "backslashreplace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=CLIPBOARD_SECONDS,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return True
    return False


def programs(platform: str, environ: Mapping[str, str]) -> list[tuple[str, ...]]:
    if platform == "darwin":
        return [("pbcopy",)]
    if platform == "win32":
        return [("clip",)]
    return [program for variable, program in LINUX_PROGRAMS if environ.get(variable)]
