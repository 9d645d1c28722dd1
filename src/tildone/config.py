"""What a person has settled: where plans are kept, which session this is, how an agent is run.

What is said nearest counts: a flag, then the environment, then the project's `tildone.toml`, then the person's own
`config.toml`, then what suits most.
"""

from __future__ import annotations

import os
import sys

from tildone.errors import UsageError
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
"""What the extension of that name makes of these is its own affair; they stand in files only."""

PROJECT_FILE = "tildone.toml"
COUNTDOWN = 3
MOST = float("inf")

_SEPARATORS = str.maketrans("/\\:", "---")


@value
class Settings:
    """Everything a shell needs to open a session or a host.

    No dialect means: the one the session was written in. `session_dir` holds the conversations of `tildone run`.
    `max_nudges` bounds how often an agent is told to go on, where the dialect's own bound is not meant; `countdown`
    is how many seconds pass before it is told. `agents_dir` is where it is written down which agent works on which
    plan; `named_session` is the session if somebody named one, rather than leaving it to be the project's. `max_same`,
    `max_minutes` and `max_cost` are the other bounds of an agent that is held to its plan by hooks; without a `gate`
    it is not held.
    """

    store: StoreAddress
    session: str
    project: str
    dialect: str | None = None
    model: str | None = None
    session_dir: str = ""
    max_nudges: int | None = None
    countdown: int = COUNTDOWN
    phases: tuple[tuple[str, Any], ...] = ()
    agents_dir: str = ""
    named_session: str | None = None
    max_same: int | None = None
    max_minutes: int | None = None
    max_cost: float | None = None
    gate: bool = True


def load(flags: Mapping[str, str], environ: Mapping[str, str], folder: str) -> Settings:
    """The settings that hold in `folder`.

    Raises:
        UsageError: a file of settings cannot be read, or says something unknown.
    """
    project = project_root(folder)
    said = _from_file(os.path.join(_config_home(environ), "tildone", "config.toml"))
    said |= _from_file(os.path.join(project, PROJECT_FILE))
    nearer = {key: environ[f"TILDONE_{key.upper()}"] for key in KEYS if environ.get(f"TILDONE_{key.upper()}")}
    nearer |= {key: flags[_flag(key)] for key in KEYS if flags.get(_flag(key))}
    said |= {key: _worded(key, held) for key, held in nearer.items()}
    data = data_folder(environ)
    return Settings(
        store=store_address(said.get("store", os.path.join(data, "tildone.db")), folder),
        session=said.get("session", project),
        project=project,
        dialect=said.get("dialect"),
        model=said.get("model"),
        session_dir=_absolute(said.get("session_dir", os.path.join(data, "sessions", folder_name(folder))), folder),
        max_nudges=said.get("max_nudges"),
        countdown=said.get("countdown", COUNTDOWN),
        phases=tuple((key, said[key]) for key in PHASES if key in said),
        agents_dir=os.path.join(data, "agents"),
        named_session=said.get("session"),
        max_same=said.get("max_same"),
        max_minutes=said.get("max_minutes"),
        max_cost=said.get("max_cost"),
        gate=said.get("gate") != "off",
    )


def origins(flags: Mapping[str, str], environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """Where each setting that somebody has settled comes from: a file, a variable or a flag, as `load` heeds them."""
    found: dict[str, str] = {}
    for file in (
        os.path.join(_config_home(environ), "tildone", "config.toml"),
        os.path.join(project_root(folder), PROJECT_FILE),
    ):
        found |= dict.fromkeys(_from_file(file), file)
    found |= {key: f"$TILDONE_{key.upper()}" for key in KEYS if environ.get(f"TILDONE_{key.upper()}")}
    return found | {key: f"--{_flag(key)}" for key in KEYS if flags.get(_flag(key))}


def data_folder(environ: Mapping[str, str]) -> str:
    """Where plans are kept unless somebody has settled otherwise."""
    return os.path.join(_data_home(environ), "tildone")


def folder_name(folder: str) -> str:
    """A working folder as the name of the folder that its conversations are kept in."""
    path = folder.removeprefix("/").removeprefix("\\")
    return f"--{path.translate(_SEPARATORS)}--"


def project_root(folder: str) -> str:
    """The nearest folder above that holds a git repository, else the folder itself; links resolved."""
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
    # Parsing TOML takes longer than a whole command without it, so it is loaded only for a file that is there.
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
    if key in AMOUNTS and (not isinstance(held, int | float) or isinstance(held, bool) or not 0 <= held < MOST):
        raise UsageError(f"{path}: {key} must be a number of dollars, 0 or more")
    if key in CHOICES and held not in CHOICES[key]:
        raise UsageError(f"{path}: {key} must be {_either(key)}")


def _worded(key: str, said: str) -> Any:
    """What was said in words: in the environment, or by a flag."""
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
        amount = MOST
    if not 0 <= amount < MOST:
        raise UsageError(f"{_flag(key)} must be a number of dollars, 0 or more, not {said!r}")
    return amount


def _either(key: str) -> str:
    return " or ".join(f'"{choice}"' for choice in CHOICES[key])


def _flag(key: str) -> str:
    return key.replace("_", "-")


def nearest(word: str, known: tuple[str, ...]) -> str:
    """What may have been meant by a word that is not known."""
    # Only a mistake pays for this import.
    from difflib import get_close_matches  # noqa: PLC0415  see above

    close = get_close_matches(word, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"


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
