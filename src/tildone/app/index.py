"""The index of a store: a row for each session, in memory.

Theory of operation. The store numbers its changes (`Store.revision`) and tells which sessions changed after a number
(`Store.changed`). A refresh reads these sessions and no others, so its cost depends on what changed, not on how many
sessions there are. The first refresh reads those whose summary the store has not kept for their present head.

Everything is read again, by heads, if the numbers are not continuous: the store was restored from a backup, or so many
changes passed that it may have forgotten deletions.

What was read belongs to `refresh`, which one thread runs at a time. The rows, their order and their counts are replaced
under a lock that is never held while the store is read, so a slow store does not delay those who look at the rows.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from threading import Event, Lock, Thread
from time import monotonic

from tildone.app import sessions
from tildone.app import sessions as summaries
from tildone.app.opening import patience_of
from tildone.app.settings import Settings
from tildone.base import StoreDamaged, TildoneError, UnknownEvent, value
from tildone.base.ids import now
from tildone.log.kept import KeptSummary
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.log.store import Store
from tildone.plan.events import Directive, DirectiveSet, SessionChange, SessionInfo, State, latest_state
from tildone.plan.history.stats import describe_held_up, held_up_by_agents
from tildone.plan.text.state import SessionFacts, SessionWord
from tildone.stores.agents import Agent, active_everywhere

AGENTS_EVERY_MS = 2_000
MAX_CONTINUOUS = 10_000
"""A store may have forgotten deletions that are followed by this many changes."""

MAX_EVENTS_READ = 50
"""Among how many events, the newest first, the name of the person who paused or stopped a session is looked for."""

KEEP_EVERY = 100
"""How many sessions are read before their summaries are kept."""


@value
class IndexChange:
    """What a refresh has changed: the rows that are new or different, and the names of sessions that are gone."""

    changed: tuple[sessions.SessionRow, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


class SessionIndex:
    """The rows of all sessions of a store. Safe to use from several threads.

    `agents_dir` is the folder of the registries of this machine; `now` returns the time in milliseconds. `more_needs`
    returns questions beside those of the store; it is called when the store has changed.
    """

    def __init__(
        self,
        store: Store,
        agents_dir: str,
        *,
        now: Callable[[], int],
        nudge_limit: int,
        more_needs: Callable[[], Iterable[Need]] = tuple,
    ) -> None:
        self.store = store
        self._more_needs = more_needs
        self._agents_dir, self._now, self._nudge_limit = agents_dir, now, nudge_limit
        self._refreshing, self._lock = Lock(), Lock()
        self._revision = 0
        self._agents_read = -AGENTS_EVERY_MS
        self._local: tuple[Agent, ...] = ()
        self._told: tuple[Presence, ...] = ()
        self._agents: sessions.BySession = {}
        self._asked: tuple[Need, ...] = ()
        self._needs: Mapping[str, tuple[Need, ...]] = {}
        self._outlines: dict[str, sessions.SessionOutline] = {}
        self._unkept: dict[str, sessions.SessionOutline] = {}
        self._unreadable: dict[str, str] = {}
        self._touched: set[str] = set()
        """The sessions whose rows may differ from what was read."""
        self._rows: dict[str, sessions.SessionRow] = {}
        self._searched: dict[str, str] = {}
        self._ordered: list[sessions.SessionRow] = []
        self._counts: Counter[SessionWord] = Counter()

    @property
    def revision(self) -> int:
        """The revision of the store up to which its changes are in the index; 0 before the first refresh."""
        return self._revision

    def refresh(self) -> IndexChange:
        """Read what has changed since the last refresh.

        Raises StoreError if the store cannot be read. The rows stay, and the next refresh tries again.
        """
        with self._refreshing:
            self._read_sessions()
            self._read_agents()
            needs: dict[str, tuple[Need, ...]] = {}
            for need in sessions.awaited_needs(self._asked, self._local, self._told, self._now()):
                needs[need.session] = (*needs.get(need.session, ()), need)
            before, self._needs = self._needs, needs
            self._touched |= {name for name in before.keys() | needs.keys() if before.get(name) != needs.get(name)}
            change = self._update_rows()
            if len(self._unkept) >= KEEP_EVERY:
                self._keep()
            return change

    def rows(
        self,
        *,
        words: Collection[SessionWord] = (),
        query: str = "",
        sort: str = "activity",
        after: sessions.Cursor | None = None,
        limit: int = 60,
    ) -> sessions.RowPage:
        """Return some rows in order: those after a cursor, of these states, that contain all words of the query.

        Raises UsageError if the order or the cursor is not valid.
        """
        asked = sessions.RowQuery(words, query, sort, after, limit)
        with self._lock:
            ordered = self._ordered if sort == "activity" else sorted(self._ordered, key=asked.sort_key)
            return sessions.page(ordered, asked, self._searched.__getitem__)

    def row(self, name: str) -> sessions.SessionRow | None:
        return self._rows.get(name)

    def counts(self) -> Mapping[SessionWord, int]:
        with self._lock:
            return {word: self._counts[word] for word in SessionWord if self._counts[word]}

    def needs(self) -> tuple[Need, ...]:
        """Return the open questions of all sessions, the oldest first, without those whose agents are gone."""
        found = (need for needs in self._needs.values() for need in needs)
        return tuple(sorted(found, key=lambda need: (need.since, need.id)))

    def unreadable(self) -> tuple[str, ...]:
        """Return the sessions that cannot be read, each as a sentence."""
        return tuple(self._unreadable.values())

    def keep(self) -> None:
        """Keep the summaries of the sessions that were read, for the next index of this store."""
        with self._refreshing:
            self._keep()

    def _keep(self) -> None:
        computed = {
            name: KeptSummary(each.head, summaries.encode(each, self._nudge_limit))
            for name, each in self._unkept.items()
        }
        self._unkept.clear()
        if computed:
            self.store.records.keep_summaries(computed)

    def _read_sessions(self) -> None:
        """Read the sessions that changed, and all open questions if any did."""
        revision = self.store.records.revision()
        if revision == self._revision:
            return
        is_continuous = 0 < self._revision < revision < self._revision + MAX_CONTINUOUS
        changes = self.store.records.changed(self._revision if is_continuous else 0)
        read_info, stored = self._sources(is_continuous=is_continuous)
        if not is_continuous:
            for name in self._outlines.keys() - {change.session for change in changes}:
                self._forget(name)
        for change in changes:
            self._touched.add(change.session)
            info = read_info(change.session) if change.exists else None
            if info is None:
                self._forget(change.session)
            else:
                self._read_session(change, info, stored.get(change.session))
        self._asked = (*self.store.records.needs(), *self._more_needs())
        self._revision = revision

    def _sources(self, *, is_continuous: bool) -> tuple[Callable[[str], SessionInfo | None], Mapping[str, KeptSummary]]:
        """Return where entries of the list of sessions and kept summaries come from: all at once, or one by one."""
        if is_continuous:
            return self.store.session_info, {}
        infos = {info.name: info for info in self.store.sessions()}
        return infos.get, self.store.records.kept_summaries()

    def _read_session(self, change: SessionChange, info: SessionInfo, summary: KeptSummary | None) -> None:
        name, known = change.session, self._outlines.get(change.session)
        if known is not None and known.head == change.head and known.info == info:
            return
        found = None
        if summary is not None and summary.head == change.head:
            found = summaries.decode(summary.text, info, change.head, self._nudge_limit)
        try:
            self._outlines[name] = found or self._read_outline(info)
        except (StoreDamaged, UnknownEvent) as error:
            self._forget(name)
            self._unreadable = {**self._unreadable, name: f"{name}: {error}"}

    def _read_outline(self, info: SessionInfo) -> sessions.SessionOutline:
        known, events = self._outlines.get(info.name), self.store.history(info.name)
        read = sessions.CostsRead(events, known.costs, known.head) if known else sessions.CostsRead(events)
        state = latest_state(read)
        aside = describe_held_up(held_up_by_agents(state.plan, lambda: self.store.history(info.name)))
        steered_by = self._steered_by(info.name, state)
        facts = SessionFacts(state, steered_by=steered_by, nudge_limit=self._nudge_limit, held_up=aside)
        found = sessions.outline(info, facts, read.costs())
        self._unkept[info.name] = found
        self._unreadable = {name: why for name, why in self._unreadable.items() if name != info.name}
        return found

    def _steered_by(self, session: str, state: State) -> str:
        if state.directive is Directive.GO:
            return ""
        recent = islice(self.store.history(session), MAX_EVENTS_READ)
        return next((event.author.name for event in recent if isinstance(event.fact, DirectiveSet)), "")

    def _forget(self, name: str) -> None:
        self._touched.add(name)
        self._outlines.pop(name, None)
        self._unkept.pop(name, None)
        self._unreadable = {each: why for each, why in self._unreadable.items() if each != name}

    def _read_agents(self) -> None:
        now = self._now()
        if now - self._agents_read < AGENTS_EVERY_MS:
            return
        self._told = tuple(self.store.records.presences())
        self._local = tuple(active_everywhere(self._agents_dir, now))
        found = sessions.present_agents(self._local, self._told, now)
        differing = sessions.with_other_agents(self._agents, found)
        self._agents = {name: found[name] if name in differing else self._agents[name] for name in found}
        self._agents_read = now
        self._touched |= differing

    def _update_rows(self) -> IndexChange:
        changed: list[sessions.SessionRow] = []
        removed: list[str] = []
        for name in sorted(self._touched):
            before, known = self._rows.get(name), self._outlines.get(name)
            row = self._row(name, known) if known else None
            if row == before:
                continue
            with self._lock:
                self._replace(before, row)
                if known and row:
                    self._searched[name] = known.searched
                    changed.append(row)
                else:
                    removed.append(name)
        self._touched.clear()
        return IndexChange(tuple(changed), tuple(removed))

    def _row(self, name: str, known: sessions.SessionOutline) -> sessions.SessionRow:
        return sessions.session_row(known, self._agents.get(name, ()), self._needs.get(name, ()), self._nudge_limit)

    def _replace(self, before: sessions.SessionRow | None, after: sessions.SessionRow | None) -> None:
        if before is not None:
            del self._rows[before.name], self._searched[before.name]
            del self._ordered[bisect_left(self._ordered, before.sort_key, key=_sort_key)]
            self._counts[before.word] -= 1
        if after is not None:
            self._rows[after.name] = after
            insort(self._ordered, after, key=_sort_key)
            self._counts[after.word] += 1


def _sort_key(row: sessions.SessionRow) -> sessions.SortKey:
    return row.sort_key


def open_index(settings: Settings, store: Store, more_needs: Callable[[], Iterable[Need]] = tuple) -> SessionIndex:
    """Return an index of all sessions of a store; it is empty until its first refresh.

    `more_needs` returns questions beside those of the store.
    """
    limit = patience_of(settings).nudges
    return SessionIndex(store, settings.agents_dir, now=now, nudge_limit=limit, more_needs=more_needs)


WAIT_SECONDS = 0.2
"""How long one wait for a change takes at most, and so the end of the thread."""

RETRY_SECONDS = 1.0
PAUSE_PER_REFRESH = 2.0
"""After a refresh, the pause is this many times as long as the refresh took."""


class IndexFollower:
    """A thread that refreshes an index until it is stopped.

    `publish` is called in that thread with what has changed: after the first refresh, after one that follows a failure,
    and after each that changed something; `beside` after every refresh. `fail` is called with the reason when the store
    cannot be read; it is tried again after `retry_seconds`, or when `try_now` is called.
    """

    def __init__(
        self,
        index: SessionIndex,
        publish: Callable[[IndexChange], object],
        fail: Callable[[str], object] = lambda _reason: None,
        *,
        beside: Callable[[], object] = lambda: None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._index, self._beside = index, beside
        self._retry_seconds = retry_seconds
        self._publish, self._fail = publish, fail
        self._stopped, self._hurried = Event(), Event()
        self._thread = Thread(target=self._run, name="tildone-index", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and keep the summaries of the sessions that were read."""
        self._stopped.set()
        self._hurried.set()
        if self._thread.is_alive():
            self._thread.join()

    def try_now(self) -> None:
        self._hurried.set()

    def _run(self) -> None:
        is_current = False
        while not self._stopped.is_set():
            began = monotonic()
            try:
                change = self._index.refresh()
                if change or not is_current:
                    self._publish(change)
                self._beside()
                is_current = True
                self._stopped.wait(PAUSE_PER_REFRESH * (monotonic() - began))
                self._wait()
            except TildoneError as error:
                is_current = False
                self._hurried.clear()
                self._fail(str(error))
                # `stop` sets both, this one first: the wait cannot miss it.
                if not self._stopped.is_set():
                    self._hurried.wait(self._retry_seconds)
        self._index.keep()

    def _wait(self) -> None:
        """Wait until a session changes, or until it is time to look who is at work."""
        until = monotonic() + AGENTS_EVERY_MS / 1000
        while not self._stopped.is_set() and (left := until - monotonic()) > 0:
            if self._index.store.records.wait_any(self._index.revision, min(left, WAIT_SECONDS)):
                return
