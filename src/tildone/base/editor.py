"""The person's editor: the program that $VISUAL or $EDITOR names. It has the terminal until it exits."""

import os


def editor_command() -> str:
    """Return the command line of the editor; empty if the person has named none."""
    return (os.environ.get("VISUAL") or os.environ.get("EDITOR") or "").strip()


def run_editor(path: str) -> str:
    """Open a file in the editor, wait until it exits, and return why that failed; empty if it has not."""
    # Late, because few commands open an editor.
    import shlex  # noqa: PLC0415  see above
    import subprocess  # noqa: PLC0415  see above

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
    import tempfile  # noqa: PLC0415  see `run_editor`

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
