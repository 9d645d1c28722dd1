"""Opens what a verb works on: the settings of this command line, the store and the session they name.

Reading creates nothing: a store that does not exist is read as an empty one.
"""

from __future__ import annotations

import os
import sys

from tildone.app.opening import agent_here, dialect_name, dialect_of_session, open_session, open_store, session_title
from tildone.app.settings import Settings, load
from tildone.base import TYPE_CHECKING, NotFound, UsageError, nearest, replace
from tildone.cli.output import put_notice
from tildone.plan.dialects import BY_HAND, DIALECTS, names_by_position
from tildone.stores import TIMEOUT_SECONDS

if TYPE_CHECKING:
    from tildone.cli.table import ParsedArgs
    from tildone.log.session import Session
    from tildone.log.store import Store
    from tildone.stores import StoreAddress


_TOLD: set[str] = set()
"""The projects whose untrusted settings, and whose lost plans, were mentioned: once in a process."""


def settings_for(args: ParsedArgs) -> Settings:
    settings = load(args.options, os.environ, working_folder())
    if settings.dialect and settings.dialect not in DIALECTS:
        raise UsageError(f"there is no dialect {settings.dialect!r}; {nearest(settings.dialect, tuple(DIALECTS))}")
    if settings.untrusted and settings.project not in _TOLD:
        _TOLD.add(settings.project)
        # Late, because most projects have no settings file.
        from tildone.plan.text.safe import printable

        put_notice(f"tildone: {printable(settings.trust_notice)}")
    _tell_loss(settings)
    return settings


def _tell_loss(settings: Settings) -> None:
    """Tell that a plan that an agent was held to is gone with its store: until a person has read it at a terminal."""
    mark = settings.lost_mark
    gone = _is_missing(settings.store) and os.path.exists(settings.held_mark)
    if mark in _TOLD or not (gone or os.path.exists(mark)):
        return
    _TOLD.add(mark)
    # Late, because few stores get lost.
    from tildone.app.held_marks import PlanLost, forget_lost, note_lost
    from tildone.plan.text.safe import printable

    if gone:
        note_lost(settings)

    put_notice(f"tildone: {printable(str(PlanLost(settings.store.redacted)))}")
    put_notice("To bring back a backup: tildone restore. To see who worked here: tildone status")
    if sys.stderr.isatty() and not agent_here(settings):
        forget_lost(settings)


def working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise UsageError("the working folder no longer exists; change to another one") from error


def settings_at(args: ParsedArgs, store: str) -> Settings:
    return settings_for(replace(args, options={**args.options, "store": store}))


def open_for_reading(args: ParsedArgs) -> Session:
    settings = settings_for(args)
    store = open_to_read(settings)
    return open_session(with_session(args, settings, store), BY_HAND, store)


def open_for_moving(args: ParsedArgs) -> Session:
    """The session, to move its head or to label an event. A store that does not exist is not created for it."""
    settings = settings_for(args)
    store = open_to_read(settings) if _is_missing(settings.store) else open_store(settings)
    return open_session(with_session(args, settings, store), BY_HAND, store)


def open_for_editing(args: ParsedArgs, *, dry_run: bool = False) -> Session:
    """The session, for a person's edits under the rules of the agent that works on it."""
    settings = settings_for(args)
    store = open_to_read(settings) if dry_run else open_store(settings)
    settings = with_session(args, settings, store)
    return open_session(settings, dialect_of_session(settings, store), store)


def shows_positions(args: ParsedArgs, session: Session) -> bool:
    """Whether lists of this session show the positions of tasks beside their numbers: its agent uses positions."""
    if session.dialect is not BY_HAND:
        return names_by_position(session.dialect.name)
    return names_by_position(dialect_name(replace(settings_for(args), session=session.name), session.store))


def open_to_read(settings: Settings, timeout: float = TIMEOUT_SECONDS) -> Store:
    """Open the store without creating or changing it; one that does not exist is read as empty."""
    try:
        return open_store(settings, timeout=timeout, read_only=True)
    except NotFound:
        # Late, because only a new user has no store.
        from tildone.stores.memory import MemoryStore

        return MemoryStore()


def open_existing_store(settings: Settings, *, read_only: bool = False) -> Store:
    """Open the store without creating it. Raises NotFound if there is no store."""
    if _is_missing(settings.store):
        raise NotFound(f"there is no store at {settings.store.path}; to see which store is used: tildone doctor")
    return open_store(settings, read_only=read_only)


def with_session(args: ParsedArgs, settings: Settings, store: Store) -> Settings:
    """The settings, with the session that `--session` abbreviates or names by its title."""
    given = args.options.get("session")
    if not given or settings.session != given or store.session_head(given).head is not None:
        return settings
    # Late, because most command lines name no session, or one that exists.
    from tildone.cli.output.titles import session_meant

    name = session_meant(given, store)
    return replace(settings, session=name, named_session=name)


def is_same_store(one: StoreAddress, other: StoreAddress) -> bool:
    """Whether two addresses are known to name the same store."""
    if one.path is None or other.path is None:
        return one == other
    return os.path.realpath(one.path) == os.path.realpath(other.path)


def _is_missing(store: StoreAddress) -> bool:
    return store.path is not None and not os.path.exists(store.path)


def missing_package(error: ModuleNotFoundError, what: str, extra: str, package: str = "") -> Exception:
    """Return the error to raise instead, which says how to install the package; one of tildone's own stays as it is."""
    name = (error.name or "").partition(".")[0]
    if name == "tildone":
        return error
    # Late, because only a missing package needs it.
    from tildone.base.distribution import install_extra

    return UsageError(f"{what} needs the package {package or name}: {install_extra(extra)}")


BEGIN = "add a task with: tildone todo add TEXT"
"""The hint for a plan that does not exist yet."""


def no_tasks(session: str) -> str:
    return f"No tasks in {session_title(session)}. Add one with: tildone todo add TEXT"


def command_hint(args: ParsedArgs, verb: str) -> str:
    """The command for a verb of this copy of tildone, with the session and the store that this command line names."""
    # Late, because only some messages need them.
    import shlex

    from tildone.base.distribution import program

    given = [f" --{name} {shlex.quote(args.options[name])}" for name in ("session", "store") if args.has(name)]
    return f"{program()} {verb}{''.join(given)}"
