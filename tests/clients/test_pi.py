"""Conversations, and plans in their files, are exchanged between tildone and the real pi."""

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.clients.agents import Sandbox, pi_rpc, require
from tests.clients.conversations import (
    HOSTILE_TEXT,
    NAME,
    SCRIPTS,
    Entry,
    Message,
    StoredConversation,
    answers,
    branched_conversation,
    compact_early,
    conversation,
    lines,
    nodes,
    open_in_tildone,
    prompt_and_wait,
    text,
    tildone,
)
from tests.clients.driving import MakeSandbox
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

TRACES = sorted((Path(__file__).parents[1] / "traces").glob("*.json"))
TRAVEL = str(Path(__file__).with_name("travel.js"))


def test_a_session_of_tildone_opens_in_pi(ours: StoredConversation, make_sandbox: MakeSandbox) -> None:
    known = ours.entries

    with Model() as model, pi_rpc(make_sandbox(model), "--session", str(ours.file)) as pi:
        theirs = conversation(pi)
        entries = pi.ask("get_entries")["data"]["entries"]
        tree = pi.ask("get_tree")["data"]["tree"]
        state = pi.ask("get_state")["data"]

    assert theirs == ours.messages
    assert entries[: len(known)] == known
    assert [len(node["children"]) for node in nodes(tree) if len(node["children"]) != 1] == [2, 0, 0]
    assert state["sessionName"] == NAME


def test_messages_that_pi_adds_appear_in_tildone_and_the_plan_is_unchanged(
    ours: StoredConversation, tmp_path: Path, make_sandbox: MakeSandbox
) -> None:
    """Both with the store that contains the plan, and with the session file only."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    with Model({"text": "Here is pi."}) as model, pi_rpc(make_sandbox(model), "--session", str(ours.file)) as pi:
        prompt_and_wait(pi, "Go on with it.")
        theirs = conversation(pi)

    assert [text(message) for message in theirs[len(ours.messages) :]] == ["Go on with it.", "Here is pi."]
    for folder in (ours.folder, elsewhere):
        again = open_in_tildone(ours.file, folder)
        assert again.messages == theirs
        assert again.panel == ours.panel


def test_a_fork_made_by_either_opens_in_the_other(ours: StoredConversation, make_sandbox: MakeSandbox) -> None:
    *_, last = [entry for entry in ours.entries if role(entry) == "user"]

    with Model() as model, tildone(ours.folder, model.url, "--resume", str(ours.file)) as client:
        client.ask("fork", entryId=last["id"])
        fork = Path(client.ask("get_state")["data"]["sessionFile"])
        forked = client.ask("get_messages")["data"]["messages"]
    with Model({"text": "Forked on."}) as model, pi_rpc(make_sandbox(model), "--session", str(fork)) as pi:
        before = conversation(pi)
        prompt_and_wait(pi, "On from the fork.")
        pi.ask("fork", entryId=pi.ask("get_fork_messages")["data"]["messages"][-1]["entryId"])
        of_pi = Path(pi.ask("get_state")["data"]["sessionFile"])
        after = conversation(pi)

    assert forked == before == after == open_in_tildone(of_pi, ours.folder).messages
    assert forked == ours.messages[: len(forked)] != []
    assert (lines(fork)[0]["parentSession"], lines(of_pi)[0]["parentSession"]) == (str(ours.file), str(fork))


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_a_session_of_pi_can_be_continued_in_both(trace: Path, tmp_path: Path, make_sandbox: MakeSandbox) -> None:
    with Model({"text": "From here."}, {"text": "From there."}) as model:
        sandbox = make_sandbox(model)
        file = recorded(trace, tmp_path, sandbox)
        heard = recorded_messages(lines(file))

        with tildone(tmp_path, model.url, "--resume", str(file)) as client:
            prompt_and_wait(client, "Go on here.")
            ours = conversation(client)
        known = lines(file)
        with pi_rpc(sandbox, "--session", str(file)) as pi:
            theirs = conversation(pi)
            prompt_and_wait(pi, "Go on there.")
            more = conversation(pi)

    assert [message for message in ours if message["role"] != "custom"][: len(heard)] == heard
    assert theirs == ours
    assert lines(file)[: len(known)] == known
    assert more[: len(theirs)] == theirs
    assert open_in_tildone(file, tmp_path).messages == more


@pytest.mark.parametrize("first", ["tildone", "pi"])
def test_of_a_file_with_a_truncated_last_line_only_that_line_is_lost(
    first: str, tmp_path: Path, make_sandbox: MakeSandbox
) -> None:
    """Both programs write new entries on a new line."""
    with Model({"text": "Still here."}) as model:
        sandbox = make_sandbox(model)
        file = recorded(TRACES[0], tmp_path, sandbox)
        before = recorded_messages(lines(file))
        file.write_bytes(file.read_bytes()[:-40])
        ours, theirs = tildone(tmp_path, model.url, "--resume", str(file)), pi_rpc(sandbox, "--session", str(file))
        one, other = (ours, theirs) if first == "tildone" else (theirs, ours)

        with one as client:
            prompt_and_wait(client, "Are you there?")
            heard = conversation(client)
        with other as client:
            again = conversation(client)

    assert again == heard
    assert [message for message in heard if message["role"] != "custom"][:-2] == before[:-1]
    assert [text(message) for message in heard if message["role"] != "custom"][-2:] == ["Are you there?", "Still here."]


def test_changes_that_pi_makes_to_a_conversation_appear_in_tildone(tmp_path: Path, make_sandbox: MakeSandbox) -> None:
    with Model(*({"text": f"Answer {number}."} for number in range(5))) as model:
        sandbox = make_sandbox(model)
        compact_early(sandbox)
        with pi_rpc(sandbox, "--extension", TRAVEL) as pi:
            prompt_and_wait(pi, "One.")
            prompt_and_wait(pi, "Two.")
            first, _ = answers(pi.ask("get_entries")["data"]["entries"])
            pi.ask("prompt", message=f"/mark {first['id']} the beginning")
            pi.ask("prompt", message=f"/go {first['id']} summarize")
            pi.ask("prompt", message=f"/edit {first['id']} {json.dumps({'content': 'In short.'})}")
            prompt_and_wait(pi, "Three.")
            pi.ask("set_session_name", name="A name of pi’s")
            file = Path(pi.ask("get_state")["data"]["sessionFile"])
            whole = conversation(pi)
        ours = open_in_tildone(file, tmp_path)
        with pi_rpc(sandbox, "--session", str(file)) as pi:
            prompt_and_wait(pi, f"Four: {'a long shared_conversation. ' * 50}")
            prompt_and_wait(pi, "Five.")
            assert pi.ask("compact")["success"]
            compacted = conversation(pi)
        with tildone(tmp_path, model.url, "--resume", str(file)) as client:
            name = client.ask("get_state")["data"]["sessionName"]

    kinds = {entry["type"] for entry in lines(file)}
    assert kinds >= {"label", "branch_summary", "context_edit", "session_info", "compaction"}
    assert ours.messages == whole
    assert {"role": "assistant", "content": [{"type": "text", "text": "In short."}]}.items() <= whole[1].items()
    assert compacted[0]["role"] == "compactionSummary"
    assert open_in_tildone(file, tmp_path).messages == compacted
    assert name == "A name of pi’s"


@pytest.fixture(scope="module", autouse=True)
def _with_pi() -> None:
    """Skip these tests before a conversation is made, if pi is not installed."""
    require("pi")


@pytest.fixture(scope="module", params=SCRIPTS)
def shared_conversation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StoredConversation:
    """A conversation of tildone in one of the dialects. Tests must not change it."""
    return branched_conversation(tmp_path_factory.mktemp("conversation"), request.param)


@pytest.fixture
def ours(shared_conversation: StoredConversation, tmp_path: Path) -> StoredConversation:
    """A copy of that conversation, which tests may change."""
    folder = shutil.copytree(shared_conversation.folder, tmp_path / "ours")
    return replace(shared_conversation, file=folder / shared_conversation.file.relative_to(shared_conversation.folder))


def recorded(trace: Path, folder: Path, sandbox: Sandbox) -> Path:
    """Write the last session file of a recording, with the sandbox as its folder, which pi requires to exist."""
    header, *entries = json.loads(trace.read_text(encoding="utf-8"))["session_files"][-1]["entries"]
    file = folder / "recorded.jsonl"
    moved = [{**header, "cwd": str(sandbox.work)}, *entries]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in moved), encoding="utf-8")
    return file


def recorded_messages(entries: list[Entry]) -> list[Message]:
    return [entry["message"] for entry in entries if role(entry) not in {"system", None}]


def role(entry: Entry) -> str | None:
    name: str | None = entry.get("message", {}).get("role")
    return name


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
            tree = nodes(pi.ask("get_tree")["data"]["tree"])
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
    labels = [(node["label"], node["entry"]["data"]["tildone"]["id"]) for node in tree if "label" in node]
    assert labels == [("begun", before.events[0].id)]
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
