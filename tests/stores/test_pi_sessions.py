"""Session files in pi's format: entries, imported and exported histories."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plans import unnumbered_plan_of
from tests.stores.contract import WILD, chain, ids, planned
from tests.stores.jsonl_files import WHEN, Entry, begin, entries_of, file_of, lines, message, oddities, result
from tildone.base import NotFound, StoreDamaged, StoreError, StoreTooNew, UnknownEvent
from tildone.plan.dialects import DIALECTS, dialect_named, plan_in_entry, tools_of
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
from tildone.stores.pi.history import PiHistory, read_history, write_history
from tildone.stores.pi.outline import Outline
from tildone.stores.pi.session_file import SessionFile, format_timestamp, load, newest_files, parse_timestamp
from tildone.stores.pi.store import JsonlStore

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05.006Z", "cwd": "/p"}
TRACES = sorted((Path(__file__).parents[1] / "traces").glob("*.json"))


OLD = Path(__file__).parent / "old_sessions"


def custom(entry_id: str, parent: str | None) -> Entry:
    return {"type": "custom", "id": entry_id, "parentId": parent}


def entry_ids(path: Path) -> list[str]:
    return [entry["id"] for entry in load(str(path))[1]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def test_a_file_is_created_with_the_first_entry(tmp_path: Path) -> None:
    """With missing folders; a session without entries leaves no file."""
    path = tmp_path / "new" / "s.jsonl"
    file = SessionFile(str(path), HEADER)
    assert not path.exists()
    written = [custom("a", None) | {"data": "\ud800\u2028 ü"}, custom("b", "a")]

    for entry in written:
        file.write(entry)

    assert load(str(path)) == (HEADER, written)


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_entries_of_pi_are_read_unchanged(trace: Path, path: Path) -> None:
    for recorded in json.loads(trace.read_text(encoding="utf-8"))["session_files"]:
        path.write_text(lines(*recorded["entries"]), encoding="utf-8")

        header, entries = load(str(path))

        assert [header, *entries] == recorded["entries"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("garbage\n" + lines(custom("a", "lost")), "line 2 cannot be read, and line 3 depends on it"),
        (lines(custom("a", "lost")), "line 2 has parent 'lost', which is not in the file"),
        *((lines(custom("a", above)), "line 2") for above in "ba"),
    ],
    ids=["unparsable", "missing", "a cycle", "a cycle of one"],
)
def test_a_conversation_with_an_unusable_ancestor_is_refused(path: Path, text: str, why: str) -> None:
    """It is not continued as if that entry had never existed. Other branches may be broken."""
    path.write_text(lines(HEADER) + text + lines(custom("b", "a")), encoding="utf-8")

    with pytest.raises(StoreDamaged, match=why):
        load(str(path))
    with path.open("a", encoding="utf-8") as file:
        file.write(lines(custom("c", None)))
    assert entry_ids(path) == ["a", "b", "c"]


@pytest.mark.parametrize("torn", ["", "\n", '\n{"type": "message", "id": "x", "par', "\ngarbage", "\ngarbage\nNaN\n"])
def test_an_append_after_an_unparsable_or_unended_line_begins_a_new_line(path: Path, torn: str) -> None:
    """An unparsable line is skipped, and a last line without a newline is read."""
    path.write_text(lines(HEADER, custom("a", None)).rstrip() + torn, encoding="utf-8")
    assert entry_ids(path) == ["a"]

    SessionFile(str(path), HEADER, exists=True).write(custom("b", "a"))

    assert entry_ids(path) == ["a", "b"]
    assert torn in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_upgraded_once_before_an_append(path: Path, version: int) -> None:
    old = (OLD / f"version-{version}.jsonl").read_bytes()
    path.write_bytes(old)
    header, entries = load(str(path))
    assert path.read_bytes() == old

    file = SessionFile(str(path), header, exists=True)
    for number, parent in enumerate([entries[-1]["id"], "new0"]):
        file.write(custom(f"new{number}", parent))

    assert load(str(path)) == (header, [*entries, custom("new0", entries[-1]["id"]), custom("new1", "new0")])
    assert json.loads(path.read_bytes().splitlines()[0]) == header
    assert path.with_name(f"s.jsonl.v{version}.bak").read_bytes() == old
    assert len(list(path.parent.iterdir())) == 2


WRITERS: list[Callable[[str], object]] = [
    lambda path: SessionFile(path, HEADER).write(custom("a", None)),
    lambda path: write_history(path, "s", "/p", [planned("a", None, "x")], SessionHead("a")),
]


@pytest.mark.parametrize("write", WRITERS, ids=["entries", "events"])
def test_a_new_session_does_not_overwrite_a_file_and_creates_missing_folders(
    path: Path, write: Callable[[str], object]
) -> None:
    path.write_text("precious", encoding="utf-8")

    with pytest.raises(StoreError, match=r"s\.jsonl exists already"):
        write(str(path))
    with pytest.raises(StoreError, match=r"s\.jsonl: File exists"):
        write(str(path / "s.jsonl"))

    assert path.read_text(encoding="utf-8") == "precious"
    assert os.listdir(path.parent) == ["s.jsonl"]
    write(str(path.with_name("new") / "s.jsonl"))
    assert path.with_name("new").joinpath("s.jsonl").exists()


def test_older_versions_are_upgraded_in_memory(path: Path) -> None:
    old = {"type": "message", "message": {"role": "hookMessage", "content": "x"}}
    path.write_text(lines({"type": "session", "id": "s"}, old, {"type": "custom"}, [1], ""), encoding="utf-8")

    header, entries = load(str(path))

    assert header["version"] == 3
    assert [(entry["id"], entry["parentId"]) for entry in entries] == [("00000000", None), ("00000001", "00000000")]
    assert entries[0]["message"]["role"] == "custom"


def test_the_newest_file_is_the_one_written_to_last(tmp_path: Path) -> None:
    assert newest_files(str(tmp_path / "none")) == []
    assert newest_files(str(tmp_path)) == []
    for age, name in enumerate(["b.jsonl", "a.jsonl", "c.txt"]):
        (tmp_path / name).write_text("", encoding="utf-8")
        os.utime(tmp_path / name, (age, age))

    assert newest_files(str(tmp_path))[0] == str(tmp_path / "a.jsonl")


def test_timestamps_have_pis_format() -> None:
    """One that is out of range is clamped: every entry needs one. Other precisions are read, all else is None."""
    exact = {
        0: "1970-01-01T00:00:00.000Z",
        1794703543432: "2026-11-15T00:45:43.432Z",
        951782400000: "2000-02-29T00:00:00.000Z",
        951868799999: "2000-02-29T23:59:59.999Z",
        4107542400000: "2100-03-01T00:00:00.000Z",
        32535215999999: "3000-12-31T23:59:59.999Z",
    }
    others = {"2026-01-02T03:04:05Z": 1767323045000, "2026-01-02T03:04:05.1234567Z": 1767323045123}
    nothing = (None, 7, "", "yesterday", "2026-01-02", "2026-01-02T03:04:05+01:00")

    assert {at: format_timestamp(at) for at in exact} == exact
    assert [format_timestamp(at) for at in (-1, 10**18)] == [exact[0], exact[32535215999999]]
    assert {written: parse_timestamp(written) for written in (*exact.values(), *others)} == others | {
        written: at for at, written in exact.items()
    }
    assert [parse_timestamp(written) for written in nothing] == [None] * len(nothing)


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_a_recorded_session_survives_a_round_trip(trace: Path, tmp_path: Path) -> None:
    recordings = json.loads(trace.read_text(encoding="utf-8"))["session_files"]
    assert recordings
    for number, recorded in enumerate(recordings):
        folder = tmp_path / str(number)
        folder.mkdir()
        file, copy = folder / recorded["name"].rpartition("/")[2], tmp_path / f"copy-{number}.jsonl"
        file.write_text(lines(*recorded["entries"]), encoding="utf-8")
        session = recorded["entries"][0]["id"]
        store = JsonlStore(folder, plan_in_entry)
        recovered = dialect_named("indexed").recover(recorded["entries"])

        before = read_history(str(file), plan_in_entry)
        [added] = chain(store, session, "added")
        after = read_history(str(file), plan_in_entry)
        write_history(str(copy), after.session, after.cwd, after.events, after.session_head)

        assert as_json(file)[:-1] == recorded["entries"]
        assert as_json(file)[-1]["parentId"] == recorded["entries"][-1]["id"]
        assert [event.fact.plan for event in before.events if isinstance(event.fact, PlanChanged)][-1:] == (
            [] if recovered is None else [recovered]
        )
        assert after.events == (*before.events, added)
        assert read_history(str(copy), plan_in_entry) == PiHistory(
            session, after.cwd, after.events, after.session_head, ()
        )


def test_skipped_entries_are_counted_by_type(path: Path) -> None:
    trace = json.loads((TRACES[0].parent / "resume.json").read_text(encoding="utf-8"))
    entries = trace["session_files"][0]["entries"]
    path.write_text(lines(*entries), encoding="utf-8")

    history = read_history(str(path), plan_in_entry)

    assert history.skipped_entries == (
        ("message", 11),
        ("custom_message", 2),
        ("model_change", 1),
        ("thinking_level_change", 1),
    )
    assert len(history.events) == 4
    assert all(isinstance(event.fact, PlanChanged) and event.fact.call for event in history.events)
    assert history.session_head == SessionHead(history.events[-1].id)
    assert history.cwd == entries[0]["cwd"]


def test_a_result_is_matched_with_its_call(path: Path) -> None:
    trace = json.loads((TRACES[0].parent / "parallel-calls.json").read_text(encoding="utf-8"))
    entries = trace["session_files"][0]["entries"]
    path.write_text(lines(*entries), encoding="utf-8")
    made = {
        part["id"]: Call(part["name"], json.dumps(part["arguments"], separators=(",", ":")))
        for entry in entries
        if entry["type"] == "message" and entry["message"]["role"] == "assistant"
        for part in entry["message"]["content"]
        if part["type"] == "toolCall"
    }
    answered = {entry["id"]: entry["message"].get("toolCallId") for entry in entries if entry["type"] == "message"}

    events = read_history(str(path), plan_in_entry).events

    assert [made[answered[event.id]] for event in events] == [
        event.fact.call for event in events if isinstance(event.fact, PlanChanged)
    ]


@pytest.mark.parametrize(("version", "left_out"), [(1, 4), (2, 2)])
def test_older_versions_are_read_and_unchanged(version: int, left_out: int) -> None:
    file = OLD / f"version-{version}.jsonl"
    before = file.read_bytes()

    history = read_history(str(file), plan_in_entry)

    assert [len(history.events), len(history.skipped_entries)] == [2, left_out]
    assert history.cwd == "/home/me/project"
    assert history.session_head == SessionHead(history.events[-1].id)
    assert isinstance(history.events[0].fact, PlanChanged)
    assert history.events[0].fact.call
    assert file.read_bytes() == before


def test_every_event_survives_a_round_trip(path: Path) -> None:
    events = [
        planned("a", None, "one \ud800"),
        Event("b", "a", -5, Actor.TIMER, Nudged(4, 5)),
        Event("c", "b", 10**15, Actor.IMPORT, Tripped(Bound.DRIFT, 60)),
        Event("d", "a", 3, Actor.USER, Labelled("b", "x")),
        Event("e", None, 4, Actor.USER, Labelled("nowhere", "")),
        Event("f", "d", 5, Actor.AGENT, PlanChanged(Plan(), Call("edit_todos", '{"a": 1}'), 3)),
        *(planned(f"w{name}", "f", name) for name in WILD),
        planned("", "f", "no name"),
    ]

    write_history(str(path), "any \ud800 name", "/p", events, SessionHead("b", ("c", "nowhere")))

    history = read_history(str(path), plan_in_entry)
    assert history == PiHistory("any \ud800 name", "/p", tuple(events), SessionHead("b", ("c", "nowhere")), ())


@pytest.mark.parametrize("place", [SessionHead(), SessionHead("a"), SessionHead("b"), SessionHead(None, ("b", "a"))])
def test_an_exported_session_opens_at_the_same_head(path: Path, tmp_path: Path, place: SessionHead) -> None:
    write_history(str(path), "s", "/p", [planned("a", None, "x"), planned("b", "a", "y")], place)

    store = JsonlStore(tmp_path, plan_in_entry)
    assert store.session_head("s") == place
    store.append("s", planned("c", place.head, "z"))

    assert ids(store.events("s")) == ["a", "b", "c"]


def test_an_empty_history_can_be_written_and_read(path: Path) -> None:
    write_history(str(path), "s", "/p", [], SessionHead())

    assert read_history(str(path), plan_in_entry) == PiHistory("s", "/p", (), SessionHead(), ())
    assert as_json(path) == [{**HEADER, "timestamp": "1970-01-01T00:00:00.000Z"}]


@pytest.mark.parametrize(
    ("events", "place"),
    [
        ([planned("b", "a", "x")], SessionHead("b")),
        ([planned("a", None, "x")], SessionHead("b")),
        ([], SessionHead("a")),
    ],
)
def test_an_inconsistent_history_is_not_written(path: Path, events: list[Event], place: SessionHead) -> None:
    with pytest.raises(UnknownEvent):
        write_history(str(path), "s", "/p", events, place)

    assert not path.exists()


READERS: list[Callable[[str], object]] = [load, lambda path: read_history(path, plan_in_entry)]


@pytest.mark.parametrize("read", READERS, ids=["entries", "events"])
@pytest.mark.parametrize(
    ("text", "wrong", "said"),
    [
        (None, NotFound, "no session file"),
        *((text, StoreDamaged, "not a session header") for text in ("", "\n", "[]\n", "Dear diary,\n")),
        (json.dumps({"type": "message", "id": "a"}), StoreDamaged, "not a session header"),
        (json.dumps({**HEADER, "version": 4}), StoreTooNew, "format version 4"),
        (json.dumps({**HEADER, "version": "3"}), StoreDamaged, "'3' is not a format version"),
        (json.dumps({**HEADER, "version": 0}), StoreDamaged, "0 is not a format version"),
    ],
)
def test_a_file_that_is_not_a_session_file_is_refused(
    path: Path, read: Callable[[str], object], text: str | None, wrong: type[Exception], said: str
) -> None:
    if text is not None:
        path.write_text(text, encoding="utf-8")

    with pytest.raises(wrong, match=said):
        read(str(path))
    with pytest.raises(StoreError, match="cannot read"):
        read(str(path.parent))


def as_json(path: Path) -> list[Entry]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


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
    event = Event("a", None, 1, Actor.USER, PlanChanged(flat(Task("wait", Status.BLOCKED, number=7))))

    store.append("s", event)

    [_, entry] = entries_of(folder)
    assert entry["data"]["phases"][0]["tasks"] == [{"content": "wait", "status": "pending"}]
    assert next(JsonlStore(folder, plan_in_entry).history("s")) == event


def test_entries_of_other_programs_are_not_changed(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a")
    add(folder, message("m1", "a"), {"type": "unheard_of", "id": "u", "parentId": "m1", "x": [{"id": "y"}]})
    before = file_of(folder).read_bytes()

    written = chain(store, "s", "b")

    assert file_of(folder).read_bytes().startswith(before)
    assert entries_of(folder)[-1]["parentId"] == "u"
    assert written[0].parent == "a"
    assert ids(store.history("s")) == ["b", "a"]


def test_moving_the_head_opens_that_branch_in_pi(folder: Path, store: JsonlStore) -> None:
    chain(store, "s", "a", "b", "c")

    store.move_head("s", SessionHead("a", ("b", "c")), expected="c")

    last = entries_of(folder)[-1]
    assert (last["type"], last["customType"], last["parentId"]) == ("custom", "tildone", "a")
    assert JsonlStore(folder, plan_in_entry).session_head("s") == SessionHead("a", ("b", "c"))


def test_messages_do_not_clear_the_redo_list(folder: Path, store: JsonlStore) -> None:
    """A change of only that list does not move the conversation."""
    chain(store, "s", "a", "b")
    store.move_head("s", SessionHead("a", ("b",)), expected="b")
    add(folder, message("m1", entries_of(folder)[-1]["id"]))
    talked = store.session_head("s")
    add(folder, message("m2", "b"))

    assert talked == SessionHead("a", ("b",))
    assert store.session_head("s") == SessionHead("b")
    store.move_head("s", SessionHead("b", ("x",)), expected="b")
    assert entries_of(folder)[-1]["parentId"] == "m2"
    assert store.session_head("s") == SessionHead("b", ("x",))


def test_moving_before_the_first_event_keeps_earlier_messages(folder: Path, store: JsonlStore) -> None:
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
    # A result without its call still names the tool, which tells the dialect of the session.
    assert events[0].fact == PlanChanged(unnumbered_plan_of("one"), Call("write_todos", "{}"))
    add(folder, label("l5", "l4", "m1", None))
    assert labels(store.events("s")) == {}


def test_switching_branches_in_pi_moves_the_head(folder: Path, store: JsonlStore) -> None:
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
    chain(store, "s", "a", "b")
    written = file_of(folder).read_bytes().splitlines(keepends=True)
    file_of(folder).write_bytes(b"".join([*written, written[1]]))

    assert ids(store.events("s")) == ["b", "a"]
    assert store.session_head("s") == SessionHead("a")
    assert oddities(store) == [f"{file_of(folder).name}: duplicate ids: 1"]


def test_an_event_may_have_the_id_of_another_entry(folder: Path, store: JsonlStore) -> None:
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
