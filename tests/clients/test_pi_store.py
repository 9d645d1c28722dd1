"""Plans kept in session files live through the real pi: it opens the files, goes on with them, and loses nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients.agents import Desk, pi_rpc, require
from tests.clients.model import Model
from tests.clients.stories import ODD, conversation, lines, nodes, said, text
from tildone.core.ops import At, Mark
from tildone.core.plan import Plan, Status
from tildone.dialects import plan_in_entry
from tildone.dialects.base import Dialect
from tildone.dialects.indexed import DIALECT as INDEXED
from tildone.dialects.phased import DIALECT as PHASED
from tildone.log.events import Event
from tildone.log.tree import SessionHead
from tildone.session import Session
from tildone.stores.pi.store import JsonlStore
from tildone.wiring import session_in

pytestmark = pytest.mark.slow
Laid = Callable[[Model], Desk]

SESSION = "01a1dcaa-cc88-7020-836c-6305702ec519"


@dataclass(frozen=True)
class Kept:
    """All that a store says of a session."""

    events: list[Event]
    session_head: SessionHead
    leaves: list[str]
    plan: Plan


@pytest.mark.parametrize("dialect", [INDEXED, PHASED], ids=lambda dialect: dialect.name)
def test_a_plan_with_branches_labels_and_moves_lives_through_pi(dialect: Dialect, tmp_path: Path, desk: Laid) -> None:
    """To pi it is a session in which nothing was said yet; when something was, plan and history are as before."""
    session = worked_on(opened(tmp_path, dialect))
    before = kept(session)
    [file] = tmp_path.glob("*.jsonl")
    written = lines(file)[1:]
    with Model({"text": "Here is pi."}, {"text": "Here it is again."}) as model:
        place = desk(model)

        with pi_rpc(place, "--session", str(file)) as pi:
            assert conversation(pi) == []
            assert pi.ask("get_state")["data"]["sessionId"] == SESSION
            entries = pi.ask("get_entries")["data"]["entries"]
            said(pi, "Hello.")
            heard = conversation(pi)
        after = kept(opened(tmp_path, dialect))
        changed = opened(tmp_path, dialect)
        changed.change([Mark(At((0,)), Status.COMPLETED)])
        again = kept(changed)
        with pi_rpc(place, "--session", str(file)) as pi:
            still_heard = conversation(pi)
            said(pi, "And now?")

    assert entries[: len(written)] == written
    assert [text(message) for message in heard] == ["Hello.", "Here is pi."]
    assert after == before
    assert still_heard == heard
    assert kept(opened(tmp_path, dialect)) == again
    assert len(again.events) == len(before.events) + 1


def test_a_plan_goes_into_a_conversation_that_pi_has_begun(tmp_path: Path, desk: Laid) -> None:
    """Between what was said and what is said next; the model of pi sees none of it."""
    with Model({"text": "First."}, {"text": "Second."}) as model:
        place = desk(model)
        with pi_rpc(place, "--session-dir", str(tmp_path / "sessions")) as pi:
            said(pi, "One.")
            state = pi.ask("get_state")["data"]
            heard = conversation(pi)
        session = opened(tmp_path / "sessions", PHASED, state["sessionId"])
        worked_on(session)
        before = kept(session)

        with pi_rpc(place, "--session", state["sessionFile"]) as pi:
            again = conversation(pi)
            said(pi, "Two.")
            more = conversation(pi)

    assert again == heard
    assert more[: len(heard)] == heard
    assert [text(message) for message in more] == ["One.", "First.", "Two.", "Second."]
    assert kept(opened(tmp_path / "sessions", PHASED, state["sessionId"])) == before
    assert [message["role"] for message in model.asked[-1].messages] == ["system", "user", "assistant", "user"]


def test_a_label_that_tildone_gave_is_one_in_pi(tmp_path: Path, desk: Laid) -> None:
    """On the entry of the event that it names."""
    session = worked_on(opened(tmp_path, INDEXED))
    [file] = tmp_path.glob("*.jsonl")

    with Model() as model, pi_rpc(desk(model), "--session", str(file)) as pi:
        tree = pi.ask("get_tree")["data"]["tree"]

    first = next(session.store.events(SESSION))
    assert [(node["label"], node["entry"]["data"]["tildone"]["id"]) for node in labelled(tree)] == [("begun", first.id)]


def opened(folder: Path, dialect: Dialect, name: str = SESSION) -> Session:
    """A session in a folder, as somebody finds it who knows nothing of it."""
    return session_in(JsonlStore(folder, plan_in_entry), name, dialect)


def worked_on(session: Session) -> Session:
    """Begin a plan, go another way from its beginning, name that, and take back the last step."""
    steps: dict[str, tuple[str, dict[str, Any]]] = {
        "indexed": ("write_todos", {"mode": "replace", "todos": [{"text": one} for one in ("One", ODD, "Three")]}),
        "phased": ("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One", ODD, "Three"]}]}]}),
    }
    tool, arguments = steps[session.dialect.name]
    assert not session.call(tool, arguments).is_error
    [begun] = session.store.events(session.name)
    session.turn_ended()
    session.change([Mark(At((0,)), Status.COMPLETED)])
    session.checkout(begun.id)
    session.change([Mark(At((1,)), Status.COMPLETED)])
    session.label(begun.id, "begun")
    session.change([Mark(At((2,)), Status.ABANDONED)])
    session.undo()
    return session


def kept(session: Session) -> Kept:
    store, name = session.store, session.name
    return Kept(list(store.events(name)), store.session_head(name), store.leaves(name), session.plan)


def labelled(tree: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The nodes of a tree that have a name."""
    return [one for one in nodes(tree) if "label" in one]


@pytest.fixture(autouse=True)
def _with_pi() -> None:
    """Without pi there is nothing to be tried."""
    require("pi")
