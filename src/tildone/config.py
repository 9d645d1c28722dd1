"""What a person has settled: where plans are kept, which session this is, which dialect its model speaks.

What is said nearest counts: a flag, then the environment, then the project's `tildone.toml`, then the person's own
`config.toml`, then what suits most.
"""

import os
import sys

from tildone.core.value import value
from tildone.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS = ("store", "session", "dialect")
PROJECT_FILE = "tildone.toml"


@value
class Settings:
    """Everything a shell needs to open a session. No dialect means: the one the session was written in."""

    store: str
    session: str
    project: str
    dialect: str | None = None


def load(flags: "Mapping[str, str]", environ: "Mapping[str, str]", folder: str) -> Settings:
    """The settings that hold in `folder`.

    Raises:
        UsageError: a file of settings cannot be read, or says something unknown.
    """
    project = project_root(folder)
    said = _from_file(os.path.join(_config_home(environ), "tildone", "config.toml"))
    said |= _from_file(os.path.join(project, PROJECT_FILE))
    said |= {key: environ[f"TILDONE_{key.upper()}"] for key in KEYS if environ.get(f"TILDONE_{key.upper()}")}
    said |= {key: flags[key] for key in KEYS if flags.get(key)}
    store = said.get("store") or os.path.join(_data_home(environ), "tildone", "tildone.db")
    return Settings(
        store=_place(store, folder),
        session=said.get("session", project),
        project=project,
        dialect=said.get("dialect"),
    )


def project_root(folder: str) -> str:
    """The nearest folder above that holds a git repository, else the folder itself; links resolved."""
    folder = here = os.path.realpath(folder)
    while not os.path.exists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return folder
        here = above
    return here


def is_url(store: str) -> bool:
    """Whether the store is named by the address of a server rather than by a path."""
    return "://" in store


def _from_file(path: str) -> dict[str, str]:
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
    if "store" in said:
        said["store"] = _place(said["store"], os.path.dirname(path))
    return said


def _check(path: str, key: str, held: object) -> None:
    if key not in KEYS:
        raise UsageError(f"{path}: there is no setting {key!r}; {nearest(key, KEYS)}")
    if not isinstance(held, str) or not held:
        raise UsageError(f"{path}: {key} must be some text in quotes")


def nearest(word: str, known: "tuple[str, ...]") -> str:
    """What may have been meant by a word that is not known."""
    # Only a mistake pays for this import.
    from difflib import get_close_matches  # noqa: PLC0415  see above

    close = get_close_matches(word, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"


def _place(store: str, folder: str) -> str:
    if is_url(store):
        return store
    return os.path.abspath(os.path.join(folder, os.path.expanduser(store)))


def _config_home(environ: "Mapping[str, str]") -> str:
    if sys.platform == "win32":
        return environ.get("APPDATA") or os.path.expanduser(r"~\AppData\Roaming")
    return environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")


def _data_home(environ: "Mapping[str, str]") -> str:
    if environ.get("XDG_DATA_HOME"):
        return environ["XDG_DATA_HOME"]
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support")
    return os.path.expanduser("~/.local/share")
