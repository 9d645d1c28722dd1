"""The jsonl store gives the same results as the memory store, whatever the sequence of operations."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.stores.test_same_answers import SameAnswers, answer, contents, facts, luck, names
from tildone.dialects import plan_in_entry
from tildone.log.events import Actor, Event, Fact
from tildone.log.findings import Severity
from tildone.log.store import Store
from tildone.log.tree import SessionHead
from tildone.stores.pi.store import JsonlStore
from tildone.value import replace


class JsonlAnswers(SameAnswers):
    """Runs the same operations on both stores while pi appends messages, which must change no answer."""

    def __init__(self) -> None:
        super().__init__()
        self.session_head = Path(self.folder.name, "sessions")
        self.store = JsonlStore(self.session_head, plan_in_entry)

    def both(self, order: Callable[[Store], object]) -> None:
        assert answer(order, self.store) == answer(order, self.memory)

    def everything(self, store: Store) -> object:
        """The titles of sessions are omitted: they come from pi's messages, which memory does not have."""
        return [replace(session, title="") for session in store.sessions()], contents(store)

    @rule()
    def open_again(self) -> None:
        self.store = JsonlStore(self.session_head, plan_in_entry)

    @rule(name=names, of=names, fact=facts, luck=luck, many=st.integers(0, 3))
    def adopt(self, name: str, of: str, fact: Fact, luck: int, many: int) -> None:
        """Import events of another session, and new ones below any of them; the head need not be among them."""
        theirs = list(self.memory.events(of))[: luck % 7]
        for _ in range(many):
            parent = theirs[luck % len(theirs)].id if theirs and luck % 5 else None
            theirs.append(Event(f"adopted {next(self.numbers)}", parent, luck, Actor.IMPORT, fact))
        to = SessionHead(self.some_event(name, luck) if luck % 2 or not theirs else theirs[-1].id, ("x",) * (luck % 3))
        self.both(lambda store: store.import_events(name, theirs, to))

    @rule(name=names, overtaken=st.booleans())
    def forget(self, name: str, *, overtaken: bool) -> None:
        """Delete a session, also where pi's messages stay in its file."""
        expected = "elsewhere" if overtaken else self.memory.session_head(name).head
        self.both(lambda store: store.delete(name, expected=expected))

    @rule(name=names)
    def pi_talks(self, name: str) -> None:
        """Append a message after the last entry, as pi does."""
        for path in self.session_head.glob("*.jsonl"):
            header, *entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
            if header["id"] == name:
                number = f"{next(self.numbers):08x}"
                said = {"type": "message", "id": number, "parentId": entries[-1]["id"], "timestamp": "never"}
                written = path.stat().st_mtime_ns
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(said | {"message": {"role": "user", "content": "go on"}}) + "\n")
                # Memory knows nothing of it, so the order of sessions is to stay.
                os.utime(path, ns=(written, written))

    def teardown(self) -> None:
        odd = [finding for finding in self.store.check() if finding.severity is not Severity.OK]
        super().teardown()
        assert odd == []


TestJsonlAnswers = JsonlAnswers.TestCase
TestJsonlAnswers.settings = settings(max_examples=40, stateful_step_count=25, derandomize=True)
