"""Plans in session files survive the real pi, which opens the files and continues them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients.agents import Sandbox, pi_rpc, require
from tests.clients.conversations import HOSTILE_TEXT, conversation, lines, nodes, prompt_and_wait, text
from tests.clients.model import Model
from tildone.app.opening import session_in
from tildone.log.session import Session
from tildone.plan.dialects import Dialect, plan_in_entry
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.events import Event, SessionHead
from tildone.plan.model import Plan, Status
from tildone.plan.ops import At, Mark
from tildone.stores.pi.store import JsonlStore

pytestmark = pytest.mark.slow
MakeSandbox = Callable[[Model], Sandbox]

SESSION = "01a1dcaa-cc88-7020-836c-6305702ec519"


@dataclass(frozen=True)
class StoredSession:
    """The contents of a session in a store."""

    events: list[Event]
    session_head: SessionHead
    leaves: list[str]
    plan: Plan


@pytest.mark.parametrize("dialect", [INDEXED, PHASED], ids=lambda dialect: dialect.name)
def test_a_plan_with_branches_labels_and_moves_survives_pi(
    dialect: Dialect, tmp_path: Path, make_sandbox: MakeSandbox
) -> None:
    """Pi opens the file as an empty conversation; messages that it adds change neither plan nor history."""
    session = edited(opened(tmp_path, dialect))
    before = stored(session)
    [file] = tmp_path.glob("*.jsonl")
    written = lines(file)[1:]
    with Model({"text": "Here is pi."}, {"text": "Here it is again."}) as model:
        sandbox = make_sandbox(model)

        with pi_rpc(sandbox, "--session", str(file)) as pi:
            assert conversation(pi) == []
            assert pi.ask("get_state")["data"]["sessionId"] == SESSION
            entries = pi.ask("get_entries")["data"]["entries"]
            prompt_and_wait(pi, "Hello.")
            messages = conversation(pi)
        after = stored(opened(tmp_path, dialect))
        changed = opened(tmp_path, dialect)
        changed.change([Mark(At((0,)), Status.COMPLETED)])
        again = stored(changed)
        with pi_rpc(sandbox, "--session", str(file)) as pi:
            messages_after = conversation(pi)
            prompt_and_wait(pi, "And now?")

    assert entries[: len(written)] == written
    assert [text(message) for message in messages] == ["Hello.", "Here is pi."]
    assert after == before
    assert messages_after == messages
    assert stored(opened(tmp_path, dialect)) == again
    assert len(again.events) == len(before.events) + 1


def test_a_plan_can_be_added_to_a_conversation_of_pi(tmp_path: Path, make_sandbox: MakeSandbox) -> None:
    """Its entries are written between the messages, and pi does not send them to its model."""
    with Model({"text": "First."}, {"text": "Second."}) as model:
        sandbox = make_sandbox(model)
        with pi_rpc(sandbox, "--session-dir", str(tmp_path / "sessions")) as pi:
            prompt_and_wait(pi, "One.")
            state = pi.ask("get_state")["data"]
            messages = conversation(pi)
        session = opened(tmp_path / "sessions", PHASED, state["sessionId"])
        edited(session)
        before = stored(session)

        with pi_rpc(sandbox, "--session", state["sessionFile"]) as pi:
            again = conversation(pi)
            prompt_and_wait(pi, "Two.")
            more = conversation(pi)

    assert again == messages
    assert more[: len(messages)] == messages
    assert [text(message) for message in more] == ["One.", "First.", "Two.", "Second."]
    assert stored(opened(tmp_path / "sessions", PHASED, state["sessionId"])) == before
    assert [message["role"] for message in model.requests[-1].messages] == ["system", "user", "assistant", "user"]


def test_a_label_set_by_tildone_is_a_label_in_pi(tmp_path: Path, make_sandbox: MakeSandbox) -> None:
    """It is on the entry of the labelled event."""
    session = edited(opened(tmp_path, INDEXED))
    [file] = tmp_path.glob("*.jsonl")

    with Model() as model, pi_rpc(make_sandbox(model), "--session", str(file)) as pi:
        tree = pi.ask("get_tree")["data"]["tree"]

    first = next(session.store.events(SESSION))
    assert [(node["label"], node["entry"]["data"]["tildone"]["id"]) for node in labelled(tree)] == [("begun", first.id)]


def opened(folder: Path, dialect: Dialect, name: str = SESSION) -> Session:
    """Open a session in a folder with a new store."""
    return session_in(JsonlStore(folder, plan_in_entry), name, dialect)


def edited(session: Session) -> Session:
    """Write a plan, branch off from it, label the branch point, and undo the last change."""
    steps: dict[str, tuple[str, dict[str, Any]]] = {
        "indexed": (
            "write_todos",
            {"mode": "replace", "todos": [{"text": text} for text in ("One", HOSTILE_TEXT, "Three")]},
        ),
        "phased": (
            "todo_write",
            {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One", HOSTILE_TEXT, "Three"]}]}]},
        ),
    }
    tool, arguments = steps[session.dialect.name]
    assert not session.call(tool, arguments).is_error
    [first] = session.store.events(session.name)
    session.turn_ended()
    session.change([Mark(At((0,)), Status.COMPLETED)])
    session.checkout(first.id)
    session.change([Mark(At((1,)), Status.COMPLETED)])
    session.label(first.id, "begun")
    session.change([Mark(At((2,)), Status.ABANDONED)])
    session.undo()
    return session


def stored(session: Session) -> StoredSession:
    store, name = session.store, session.name
    return StoredSession(list(store.events(name)), store.session_head(name), store.leaves(name), session.plan)


def labelled(tree: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the nodes of a tree that have a label."""
    return [node for node in nodes(tree) if "label" in node]


@pytest.fixture(autouse=True)
def _with_pi() -> None:
    """Skip these tests if pi is not installed."""
    require("pi")
