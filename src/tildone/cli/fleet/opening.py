"""Opens the store of a fleet with its leases, and finds the runs that a command line names."""

import os
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from tildone.app.opening import agent_here, open_store, person_here, run_leases
from tildone.app.runs import fleet_home
from tildone.app.settings import Settings
from tildone.app.settings_file import FleetConfig, fleet_config
from tildone.app.values import variable
from tildone.base import NotFound, StoreBusy, StoreUnreachable, UsageError, value
from tildone.cli.opening import open_existing_store, settings_at, settings_for
from tildone.cli.output import put_notice
from tildone.cli.table import ParsedArgs
from tildone.log.store import Store
from tildone.plan.events import Author
from tildone.plan.lists import BadRow, RunView
from tildone.plan.text.runs import bad_row_text
from tildone.plan.text.safe import printable
from tildone.stores.leasing import RunLeases

T = TypeVar("T")

WAIT_SECONDS = 30.0
"""How long a command waits for a database that does not answer."""

ATTEMPT_SECONDS = 3.0
PAUSE_SECONDS = 0.5
MAX_LISTED = 5


class BadRows:
    """The rows of the tables that were passed over so far, each once. `tell` is given a line for each."""

    def __init__(self, tell: Callable[[str], object] | None = None) -> None:
        self._tell = tell
        self._found: dict[BadRow, None] = {}

    def __iter__(self) -> Iterator[BadRow]:
        return iter(self._found)

    def add(self, row: BadRow) -> None:
        if row not in self._found and self._tell:
            self._tell(f"{bad_row_text(row)}; it is ignored")
        self._found[row] = None


@value
class Fleet:
    """The settings of a command line, and the store that they name, with its leases.

    `bad_rows` are those of its rows that were read and ignored.
    """

    settings: Settings
    store: Store
    leases: RunLeases
    bad_rows: BadRows

    @property
    def config(self) -> FleetConfig:
        return config_of(self.settings)

    @property
    def home(self) -> str:
        """The folder of the files of runs on this machine: working trees, outputs and reports."""
        return fleet_home(self.settings)

    @property
    def person(self) -> str:
        return person_here(self.settings, self.store)

    def run_named(self, word: str) -> list[RunView]:
        """Return the leases of the run of that name, or of the one whose name begins with the word.

        Of several such runs, the only one that has not ended is meant. `RUN/2` names the second hand of a run.
        """
        name, slash, number = word.partition("/")
        if slash:
            hands = [view for view in self.run_named(name) if str(view.lease.hand + 1) == number]
            if not hands:
                raise NotFound(
                    f"run {printable(name)} has no hand {printable(number)}; to list them: tildone fleet ls --all"
                )
            return hands
        views = self.leases.look()
        names = {view.lease.run for view in views}
        found = {word} if word in names else {name for name in names if name.startswith(word)}
        living = {view.lease.run for view in views if view.lease.run in found and view.lease.state.is_active}
        found = living if len(living) == 1 else found
        if len(found) > 1:
            listed = ", ".join(sorted(found)[:MAX_LISTED])
            raise UsageError(f"{len(found)} runs begin with {printable(word)!r}: {listed}; give more of the name")
        if not found:
            raise NotFound(f"there is no run {printable(word)!r}; to list them: tildone fleet ls --all")
        return [view for view in views if view.lease.run in found]


def fleet_settings(args: ParsedArgs) -> Settings:
    """Return the settings of this command line. The store of `[fleet]` is used unless another one is named."""
    settings = settings_for(args)
    store = config_of(settings).store
    is_named = args.has("store") or os.environ.get(variable("store"))
    return settings_at(args, store) if store and not is_named else settings


def config_of(settings: Settings) -> FleetConfig:
    return fleet_config(dict(settings.fleet))


def open_fleet(args: ParsedArgs, *, timeout: float | None = None, tell: Callable[[str], object] | None = None) -> Fleet:
    """Open the fleet; a store that does not exist is created. `tell` is given a line for each row that is ignored."""
    settings = fleet_settings(args)
    store = open_store(settings) if timeout is None else open_store(settings, timeout=timeout)
    return _fleet(settings, store, tell)


def open_existing_fleet(args: ParsedArgs, *, read_only: bool = False) -> Fleet:
    """Open the fleet. Raises NotFound instead of creating a store, UsageError if the store has no leases."""
    settings = fleet_settings(args)
    try:
        store = open_existing_store(settings, read_only=read_only)
    except NotFound as error:
        where = printable(settings.store.redacted)
        raise NotFound(f"there is no fleet at {where} yet; to prepare one: tildone fleet up") from error
    return _fleet(settings, store)


def fleet_if_any(args: ParsedArgs, *, read_only: bool = True) -> Fleet | None:
    """Open the fleet to list what it has; None if there is no store yet."""
    try:
        return open_existing_fleet(args, read_only=read_only)
    except NotFound:
        return None


def patiently(work: Callable[[], T], sleep: Callable[[float], None] = time.sleep) -> T:
    """Return the result of the work. While the database cannot be reached, say so and try again, for a limited time."""
    until, told = time.monotonic() + WAIT_SECONDS, False
    while True:
        try:
            return work()
        except (StoreUnreachable, StoreBusy) as error:
            if not told:
                put_notice(
                    f"tildone: {printable(str(error))}; waiting up to {WAIT_SECONDS:g} seconds; nothing is queued yet"
                )
            told = True
            if time.monotonic() + PAUSE_SECONDS > until:
                raise
            sleep(PAUSE_SECONDS)


def _fleet(settings: Settings, store: Store, tell: Callable[[str], object] | None = None) -> Fleet:
    author, bad_rows = Author(person_here(settings, store), agent_here(settings)), BadRows(tell)
    return Fleet(settings, store, run_leases(store, author, bad_rows.add), bad_rows)
