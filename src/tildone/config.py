"""Settings: where plans are kept, which session this is, how an agent is run.

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

TEXTS = ("store", "session", "dialect", "model", "session_dir")
NUMBERS = ("max_nudges", "max_same", "max_minutes", "countdown")
AMOUNTS = ("max_cost",)
CHOICES = {"gate": ("on", "off")}
KEYS = (*TEXTS, *NUMBERS, *AMOUNTS, *CHOICES)
PHASES = ("todo.enabled", "todo.reminders", "todo.reminders.max", "tasks.todoClearDelay")
"""Settings of the phased extension, which checks their values itself. They can be set in files only."""

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
    how long an agent is kept going; `countdown` is how many seconds pass before each nudge of `tildone run`. Without
    `gate`, hooks never keep an agent from stopping.
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


def load(flags: Mapping[str, str], environ: Mapping[str, str], folder: str) -> Settings:
    """The settings in force in `folder`.

    Raises:
        UsageError: a settings file cannot be read, or a setting is unknown or invalid.
    """
    project = project_root(folder)
    said = _from_file(os.path.join(_config_home(environ), "tildone", "config.toml"))
    said |= _from_file(os.path.join(project, PROJECT_FILE))
    nearer = {key: environ[f"TILDONE_{key.upper()}"] for key in KEYS if environ.get(f"TILDONE_{key.upper()}")}
    nearer |= {key: flags[_flag(key)] for key in KEYS if flags.get(_flag(key))}
    said |= {key: _parsed(key, held) for key, held in nearer.items()}
    data = data_folder(environ)
    return Settings(
        store=store_address(said.get("store", os.path.join(data, "tildone.db")), folder),
        session=said.get("session", project),
        project=project,
        dialect=said.get("dialect"),
        model=said.get("model"),
        session_dir=_absolute(said.get("session_dir", os.path.join(data, "sessions", folder_name(folder))), folder),
        max_nudges=said.get("max_nudges"),
        countdown=said.get("countdown", DEFAULT_COUNTDOWN_SECONDS),
        phases=tuple((key, said[key]) for key in PHASES if key in said),
        agents_dir=os.path.join(data, "agents"),
        named_session=said.get("session"),
        max_same=said.get("max_same"),
        max_minutes=said.get("max_minutes"),
        max_cost=said.get("max_cost"),
        gate=said.get("gate") != "off",
    )


def origins(flags: Mapping[str, str], environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """Where each setting that is not a default comes from: a file, a variable or a flag."""
    found: dict[str, str] = {}
    for file in (
        os.path.join(_config_home(environ), "tildone", "config.toml"),
        os.path.join(project_root(folder), PROJECT_FILE),
    ):
        found |= dict.fromkeys(_from_file(file), file)
    found |= {key: f"$TILDONE_{key.upper()}" for key in KEYS if environ.get(f"TILDONE_{key.upper()}")}
    return found | {key: f"--{_flag(key)}" for key in KEYS if flags.get(_flag(key))}


def data_folder(environ: Mapping[str, str]) -> str:
    """The folder in which plans are kept by default."""
    return os.path.join(_data_home(environ), "tildone")


def folder_name(folder: str) -> str:
    """The name of the folder that keeps the conversations of a working folder."""
    path = folder.removeprefix("/").removeprefix("\\")
    return f"--{path.translate(_SEPARATORS)}--"


def project_root(folder: str) -> str:
    """The root of the git repository that contains `folder`, else the folder itself; symbolic links resolved."""
    folder = here = os.path.realpath(folder)
    while not os.path.exists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return folder
        here = above
    return here


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


def _from_file(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    # Late, because loading it takes longer than a whole command; most people have no such file.
    import tomllib  # noqa: PLC0415  see above

    try:
        said = tomllib.loads(text.decode())
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: this is not UTF-8 text") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    for key, held in said.items():
        _check(path, key, held)
    return said | _resolved(said, os.path.dirname(path))


def _resolved(said: dict[str, Any], folder: str) -> dict[str, str]:
    """The settings that name paths, relative to the folder of the file that they stand in."""
    found = {}
    if "store" in said:
        found["store"] = str(store_address(said["store"], folder))
    if "session_dir" in said:
        found["session_dir"] = _absolute(said["session_dir"], folder)
    return found


def _check(path: str, key: str, held: object) -> None:
    if key not in KEYS and key not in PHASES:
        raise UsageError(f"{path}: there is no setting {key!r}; {nearest(key, KEYS)}")
    if key in TEXTS and (not isinstance(held, str) or not held):
        raise UsageError(f"{path}: {key} must be some text in quotes")
    if key in NUMBERS and (not isinstance(held, int) or isinstance(held, bool) or held < 0):
        raise UsageError(f"{path}: {key} must be a whole number, 0 or more")
    if key in AMOUNTS and (not isinstance(held, int | float) or isinstance(held, bool) or not 0 <= held < _INFINITY):
        raise UsageError(f"{path}: {key} must be a number of dollars, 0 or more")
    if key in CHOICES and held not in CHOICES[key]:
        raise UsageError(f"{path}: {key} must be {_either(key)}")


def _parsed(key: str, said: str) -> Any:
    """Parse the text of an environment variable or a flag."""
    if key in CHOICES and said not in CHOICES[key]:
        raise UsageError(f"{_flag(key)} must be {_either(key)}, not {said!r}")
    if key in AMOUNTS:
        return _amount(key, said)
    if key not in NUMBERS:
        return said
    if not said.isdecimal():
        raise UsageError(f"{_flag(key)} must be a whole number, 0 or more, not {said!r}")
    return int(said)


def _amount(key: str, said: str) -> float:
    try:
        amount = float(said)
    except ValueError:
        amount = _INFINITY
    if not 0 <= amount < _INFINITY:
        raise UsageError(f"{_flag(key)} must be a number of dollars, 0 or more, not {said!r}")
    return amount


def _either(key: str) -> str:
    return " or ".join(f'"{choice}"' for choice in CHOICES[key])


def _flag(key: str) -> str:
    return key.replace("_", "-")


def _absolute(path: str, folder: str) -> str:
    return os.path.abspath(os.path.join(folder, os.path.expanduser(path)))


def _config_home(environ: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        return environ.get("APPDATA") or os.path.expanduser(r"~\AppData\Roaming")
    return environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")


def _data_home(environ: Mapping[str, str]) -> str:
    if environ.get("XDG_DATA_HOME"):
        return environ["XDG_DATA_HOME"]
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support")
    return os.path.expanduser("~/.local/share")
