"""Plans in a folder of pi's session files: what is written there, what is read from there, and what is left alone."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tests.plans import plan_of, session_on
from tests.stores.contract import LONG_ENOUGH, WILD, chain, ids, planned
from tildone.core.plan import Phase, Plan, Status, Task, flat
from tildone.dialects import DIALECTS, plan_in_entry, tools_of
from tildone.dialects.phased.entries import phases_in, phases_out
from tildone.errors import UnknownEvent
from tildone.log.events import Actor, Bound, Call, Event, Fact, Labelled, Nudged, PlanChanged, Tripped
from tildone.log.health import Health
from tildone.log.tree import SessionHead, SessionInfo, labels
from tildone.stores.pi import folder as folders
from tildone.stores.pi import outline
from tildone.stores.pi import store as store_module
from tildone.stores.pi.outline import Outline
from tildone.stores.pi.session_file import parse_line
from tildone.stores.pi.store import JsonlStore

Entry = dict[str, Any]

OLD = Path(__file__).parent / "old_sessions"
WHEN = "2026-01-02T03:04:05.006Z"
WHEN_MS = 1767323045006


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def store(folder: Path) -> JsonlStore:
    return JsonlStore(folder, plan_in_entry)


def test_an_event_is_an_entry_that_others_understand(folder: Path, store: JsonlStore) -> None:
    """A plan is what oh-my-pi restores a list from, a label is a label; the rest is tildone's own."""
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


def test_a_status_that_others_do_not_know_is_one_they_know(folder: Path, store: JsonlStore) -> None:
    """And comes back as it was."""
    event = Event("a", None, 1, Actor.USER, PlanChanged(flat(Task("wait", Status.BLOCKED, number=7))))

    store.append("s", event)

    [_, entry] = entries_of(folder)
    assert entry["data"]["phases"][0]["tasks"] == [{"content": "wait", "status": "pending"}]
    assert next(JsonlStore(folder, plan_in_entry).history("s")) == event


def test_what_others_write_stays_where_it_is(folder: Path, store: JsonlStore) -> None:
    """Events hang under the last entry, whatever it is, and their parents are the nearest events above."""
    chain(store, "s", "a")
    add(folder, message("m1", "a"), {"type": "unheard_of", "id": "u", "parentId": "m1", "x": [{"id": "y"}]})
    before = file_of(folder).read_bytes()

    written = chain(store, "s", "b")

    assert file_of(folder).read_bytes().startswith(before)
    assert entries_of(folder)[-1]["parentId"] == "u"
    assert written[0].parent == "a"
    assert ids(store.history("s")) == ["b", "a"]


def test_moving_the_head_opens_that_branch_in_pi(folder: Path, store: JsonlStore) -> None:
    """Which takes the last entry for where the session stands."""
    chain(store, "s", "a", "b", "c")

    store.move_head("s", SessionHead("a", ("b", "c")), expected="c")

    last = entries_of(folder)[-1]
    assert (last["type"], last["customType"], last["parentId"]) == ("custom", "tildone", "a")
    assert JsonlStore(folder, plan_in_entry).session_head("s") == SessionHead("a", ("b", "c"))


def test_the_way_forward_stays_open_while_others_talk(folder: Path, store: JsonlStore) -> None:
    """Until they go another way, or change the plan."""
    chain(store, "s", "a", "b")
    store.move_head("s", SessionHead("a", ("b",)), expected="b")
    add(folder, message("m1", entries_of(folder)[-1]["id"]))
    talked = store.session_head("s")
    add(folder, message("m2", "b"))

    assert talked == SessionHead("a", ("b",))
    assert store.session_head("s") == SessionHead("b")


def test_a_move_that_stays_where_it_is_moves_no_conversation(folder: Path, store: JsonlStore) -> None:
    """Only the way forward is new."""
    chain(store, "s", "a")
    add(folder, message("m1", "a"))

    store.move_head("s", SessionHead("a", ("x",)), expected="a")

    assert entries_of(folder)[-1]["parentId"] == "m1"
    assert store.session_head("s") == SessionHead("a", ("x",))


def test_before_the_first_event_is_what_came_before_it(folder: Path, store: JsonlStore) -> None:
    """A conversation that was there is not left with it."""
    begin(folder, message("m1", None), message("m2", "m1"))
    chain(store, "s", "a", "b")

    store.move_head("s", SessionHead(None, ("b",)), expected="b")
    moved = entries_of(folder)[-1]
    chain(store, "s", "c")

    assert moved["parentId"] == "m2"
    assert ids(store.history("s")) == ["c"]
    assert store.leaves("s") == ["b", "c"]


def test_what_pi_writes_is_read_as_events(folder: Path, store: JsonlStore) -> None:
    """A tool's result is the agent's, with the call it answers; an edit is the person's; other entries are neither."""
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
        "r1", None, WHEN_MS, Actor.AGENT, PlanChanged(plan_of("one"), Call("write_todos", '{"mode":"replace"}'))
    )
    assert done.fact == PlanChanged(flat(Task("one", Status.COMPLETED)), Call("edit_todos", '{"indices":[0]}'))
    assert edited == Event("x1", "r2", WHEN_MS, Actor.USER, PlanChanged(Plan((Phase("P", (Task("two"),)),))))
    assert store.session_head("s") == SessionHead("x1")
    assert store.sessions() == [SessionInfo("s", 3, WHEN_MS, WHEN_MS)]


def test_results_that_say_nothing_of_the_plan_are_no_events(folder: Path, store: JsonlStore) -> None:
    """Errors, listings, other tools, and what makes no sense."""
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
    """The dialect of the session is known by it."""
    begin(folder, result("r1", None, "write_todos", "c1", todos=[{"text": "one", "status": "not_started"}]))

    [event] = store.events("s")

    assert event.fact == PlanChanged(plan_of("one"), Call("write_todos", "{}"))


def test_every_tool_of_every_dialect_is_looked_into(folder: Path) -> None:
    """The store knows them by how they are called, and no list of them."""
    tools = [tool for name in DIALECTS for tool in tools_of(name)]
    begin(folder, *(result(f"r{number}", None, tool, "c") for number, tool in enumerate([*tools, "bash", "read"])))

    read = Outline(str(file_of(folder)))
    read.refresh()

    assert [read.tree.name(at) for at in read.tree.maybe] == [f"r{number}" for number in range(len(tools))]


def test_names_that_pi_gives_are_names_of_events(folder: Path, store: JsonlStore) -> None:
    """A message has the name of the plan as it was then; where there was none, there is nothing to name."""
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


def test_a_plan_follows_pi_from_branch_to_branch(folder: Path, store: JsonlStore) -> None:
    """Its head is the nearest event above pi's leaf."""
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


def test_an_edit_while_pi_runs_is_on_a_branch_of_its_own(folder: Path, store: JsonlStore) -> None:
    """It knows nothing of it and goes on from where it was: the edit is kept, and can be gone back to."""
    begin(folder, result("r1", None, "write_todos", "c", todos=[{"text": "one", "status": "not_started"}]))
    chain(store, "s", "mine")
    add(folder, message("m1", "r1"))

    assert store.session_head("s") == SessionHead("r1")
    store.move_head("s", SessionHead("mine"), expected="r1")
    assert ids(store.history("s")) == ["mine", "r1"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_a_file_may_be_written_in_any_manner(
    folder: Path, store: JsonlStore, ending: str, separators: tuple[str, str]
) -> None:
    """With spaces or without, with keys in another order, with line ends of Windows, with empty lines."""
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


def test_a_last_entry_that_only_begins_well_is_not_hung_under(folder: Path, store: JsonlStore) -> None:
    """For pi can't read it, and would lose what hangs there."""
    chain(store, "s", "a")
    for number in range(3):
        bad = f'{{"type":"message","id":"m{number}","parentId":"a","timestamp":"t","message":{{"role":"user",}}}}\n'
        with file_of(folder).open("a", encoding="utf-8") as file:
            file.write(bad)

    chain(store, "s", "b")

    assert json.loads(file_of(folder).read_text(encoding="utf-8").splitlines()[-1])["parentId"] == "a"
    assert ids(store.history("s")) == ["b", "a"]


def test_of_two_entries_of_one_id_the_last_counts(folder: Path, store: JsonlStore) -> None:
    """As for pi. The event is there once."""
    chain(store, "s", "a", "b")
    lines = file_of(folder).read_bytes().splitlines(keepends=True)
    file_of(folder).write_bytes(b"".join([*lines, lines[1]]))

    assert ids(store.events("s")) == ["b", "a"]
    assert store.session_head("s") == SessionHead("a")
    assert oddities(store) == [f"{file_of(folder).name}: duplicate ids: 1"]


def test_an_id_that_an_entry_has_already_is_free_for_events(folder: Path, store: JsonlStore) -> None:
    """The entry gets another; so does the entry of an event whose id pi could not follow."""
    begin(folder, message("a", None))

    written = chain(store, "s", "a", "", "b")

    entries = entries_of(folder)[1:]
    assert list(JsonlStore(folder, plan_in_entry).events("s")) == written
    assert len({entry["id"] for entry in entries}) == 4
    assert [entry["parentId"] for entry in entries] == [None, *(entry["id"] for entry in entries[:-1])]
    assert next(store.history("s", "")).id == ""


def test_a_file_is_called_as_pi_would_call_it(folder: Path, store: JsonlStore) -> None:
    """Where pi could: else what can be read of the name, and a digest."""
    at = WHEN_MS
    for name in ("0193-uuid", "/home/me/my project", "x" * 300, "ünï", "", "CON", "a.b_c", "-x-"):
        store.append(name, planned("a", None, "x", at=at))

    stamp = "2026-01-02T03-04-05-006Z_"
    names = {path.name.removeprefix(stamp).removesuffix(".jsonl") for path in folder.glob(f"{stamp}*.jsonl")}
    assert {"0193-uuid", "CON", "a.b_c"} < names
    assert any(name.startswith("home-me-my-project-") for name in names)
    assert max(map(len, names)) < 100
    assert len(names) == 8
    assert all(folders._FIT.fullmatch(name) for name in names)  # noqa: SLF001  what pi takes for an id


def test_names_that_look_alike_are_kept_apart(folder: Path, store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were digests the same, files would be told apart by their headers."""
    monkeypatch.setattr(folders, "crc32", lambda _: 0)

    for name in WILD:
        chain(store, name, "a", "b")

    again = JsonlStore(folder, plan_in_entry)
    assert {info.name: info.events for info in again.sessions()} == dict.fromkeys(WILD, 2)
    assert all(ids(again.history(name)) == ["b", "a"] for name in WILD)


def test_a_session_that_is_a_folder_is_about_it(folder: Path, store: JsonlStore, tmp_path: Path) -> None:
    """As pi lists sessions by the folders they are about."""
    chain(store, str(tmp_path), "a")

    assert entries_of(folder)[0]["cwd"] == str(tmp_path)


def test_a_session_may_begin_where_there_is_no_folder_any_more(
    folder: Path, store: JsonlStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has deleted the one that somebody is in."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    chain(store, "s", "a")
    monkeypatch.chdir(tmp_path)

    assert entries_of(folder)[0]["cwd"] == ""


def test_more_sessions_than_are_remembered_can_be_worked_on(store: JsonlStore) -> None:
    """Each is read anew when it is its turn."""
    names = [f"s{number}" for number in range(40)]
    for name in names:
        chain(store, name, "a")

    assert [store.session_head(name) for name in names] == [SessionHead("a")] * 40
    assert [chain(store, name, "b")[0].parent for name in names] == ["a"] * 40


def test_of_two_files_of_a_session_one_is_used(folder: Path, store: JsonlStore) -> None:
    """That which is called like it; whoever examines the store is told of the other."""
    chain(store, "s", "a")
    mine = file_of(folder)
    shutil.copyfile(mine, folder / "copy.jsonl")

    again = JsonlStore(folder, plan_in_entry)
    chain(again, "s", "b")

    assert [info.events for info in again.sessions()] == [2]
    assert oddities(again) == [f"several files contain session 's': {mine.name} is used, copy.jsonl not"]
    assert len(mine.read_bytes().splitlines()) == 3


def test_sessions_stand_in_the_order_of_writing_whatever_the_clock_says(folder: Path) -> None:
    """It may stand still, or be set back."""
    times = iter([50, 50, 50, 40, 30, 50, 50])
    store = JsonlStore(folder, plan_in_entry, clock=lambda: next(times) * 10**9)
    names: list[list[str]] = []
    for name in ("one", "two", "three", "four", "one"):
        chain(store, name, f"of {name} {len(names)}")
        names.append([info.name for info in store.sessions()])

    assert names[-1] == ["one", "four", "three", "two"]
    assert names[-2] == ["four", "three", "two", "one"]


def test_a_session_that_others_write_to_comes_first(folder: Path, store: JsonlStore) -> None:
    """A conversation goes on: that is writing, too."""
    chain(store, "one", "a")
    chain(store, "two", "a")
    path = file_of(folder, "one")
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(message("m", "a")) + "\n")
    later = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))

    assert [info.name for info in store.sessions()] == ["one", "two"]


def test_events_that_are_taken_over_hang_where_the_conversation_is(folder: Path, store: JsonlStore) -> None:
    """New beginnings come after what was said, and other branches under their own parents."""
    begin(folder, message("m1", None))
    theirs = [planned("a", None, "one"), planned("b", "a", "two"), planned("z", None, "three"), planned("c", "a", "x")]

    store.import_events("s", theirs, SessionHead("b", ("c",)))

    parents = {entry["id"]: entry["parentId"] for entry in entries_of(folder)[1:]}
    assert parents.items() >= {"a": "m1", "b": "a", "z": "m1", "c": "a"}.items()
    assert list(parents.values())[-1] == "b"
    assert list(JsonlStore(folder, plan_in_entry).events("s")) == theirs
    assert store.session_head("s") == SessionHead("b", ("c",))


def test_forgetting_a_plan_keeps_the_conversation(folder: Path, store: JsonlStore) -> None:
    """No byte of it is lost; oh-my-pi finds an empty list, and the session can begin anew."""
    begin(
        folder,
        message("m1", None),
        result("r1", "m1", "write_todos", "c", todos=[{"text": "one", "status": "not_started"}]),
    )
    chain(store, "s", "a", "b")
    before = file_of(folder).read_bytes()

    store.delete("s", expected="b")
    forgotten = entries_of(folder)[-1]

    assert file_of(folder).read_bytes().startswith(before)
    assert forgotten["data"]["phases"] == []
    assert forgotten["parentId"] == "b"
    for each in (store, JsonlStore(folder, plan_in_entry)):
        assert (each.session_head("s"), list(each.events("s")), each.sessions()) == (SessionHead(), [], [])
        with pytest.raises(UnknownEvent):
            each.history("s", "r1")
    assert list(store.events("s")) == []
    assert chain(store, "s", "a") == list(JsonlStore(folder, plan_in_entry).events("s"))


def test_forgetting_a_plan_that_was_alone_removes_its_file(folder: Path, store: JsonlStore) -> None:
    """Moves and labels are tildone's, too."""
    chain(store, "s", "a", "b")
    store.move_head("s", SessionHead("a"), expected="b")
    store.append("s", Event("l", "a", 1, Actor.USER, Labelled("a", "x")))

    store.delete("s", expected="l")

    assert list(folder.glob("*.jsonl")) == []


def test_there_is_nothing_to_forget_in_a_conversation_without_a_plan(folder: Path, store: JsonlStore) -> None:
    begin(folder, message("m1", None))
    before = file_of(folder).read_bytes()

    store.delete("s", expected=None)
    store.move_head("s", SessionHead(None, ("x",)), expected=None)
    store.import_events("s", [], SessionHead(None, ("x",)))

    assert file_of(folder).read_bytes() == before


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_read_as_it_is(folder: Path, store: JsonlStore, version: int) -> None:
    """Nothing is written for that, and its events are called the same whenever it is read."""
    path, name = old(folder, version)
    before = path.read_bytes()

    events = list(store.events(name))

    assert [len(events), events[0].parent, events[1].parent] == [2, None, events[0].id]
    assert store.session_head(name) == SessionHead(events[1].id)
    assert list(JsonlStore(folder, plan_in_entry).events(name)) == events
    assert path.read_bytes() == before
    assert oddities(store) == []


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_raised_when_something_is_added(folder: Path, store: JsonlStore, version: int) -> None:
    """What it was is kept beside it, and everything in it means the same as before."""
    path, name = old(folder, version)
    before, events = path.read_bytes(), list(store.events(name))
    path.chmod(0o640)

    added = chain(store, name, "new")

    header, *entries = entries_of(folder)
    assert header["version"] == 3
    assert path.with_name(f"{path.name}.v{version}.bak").read_bytes() == before
    assert list(JsonlStore(folder, plan_in_entry).events(name)) == list(store.events(name)) == [*events, *added]
    assert [entry["parentId"] for entry in entries] == [None, *(entry["id"] for entry in entries[:-1])]
    was = [json.loads(line) for line in before.splitlines()][1:]
    assert [without_links(entry) for entry in entries[:-1]] == [without_links(entry) for entry in was]
    if version == 2:
        assert path.read_bytes().splitlines()[3:-1] == before.splitlines()[3:]
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_older_versions_said_otherwise_is_said_anew(folder: Path, store: JsonlStore) -> None:
    """Where a compaction begins to keep, and whose message a hook's is."""
    for version in (1, 2):
        _, name = old(folder, version)
        chain(store, name, "new")

    first, second = (entries_of(folder, f"{version}")[1:] for version in (1, 2))
    [compaction] = [entry for entry in first if entry["type"] == "compaction"]
    assert compaction["firstKeptEntryId"] == first[4]["id"]
    assert "firstKeptEntryIndex" not in compaction
    assert second[1]["message"]["role"] == "custom"


def test_what_can_not_be_read_in_an_older_file_is_kept_when_it_is_raised(folder: Path, store: JsonlStore) -> None:
    """At its place, to the byte; a backup that is there already stays."""
    path, name = old(folder, 1)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"\xffgarbage\n", *lines[3:], b'{"type":"message","mess']))
    path.with_name(f"{path.name}.v1.bak").write_text("precious", encoding="utf-8")

    chain(store, name, "new")

    raised = path.read_bytes().splitlines()
    assert raised[3] == b"\xffgarbage"
    assert raised[-2] == b'{"type":"message","mess'
    assert path.with_name(f"{path.name}.v1.bak").read_text(encoding="utf-8") == "precious"
    assert path.with_name(f"{path.name}.v1.bak.2").exists()
    assert len(list(store.events(name))) == 3


@pytest.mark.parametrize("length", [5, 400])
def test_the_length_of_a_session_costs_no_parsing(
    folder: Path, store: JsonlStore, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan of a long session is read, changed and read again by parsing a handful of lines."""
    begin(folder, *(message(f"m{n}", f"m{n - 1}" if n else None) for n in range(length)))
    chain(store, "s", *(f"e{n}" for n in range(length)))
    looked_at: list[bytes] = []

    def looked(line: bytes) -> Entry | None:
        looked_at.append(line)
        return parse_line(line)

    monkeypatch.setattr(outline, "parse_line", looked)

    again = session_on(JsonlStore(folder, plan_in_entry), prefix="new")
    again.call("edit_todos", {"action": "start", "indices": [0]})
    again.undo()

    assert len(looked_at) < 12
    assert again.plan == plan_of(f"e{length - 1}")


def test_an_append_reads_only_what_is_new(folder: Path, store: JsonlStore) -> None:
    """From where it was read to: what is above may be anything by now."""
    chain(store, "s", *(f"e{n}" for n in range(50)))
    text = bytearray(file_of(folder).read_bytes())
    at = text.index(b'"e7"')
    seen = file_of(folder).stat()
    with file_of(folder).open("r+b") as file:
        file.seek(at)
        file.write(b'"eX"')
    os.utime(file_of(folder), ns=(seen.st_mtime_ns, seen.st_mtime_ns))

    chain(store, "s", "next")

    assert store.session_head("s") == SessionHead("next")
    assert next(store.history("s", "next")).parent == "e49"
    assert store._cache["s"].outline.tree.position("e7") is not None  # noqa: SLF001  what was read stays as read
    assert next(store.history("s", "e7")).id == "e7"
    assert store._cache["s"].outline.tree.position("e7") is None  # noqa: SLF001  until it is found to be otherwise


def test_a_waiter_hears_at_once_of_its_own_process(store: JsonlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It need not look again by itself."""
    monkeypatch.setattr(store_module, "FIRST_POLL_SECONDS", LONG_ENOUGH)
    monkeypatch.setattr(store_module, "LONGEST_POLL_SECONDS", LONG_ENOUGH)
    chain(store, "s", "a", "b")
    in_step = Barrier(2, timeout=LONG_ENOUGH)

    def follow() -> list[bool]:
        return [in_step.wait() >= 0 and store.wait("s", head, 2 * LONG_ENOUGH) for head in ("b", "a") * 10]

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        for head, other in (("b", "a"), ("a", "b")) * 10:
            in_step.wait()
            store.move_head("s", SessionHead(other), expected=head)

        assert following.result(LONG_ENOUGH / 2) == [True] * 20


def test_a_folder_that_is_not_there_yet_is_empty_and_healthy(folder: Path, store: JsonlStore) -> None:
    """Reading does not make it."""
    assert store.sessions() == []
    assert oddities(store) == []
    assert not folder.exists()


def test_the_phases_that_are_written_are_those_that_a_dialect_reads(folder: Path, store: JsonlStore) -> None:
    """Both know oh-my-pi's shape, and neither the other."""
    plan = Plan((Phase("", (Task("a", Status.ABANDONED),)), Phase("B", (Task("b", notes=("n",)),))))

    store.append("s", Event("a", None, 1, Actor.USER, PlanChanged(plan)))

    assert phases_in(entries_of(folder)[1]["data"]["phases"]) == plan


def message(entry_id: str, parent: str | None) -> Entry:
    return {
        "type": "message",
        "id": entry_id,
        "parentId": parent,
        "timestamp": WHEN,
        "message": {"role": "user", "content": [{"type": "text", "text": "write_todos todo tildone"}]},
    }


def said(entry_id: str, parent: str | None, *calls: Entry) -> Entry:
    return message(entry_id, parent) | {"message": {"role": "assistant", "content": [*calls], "stopReason": "toolUse"}}


def call(call_id: str, name: str, arguments: Entry) -> Entry:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(entry_id: str, parent: str | None, tool: str, call_id: str, **details: object) -> Entry:
    told = {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "content": []}
    action = {"action": tool.removesuffix("_todos")} if "todos" in details else {}
    return message(entry_id, parent) | {"message": {**told, "details": action | details, "isError": False}}


def failed(entry: Entry) -> Entry:
    return entry | {"message": entry["message"] | {"isError": True}}


def label(entry_id: str, parent: str, target: str, name: str | None) -> Entry:
    entry = {"type": "label", "id": entry_id, "parentId": parent, "timestamp": WHEN, "targetId": target}
    return entry if name is None else entry | {"label": name}


def begin(folder: Path, *entries: Entry) -> None:
    """A file that pi has written for session s."""
    folder.mkdir()
    header = {"type": "session", "version": 3, "id": "s", "timestamp": WHEN, "cwd": "/p"}
    (folder / "2026-01-02T03-04-05-006Z_s.jsonl").write_text(lines(header, *entries), encoding="utf-8")


def add(folder: Path, *entries: Entry) -> None:
    with file_of(folder).open("a", encoding="utf-8") as file:
        file.write(lines(*entries))


def lines(*records: Entry) -> str:
    return "".join(f"{json.dumps(record, separators=(',', ':'))}\n" for record in records)


def old(folder: Path, version: int) -> tuple[Path, str]:
    """A file of an older version, and the session in it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"version-{version}.jsonl"
    shutil.copyfile(OLD / path.name, path)
    with path.open(encoding="utf-8") as file:
        return path, json.loads(file.readline())["id"]


def without_links(entry: Entry) -> Entry:
    """What an entry says, apart from what raising it changes."""
    changed = ("id", "parentId", "firstKeptEntryIndex", "firstKeptEntryId")
    kept = {key: held for key, held in entry.items() if key not in changed}
    if entry.get("message", {}).get("customType"):
        kept["message"] = {key: held for key, held in entry["message"].items() if key != "role"}
    return kept


def file_of(folder: Path, session: str = "") -> Path:
    [path] = folder.glob(f"*{session}.jsonl")
    return path


def entries_of(folder: Path, session: str = "") -> list[Entry]:
    return [json.loads(line) for line in file_of(folder, session).read_bytes().splitlines() if line.strip()]


def oddities(store: JsonlStore) -> list[str]:
    return [finding.what for finding in store.check() if finding.health is not Health.FINE]
