"""Settings: which store and session are used, and how an agent is run.

Precedence, highest first: flags, environment variables (`TILDONE_…`), the project's `tildone.toml`, the user's
`config.toml`, defaults.
"""

from __future__ import annotations

import os
import sys

from tildone.errors import UsageError, nearest
from tildone.log.address import StoreAddress, parse_address
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TEXTS = ("store", "session", "dialect", "model", "session_dir", "user")
NUMBERS = ("max_nudges", "max_same", "max_minutes", "countdown")
AMOUNTS = ("max_cost",)
CHOICES = {"gate": ("on", "off")}
KEYS = (*TEXTS, *NUMBERS, *AMOUNTS, *CHOICES)
PHASES = ("todo.enabled", "todo.reminders", "todo.reminders.max", "tasks.todoClearDelay")
"""Settings of the phased extension, which checks their values itself. They can be set in files only."""

PRICES = "prices"
PRICE_PARTS = ("input", "output", "cache_read", "cache_write")
"""The table of prices of models, in dollars per million tokens. It can be set in files only."""

PROJECT_FILE = "tildone.toml"
DEFAULT_COUNTDOWN_SECONDS = 3
_INFINITY = float("inf")

_SEPARATORS = str.maketrans("/\\:", "---")


@value
class Settings:
    """Everything a shell needs to open a session or a host.

    Without `dialect`, the one that the session was written in is used. `session_dir` holds the conversations of
    `tildone run`. `agents_dir` holds the registry of agents. `named_session` is `session` if it was set explicitly, and
    None if it is the project's by default. `max_nudges`, `max_same`, `max_minutes` (also `max_cost`, in dollars) bound
    how long an agent is continued; `countdown` is the number of seconds before each nudge of `tildone run`. Without
    `gate`, hooks never prevent an agent from stopping. `user` is the person's name in the history; if it is empty, the
    name comes from the store, from git or from the system. `prices` are the prices of models, by their names.
    """

    store: StoreAddress
    session: str
    project: str
    dialect: str | None = None
    model: str | None = None
    session_dir: str = ""
    max_nudges: int | None = None
    countdown: int = DEFAULT_COUNTDOWN_SECONDS
    phases: tuple[tuple[str, Any], ...] = ()
    agents_dir: str = ""
    named_session: str | None = None
    max_same: int | None = None
    max_minutes: int | None = None
    max_cost: float | None = None
    gate: bool = True
    prices: tuple[tuple[str, Mapping[str, float]], ...] = ()
    user: str = ""


def load(flags: Mapping[str, str], environ: Mapping[str, str], folder: str) -> Settings:
    """Return the settings that apply in `folder`.

    Raises:
        UsageError: a settings file cannot be read, or a setting is unknown or invalid.
    """
    settings, problems = load_valid(flags, environ, folder)
    if problems:
        raise UsageError(problems[0])
    return settings


def load_valid(flags: Mapping[str, str], environ: Mapping[str, str], folder: str) -> tuple[Settings, list[str]]:
    """Return the settings that apply in `folder` without the invalid ones, and what is wrong with those."""
    project = project_root(folder)
    problems: list[str] = []
    settings = _from_file(os.path.join(_config_home(environ), "tildone", "config.toml"), problems)
    settings |= _from_file(os.path.join(project, PROJECT_FILE), problems)
    texts = {key: (f"${_variable(key)}", environ[_variable(key)]) for key in KEYS if environ.get(_variable(key))}
    texts |= {key: (f"--{_flag(key)}", flags[_flag(key)]) for key in KEYS if flags.get(_flag(key))}
    for key, (source, text) in texts.items():
        try:
            settings[key] = str(store_address(text, folder)) if key == "store" else _parsed(key, text)
        except UsageError as error:
            problems.append(str(error) if source.startswith("--") else f"{source}: {error}")
    return _settings(settings, environ, folder, project), problems


def _settings(settings: dict[str, Any], environ: Mapping[str, str], folder: str, project: str) -> Settings:
    data = data_folder(environ)
    return Settings(
        store=store_address(settings.get("store", os.path.join(data, "tildone.db")), folder),
        session=settings.get("session", project),
        project=project,
        dialect=settings.get("dialect"),
        model=settings.get("model"),
        session_dir=_absolute(settings.get("session_dir", os.path.join(data, "sessions", folder_name(folder))), folder),
        max_nudges=settings.get("max_nudges"),
        countdown=settings.get("countdown", DEFAULT_COUNTDOWN_SECONDS),
        phases=tuple((key, settings[key]) for key in PHASES if key in settings),
        agents_dir=os.path.join(data, "agents"),
        named_session=settings.get("session"),
        max_same=settings.get("max_same"),
        max_minutes=settings.get("max_minutes"),
        max_cost=settings.get("max_cost"),
        gate=settings.get("gate") != "off",
        prices=tuple(settings.get(PRICES, {}).items()),
        user=settings.get("user", ""),
    )


def origins(flags: Mapping[str, str], environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the origin of each setting that is not a default: a file, an environment variable or a flag."""
    sources: dict[str, str] = {}
    for file in (
        os.path.join(_config_home(environ), "tildone", "config.toml"),
        os.path.join(project_root(folder), PROJECT_FILE),
    ):
        sources |= dict.fromkeys(_from_file(file, []), file)
    sources |= {key: f"${_variable(key)}" for key in KEYS if environ.get(_variable(key))}
    return sources | {key: f"--{_flag(key)}" for key in KEYS if flags.get(_flag(key))}


def data_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the default store, the conversations and the registry of agents."""
    return os.path.join(_data_home(environ), "tildone")


def folder_name(folder: str) -> str:
    """Return the name of the subfolder for the conversations of a working folder."""
    path = folder.removeprefix("/").removeprefix("\\")
    return f"--{path.translate(_SEPARATORS)}--"


def project_root(folder: str) -> str:
    """Return the root of the git repository that contains `folder`, else `folder`, with symbolic links resolved."""
    folder = candidate = os.path.realpath(folder)
    while not os.path.exists(os.path.join(candidate, ".git")):
        parent = os.path.dirname(candidate)
        if parent == candidate:
            return folder
        candidate = parent
    return candidate


def store_address(text: str, folder: str) -> StoreAddress:
    """Parse the address of a store; a path is made absolute, relative to `folder`.

    Raises:
        UsageError: a scheme is followed by nothing.
    """
    address = parse_address(text)
    if address.path is None:
        return address
    if not address.path:
        raise UsageError(f"{text} needs a path after the colon")
    return replace(address, location=_absolute(address.path, folder))


def _from_file(path: str, problems: list[str]) -> dict[str, Any]:
    """Return the valid settings in a file, and add what is wrong with it or with the others to `problems`."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return {}
    # Late, because loading it takes longer than most commands take to run, and few users have such a file.
    import tomllib  # noqa: PLC0415  see above

    try:
        text = content.decode("utf-8-sig")
        settings = tomllib.loads(text)
    except UnicodeDecodeError:
        problems.append(f"{path}: the file is not UTF-8 text")
        return {}
    except ValueError as error:
        problems.append(f"{path}: {error}")
        return {}
    faults = {key: _fault(key, setting) or _address_fault(key, setting) for key, setting in settings.items()}
    problems += [f"{path}{_line(text, key)}: {fault}" for key, fault in faults.items() if fault]
    valid = {key: setting for key, setting in settings.items() if not faults[key]}
    return valid | _resolved(valid, os.path.dirname(path))


def _resolved(settings: dict[str, Any], folder: str) -> dict[str, str]:
    """Return the settings that name paths, made absolute relative to the folder of the settings file."""
    paths = {}
    if "store" in settings:
        paths["store"] = str(store_address(settings["store"], folder))
    if "session_dir" in settings:
        paths["session_dir"] = _absolute(settings["session_dir"], folder)
    return paths


def _fault(key: str, setting: object) -> str:
    """Return what is wrong with a setting in a file; empty if nothing is."""
    if key == PRICES:
        return _price_fault(setting)
    if key not in KEYS and key not in PHASES:
        return f"there is no setting {key!r}; {nearest(key, KEYS)}"
    if key in TEXTS and (not isinstance(setting, str) or not setting):
        return f"{key} must be a non-empty string in quotes"
    if key in NUMBERS and (not isinstance(setting, int) or isinstance(setting, bool) or setting < 0):
        return f"{key} must be a whole number, 0 or more"
    if key in AMOUNTS and not _is_amount(setting):
        return f"{key} must be a number of dollars, 0 or more"
    if key in CHOICES and setting not in CHOICES[key]:
        return f"{key} must be {_either(key)}"
    return ""


def _address_fault(key: str, setting: object) -> str:
    if key == "store":
        try:
            store_address(str(setting), os.curdir)
        except UsageError as error:
            return str(error)
    return ""


def _line(text: str, key: str) -> str:
    """Return where a key is set, as a part of a message; empty if its line is not found."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.partition("=")[0].strip(" \t\"'") in (key, f"[{key}]"):
            return f", line {number}"
    return ""


def _price_fault(setting: object) -> str:
    table = setting if isinstance(setting, dict) else {"": setting}
    for model, price in table.items():
        parts = price if isinstance(price, dict) else {}
        if not {"input", "output"} <= set(parts) <= set(PRICE_PARTS) or not all(map(_is_amount, parts.values())):
            return (
                f'in [prices], write "{model or "MODEL"}" = {{ input = 3.0, output = 15.0 }}, in dollars per million '
                f"tokens; {' and '.join(PRICE_PARTS[2:])} are optional"
            )
    return ""


def _parsed(key: str, text: str) -> Any:
    """Parse the text of an environment variable or a flag."""
    if key in CHOICES and text not in CHOICES[key]:
        raise UsageError(f"{_flag(key)} must be {_either(key)}, not {text!r}")
    if key in AMOUNTS:
        return _amount(key, text)
    if key not in NUMBERS:
        return text
    if not text.isdecimal():
        raise UsageError(f"{_flag(key)} must be a whole number, 0 or more, not {text!r}")
    return int(text)


def _is_amount(setting: object) -> bool:
    return isinstance(setting, int | float) and not isinstance(setting, bool) and 0 <= setting < _INFINITY


def _amount(key: str, text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = _INFINITY
    if not 0 <= amount < _INFINITY:
        raise UsageError(f"{_flag(key)} must be a number of dollars, 0 or more, not {text!r}")
    return amount


def _either(key: str) -> str:
    return " or ".join(f'"{choice}"' for choice in CHOICES[key])


def _variable(key: str) -> str:
    return f"TILDONE_{key.upper()}"


def _flag(key: str) -> str:
    return key.replace("_", "-")


def _absolute(path: str, folder: str) -> str:
    return os.path.abspath(os.path.join(folder, os.path.expanduser(path)))


def _config_home(environ: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        return environ.get("APPDATA") or os.path.expanduser(r"~\AppData\Roaming")
    return environ.get("XDG_CONFIG_HOME") or _in_home(".config")


def _data_home(environ: Mapping[str, str]) -> str:
    if environ.get("XDG_DATA_HOME"):
        return environ["XDG_DATA_HOME"]
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    if sys.platform == "darwin":
        return _in_home("Library/Application Support")
    return _in_home(".local/share")


def _in_home(path: str) -> str:
    """Return a path in the user's home folder.

    Raises:
        UsageError: neither $HOME nor the user database names the folder.
    """
    home = os.path.expanduser("~")
    if home == "~":
        raise UsageError("your home folder is not known; set $HOME")
    return os.path.join(home, path)
