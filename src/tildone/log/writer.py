"""Concurrent writes to one session: optimistic heads.

A session is a tree of events and a head, the event that the next one follows. Agents, their hooks and people at
terminals write to one session at the same time, from several processes, and none of them holds a lock while it
decides what to write. Instead, each event names its parent, and a store appends it only if that parent is still the
head; otherwise it raises `HeadMoved`. The writer then reads the new state and decides again.

Guaranteed: every event was decided on the state that its parent leads to, so no writer overwrites another's changes.
Deciding has no side effects, so it can be repeated. What can go wrong: a writer may lose the race repeatedly. Each loss
means that another writer succeeded, so the session as a whole always makes progress.

The last state read is cached. It may be stale, which is harmless: an append on a stale state fails, and a decision
to write nothing is confirmed against the store before it counts.
"""

from __future__ import annotations

from tildone.errors import HeadMoved, StoreError
from tildone.log.events import Event, PlanChanged
from tildone.log.state import State, apply_event, latest_state
from tildone.log.tree import SessionHead
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from tildone.core.plan import Plan
    from tildone.log.events import Actor, Author, Fact
    from tildone.log.store import Store
    from tildone.log.usage import AgentUsage

    R = TypeVar("R")
    SeenBy = Callable[[State], str]
    Append = Callable[[str, Event, str], object]


def _nobody(_state: State) -> str:
    return ""


class SessionWriter:
    """Reads and appends to the session `name`.

    `now` returns milliseconds since 1970, `new_id` an unused id, `author` the author of an event of an actor. `usage`
    returns what an agent has used so far, if that is known. `seen` is the head at which the model last saw the plan,
    with that plan, and `news` what it is told of the tasks of others after a change.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        now: Callable[[], int],
        new_id: Callable[[], str],
        author: Callable[[Actor], Author],
        usage: Callable[[str], AgentUsage | None] = lambda _agent: None,
    ) -> None:
        self.store = store
        self.name = name
        self._now = now
        self._new_id = new_id
        self._author = author
        self._usage = usage
        self.last_state = State()
        self.seen: tuple[str | None, Plan | None] = None, None
        self.news = ""

    @property
    def state(self) -> State:
        """The state at the session's head."""
        head = self.store.session_head(self.name).head
        if head != self.last_state.head:
            self.last_state = latest_state(self.store.history(self.name, head)) if head else State()
        return self.last_state

    def record(
        self,
        actor: Actor,
        decide: Callable[[State], tuple[R, Fact | None]],
        seen_by: SeenBy = _nobody,
        append: Append | None = None,
    ) -> R:
        """Append the fact that `decide` returns for the current state, if any. Return the other result of `decide`.

        `decide` is called again, with the new state, whenever another writer was faster. `seen_by` returns the
        reader that has seen the plan after the new event; it is empty if there is none. `append` appends an event in
        place of the store's own method.
        """
        state = self.last_state if self.last_state.head else self.state
        while True:
            result, fact = decide(state)
            if fact is None:
                if self.state is state:
                    return result
            elif self._append(state, actor, fact, seen_by(state), append or self.store.append):
                return result
            state = self.state

    def move(self, choose: Callable[[SessionHead], SessionHead]) -> None:
        """Move the head to the one that `choose` returns for the current head."""
        while True:
            current = self.store.session_head(self.name)
            try:
                self.store.move_head(self.name, choose(current), expected=current.head)
            except HeadMoved:
                continue
            return

    def retract(self, kind: type[Fact]) -> bool:
        """Move the head before the newest event if it records such a fact; return whether it does."""
        newest = next(self.store.history(self.name), None)
        if newest is None or not isinstance(newest.fact, kind):
            return False

        def choose(current: SessionHead) -> SessionHead:
            return SessionHead(newest.parent, current.redo) if current.head == newest.id else current

        self.move(choose)
        return True

    def undoing(self, changes: int) -> Callable[[SessionHead], SessionHead]:
        """Return the choice of the head before the newest `changes` changes of the plan, for `move`.

        It raises Refused if this branch has fewer changes.
        """
        # Late, because few callers undo.
        from tildone.log.undo import head_after_undo  # noqa: PLC0415  see above

        def choose(current: SessionHead) -> SessionHead:
            newest_first = self.store.history(self.name, current.head) if current.head is not None else ()
            return head_after_undo(current, newest_first, changes)

        return choose

    def redoing(self, changes: int) -> Callable[[SessionHead], SessionHead]:
        """Return the choice of the head after the next `changes` changes that were undone, for `move`.

        It raises Refused if fewer were undone.
        """
        from tildone.log.undo import head_after_redo  # noqa: PLC0415  see `undoing`

        return lambda current: head_after_redo(current, changes)

    def set_seen(self, reader: str, head: str | None) -> None:
        """Record the head that a reader has seen; without a name, nothing is recorded.

        Failure is harmless: the reader is told of the same changes once more.
        """
        if reader:
            try:
                self.store.records.set_seen(self.name, reader, head)
            except StoreError:
                return

    def _append(self, state: State, actor: Actor, fact: Fact, seen_by: str, append: Append) -> bool:
        """Append a fact to the head of `state`. Return False if the head has moved since `state` was read.

        Only a change of the plan clears the redo stack.
        """
        before = SessionHead() if isinstance(fact, PlanChanged) else self.store.session_head(self.name)
        author = self._author(actor)
        usage = self._usage(author.agent) if author.agent else None
        event = Event(self._new_id(), state.head, self._now(), actor, fact, author, usage)
        try:
            append(self.name, event, seen_by)
        except HeadMoved:
            return False
        self.last_state = apply_event(state, event)
        if before.redo and before.head == state.head:
            self._restore_redo(replace(before, head=event.id))
        return True

    def _restore_redo(self, to: SessionHead) -> None:
        """Restore the redo stack, which `append` cleared, unless another writer has moved the head since."""
        try:
            self.store.move_head(self.name, to, expected=to.head)
        except HeadMoved:
            return
