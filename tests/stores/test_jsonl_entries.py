"""Events as entries that pi and oh-my-pi understand, and entries of pi as events."""

import json
import os
from pathlib import Path

import pytest

from tests.plans import unnumbered_plan_of
from tests.stores.contract import chain, ids
from tests.stores.jsonl_entries import WHEN, Entry, begin, entries_of, lines, message, result
from tests.stores.jsonl_files import file_of, oddities
from tildone.plan.dialects import DIALECTS, plan_in_entry, tools_of
from tildone.plan.dialects.phased import phases_out
from tildone.plan.events import (
    Actor,
    Bound,
    Call,
    Event,
    Fact,
    Labelled,
    Nudged,
    PlanChanged,
    SessionHead,
    SessionInfo,
    Tripped,
    labels,
)
from tildone.plan.model import Phase, Plan, Status, Task, flat
from tildone.stores.pi.outline import Outline
from tildone.stores.pi.store import JsonlStore

WHEN_MS = 1767323045006


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return JsonlStore(folder, plan_in_entry)


def test_events_are_written_as_entries_that_other_programs_understand(folder: Path, store: JsonlStore) -> None:
    """A plan is an entry that oh-my-pi restores a list from, a label is pi's label; other events are custom entries."""
    plan = Plan((Phase("A", (Task("one", Status.COMPLETED, ("why", "how")), Task("two \ud800"))), Phase("B")))
    named, unnamed = Labelled("e0", "begun"), Labelled("e0", "")
    facts: list[Fact] = [PlanChanged(plan), named, unnamed, Nudged(1, 1), Tripped(Bound.DRIFT, 9)]
    for number, fact in enumerate(facts):
        store.append("s", Event(f"e{number}", f"e{number - 1}" if number else None, WHEN_MS, Actor.USER, fact))

    header, changed, labelled, unlabelled, *rest = entries_of(folder)

    assert header == {"type": "session", "version": 3, "id": "s", "timestamp": WHEN, "cwd": os.getcwd()}
    assert (changed["type"], changed["customType"]) == ("custom", "user_todo_edit")
    assert changed["data"]["phases"] == json.loads(json.dumps(phases_out(plan)))
    assert (labelled["type"], labelled["targetId"], labelled["label"]) == ("label", "e0", "begun")
    assert (unlabelled["type"], unlabelled["targetId"], "label" in unlabelled) == ("label", "e0", False)
    assert [(entry["type"], entry["customType"]) for entry in rest] == [("custom", "tildone")] * 2
    chained = [(entry["id"], entry["parentId"], entry["timestamp"]) for entry in (changed, labelled, unlabelled, *rest)]
    assert chained == [(f"e{n}", f"e{n - 1}" if n else None, WHEN) for n in range(5)]


def test_an_extended_status_is_written_as_a_basic_one(folder: Path, store: JsonlStore) -> None:
    """Reading it back gives the extended status."""
    event = Event("a", None, 1, Actor.USER, PlanChanged(flat(Task("wait", Status.BLOCKED, number=7))))

    store.append("s", event)

    [_, entry] = entries_of(folder)
    assert entry["data"]["phases"][0]["tasks"] == [{"content": "wait", "status": "pending"}]
    assert next(JsonlStore(folder, plan_in_entry).history("s")) == event


def test_entries_of_other_programs_are_not_changed(folder: Path, store: JsonlStore) -> None:
    """An event's entry follows the last entry, and its parent is the nearest event above."""
    chain(store, "s", "a")
    add(folder, message("m1", "a"), {"type": "unheard_of", "id": "u", "parentId": "m1", "x": [{"id": "y"}]})
    before = file_of(folder).read_bytes()

    written = chain(store, "s", "b")

    assert file_of(folder).read_bytes().startswith(before)
    assert entries_of(folder)[-1]["parentId"] == "u"
    assert written[0].parent == "a"
    assert ids(store.history("s")) == ["b", "a"]


def test_moving_the_head_opens_that_branch_in_pi(folder: Path, store: JsonlStore) -> None:
    """To pi, the last entry is the current one."""
    chain(store, "s", "a", "b", "c")

    store.move_head("s", SessionHead("a", ("b", "c")), expected="c")

    last = entries_of(folder)[-1]
    assert (last["type"], last["customType"], last["parentId"]) == ("custom", "tildone", "a")
    assert JsonlStore(folder, plan_in_entry).session_head("s") == SessionHead("a", ("b", "c"))


def test_messages_do_not_clear_the_redo_list(folder: Path, store: JsonlStore) -> None:
    """A branch switch or a change of the plan does."""
    chain(store, "s", "a", "b")
    store.move_head("s", SessionHead("a", ("b",)), expected="b")
    add(folder, message("m1", entries_of(folder)[-1]["id"]))
    talked = store.session_head("s")
    add(folder, message("m2", "b"))

    assert talked == SessionHead("a", ("b",))
    assert store.session_head("s") == SessionHead("b")


def test_changing_only_the_redo_list_does_not_move_the_conversation(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a")
    add(folder, message("m1", "a"))

    store.move_head("s", SessionHead("a", ("x",)), expected="a")

    assert entries_of(folder)[-1]["parentId"] == "m1"
    assert store.session_head("s") == SessionHead("a", ("x",))


def test_moving_before_the_first_event_keeps_earlier_messages(folder: Path, store: JsonlStore) -> None:
    """The new entry follows the messages that precede the plan."""
    begin(folder, message("m1", None), message("m2", "m1"))
    chain(store, "s", "a", "b")

    store.move_head("s", SessionHead(None, ("b",)), expected="b")
    moved = entries_of(folder)[-1]
    chain(store, "s", "c")

    assert moved["parentId"] == "m2"
    assert ids(store.history("s")) == ["c"]
    assert store.leaves("s") == ["b", "c"]


def test_entries_of_pi_are_read_as_events(folder: Path, store: JsonlStore) -> None:
    """A tool result is the agent's, with the call it answers; an edit is the user's; other entries are no events."""
    begin(
        folder,
        message("m1", None),
        said("m2", "m1", call("c1", "write_todos", {"mode": "replace"}), call("c2", "edit_todos", {"indices": [0]})),
        result("r1", "m2", "write_todos", "c1", todos=[{"text": "one", "status": "not_started"}]),
        result("r2", "r1", "edit_todos", "c2", todos=[{"text": "one", "status": "completed"}]),
        {"type": "custom", "id": "x1", "parentId": "r2", "timestamp": WHEN, "customType": "user_todo_edit", "data": {
            "phases": [{"name": "P", "tasks": [{"content": "two", "status": "pending"}]}]}},
    )  # fmt: skip

    one, done, edited = store.events("s")

    assert one == Event(
        "r1",
        None,
        WHEN_MS,
        Actor.AGENT,
        PlanChanged(unnumbered_plan_of("one"), Call("write_todos", '{"mode":"replace"}')),
    )
    assert done.fact == PlanChanged(flat(Task("one", Status.COMPLETED)), Call("edit_todos", '{"indices":[0]}'))
    assert edited == Event("x1", "r2", WHEN_MS, Actor.USER, PlanChanged(Plan((Phase("P", (Task("two"),)),))))
    assert store.session_head("s") == SessionHead("x1")
    assert store.sessions() == [SessionInfo("s", 3, WHEN_MS, WHEN_MS, "write_todos todo tildone")]


def test_results_without_a_plan_are_no_events(folder: Path, store: JsonlStore) -> None:
    """Errors, listings, other tools, and malformed entries."""
    fine = [{"text": "one", "status": "not_started"}]
    begin(
        folder,
        result("r1", None, "write_todos", "c", todos=[], error="index required"),
        result("r2", "r1", "list_todos", "c", todos=[]),
        result("r3", "r2", "bash", "c", todos=fine),
        result("r4", "r3", "todo_write", "c", phases="nonsense"),
        result("r5", "r4", "TodoWrite", "c", status="error", data={}),
        result("r6", "r5", "my_todo_list", "c", todos=fine),
        result("r7", "r6", "write_todos", "c", todos=fine)
        | {"message": {"role": "toolResult", "toolName": "todo_write"}},
        failed(result("r8", "r7", "write_todos", "c", todos=fine)),
    )

    assert list(store.events("s")) == []
    assert store.session_head("s") == SessionHead()
    assert store.sessions() == []


def test_a_result_without_its_call_still_names_the_tool(folder: Path, store: JsonlStore) -> None:
    """The tool tells which dialect the session uses."""
    begin(folder, result("r1", None, "write_todos", "c1", todos=[{"text": "one", "status": "not_started"}]))

    [event] = store.events("s")

    assert event.fact == PlanChanged(unnumbered_plan_of("one"), Call("write_todos", "{}"))


def test_the_results_of_every_dialects_tools_are_recognised(folder: Path) -> None:
    """The store recognises them by a pattern in their names, not from a list."""
    tools = [tool for name in DIALECTS for tool in tools_of(name)]
    begin(folder, *(result(f"r{number}", None, tool, "c") for number, tool in enumerate([*tools, "bash", "read"])))

    read = Outline(str(file_of(folder)))
    read.refresh()

    assert [read.tree.name(at) for at in read.tree.candidates] == [f"r{number}" for number in range(len(tools))]


def test_labels_of_pi_label_events(folder: Path, store: JsonlStore) -> None:
    """A label of a message applies to the plan at that point; without a plan there is nothing to label."""
    begin(
        folder,
        message("m0", None),
        label("l0", "m0", "m0", "too early"),
        result("r1", "l0", "write_todos", "c", todos=[{"text": "one", "status": "not_started"}]),
        message("m1", "r1"),
        label("l1", "m1", "m1", "begun"),
        label("l2", "l1", "m1", "begun again"),
        label("l3", "l2", "nowhere", "lost"),
        message("m2", "l3"),
        label("l4", "m2", "m2", "later"),
    )

    events = list(store.events("s"))

    assert ids(events) == ["r1", "l1", "l2", "l4"]
    assert [event.actor for event in events] == [Actor.AGENT, *[Actor.USER] * 3]
    assert events[1].fact == Labelled("r1", "begun")
    assert labels(events) == {"r1": "later"}
    add(folder, label("l5", "l4", "m1", None))
    assert labels(store.events("s")) == {}


def test_switching_branches_in_pi_moves_the_head(folder: Path, store: JsonlStore) -> None:
    """The head is the nearest event above pi's last entry."""
    begin(
        folder,
        result("r1", None, "write_todos", "c", todos=[{"text": "one", "status": "not_started"}]),
        result("r2", "r1", "edit_todos", "c", todos=[{"text": "one", "status": "completed"}]),
        message("m1", "r2"),
    )
    at_first = store.session_head("s")

    add(folder, {"type": "branch_summary", "id": "b", "parentId": "r1", "fromId": "m1", "summary": "tried"})
    add(folder, result("r3", "b", "edit_todos", "c", todos=[{"text": "one", "status": "abandoned"}]))

    assert at_first == SessionHead("r2")
    assert store.session_head("s") == SessionHead("r3")
    assert ids(store.history("s")) == ["r3", "r1"]
    assert store.leaves("s") == ["r2", "r3"]


def test_an_edit_while_pi_runs_becomes_a_branch(folder: Path, store: JsonlStore) -> None:
    """The edit is unknown to pi, which continues from its own leaf; it stays reachable."""
    begin(folder, result("r1", None, "write_todos", "c", todos=[{"text": "one", "status": "not_started"}]))
    chain(store, "s", "mine")
    add(folder, message("m1", "r1"))

    assert store.session_head("s") == SessionHead("r1")
    store.move_head("s", SessionHead("mine"), expected="r1")
    assert ids(store.history("s")) == ["mine", "r1"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_any_json_formatting_is_accepted(
    folder: Path, store: JsonlStore, ending: str, separators: tuple[str, str]
) -> None:
    """With or without spaces, with keys in another order, with CRLF line ends, with empty lines."""
    records = [
        {"type": "session", "version": 3, "id": "s"},
        said("m1", None, call("c1", "write_todos", {})),
        dict(reversed(result("r1", "m1", "write_todos", "c1", todos=[{"text": "ü", "status": "not_started"}]).items())),
        {"id": "x", "parentId": "r1", "type": "custom", "customType": "mine", "data": {"id": "r1", "parentId": None}},
    ]
    folder.mkdir()
    text = ending.join(["", *(json.dumps(record, separators=separators) for record in records), "", ""])
    (folder / "any.jsonl").write_bytes(text.encode())

    chain(store, "s", "a")

    assert ids(JsonlStore(folder, plan_in_entry).history("s")) == ["a", "r1"]
    assert entries_of(folder)[-1]["parentId"] == "x"
    assert oddities(store) == []


def test_an_unparsable_last_entry_does_not_become_a_parent(folder: Path, store: JsonlStore) -> None:
    """Otherwise pi, which cannot read it, would lose its children."""
    chain(store, "s", "a")
    for number in range(3):
        bad = f'{{"type":"message","id":"m{number}","parentId":"a","timestamp":"t","message":{{"role":"user",}}}}\n'
        with file_of(folder).open("a", encoding="utf-8") as file:
            file.write(bad)

    chain(store, "s", "b")

    assert json.loads(file_of(folder).read_text(encoding="utf-8").splitlines()[-1])["parentId"] == "a"
    assert ids(store.history("s")) == ["b", "a"]


def test_the_last_of_two_entries_with_one_id_counts(folder: Path, store: JsonlStore) -> None:
    """As in pi. The event is listed once."""
    chain(store, "s", "a", "b")
    lines = file_of(folder).read_bytes().splitlines(keepends=True)
    file_of(folder).write_bytes(b"".join([*lines, lines[1]]))

    assert ids(store.events("s")) == ["b", "a"]
    assert store.session_head("s") == SessionHead("a")
    assert oddities(store) == [f"{file_of(folder).name}: duplicate ids: 1"]


def test_an_event_may_have_the_id_of_another_entry(folder: Path, store: JsonlStore) -> None:
    """Its entry gets a new id, as does the entry of an event whose id is not valid in pi."""
    begin(folder, message("a", None))

    written = chain(store, "s", "a", "", "b")

    entries = entries_of(folder)[1:]
    assert list(JsonlStore(folder, plan_in_entry).events("s")) == written
    assert len({entry["id"] for entry in entries}) == 4
    assert [entry["parentId"] for entry in entries] == [None, *(entry["id"] for entry in entries[:-1])]
    assert next(store.history("s", "")).id == ""


def said(entry_id: str, parent: str | None, *calls: Entry) -> Entry:
    return message(entry_id, parent) | {"message": {"role": "assistant", "content": [*calls], "stopReason": "toolUse"}}


def call(call_id: str, name: str, arguments: Entry) -> Entry:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def failed(entry: Entry) -> Entry:
    return entry | {"message": entry["message"] | {"isError": True}}


def label(entry_id: str, parent: str, target: str, name: str | None) -> Entry:
    entry = {"type": "label", "id": entry_id, "parentId": parent, "timestamp": WHEN, "targetId": target}
    return entry if name is None else entry | {"label": name}


def add(folder: Path, *entries: Entry) -> None:
    with file_of(folder).open("a", encoding="utf-8") as file:
        file.write(lines(*entries))
