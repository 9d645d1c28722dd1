"""The settings file of a project, of which an untrusted one may only choose a dialect and tighten bounds.

Few projects have one, so the module is imported only where there is one.
"""

from __future__ import annotations

import os
import stat

from tildone.config.settings_file import parse
from tildone.config.trust import is_trusted
from tildone.config.values import FLOORS, LIMITS
from tildone.loop.decision import Patience
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MAX_BYTES = 100_000
ALWAYS_APPLICABLE = ("dialect",)
"""The settings that an untrusted file may set to any value."""


@value
class ProjectFile:
    """The settings file of a project.

    `settings` are the valid ones and `problems` what is wrong with the others. `content` is None if the file cannot be
    read.
    """

    path: str
    content: bytes | None
    trusted: bool
    settings: dict[str, Any]
    problems: tuple[str, ...]


def read_project_file(path: str, data: str) -> ProjectFile:
    """Read the settings file of a project. `data` is the data folder, which holds the records of trust."""
    problems: list[str] = []
    content = read_regular(path, problems)
    if content is None:
        return ProjectFile(path, None, trusted=False, settings={}, problems=tuple(problems))
    settings = parse(path, content, problems)
    return ProjectFile(path, content, is_trusted(data, path, content), settings, tuple(problems))


def applicable(file: ProjectFile, person: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the file that apply beside those in the `person`'s own file.

    A trusted file may set everything, but does not loosen a bound that the person has set. An untrusted one does not
    loosen a bound at all, and tightens none so far that nothing would be left of it (`FLOORS`).
    """
    names = file.settings if file.trusted else (*ALWAYS_APPLICABLE, *LIMITS)
    return {
        name: file.settings[name]
        for name in names
        if name in file.settings and (name not in LIMITS or _is_tightened(name, file, person))
    }


def ignored(file: ProjectFile, applied: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the settings that an untrusted file contains in vain."""
    if file.trusted:
        return ()
    names = tuple(name for name in file.settings if name not in applied)
    return names or (("all settings",) if file.problems else ())


def _is_tightened(name: str, file: ProjectFile, person: Mapping[str, Any]) -> bool:
    lowest = 0 if file.trusted else FLOORS[name]
    is_tight: bool = lowest <= file.settings[name] <= _limit(name, person, with_default=not file.trusted)
    return is_tight


def _limit(name: str, person: Mapping[str, Any], *, with_default: bool) -> float:
    """Return the value of a bound that may not be exceeded."""
    limit = person.get(name)
    if limit is None and with_default:
        limit = getattr(Patience(), LIMITS[name])
    return float("inf") if limit is None else limit


def read_regular(path: str, problems: list[str]) -> bytes | None:
    """Return the content of a regular file of a sensible size; None, with the reason in `problems`, if it is not one.

    A pipe or a device could block, or have no end.
    """
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            problems.append(f"{path}: not a regular file")
            return None
        content = os.read(file, MAX_BYTES + 1)
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return None
    finally:
        os.close(file)
    if len(content) > MAX_BYTES:
        problems.append(f"{path}: the file is larger than {MAX_BYTES // 1000} kB")
        return None
    return content
