"""A store that counts how often each of its methods is called, a clock that is set by hand, and sessions."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tildone.app.index import SessionIndex
from tildone.app.opening import session_in
from tildone.log.session import Session
from tildone.log.store import Records, Store
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Phase, Status, Task
from tildone.plan.ops import Write

NUDGE_LIMIT = 20


class CountingStore:
    """A real store, and how often each of its methods was asked for."""

    def __init__(self, store: Store | Records, calls: Counter[str] | None = None) -> None:
        self.store = cast("Store", store)
        self.calls: Counter[str] = Counter() if calls is None else calls
        if calls is None:
            self.records: Any = CountingStore(self.store.records, self.calls)

    def __getattr__(self, name: str) -> Any:
        self.calls[name] += 1
        return getattr(self.store, name)


@dataclass
class World:
    """A store with an index."""

    store: Store
    agents_dir: Path
    now: int = 1_000_000_000
    counting: CountingStore = field(init=False)
    index: SessionIndex = field(init=False)

    def __post_init__(self) -> None:
        self.counting = CountingStore(self.store)
        self.index = self.another_index()

    def another_index(self, nudge_limit: int = NUDGE_LIMIT) -> SessionIndex:
        """Return an index that has read nothing yet."""
        counting = cast("Store", self.counting)
        return SessionIndex(counting, str(self.agents_dir), now=lambda: self.now, nudge_limit=nudge_limit)

    def session(self, name: str) -> Session:
        return session_in(self.store, name, BY_HAND)

    def write(self, name: str, *texts: str, status: Status = Status.PENDING) -> Session:
        """Create a session with a plan of one phase."""
        session = self.session(name)
        session.change([Write((Phase("", tuple(Task(text, status) for text in texts)),))])
        return session

    def names(self, **asked: Any) -> list[str]:
        """Return the names of the rows of a page."""
        return [row.name for row in self.index.rows(**asked).rows]
