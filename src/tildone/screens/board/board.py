"""The board of one store: its index, the addresses of its sessions, its fleet, and the news about them.

Nothing polls while nobody looks: a thread follows the store only while streams are open. Each request reads what has
changed since, and tells the streams, so that an answer is never older than a frame.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from html import escape
from itertools import islice
from threading import Lock

from tildone.app.checks import SessionChecks, open_on_screen
from tildone.app.index import IndexChange, IndexFollower, SessionIndex, open_index
from tildone.app.opening import patience_of, run_leases
from tildone.app.run_results import RunResult, RunResults, current_results
from tildone.app.runs import FleetIndex, RunAsked, WorkerRow, offered_requests, replaced_runs
from tildone.app.sessions import SessionRow
from tildone.app.settings import Settings
from tildone.base import NotFound, StoreDamaged, TildoneError, UsageError, replace, value
from tildone.base.ids import now
from tildone.base.private import make_private_folder, open_private
from tildone.log.needs import Need
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.events import AgentUsage, Author, Event, latest_state
from tildone.plan.history import stats
from tildone.plan.lists import FIRST, RunGroup, RunPlace, RunView, group_of
from tildone.plan.model import progress
from tildone.plan.runs import Lease, LeaseRequest, LeaseState
from tildone.plan.text.charts import exposition
from tildone.plan.text.runs import hand_name, state_of
from tildone.plan.text.state import SessionWord, run_word, strip_signs
from tildone.screens.board.data import (
    Data,
    agent_data,
    counts_data,
    fields,
    need_data,
    needs_data,
    row_data,
)
from tildone.screens.board.http import json_bytes
from tildone.screens.board.live import COUNTS, FLEET, LIST, NEEDS, ONE, Hub, News
from tildone.screens.board.views import SessionViews
from tildone.stores.leasing import RunLeases, lists_of

DIGEST_DIGITS = 10
MAX_SLUG = 40

_ADDRESS = re.compile(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*-)?([0-9a-f]{10,64})", re.ASCII)


class SessionKeys:
    """The keys of the sessions of one store, `SLUG-DIGEST`, which are their addresses. Safe for threads.

    Names of sessions are often paths. They belong neither into addresses nor into logs, so a key has the last part of
    the name and a keyed digest of all of it: `digest` is that hash, as hexadecimal digits. The digest alone finds the
    session; its secret keeps others from finding out by guessing whether a path is in the store.
    """

    def __init__(self, store: str, digest: Callable[[str], str]) -> None:
        self._store, self._digest = store, digest
        self._lock = Lock()
        self._keys: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def key(self, name: str) -> str:
        known = self._keys.get(name)
        if known is not None:
            return known
        digits = self._digest(f"{self._store}\0{name}")
        with self._lock:
            length = DIGEST_DIGITS
            while self._names.setdefault(digits[:length], name) != name:
                length += 1
            return self._keys.setdefault(name, f"{slug(name)}-{digits[:length]}")

    def name(self, key: str) -> str | None:
        """Return the name of the session with a key, whatever its slug; None if no key was made with this digest."""
        found = _ADDRESS.fullmatch(key)
        return self._names.get(found[1]) if found else None


def slug(name: str) -> str:
    """Return the last part of a name, in characters that an address needs not escape."""
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    words = re.findall(r"[a-z0-9]+", last.lower(), re.ASCII)
    return "-".join(words)[:MAX_SLUG].strip("-") or "session"


@value
class RunRows:
    """Where rows of runs get the titles, progress and addresses of their plans from."""

    row: Callable[[str], SessionRow | None]
    key: Callable[[str], str]

    def data(self, view: RunView, now: int, was: RunResult | None = None) -> Data:
        """Return a hand of a run as data; `was` is what a run has been whose plan was run again."""
        lease, work = view.lease, view.lease.work
        row = self.row(lease.session)
        asks = _asks(lease, row)
        state = SessionWord.NEEDS_YOU.value if asks else state_of(view, now)
        return {
            "hand": lease.hand + 1,
            **fields(lease, "run", "since", "made", "epoch", "attempt", "fails", "losses"),
            **fields(work, "agent", "model", "repo"),
            "name": hand_name(lease),
            "group": (RunGroup.WAITING if asks else group_of(lease)).value,
            "state": state,
            "word": run_word(state),
            "key": self.key(lease.session) if row else None,
            "title": row.title if row else lease.run,
            **_progress(row, was),
            "doing": (row.doing or None) if row and lease.state.is_active else None,
            "worker": lease.worker or None,
            "host": host_of(lease.owner) or None,
            "not_before": lease.not_before or None,
            "labels": list(work.labels),
            "can": [request.value for request in offered_requests(lease)],
        }


def _progress(row: SessionRow | None, was: RunResult | None) -> Data:
    if was is not None:
        counts = progress(was.plan)
        return fields(counts, "closed", "total") | {"strip": strip_signs(was.plan), "cost": was.usage.cost or 0.0}
    if row is None:
        return {"closed": 0, "total": 0, "strip": "", "cost": 0.0}
    return fields(row, "closed", "total", "strip") | {"cost": row.spent}


def worker_data(row: WorkerRow) -> Data:
    worker = row.worker
    return {
        **fields(worker, "id", "pid", "version", "slots"),
        **fields(row, "held", "waiting", "seen"),
        "host": worker.host or host_of(worker.id),
        "labels": list(worker.labels),
        "state": row.state.value,
        "draining": worker.request is not LeaseRequest.NOTHING,
    }


def host_of(owner: str) -> str:
    return owner.partition("/")[0]


def _asks(lease: Lease, row: SessionRow | None) -> bool:
    """Whether a hand waits for a person: its own questions, or those that an agent at work has put into the store."""
    if not lease.state.is_active or lease.state is LeaseState.PAUSED:
        return False
    return bool(lease.questions or (lease.is_held and row and row.needs))


MAX_COUNTED = 10_000
"""Runs of a group are counted up to this number."""

DAY_MS = 86_400_000
_CURSOR = re.compile(r"([a-z]+):([0-9]{1,18}):([0-9]{1,9}):([A-Za-z0-9._-]{1,64})")


class BoardFleet:
    """The fleet of a store; `index` is None if the store cannot have one."""

    def __init__(self, store: Store, index: FleetIndex | None) -> None:
        self.index = index
        self._store, self._results = store, RunResults(store, now)

    @staticmethod
    def of(store: Store) -> BoardFleet:
        lists = lists_of(store)
        return BoardFleet(store, None if lists is None else FleetIndex(store, lists, run_leases(store), now))

    @property
    def exists(self) -> bool:
        """Whether the store has workers or runs."""
        return self.index is not None and self.index.exists

    def leases(self, person: str) -> RunLeases:
        return run_leases(self._store, Author(person))

    def needs(self) -> list[Need]:
        """Read the questions of runs that are in the logs of their plans."""
        return self.index.needs() if self.index else []

    def asked(self, run: str, question: str) -> RunAsked | None:
        return self.index.asked.get(f"{run}:{question}") if self.index else None

    def complete_need(self, data: Data, session: str) -> None:
        """Add the run to what waits for a person, if a run waits for it."""
        if self.index is None:
            return
        asked = self.index.asked.get(str(data["id"]))
        if asked:
            lease = asked.lease
            agent = {"agent": lease.work.agent, "host": lease.work.agent, "on": host_of(lease.owner)}
            data.update({"run": lease.run, "question": asked.question.id, "agent": agent})
        elif run := self.index.run_of(session):
            data["run"] = run

    def results(self, since: int) -> dict[str, list[RunResult]]:
        """Return the results of the runs that have changed since a time, and of all that need a person, by group."""
        return current_results(self._results, self.leases(""), self._store, since)

    def result(self, run: str) -> RunResult | None:
        """Return the result of a run; None if there is no such run."""
        leases = [view.lease for view in self.leases("").look(run)] if run and self.exists else []
        return self._results.read(leases) if leases else None

    def snapshot(self, rows: RunRows, waiting: int) -> Data:
        """Return the workers and the numbers. `waiting` is how many questions of runs are open."""
        index = self.index
        if index is None:
            return {"exists": False, "workers": [], "numbers": {}, "counts": {}}
        late, lost = index.settings.grace, index.settings.lease
        workers = [worker_data(row) for row in index.workers]
        return {"exists": index.exists, "workers": workers, "late": late, "lost": lost, **self.numbers(rows, waiting)}

    def numbers(self, rows: RunRows, waiting: int) -> Data:
        """Return the numbers of the page, and how many runs are in each group."""
        if self.index is None:
            return {}
        lists = self.index.lists
        since = lists.now() - DAY_MS
        counts, asking = lists.counts(MAX_COUNTED), len(self._asking(rows))
        counts |= {
            RunGroup.RUNNING: max(0, counts[RunGroup.RUNNING] - asking),
            RunGroup.WAITING: counts[RunGroup.WAITING] + asking,
        }
        spent = (row.spent for name in lists.recent_sessions(since) if (row := rows.row(name)))
        return {
            "numbers": {
                "running": counts[RunGroup.RUNNING],
                "waiting": waiting,
                "queued": counts[RunGroup.QUEUED],
                "taken_over": lists.taken_over(since),
                "cost": sum(spent),
            },
            "counts": {group.value: count for group, count in counts.items()},
        }

    def page(
        self, groups: Sequence[RunGroup], after: str, limit: int, rows: RunRows
    ) -> tuple[list[RunView], str | None]:
        """Return runs of some groups, group by group, the newest state first, and where the next page begins.

        Those that a worker holds while they wait for a person are among those that wait. Raises ValueError if there
        is no such place.
        """
        if self.index is None:
            return [], None
        first, place = _place(after) if after else (None, FIRST)
        groups = [group for group in RunGroup if group in groups]
        found: list[tuple[RunGroup, RunView]] = []
        for group in groups[groups.index(first) :] if first else groups:
            missing = limit + 1 - len(found)
            found += [(group, view) for view in self.index.lists.page(group, place, missing)] if missing else []
            place = FIRST
        asking = {(view.lease.run, view.lease.hand): view for view in self._asking(rows)}
        views = [view for _, view in found[:limit] if (view.lease.run, view.lease.hand) not in asking]
        if RunGroup.WAITING in groups and not after:
            views = [*asking.values(), *views]
        if len(found) <= limit:
            return views, None
        last, view = found[limit - 1]
        lease = view.lease
        return views, f"{last.value}:{lease.since}:{lease.hand}:{lease.run}"

    def _asking(self, rows: RunRows) -> list[RunView]:
        """Return the hands that a worker holds, and that wait for a person."""
        held = self.index.holding if self.index else []
        return [view for view in held if _asks(view.lease, rows.row(view.lease.session))]

    def data(self, views: Sequence[RunView], rows: RunRows, at: int) -> list[Data]:
        """Return hands of runs as data. Only of those that have ended, and whose plan was run again, logs are read."""
        ended = {view.lease.session for view in views if not view.lease.state.is_active}
        others = self.index.lists.of_sessions([*ended]) if self.index and ended else []
        replaced, known = replaced_runs(view.lease for view in others), dict[str, list[Lease]]()
        for view in others:
            known.setdefault(view.lease.run, []).append(view.lease)
        return [
            rows.data(view, at, self._results.read(known[run]) if (run := view.lease.run) in replaced else None)
            for view in views
        ]

    def news(self, names: Sequence[str], rows: RunRows, *, detailed: bool) -> list[News]:
        """Read what has changed about the fleet. If `detailed`, return it; `names` are the sessions that changed."""
        if self.index is None:
            return []
        change = self.index.refresh(names, detailed=detailed)
        if not detailed:
            return []
        found = [News(FLEET, "worker", row.worker.id, worker_data(row)) for row in change.workers]
        found += [News(FLEET, "worker", name, {"id": name, "gone": True}) for name in change.left]
        for data in self.data(change.runs, rows, now()):
            found.append(News(FLEET, "run", f"{data['run']}/{data['hand']}", data))
        if change.is_different:
            found.append(News(FLEET, "fleet", "", self.numbers(rows, self.waiting(rows))))
        return found

    def waiting(self, rows: RunRows) -> int:
        """Return how many runs wait for a person, apart from questions of agents that no run has started."""
        if self.index is None:
            return 0
        held = {view.lease.session for view in self.index.holding}
        open_needs = sum(len(row.needs) for name in held if (row := rows.row(name)))
        elsewhere = sum(each.lease.session not in held for each in self.index.asked.values())
        return open_needs + elsewhere


def _place(text: str) -> tuple[RunGroup, RunPlace]:
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise ValueError(text)
    group, since, hand, run = found.groups()
    return RunGroup(group), RunPlace(int(since), run, int(hand))


MAX_PLAN_BYTES = 64_000
"""A longer plan is not sent in a frame: the page reads it."""

MAX_WAITING_ROWS = 100
LINGER_SECONDS = 5.0
"""For how long the store is followed after the last stream has ended: a page that is loaded again opens the next."""


class Board:
    """The sessions of a store, as the API and the streams tell about them. `digest` is a keyed hash."""

    def __init__(self, settings: Settings, store: Store, digest: Callable[[str], str]) -> None:
        self.settings, self.store = settings, store
        self.keys = SessionKeys(str(settings.store), digest)
        self.fleet = BoardFleet.of(store)
        self.index: SessionIndex = open_index(settings, store, self.fleet.needs)
        self.patience = patience_of(settings)
        self.checks = SessionChecks(settings)
        self.views = SessionViews(store, self.patience)
        self.hub = Hub(self._streams_changed)
        self._telling = Lock()
        self._known: dict[str, SessionRow] = {}
        self._follower: IndexFollower | None = None
        self._stopping: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def refresh(self) -> None:
        """Read what has changed, and tell the streams. Raises StoreError if the store cannot be read."""
        self._tell(self.index.refresh())

    def row(self, key: str) -> SessionRow:
        """Return the session with a key. Raises NotFound if there is none."""
        name = self.keys.name(key)
        row = self.index.row(name) if name is not None else None
        if row is None:
            raise NotFound("that session is not in the store")
        return row

    def shown(self, row: SessionRow) -> Data:
        """Return everything that the page of a session shows."""
        return self.row_data(row) | self.views[row.name].whole(row) | self._open_needs(row)

    def shown_since(self, row: SessionRow, head: str | None) -> Data | None:
        """Return what differs since a head that the page of a session shows; None if that is not known."""
        found = self.views[row.name].since(head, row)
        if found is None:
            return None
        # The signs of all tasks follow from those that the page has.
        own = {name: fact for name, fact in self.row_data(row).items() if name != "strip"}
        return own | found | self._open_needs(row)

    def _open_needs(self, row: SessionRow) -> Data:
        return {"needs": [need_data(need, row, self.keys.key) for need in row.needs]}

    def session(self, name: str, person: str) -> Session:
        """Return a session whose changes are by a person; without a name, the one who started the board."""
        return open_on_screen(self.settings, self.store, name, person, self.views[name].newest_call)

    def needs(self) -> Data:
        waiting = self.index.rows(words=(SessionWord.NEEDS_YOU,), limit=MAX_WAITING_ROWS).rows
        needs = self.index.needs()
        opened = needs_data(needs, waiting, self.index.row, self.keys.key)
        sessions = [*(need.session for need in needs), *(row.name for row in waiting if not row.needs)]
        for data, session in zip(opened, sessions, strict=True):
            self.fleet.complete_need(data, session)
            held = {claim.agent: claim.task for claim in self.store.records.claims(session) if claim.is_held}
            agent = data["agent"]
            data["task"] = held.get(str(agent["agent"])) if isinstance(agent, dict) else None
        return {"open": opened, "count": len(opened), "fleet": self.fleet.exists}

    def run_rows(self) -> RunRows:
        return RunRows(self.index.row, self.keys.key)

    def row_data(self, row: SessionRow) -> Data:
        return row_data(row, self.keys.key)

    def close(self) -> None:
        """Stop following the store, and end a check that is running."""
        self.checks.stop()
        if self._stopping:
            self._stopping.cancel()
        if self._follower:
            self._follower.stop()
        self.index.keep()

    def _streams_changed(self, count: int) -> None:
        """Follow the store while streams are open. Runs on the event loop."""
        self._loop = asyncio.get_running_loop()
        if self._stopping:
            self._stopping.cancel()
            self._stopping = None
        if count and self._follower is None:
            self._follower = IndexFollower(self.index, self._tell, beside=lambda: self._tell(IndexChange()))
            self._follower.start()
        elif not count:
            self._stopping = self._loop.call_later(LINGER_SECONDS, self._stop_following)

    def _stop_following(self) -> None:
        follower, self._follower, self._stopping = self._follower, None, None
        if follower:
            # Its end may take half a second.
            asyncio.get_running_loop().run_in_executor(None, follower.stop)

    def _tell(self, change: IndexChange) -> None:
        """Tell the streams what has changed. Runs in the thread that found it out."""
        with self._telling:
            # The rows as they are now: another thread may have found out more.
            names = [row.name for row in change.changed] + list(change.removed)
            had_fleet = self.fleet.exists
            about_fleet = self.fleet.news(names, self.run_rows(), detailed=self.hub.shows_fleet)
            news = list(self._news(dict.fromkeys(names))) + about_fleet
            if had_fleet != self.fleet.exists:
                news.append(News(NEEDS, "needs", "", self.needs()))
            if news and self._loop:
                self._loop.call_soon_threadsafe(self.hub.publish, news)

    def _news(self, names: Iterable[str]) -> Iterator[News]:
        changed = False
        opened = self.hub.opened
        for name in names:
            key, row, before = self.keys.key(name), self.index.row(name), self._known.get(name)
            digest = key.rpartition("-")[2]
            if row is None:
                self._known.pop(name, None)
                for topic in (LIST, ONE):
                    yield News(topic, "gone", digest, {"key": key})
            elif row != before:
                self._known[name] = row
                yield News(LIST, "session", digest, self.row_data(row))
                yield self._news_of_one(row, before, key, digest, detailed=digest in opened)
            changed = True
        if changed:
            yield News(COUNTS, "counts", "", counts_data(self.index.counts()))
            yield News(NEEDS, "needs", "", self.needs())

    def _news_of_one(
        self, row: SessionRow, before: SessionRow | None, key: str, digest: str, *, detailed: bool
    ) -> News:
        """Return what a page is told that shows this session in detail: the plan, or who is at work, or its state."""
        if before is None or before.head != row.head:
            frame = self._plan_frame(row, before, key) if detailed else {"key": key, "head": row.head}
            return News(ONE, "plan", digest, frame)
        if replace(before, agents=row.agents, tokens=row.tokens, cost=row.cost) == row:
            agents = [agent_data(agent) for agent in row.agents]
            frame = {"key": key, "agents": agents, "tokens": row.tokens, "cost": row.cost}
            return News(ONE, "presence", digest, frame)
        return News(ONE, "session", digest, self.row_data(row))

    def _plan_frame(self, row: SessionRow, before: SessionRow | None, key: str) -> Data:
        """Return a frame with what the newest events have changed, unless that is too long, or not known."""
        frame: Data = {"key": key, "head": row.head}
        try:
            found = self.shown_since(row, before.head) if before else None
        except TildoneError:
            return frame
        return found if found and len(json_bytes(found)) <= MAX_PLAN_BYTES else frame


OPENERS = ("xdg-open", "wslview", "sensible-browser")
FILE = "tildone-board.html"


def has_browser(environ: Mapping[str, str]) -> bool:
    """Return whether a browser can be opened for the person: not over SSH, and not without a screen."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    has_screen = bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
    return has_screen and _opener() is not None


def open_privately(link: str) -> None:
    """Open a link in the browser, by way of a private file. Failure is harmless: the link is printed, too."""
    try:
        path = _write_page(link)
        if sys.platform == "win32":
            os.startfile(path)  # noqa: S606  the same
            return
        command = "open" if sys.platform == "darwin" else _opener() or ""
        subprocess.Popen(  # noqa: S603  our own file, with the system's opener
            [command, path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return


def _write_page(link: str) -> str:
    folder = os.environ.get("XDG_RUNTIME_DIR") or tempfile.mkdtemp(prefix="tildone-")
    make_private_folder(folder)
    path = os.path.join(folder, FILE)
    if os.path.lexists(path):
        os.remove(path)
    page = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={escape(link)}">\n'
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8") as file:
        file.write(page)
    return path


def _opener() -> str | None:
    return next((found for name in OPENERS if (found := shutil.which(name))), None)


MAX_EVENTS = 2000
"""How many events of a session are read at once. If the counted head is not among them, the branch was left."""

MAX_SEARCHED = 200
"""Among how many events before the first counted one the usage of agents is looked for."""

MAX_TALLIES = 1000
"""Of how many sessions the state is kept in memory. That of another one is read again."""

MAX_AGENTS, MAX_MODELS = 20, 100
"""How many names of agents and models are labels. More, in logs that anybody may write, become `other`."""


def bounded_names() -> tuple[stats.BoundedNames, stats.BoundedNames]:
    """Return what bounds the names of agents, and what bounds those of models."""
    return stats.BoundedNames(MAX_AGENTS), stats.BoundedNames(MAX_MODELS)


class StoreCounts:
    """What has happened in a store since the first call of `read`. Safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._revision: int | None = None
        self._heads: dict[str, str | None] = {}
        self._tallies: OrderedDict[str, stats.PlanTally] = OrderedDict()
        self._counts: dict[stats.Key, float] = {}
        self._names = bounded_names()

    def read(self) -> Mapping[stats.Key, float]:
        """Count what is new, and return the counts. Raises StoreError if unreadable; the next call counts the rest."""
        with self._lock:
            revision = self._store.records.revision()
            for change in self._store.records.changed(self._revision or 0):
                if self._revision is not None and change.head is not None:
                    self._count(change.session, change.head)
                self._heads[change.session] = change.head
                if not change.exists:
                    del self._heads[change.session]
                    self._tallies.pop(change.session, None)
            self._revision = revision
            return dict(self._counts)

    def _count(self, session: str, head: str) -> None:
        """Count the events of a session up to a head."""
        counted = self._heads.get(session)
        try:
            newest_first = self._since(session, head, counted)
            tally = self._tallies.pop(session, None)
            if newest_first and tally is None:
                before = list(islice(self._store.history(session, counted), MAX_SEARCHED)) if counted else []
                tally = tally_after(before, self._counts, self._names)
        except (StoreDamaged, NotFound):
            # It is reported where it is shown; the others are counted.
            return
        if tally is None:
            return
        for event in reversed(newest_first):
            tally.add(event)
        self._tallies[session] = tally
        if len(self._tallies) > MAX_TALLIES:
            self._tallies.popitem(last=False)

    def _since(self, session: str, head: str, counted: str | None) -> list[Event]:
        """Return the events after the counted one, the newest first; none if the head was moved to another branch."""
        found: list[Event] = []
        for event in islice(self._store.history(session, head), MAX_EVENTS):
            if event.id == counted:
                return found
            found.append(event)
        return found if counted is None else []


def tally_after(
    before: Sequence[Event],
    counts: MutableMapping[stats.Key, float],
    names: tuple[stats.BoundedNames, stats.BoundedNames],
) -> stats.PlanTally:
    """Return what counts the events that follow these, the newest of which comes first."""
    used: dict[str, AgentUsage] = {}
    for event in before:
        if event.usage is not None:
            used.setdefault(event.author.agent, event.usage)
    return stats.PlanTally(counts, latest_state(before).plan, used, names)


SILENT_LEASES = 2
"""A worker is silent if its newest sign of life is older than so many leases."""


class Metrics:
    """The figures of a board."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._counts = StoreCounts(board.store)
        self._leases: RunLeases | None = None
        # Other stores have no fleet.
        with suppress(UsageError):
            self._leases = run_leases(board.store)

    def text(self) -> str:
        """Return the figures in the format of Prometheus. Raises StoreError if the store cannot be read."""
        self._board.refresh()
        index, leases = self._board.index, self._leases
        found = index.counts()
        states = {str(word.value): found.get(word, 0) for word in SessionWord}
        families = stats.session_families(states, len(index.needs()))
        if leases:
            silent_after = SILENT_LEASES * leases.settings().lease
            fleet = stats.FleetNow(leases.active(), leases.workers(), now(), silent_after, leases.size())
            families += stats.fleet_families(fleet)
        return exposition([*families, *stats.counter_families(self._counts.read())])
