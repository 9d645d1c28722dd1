"""The fleet as the board shows it: its workers, pages of its runs, numbers, and the news about them.

A store without runs and workers, or of a kind that has none, has no fleet; then nothing here reads anything more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tildone.app.opening import run_leases
from tildone.ids import now
from tildone.log.events import Author
from tildone.log.fleet.port import RunLeases
from tildone.log.fleet.workers import FIRST, RunGroup, RunPlace, RunView
from tildone.log.needs import Need
from tildone.log.store import Store
from tildone.overview.fleet_index import FleetIndex, RunAsked
from tildone.stores.run_lists import lists_of
from tildone.value import value
from tildone.web.data import Data
from tildone.web.fleet_data import RunRows, asked_data, worker_data
from tildone.web.live.hub import News
from tildone.web.live.topics import FLEET

MAX_COUNTED = 10_000
"""Runs of a group are counted up to this number."""

DAY_MS = 86_400_000
_CURSOR = re.compile(r"([a-z]+):([0-9]{1,18}):([0-9]{1,9}):([A-Za-z0-9._-]{1,64})")


@value
class RunPage:
    """Some runs in order. `after` is where the next page begins; None at the end."""

    views: tuple[RunView, ...]
    after: str | None = None


class BoardFleet:
    """The fleet of a store; `index` is None if the store cannot have one."""

    def __init__(self, store: Store, index: FleetIndex | None) -> None:
        self.index = index
        self._store = store

    @staticmethod
    def of(store: Store) -> BoardFleet:
        """Return the fleet of a store."""
        lists = lists_of(store)
        return BoardFleet(store, None if lists is None else FleetIndex(store, lists, run_leases(store), now))

    @property
    def exists(self) -> bool:
        """Whether the store has workers or runs."""
        return self.index is not None and self.index.exists

    def leases(self, person: str) -> RunLeases:
        """Return the leases, for changes by a person."""
        return run_leases(self._store, Author(person))

    def needs(self) -> list[Need]:
        """Read the questions of runs that are in the logs of their plans."""
        return self.index.needs() if self.index else []

    def asked(self, run: str, question: str) -> RunAsked | None:
        """Return an open question in the log of a plan."""
        return self.index.asked.get(f"{run}:{question}") if self.index else None

    def complete_need(self, data: Data, session: str) -> None:
        """Add the run to what waits for a person, if a run waits for it."""
        if self.index is None:
            return
        asked = self.index.asked.get(str(data["id"]))
        if asked:
            data.update(asked_data(asked))
        elif run := self.index.run_of(session):
            data["run"] = run

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
        counts = lists.counts(MAX_COUNTED)
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

    def page(self, groups: Sequence[RunGroup], after: str, limit: int) -> RunPage:
        """Return runs of some groups, group by group, the newest state first.

        Raises:
            ValueError: there is no such place.
        """
        if self.index is None:
            return RunPage(())
        first, place = _place(after) if after else (None, FIRST)
        groups = [group for group in RunGroup if group in groups]
        found: list[tuple[RunGroup, RunView]] = []
        for group in groups[groups.index(first) :] if first else groups:
            missing = limit + 1 - len(found)
            found += [(group, view) for view in self.index.lists.page(group, place, missing)] if missing else []
            place = FIRST
        last = _cursor(*found[limit - 1]) if len(found) > limit else None
        return RunPage(tuple(view for _, view in found[:limit]), last)

    def news(self, names: Sequence[str], rows: RunRows, *, detailed: bool) -> list[News]:
        """Read what has changed about the fleet. If `detailed`, return it; `names` are the sessions that changed."""
        if self.index is None:
            return []
        change = self.index.refresh(names, detailed=detailed)
        if not detailed:
            return []
        found = [News(FLEET, "worker", row.worker.id, worker_data(row)) for row in change.workers]
        found += [News(FLEET, "worker", name, {"id": name, "gone": True}) for name in change.left]
        found += list(self._run_news(change.runs, rows))
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

    def _run_news(self, views: Iterable[RunView], rows: RunRows) -> Iterable[News]:
        at = now()
        for view in views:
            yield News(FLEET, "run", f"{view.lease.run}/{view.lease.hand}", rows.data(view, at))


def _cursor(group: RunGroup, view: RunView) -> str:
    lease = view.lease
    return f"{group.value}:{lease.since}:{lease.hand}:{lease.run}"


def _place(text: str) -> tuple[RunGroup, RunPlace]:
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise ValueError(text)
    group, since, hand, run = found.groups()
    return RunGroup(group), RunPlace(int(since), run, int(hand))
