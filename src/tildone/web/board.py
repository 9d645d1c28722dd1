"""The board of one store: its index, the addresses of its sessions, and the news about them.

Nothing polls while nobody looks: a thread follows the store only while streams are open. Each request reads what has
changed since, and tells the streams, so that an answer is never older than a frame.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from threading import Lock

from tildone.app.checks import SessionChecks, open_on_screen
from tildone.app.opening import patience_of
from tildone.config import Settings
from tildone.errors import NotFound, TildoneError
from tildone.log.state import State, latest_state
from tildone.log.store import Store
from tildone.overview.following import IndexFollower
from tildone.overview.index import IndexChange, SessionIndex, open_index
from tildone.overview.rows import SessionRow
from tildone.session import Session
from tildone.value import replace
from tildone.views.session_state import SessionWord
from tildone.web.addresses import SessionKeys
from tildone.web.board_fleet import BoardFleet
from tildone.web.data import Data, agent_data, counts_data, needs_data, plan_data, row_data
from tildone.web.fleet_data import RunRows
from tildone.web.http.answers import json_bytes
from tildone.web.live.hub import Hub, News
from tildone.web.live.topics import COUNTS, LIST, NEEDS, ONE
from tildone.web.snapshot import history_page

MAX_PLAN_BYTES = 64_000
"""A longer plan is not sent in a frame: the page reads it."""

FRAME_EVENTS = 10
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
        self.hub = Hub(self._streams_changed)
        self._telling = Lock()
        self._known: dict[str, SessionRow] = {}
        self._follower: IndexFollower | None = None
        self._stopping: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def refresh(self) -> None:
        """Read what has changed, and tell the streams.

        Raises:
            StoreError: the store cannot be read.
        """
        self._tell(self.index.refresh())

    def row(self, key: str) -> SessionRow:
        """Return the session with a key.

        Raises:
            NotFound: there is none.
        """
        name = self.keys.name(key)
        row = self.index.row(name) if name is not None else None
        if row is None:
            raise NotFound("that session is not in the store")
        return row

    def state(self, name: str) -> State:
        """Return the state of a session at its head."""
        head = self.store.session_head(name).head
        return latest_state(self.store.history(name, head)) if head else State()

    def session(self, name: str, person: str) -> Session:
        """Return a session whose changes are by a person; without a name, the one who started the board."""
        return open_on_screen(self.settings, self.store, name, person)

    def needs(self) -> Data:
        """Return what waits for a person."""
        waiting = self.index.rows(words=(SessionWord.NEEDS_YOU,), limit=MAX_WAITING_ROWS).rows
        needs = self.index.needs()
        opened = needs_data(needs, waiting, self.index.row, self.keys.key)
        sessions = [*(need.session for need in needs), *(row.name for row in waiting if not row.needs)]
        for data, session in zip(opened, sessions, strict=True):
            self.fleet.complete_need(data, session)
        return {"open": opened, "count": len(opened), "fleet": self.fleet.exists}

    def run_rows(self) -> RunRows:
        """Return what makes rows of runs."""
        return RunRows(self.index.row, self.keys.key)

    def row_data(self, row: SessionRow) -> Data:
        """Return a session as a card shows it."""
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
            frame: Data = {"key": key, "head": row.head}
            return News(ONE, "plan", digest, self._plan_frame(row, frame) if detailed else frame)
        if replace(before, agents=row.agents, tokens=row.tokens, cost=row.cost) == row:
            agents = [agent_data(agent) for agent in row.agents]
            frame = {"key": key, "agents": agents, "tokens": row.tokens, "cost": row.cost}
            return News(ONE, "presence", digest, frame)
        return News(ONE, "session", digest, self.row_data(row))

    def _plan_frame(self, row: SessionRow, frame: Data) -> Data:
        """Return a frame with the plan at its head and the newest events, unless that is too long."""
        if row.head is None:
            return frame
        try:
            page = history_page(self.store, row.name, row.head, FRAME_EVENTS, self.patience.nudges)
            plan = plan_data(latest_state(self.store.history(row.name, row.head)).plan)
        except TildoneError:
            return frame
        whole = frame | {"from": page.before, "plan": plan, "rows": list(page.rows), "session": self.row_data(row)}
        return whole if len(json_bytes(whole)) <= MAX_PLAN_BYTES else frame
