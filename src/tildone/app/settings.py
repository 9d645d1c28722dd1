"""Settings: which store and session are used, and how an agent is run.

Precedence, highest first: flags, environment variables (`TILDONE_…`), the project's `tildone.toml`, the user's
`config.toml`, defaults. The project's file does not loosen the bounds in the user's, and until a person has trusted it,
most of its settings do not apply at all (`tildone.app.settings_file`).
"""

from __future__ import annotations

import os
import sys
from binascii import crc32

from tildone.app.values import (
    CHECK_ALLOW,
    EXTENSIONS,
    FLEET,
    KEY_BINDINGS,
    KEYS,
    LIMITS,
    PHASES,
    PRICES,
    TELEMETRY,
    absolute,
    flag,
    in_home,
    parsed,
    store_address,
    variable,
)
from tildone.base import TYPE_CHECKING, UsageError, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tildone.stores import StoreAddress

PROJECT_FILE = "tildone.toml"
DEFAULT_COUNTDOWN_SECONDS = 3
DEFAULT_CLAIM_SECONDS = 600
MAX_MARK_NAME = 100

_SEPARATORS = str.maketrans("/\\:", "---")


@value
class Settings:
    """Everything a shell needs to open a session or a host.

    Without `dialect`, the one that the session was written in is used. `session_dir` holds the conversations of
    `tildone run`. `agents_dir` holds the registry of agents. `named_session` is `session` if it was set explicitly, and
    None if it is the project's by default. The settings that begin with `max_` bound how long an agent is continued
    (costs in dollars); `countdown` is the number of seconds before each nudge of `tildone run`. Without
    `gate`, hooks never prevent an agent from stopping. `user` is the person's name in the history; if it is empty, the
    name comes from the store, from git or from the system. `prices` are the prices of models, by their names.
    `extensions` are those that `tildone run` loads, each with the settings file that names it.
    With `accessible`, `tildone run` prints line by line, for a screen reader, and does not draw a full screen.
    `theme` is that of the full-screen views; if it is empty, the terminal decides. `keys` are the person's own keys for
    actions. `check_allow` are the patterns of commands that may be run as checks without being approved one by one.
    `claim_seconds` is how long a task stays with an agent that is silent; with 0, agents claim none.
    `fleet` and `telemetry` are the settings of these tables in the person's own file, as they stand there.
    `untrusted` names the settings in the project's file that do not apply, because nobody has trusted it. `held_dir`
    holds the marks of projects whose agents are held to plans, apart from the data folder
    (`tildone.app.held_marks`).
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
    max_total: int | None = None
    max_hours: int | None = None
    max_requests: int | None = None
    max_idle_requests: int | None = None
    untrusted: tuple[str, ...] = ()
    extensions: tuple[tuple[str, str], ...] = ()
    theme: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    accessible: bool = False
    check_allow: tuple[str, ...] = ()
    max_tokens: int | None = None
    max_task_cost: float | None = None
    max_task_tokens: int | None = None
    max_task_minutes: int | None = None
    claim_seconds: int = DEFAULT_CLAIM_SECONDS
    fleet: tuple[tuple[str, Any], ...] = ()
    telemetry: tuple[tuple[str, Any], ...] = ()
    held_dir: str = ""

    @property
    def held_mark(self) -> str:
        """The file that says that an agent was held to a plan of the project in the store; empty if there is none.

        There is none for a store that is not a file.
        """
        if self.store.path is None or not self.held_dir:
            return ""
        key = os.fsencode(f"{self.store} {self.project}")
        return os.path.join(self.held_dir, f"{folder_name(self.project)[-MAX_MARK_NAME:]}{crc32(key):08x}")

    @property
    def lost_mark(self) -> str:
        """The file that says that this plan was lost with its store, and that no person has been told yet."""
        return self.held_mark and f"{self.held_mark}.lost"

    @property
    def trust_notice(self) -> str:
        """What a person should know about the project's file if nobody has trusted it."""
        names = ", ".join(self.untrusted)
        path = os.path.join(self.project, PROJECT_FILE)
        return f"{path} is not trusted, so its settings do not apply ({names}); to see and trust it: tildone trust"


def load(flags: Mapping[str, str], environ: Mapping[str, str], folder: str) -> Settings:
    """Return the settings that apply in `folder`.

    Raises UsageError if a settings file cannot be read, or a setting is unknown or invalid.
    """
    settings, problems = load_valid(flags, environ, folder)
    if problems:
        raise UsageError(problems[0])
    return settings


def load_valid(flags: Mapping[str, str], environ: Mapping[str, str], folder: str) -> tuple[Settings, list[str]]:
    """Return the settings that apply in `folder` without the invalid ones, and what is wrong with those."""
    project = project_root(folder)
    problems: list[str] = []
    person = _from_file(_person_file(environ), problems)
    applied, untrusted = _from_project(project, environ, person, problems)
    settings = person | applied
    # A project has no say in what a person's keys do, in which commands may be run, in a fleet, or in what is sent.
    settings[KEY_BINDINGS] = person.get(KEY_BINDINGS, {})
    settings[CHECK_ALLOW] = _allowed(environ, person)
    settings |= {table: person.get(table, {}) for table in (FLEET, TELEMETRY)}
    files = ((person, _person_file(environ)), (applied, os.path.join(project, PROJECT_FILE)))
    settings[EXTENSIONS] = tuple((form, path) for file, path in files for form in file.get(EXTENSIONS, ()))
    texts = {key: (f"${variable(key)}", environ[variable(key)]) for key in KEYS if environ.get(variable(key))}
    texts |= {key: (f"--{flag(key)}", flags[flag(key)]) for key in KEYS if flags.get(flag(key))}
    for key, (source, text) in texts.items():
        try:
            settings[key] = str(store_address(text, folder)) if key == "store" else parsed(key, text)
        except UsageError as error:
            problems.append(str(error) if source.startswith("--") else f"{source}: {error}")
    return _settings(settings, environ, folder, project, untrusted), problems


def _settings(
    settings: dict[str, Any], environ: Mapping[str, str], folder: str, project: str, untrusted: tuple[str, ...]
) -> Settings:
    data = data_folder(environ)
    return Settings(
        store=store_address(settings.get("store", os.path.join(data, "tildone.db")), folder),
        session=settings.get("session", project),
        project=project,
        dialect=settings.get("dialect"),
        model=settings.get("model"),
        session_dir=absolute(settings.get("session_dir", os.path.join(data, "sessions", folder_name(folder))), folder),
        countdown=settings.get("countdown", DEFAULT_COUNTDOWN_SECONDS),
        claim_seconds=settings.get("claim_seconds", DEFAULT_CLAIM_SECONDS),
        phases=tuple((key, settings[key]) for key in PHASES if key in settings),
        agents_dir=os.path.join(data, "agents"),
        named_session=settings.get("session"),
        gate=settings.get("gate") != "off",
        prices=tuple(settings.get(PRICES, {}).items()),
        user=settings.get("user", ""),
        untrusted=untrusted,
        extensions=settings[EXTENSIONS],
        theme=settings.get("theme", ""),
        keys=tuple(settings[KEY_BINDINGS].items()),
        accessible=settings.get("accessible", False),
        check_allow=tuple(settings[CHECK_ALLOW]),
        fleet=tuple(settings[FLEET].items()),
        telemetry=tuple(settings[TELEMETRY].items()),
        held_dir=os.path.join(state_folder(environ), "held"),
        **{bound: settings[bound] for bound in LIMITS if bound in settings},
    )


def origins(flags: Mapping[str, str], environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the origin of each setting that is not a default: a file, an environment variable or a flag."""
    project = project_root(folder)
    person = _from_file(_person_file(environ), [])
    applied, _ = _from_project(project, environ, person, [])
    sources = dict.fromkeys(person, _person_file(environ)) | dict.fromkeys(applied, os.path.join(project, PROJECT_FILE))
    sources |= {key: f"${variable(key)}" for key in KEYS if environ.get(variable(key))}
    return sources | {key: f"--{flag(key)}" for key in KEYS if flags.get(flag(key))}


def data_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of the default store, the conversations and the registry of agents."""
    return os.path.join(_data_home(environ), "tildone")


def default_agents_dir() -> str:
    """Return the folder of the registry of agents of a user whose environment names no other folders."""
    # Late, because most commands need their own environment only. There is none on Windows.
    import pwd

    try:
        home = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""
    return os.path.join(home, ".local", "share", "tildone", "agents")


def state_folder(environ: Mapping[str, str]) -> str:
    """Return the folder of what has to outlive the data folder."""
    return os.path.join(environ.get("XDG_STATE_HOME") or _data_home(environ), "tildone-state")


def folder_name(folder: str) -> str:
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


def _allowed(environ: Mapping[str, str], person: Mapping[str, Any]) -> Sequence[str]:
    """Return the commands that may be run as checks: one pattern in a line of the variable, else the person's list.

    A worker of a fleet sets the variable for its agents. If it is empty, no command is allowed. Elsewhere it does not
    count: an agent could set it in its shell. What is written under a lease that a worker has not got is refused.
    """
    text = environ.get(variable(CHECK_ALLOW))
    if text is not None:
        # Imported here because few processes have the variable.
        from tildone.plan.runs import LEASE_VARIABLE

        if environ.get(LEASE_VARIABLE):
            return text.splitlines()
    allowed: Sequence[str] = person.get(CHECK_ALLOW, ())
    return allowed


def _from_project(
    project: str, environ: Mapping[str, str], person: Mapping[str, Any], problems: list[str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the settings in the project's file that apply, and the names of those that do not for want of trust."""
    path = os.path.join(project, PROJECT_FILE)
    if not os.path.lexists(path):
        return {}, ()
    # Late, for the same reason as in `_from_file`.
    from tildone.app.settings_file import applicable, ignored, read_project_file

    file = read_project_file(path, data_folder(environ))
    if file.trusted:
        problems += file.problems
    applied = applicable(file, person)
    return applied, ignored(file, applied)


def _from_file(path: str, problems: list[str]) -> dict[str, Any]:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return {}
    # Late, because loading it takes longer than most commands take to run.
    from tildone.app.settings_file import read_file

    return read_file(path, problems)


def _person_file(environ: Mapping[str, str]) -> str:
    return os.path.join(_config_home(environ), "tildone", "config.toml")


def _config_home(environ: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        return environ.get("APPDATA") or os.path.expanduser(r"~\AppData\Roaming")
    return environ.get("XDG_CONFIG_HOME") or in_home(".config")


def _data_home(environ: Mapping[str, str]) -> str:
    if environ.get("XDG_DATA_HOME"):
        return environ["XDG_DATA_HOME"]
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    if sys.platform == "darwin":
        return in_home("Library/Application Support")
    return in_home(".local/share")
