"""The name of the person on this machine, for the history: from git's settings, else from the system.

Git's files are read directly, because starting git takes longer than a command of ours. Included files are not
followed. A name comes from files that others may have written, a project's among them: it is bounded, it is one line of
printable characters, and nothing that goes wrong with it is an error.
"""

from __future__ import annotations

import os

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_NAME_CHARS = 60
MAX_FILE_BYTES = 100_000
"""How much of a file is read. Files of git's settings are a few hundred bytes long."""

_ESCAPES = {"n": " ", "t": " ", "b": ""}


def person_name(environ: Mapping[str, str], project: str) -> str:
    """Return the person's name: git's `user.name` in the project or for the user, else the login name."""
    for path in _git_files(environ, project):
        name = clean_name(_user_name(_text(path)))
        if name:
            return name
    return clean_name(_system_user(environ))


def clean_name(text: str) -> str:
    """Return a name as one line of at most `MAX_NAME_CHARS` printable characters."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text[: MAX_NAME_CHARS * 4].split())[:MAX_NAME_CHARS].strip()


def _git_files(environ: Mapping[str, str], project: str) -> Iterator[str]:
    """The files of git's settings, the most specific first."""
    yield os.path.join(_git_folder(project), "config")
    yield os.path.expanduser(os.path.join("~", ".gitconfig"))
    home = environ.get("XDG_CONFIG_HOME") or os.path.expanduser(os.path.join("~", ".config"))
    yield os.path.join(home, "git", "config")


def _git_folder(project: str) -> str:
    """The folder with the settings of a project's repository. A worktree shares that of its main checkout."""
    folder = os.path.join(project, ".git")
    if os.path.isdir(folder):
        return folder
    target = _text(folder).removeprefix("gitdir:").strip()
    own = os.path.join(project, target)
    shared = _text(os.path.join(own, "commondir")).strip() if target else ""
    return os.path.join(own, shared)


def _user_name(config: str) -> str:
    """The last value of `name` in a section `[user]`; empty if there is none."""
    found, in_section = "", False
    for line in config.splitlines():
        words = line.strip()
        if words.startswith("["):
            header, _, words = words[1:].partition("]")
            in_section = header.strip().lower() == "user"
            words = words.strip()
        key, equals, text = words.partition("=")
        if in_section and equals and key.strip().lower() == "name":
            found = _value(text.strip())
    return found


def _value(text: str) -> str:
    """The value of a setting, without quotation marks, escapes and a comment."""
    characters, quoted = list[str](), False
    pending = iter(text)
    for char in pending:
        if char == "\\":
            following = next(pending, "")
            characters.append(_ESCAPES.get(following, following))
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            characters.append(char)
    return "".join(characters)


def _text(path: str) -> str:
    """The text of a file; empty if it is no regular file or cannot be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _system_user(environ: Mapping[str, str]) -> str:
    """The login name of this process's user; its number if it has no name."""
    try:
        # Not on Windows, and a user of a container may have no entry.
        import pwd  # noqa: PLC0415  see above

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        named = environ.get("USER") or environ.get("LOGNAME") or environ.get("USERNAME")
        return named or (f"uid {os.getuid()}" if hasattr(os, "getuid") else "")
