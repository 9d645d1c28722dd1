"""Programs of the person: the editor that $VISUAL or $EDITOR names, the pager that $PAGER does, and the clipboard.

Editor and pager have the terminal.
"""

import os
import shlex
import subprocess
import tempfile
from base64 import b64encode
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


def page_text(text: str) -> bool:
    """Show a text in $PAGER, else in `less`; return False if there is no pager that stays until the person has read."""
    try:
        words = shlex.split(os.environ.get("PAGER") or "less")
        if not words or os.path.basename(words[0]) == "cat":
            return False
        return subprocess.run(words, input=text.encode("utf-8", "replace"), check=False).returncode == 0  # noqa: S603  the person's own command
    except (OSError, ValueError):
        return False


CLIPBOARD_SECONDS = 5
_CLIPBOARDS = (
    ("pbcopy", "", ()),
    ("wl-copy", "WAYLAND_DISPLAY", ()),
    ("xclip", "DISPLAY", ("-selection", "clipboard")),
    ("xsel", "DISPLAY", ("--clipboard", "--input")),
    ("clip.exe", "WSL_DISTRO_NAME", ()),
    ("clip.exe", "WINDIR", ()),
)
"""Programs that copy what they read, each with the environment variable that it needs."""


def clipboard_programs(environ: Mapping[str, str]) -> list[list[str]]:
    """Return the commands that copy what they read; none over SSH, because they would copy on another machine."""
    if environ.get("SSH_CONNECTION"):
        return []
    found = [
        (which(name, path=environ.get("PATH")), options)
        for name, needs, options in _CLIPBOARDS
        if not needs or environ.get(needs)
    ]
    return [[path, *options] for path, options in found if path]


def copy_to_clipboard(text: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Copy a text by the first program that works, and return whether there is one."""
    for command in clipboard_programs(environ):
        encoding = "utf-16" if command[0].lower().endswith("clip.exe") else "utf-8"
        try:
            # No pipes: the process that owns the clipboard stays alive and would keep them open.
            subprocess.run(  # noqa: S603  one of the programs above
                command,
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


def terminal_copy(text: str) -> str:
    """Return the sequence (OSC 52) that asks a terminal to copy a text. It works over SSH, and is not confirmed."""
    return f"\x1b]52;c;{b64encode(text.encode(errors='backslashreplace')).decode()}\x07"
