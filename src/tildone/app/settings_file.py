"""Settings files: a person's own, and that of a project, of which a person decides whether it is trusted.

A settings file in a project comes with the repository, so somebody else may have written it. Only after `tildone trust`
do all of its settings apply, and only for as long as its content stays the same. A record of trust is a file in the
data folder that holds the path of the settings file and the approved content, which is compared byte by byte.

Few users have such a file, so the module is imported only where there is one.
"""

import os
import stat
import tomllib
from binascii import crc32
from collections.abc import Mapping
from typing import Any

from tildone.app import values
from tildone.base import TildoneError, UsageError, nearest, value
from tildone.base.files import remove_if_there, replace_file
from tildone.base.keys import ALL_BINDINGS, EXPAND, clash, is_key, key_names
from tildone.base.private import make_private_folder
from tildone.log.settings import ENGINES
from tildone.plan.gate import Patience
from tildone.plan.names import MAX_LABELS, check_text


def split_form(form: str) -> tuple[str, str]:
    """Return the file or module, and the name of the function; without one, the name is empty.

    What follows the colon of a drive letter is a path and not a name.
    """
    target, _, name = form.rpartition(":")
    return (target, name) if target and name.isidentifier() else (form, "")


def is_file(target: str) -> bool:
    return target.endswith(".py") or "/" in target or os.sep in target


def absolute_form(form: str, folder: str) -> str:
    """Return the form with the path of a file made absolute, relative to `folder`."""
    target, name = split_form(form)
    if not is_file(target):
        return form
    path = values.absolute(target, folder)
    return f"{path}:{name}" if name else path


def files_of(forms: list[str]) -> list[str]:
    return list(dict.fromkeys(target for form in forms if is_file(target := split_form(form)[0])))


FLEET_TEXTS = ("store", "worktrees", "engine", "notify")
LISTS = ("labels", "allow", "ask", "agents")

MAX_SLOTS, MAX_RETRIES = 1_000, 100
MAX_SECONDS = 86_400
MAX_MEGABYTES = 1_000_000_000

FLEET_NUMBERS = {
    "lease": (1, MAX_SECONDS),
    "slots": (1, MAX_SLOTS),
    "grace": (1, MAX_SECONDS),
    "min_free_mb": (1, MAX_MEGABYTES),
    "retries": (0, MAX_RETRIES),
}
"""The least and the most that each number may be."""

FLEET_KEYS = (*FLEET_TEXTS, *FLEET_NUMBERS, *LISTS)


@value
class FleetConfig:
    """What a person has set for fleets. What is empty or 0 is not set.

    `store` is where the runs are, unless a command names another store. `lease` and `grace` are in seconds. `slots`,
    `labels`, `allow`, `ask` and `agents` are those of workers on this machine; an empty `ask` differs from none.
    `worktrees` is the folder for their files; with less than `min_free_mb` megabytes of space there, they take nothing.
    An attempt that has failed is repeated `retries` times. `engine` is what `tildone fleet up` sets for all workers.
    `notify` is a command that workers run when a run needs the person, and when all have ended.
    """

    store: str = ""
    worktrees: str = ""
    engine: str = ""
    notify: str = ""
    lease: int = 0
    slots: int = 0
    grace: int = 0
    min_free_mb: int = 0
    labels: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    ask: tuple[str, ...] | None = None
    retries: int | None = None


def fleet_config(table: Mapping[str, Any]) -> FleetConfig:
    given: dict[str, Any] = {
        key: tuple(table[key]) if key in LISTS else table[key] for key in FLEET_KEYS if key in table
    }
    return FleetConfig(**given)


def _fleet_fault(key: str, given: object) -> str:
    if key not in FLEET_KEYS:
        return f"there is no setting {key!r}; known are {', '.join(FLEET_KEYS)}"
    if key in FLEET_TEXTS:
        if not isinstance(given, str) or not given:
            return f"{key} must be a non-empty string in quotes"
        if key == "engine" and given not in ENGINES:
            return f"engine must be {' or '.join(ENGINES)}"
        return _address_fault(key, given)
    if key in FLEET_NUMBERS:
        least, most = FLEET_NUMBERS[key]
        is_number = isinstance(given, int) and not isinstance(given, bool) and least <= given <= most
        return "" if is_number else f"{key} must be a whole number from {least} to {most}"
    is_list = isinstance(given, list) and len(given) <= MAX_LABELS and all(map(_is_word, given))
    return "" if is_list else f'{key} must be a list of at most {MAX_LABELS} texts in quotes: ["…", "…"]'


def _is_word(given: object) -> bool:
    try:
        check_text(given if isinstance(given, str) else "")
    except UsageError:
        return False
    return isinstance(given, str) and bool(given.strip())


TELEMETRY_KEYS = ("endpoint", "content")
SCHEMES = ("http://", "https://")


@value
class TelemetryConfig:
    """What a person has set. Without `endpoint`, the environment decides whether traces are sent.

    With `content`, they contain the texts of tasks, prompts and answers.
    """

    endpoint: str = ""
    content: bool = False


def telemetry_config(table: Mapping[str, Any]) -> TelemetryConfig:
    return TelemetryConfig(**table)


def _telemetry_fault(key: str, given: object) -> str:
    match key:
        case "content":
            return "" if isinstance(given, bool) else "content must be true or false"
        case "endpoint":
            host = given.partition("://")[2].partition("/")[0] if isinstance(given, str) else ""
            is_url = isinstance(given, str) and given.startswith(SCHEMES) and "@" not in host
            return "" if is_url else 'endpoint must be an address without a password: "http://localhost:4318"'
        case _:
            return f"there is no setting {key!r}; known are {', '.join(TELEMETRY_KEYS)}"


_TABLES = {values.FLEET: _fleet_fault, values.TELEMETRY: _telemetry_fault}


def table_fault(table: str, setting: object) -> str:
    """Return what is wrong with a table `[fleet]` or `[telemetry]`; empty if nothing is."""
    if not isinstance(setting, dict):
        return f"{table} must be a table: [{table}]"
    faults = (_TABLES[table](key, given) for key, given in setting.items())
    return next((f"in [{table}], {fault}" for fault in faults if fault), "")


def read_file(path: str, problems: list[str]) -> dict[str, Any]:
    """Return the valid settings in a file, and add what is wrong with it or with the others to `problems`."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return {}
    return parse(path, content, problems)


def parse(path: str, content: bytes, problems: list[str]) -> dict[str, Any]:
    """Return the valid settings in the content of the file at `path`; `problems` as in `read_file`."""
    try:
        text = content.decode("utf-8-sig")
        settings = tomllib.loads(text)
    except UnicodeDecodeError:
        problems.append(f"{path}: the file is not UTF-8 text")
        return {}
    except ValueError as error:
        problems.append(f"{path}: {error}")
        return {}
    except RecursionError:
        problems.append(f"{path}: the values are nested too deeply")
        return {}
    faults = {key: _fault(key, setting) or _address_fault(key, setting) for key, setting in settings.items()}
    problems += [f"{path}{_line(text, key)}: {fault}" for key, fault in faults.items() if fault]
    folder = os.path.dirname(path)
    valid = _absolute({key: setting for key, setting in settings.items() if not faults[key]}, folder)
    if values.FLEET in valid:
        valid[values.FLEET] = _absolute(valid[values.FLEET], folder)
    if values.EXTENSIONS in valid:
        valid[values.EXTENSIONS] = [absolute_form(form, folder) for form in valid[values.EXTENSIONS]]
    return valid


def _absolute(table: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return a valid table with absolute paths; `folder` is that of the settings file."""
    paths = {key: values.absolute(table[key], folder) for key in ("session_dir", "worktrees") if key in table}
    store = {"store": str(values.store_address(table["store"], folder))} if "store" in table else {}
    return {**table, **paths, **store}


def _fault(key: str, setting: object) -> str:
    if key == values.PRICES:
        return _price_fault(setting)
    if key in _TABLES:
        return table_fault(key, setting)
    if key == values.KEY_BINDINGS:
        return _binding_fault(setting)
    if key == values.EXTENSIONS:
        listed = isinstance(setting, list) and all(isinstance(form, str) and form for form in setting)
        return "" if listed else f'{key} must be a list of files and modules: ["tools.py", "package.module"]'
    if key == values.CHECK_ALLOW:
        patterns = setting if isinstance(setting, list) else [None]
        listed = all(isinstance(pattern, str) and pattern.strip("* ") for pattern in patterns)
        return "" if listed else f'{key} must be a list of patterns of commands: ["pytest *", "npm test"]'
    if key not in values.KEYS and key not in values.PHASES:
        known = f"known are {', '.join(values.KEYS)}"
        return f"there is no setting {key!r}; {nearest(key, values.KEYS, known)}"
    if key in values.TEXTS and (not isinstance(setting, str) or not setting):
        return f"{key} must be a non-empty string in quotes"
    if key in values.NUMBERS and (not isinstance(setting, int) or isinstance(setting, bool) or setting < 0):
        return f"{key} must be a whole number, 0 or more"
    if key in values.AMOUNTS and not values.is_amount(setting):
        return f"{key} must be a number of dollars, 0 or more"
    if key in values.SWITCHES and not isinstance(setting, bool):
        return f"{key} must be true or false"
    if key in values.CHOICES and setting not in values.CHOICES[key]:
        return f"{key} must be {values.choices(key)}"
    return ""


def _address_fault(key: str, setting: object) -> str:
    if key == "store":
        try:
            values.store_address(str(setting), os.curdir)
        except UsageError as error:
            return str(error)
    return ""


def _price_fault(setting: object) -> str:
    table = setting if isinstance(setting, dict) else {"": setting}
    for model, price in table.items():
        parts = price if isinstance(price, dict) else {}
        if not {"input", "output"} <= set(parts) <= set(values.PRICE_PARTS) or not all(
            map(values.is_amount, parts.values())
        ):
            return (
                f'in [prices], write "{model or "MODEL"}" = {{ input = 3.0, output = 15.0 }}, in dollars per million '
                f"tokens; {' and '.join(values.PRICE_PARTS[2:])} are optional"
            )
    return ""


def _binding_fault(setting: object) -> str:
    table: dict[str, Any] = setting if isinstance(setting, dict) else {"": setting}
    for action, keys in table.items():
        if not isinstance(keys, str):
            return f'keys must name actions, in quotes, and their keys: keys."{EXPAND}" = "f6"'
        if action not in ALL_BINDINGS:
            return f"there is no action {action!r} in keys; {nearest(action, tuple(ALL_BINDINGS))}"
        wrong = next((name for name in key_names(keys) if not is_key(name)), None)
        if wrong is not None:
            return f'keys."{action}": {wrong!r} is not the name of a key, such as f6, ctrl+t, pagedown or K'
    if shared := clash(table):
        other, action, key = shared
        return f'keys."{action}": {key} is the key of {other}, too; give one of them another'
    return ""


def _line(text: str, key: str) -> str:
    """Return where a key is set, as a part of a message; empty if its line is not found."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.partition("=")[0].strip(" \t\"'") in (key, f"[{key}]"):
            return f", line {number}"
    return ""


FOLDER = "trusted"
MAX_NAME = 80


def is_trusted(data: str, path: str, content: bytes) -> bool:
    """Return whether a person has approved this content of the file at `path`. `data` is the data folder."""
    return trusted_content(data, path) == content


def trusted_content(data: str, path: str) -> bytes | None:
    """Return the content that a person approved for the file at `path`; None if there is none."""
    try:
        with open(_record(data, path), "rb") as file:
            record = file.read()
    except OSError:
        return None
    heading = _heading(path)
    return record[len(heading) :] if record.startswith(heading) else None


def set_trusted(data: str, path: str, content: bytes) -> None:
    """Record that a person approves this content of the file at `path`. Raises TildoneError if it cannot be written."""
    try:
        make_private_folder(os.path.join(data, FOLDER))
        replace_file(_record(data, path), _heading(path) + content, mode=0o600)
    except OSError as error:
        raise TildoneError(f"could not write to {data}: {error.strerror}") from error


def revoke(data: str, path: str) -> bool:
    was_trusted = trusted_content(data, path) is not None
    remove_if_there(_record(data, path))
    return was_trusted


def _record(data: str, path: str) -> str:
    """Return the path of the record. Two files whose records have the same name can't both be trusted."""
    encoded = os.fsencode(path)
    name = "".join(letter if letter.isalnum() else "-" for letter in path)[-MAX_NAME:]
    return os.path.join(data, FOLDER, f"{name}-{crc32(encoded):08x}")


def _heading(path: str) -> bytes:
    return os.fsencode(path) + b"\0"


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
    names = file.settings if file.trusted else (*ALWAYS_APPLICABLE, *values.LIMITS)

    def is_tightened(name: str) -> bool:
        most = person.get(name)
        if most is None and not file.trusted:
            most = getattr(Patience(), values.LIMITS[name])
        lowest = 0 if file.trusted else values.FLOORS[name]
        return bool(lowest <= file.settings[name] <= (float("inf") if most is None else most))

    found = {name: file.settings[name] for name in names if name in file.settings}
    return {name: setting for name, setting in found.items() if name not in values.LIMITS or is_tightened(name)}


def ignored(file: ProjectFile, applied: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the settings that an untrusted file contains in vain."""
    if file.trusted:
        return ()
    names = tuple(name for name in file.settings if name not in applied)
    return names or (("all settings",) if file.problems else ())


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
