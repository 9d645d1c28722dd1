"""The index of a store reads what changed and nothing else.

Pages of rows; and open questions of agents that are gone.
"""

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.overview.stores import World
from tildone.app.index import AGENTS_EVERY_MS
from tildone.app.sessions import SORTS, Cursor, SessionRow
from tildone.base import StoreError, UsageError
from tildone.log.kept import KeptSummary
from tildone.log.needs import Need
from tildone.log.presence import AT_WORK_MS, Presence
from tildone.plan.events import Directive
from tildone.plan.gate import RestReason
from tildone.plan.model import Status
from tildone.plan.ops import Mark, Numbered
from tildone.plan.text.state import SessionWord
from tildone.stores.agents import Agent, AgentId, AgentRegistry, start_time
from tildone.stores.memory import MemoryStore

READS = ("history", "session_info", "session_head", "sessions", "events")


def row_of(world: World, name: str = "s") -> SessionRow:
    """Refresh the index, and return the row of a session."""
    world.index.refresh()
    row = world.index.row(name)
    assert row is not None
    return row


def reads(world: World) -> dict[str, int]:
    """How often sessions were read since the last call."""
    found = {name: world.counting.calls[name] for name in READS if world.counting.calls[name]}
    world.counting.calls.clear()
    return found


def test_a_row_has_what_a_list_shows_without_the_plan(world: World) -> None:
    session = world.write("grammar", "Read it", "Write the parser")
    session.change([Mark(Numbered((1,)), Status.COMPLETED)])

    row = row_of(world, "grammar")

    assert (row.name, row.title) == ("grammar", "grammar")
    assert (row.word, row.why) == (SessionWord.IDLE, "next: Write the parser")
    assert (row.closed, row.total, row.strip, row.doing) == (1, 2, "d.", "Write the parser")
    assert (row.events, row.head, row.nudge_limit) == (2, world.store.session_head("grammar").head, 20)
    assert row.created <= row.updated


@pytest.mark.parametrize("others", [1, 40])
def test_a_refresh_reads_only_what_changed_however_many_sessions_there_are(world: World, others: int) -> None:
    for number in range(others):
        world.write(f"s{number}", "a")
    session = world.write("busy", "a", "b")
    world.index.refresh()
    reads(world)
    world.index.refresh()
    assert reads(world) == {}

    session.change([Mark(Numbered((1,)), Status.COMPLETED)])
    change = world.index.refresh()

    assert [row.name for row in change.changed] == ["busy"]
    assert reads(world) == {"history": 1, "session_info": 1}


def test_undo_is_a_change_without_which_no_row_is_computed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    session = world.write("s", "a")
    session.change([Mark(Numbered((1,)), Status.COMPLETED)])
    assert world.index.refresh()
    session.undo()

    assert [row.closed for row in world.index.refresh().changed] == [0]
    monkeypatch.delattr("tildone.app.index.session_row")
    assert not world.index.refresh()


def test_a_deleted_session_is_removed(world: World) -> None:
    session = world.write("s", "a")
    world.write("t", "a")
    world.index.refresh()
    world.store.delete("s", expected=session.state.head)

    assert world.index.refresh().removed == ("s",)
    assert (world.names(), world.index.row("s")) == (["t"], None)
    assert world.index.counts() == {SessionWord.IDLE: 1}


def test_a_store_that_was_restored_is_read_anew(world: World, tmp_path: Path) -> None:
    """Its revisions are smaller than the one that the index knows."""
    world.write("gone", "a")
    world.write("gone too", "a")
    world.index.refresh()
    other = MemoryStore()
    World(other, tmp_path).write("restored", "a")
    world.counting.store, world.counting.records.store = other, other.records

    change = world.index.refresh()

    assert [row.name for row in change.changed] == ["restored"]
    assert sorted(change.removed) == ["gone", "gone too"]


def test_everything_is_read_anew_when_deletions_may_be_missing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tildone.app.index.MAX_CONTINUOUS", 3)
    world.write("s", "a")
    world.index.refresh()
    reads(world)
    for name in "tuv":
        world.write(name, "a")
    world.index.refresh()

    assert reads(world) == {"history": 3, "sessions": 1}
    assert sorted(world.names()) == ["s", "t", "u", "v"]


def test_kept_summaries_spare_the_next_index_the_reading(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept when so much has changed."""
    monkeypatch.setattr("tildone.app.index.KEEP_EVERY", 3)
    for name in "abc":
        assert not world.store.records.kept_summaries()
        world.write(name, f"Task of {name}", "Other")
        world.index.refresh()
    assert sorted(world.store.records.kept_summaries()) == ["a", "b", "c"]
    world.session("b").change([Mark(Numbered((1,)), Status.COMPLETED)])
    reads(world)
    next_index = world.another_index()
    next_index.refresh()

    assert reads(world) == {"history": 1, "sessions": 1}
    world.index.refresh()
    assert next_index.rows() == world.index.rows()
    assert [row.name for row in next_index.rows(query="task of").rows] == world.names(query="TASK of")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "null", '[1,20,"t","NEVER","","IDLE","",0,1,".","",0,""]', "[" * 5000]
)
def test_a_kept_summary_of_another_version_or_limit_is_not_used(world: World, text: str) -> None:
    world.write("s", "a")
    world.index.refresh()
    world.store.records.keep_summaries({"s": KeptSummary(world.store.session_head("s").head, text)})
    index = world.another_index()
    index.refresh()
    assert index.rows() == world.index.rows()

    world.index.keep()
    world.counting.calls.clear()
    world.another_index(nudge_limit=7).refresh()
    assert world.counting.calls["history"] == 1


def test_a_session_that_cannot_be_read_is_named_and_the_others_are_listed(world: World, tmp_path: Path) -> None:
    world.write("bad", "a")
    world.write("good", "a")
    with apsw.Connection(str(tmp_path / "plans.db")) as connection:
        connection.execute("UPDATE events SET body = 'no' WHERE session = 'bad'")
    world.index.refresh()

    assert world.names() == ["good"]
    [sentence] = world.index.unreadable()
    assert sentence.startswith("bad: ")


def test_a_failure_of_the_store_loses_no_change(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("s", "a")

    def refuse() -> None:
        raise StoreError("the server does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(world.counting.records, "presences", refuse, raising=False)
        with pytest.raises(StoreError):
            world.index.refresh()
    assert world.names() == []

    assert [row.name for row in world.index.refresh().changed] == ["s"]


def working(session: str, **fields: object) -> Presence:
    return Presence("claude:5f0c", session, **fields)  # type: ignore[arg-type]  # the fields of a presence


def later(world: World) -> None:
    """Let so much time pass that the index looks again who is at work."""
    world.now += AGENTS_EVERY_MS


def test_an_agent_that_gives_signs_of_life_is_at_work_for_90_seconds(world: World) -> None:
    world.write("s", "a")
    world.store.records.beat(working("s", beat=world.now, tokens=184_000, cost=1.92, doing="bash: pytest"))
    row = row_of(world)
    assert (row.word, row.tokens, row.cost) == (SessionWord.WORKING, 184_000, 1.92)
    assert [agent.doing for agent in row.agents] == ["bash: pytest"]

    world.now += AT_WORK_MS
    [row] = world.index.refresh().changed
    assert (row.word, row.agents) == (SessionWord.IDLE, ())


def test_a_sign_of_life_alone_is_no_change_and_reads_no_session(world: World) -> None:
    """Presences are read every two seconds at most."""
    world.write("s", "a")
    world.store.records.beat(working("s", beat=world.now))
    for _ in range(5):
        world.index.refresh()
    assert world.counting.calls["presences"] == 1
    reads(world)
    later(world)
    world.store.records.beat(working("s", beat=world.now))
    assert not world.index.refresh()
    assert world.counting.calls["presences"] == 1
    later(world)
    world.store.records.beat(working("s", beat=world.now, doing="edit: cli.py"))

    assert [row.agents[0].doing for row in world.index.refresh().changed] == ["edit: cli.py"]
    assert reads(world) == {}


def register(world: World, name: str = "claude") -> None:
    pid = os.getpid()
    agent = Agent(AgentId(name, "5f0c"), "s", "", pid, world.now, start_time(pid))
    AgentRegistry(str(world.agents_dir), "/project").save(agent)


@pytest.mark.parametrize(
    ("why", "word"),
    [
        ("", SessionWord.WORKING),
        (RestReason.ASKED.value, SessionWord.NEEDS_YOU),
        (RestReason.BUSY.value, SessionWord.WORKING),
        (RestReason.ABORTED.value, SessionWord.IDLE),
    ],
)
def test_an_agent_whose_process_runs_here_needs_no_sign_of_life_and_why_it_rests_decides_the_state(
    world: World, why: str, word: SessionWord
) -> None:
    """A command may take long. One that asked waits for the answer however long that takes, wherever it runs."""
    world.write("s", "a")
    world.store.records.beat(working("s", beat=world.now - 10 * AT_WORK_MS, doing="bash: make", why=why))
    world.index.refresh()
    asks = why == RestReason.ASKED.value
    assert world.index.counts() == {SessionWord.NEEDS_YOU if asks else SessionWord.IDLE: 1}
    register(world)
    later(world)
    row = row_of(world)

    assert (row.word, [agent.doing for agent in row.agents]) == (word, ["bash: make"])


def test_an_open_question_needs_a_person_until_it_is_answered(world: World) -> None:
    world.write("s", "a")
    world.session("s").set_directive(Directive.PAUSE)
    world.index.refresh()
    reads(world)
    later_need = Need("2", "s", "command", "rm x", ("once", "no"), since=2)
    world.store.records.ask(later_need)
    first = Need("1", "s", "command", "cargo fuzz run parse", ("once", "no"), since=1)
    world.store.records.ask(first)
    [row] = world.index.refresh().changed

    assert (row.word, row.why, row.needs) == (SessionWord.NEEDS_YOU, "cargo fuzz run parse", (first, later_need))
    assert world.index.needs() == (first, later_need)
    assert "history" not in reads(world)

    world.store.records.answer("1", "once", "Ada", 3)
    world.store.records.withdraw("2")
    [row] = world.index.refresh().changed
    assert (row.word, row.needs, world.index.needs()) == (SessionWord.PAUSED, (), ())


def written(world: World, count: int) -> None:
    for number in range(count):
        world.write(f"s{number:02}", "a")
    world.index.refresh()


def test_what_needs_a_person_comes_first_then_the_last_changed(world: World) -> None:
    for name in ("idle", "done", "waits", "paused"):
        world.write(name, "a")
    world.session("done").change([Mark(Numbered((1,)), Status.COMPLETED)])
    world.session("waits").change([Mark(Numbered((1,)), Status.BLOCKED)])
    world.session("paused").set_directive(Directive.PAUSE)
    world.index.refresh()

    assert world.names() == ["waits", "paused", "idle", "done"]
    assert list(world.index.counts()) == [row.word for row in world.index.rows().rows]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("limit", [1, 3, 10, 60])
def test_pages_together_are_the_whole_list(world: World, sort: str, limit: int) -> None:
    written(world, 10)
    pages = [world.index.rows(sort=sort, limit=limit)]
    while after := pages[-1].after:
        pages.append(world.index.rows(sort=sort, after=after, limit=limit))

    found = [row.name for page in pages for row in page.rows]
    assert (found, len(found)) == (world.names(sort=sort), 10)


def test_a_row_that_is_deleted_or_added_between_two_pages_moves_no_other(world: World) -> None:
    written(world, 6)
    first = world.index.rows(sort="title", limit=3)
    world.store.delete("s02", expected=world.store.session_head("s02").head)
    world.write("s00b", "a")
    world.index.refresh()

    assert world.names(sort="title", after=first.after) == ["s03", "s04", "s05"]


def test_the_query_finds_titles_names_task_texts_states_and_agents_in_any_case(world: World) -> None:
    world.write("/home/ada/Parser#claude:5f0c1234", "Read the Grammar")
    world.write("other", "x")
    world.index.refresh()

    for query in ("parser", "HOME", "grammar read", "GRAMMAR idle", "(claude"):
        assert world.names(query=query) == ["/home/ada/Parser#claude:5f0c1234"], query
    assert world.names(query="grammar x") == []
    assert world.names(query="idle") == world.names()


def test_only_rows_of_the_states_asked_for_are_returned_and_a_filtered_page_has_a_cursor(world: World) -> None:
    written(world, 5)
    for name in ("s01", "s03"):
        world.session(name).set_directive(Directive.PAUSE)
    world.index.refresh()
    words = {SessionWord.PAUSED}
    page = world.index.rows(words=words, sort="title", limit=1)

    assert world.names(words=words, sort="title") == ["s01", "s03"]
    rest = world.index.rows(words=words, sort="title", after=page.after, limit=1)
    assert ([row.name for row in rest.rows], rest.after) == (["s03"], None)


def test_a_cursor_that_is_none_or_of_another_order_and_an_unknown_order_are_refused(world: World) -> None:
    written(world, 3)
    for cursor in ("", "!", "bm8=", "e30=", "WzFd", "é"):
        with pytest.raises(UsageError, match="cursor"):
            world.index.rows(after=Cursor(cursor))
    with pytest.raises(UsageError, match="another order"):
        world.index.rows(sort="updated", after=world.index.rows(limit=1).after)
    with pytest.raises(UsageError, match="there is no order 'size'"):
        world.index.rows(sort="size")


AGENT = "tildone:5f0c"


@pytest.fixture
def need(world: World) -> Need:
    """The question of an agent that works."""
    world.write("s", "a")
    asked = Need("1", "s", "command", "make", ("once", "no"), since=world.now, agent=AGENT)
    world.store.records.beat(Presence(AGENT, "s", beat=world.now))
    world.store.records.ask(asked)
    world.index.refresh()
    assert world.index.needs() == (asked,)
    return asked


def shown(world: World) -> tuple[SessionWord, int, tuple[Need, ...]]:
    """The state of the session, how many questions its row has, and the questions of all sessions."""
    row = row_of(world)
    return row.word, len(row.needs), world.index.needs()


def beat(world: World, ago: int, why: str = "") -> None:
    world.store.records.beat(Presence(AGENT, "s", why=why, beat=world.now - ago))


@pytest.mark.parametrize(
    ("act", "waits"),
    [
        (lambda _world: None, False),
        (lambda world: world.store.records.leave(AGENT), False),
        (lambda world: beat(world, AT_WORK_MS - 1), True),
        (lambda world: beat(world, 10 * AT_WORK_MS, RestReason.ALL_DONE.value), True),
        (lambda world: register(world, "tildone"), True),
    ],
    ids=["silent", "left", "goes on", "rests, and gives no signs of life", "runs here, and gives none"],
)
def test_a_question_is_shown_while_its_agent_may_wait_however_long(
    world: World, need: Need, act: Callable[[World], None], *, waits: bool
) -> None:
    world.now += 10 * AT_WORK_MS
    act(world)

    assert shown(world) == ((SessionWord.NEEDS_YOU, 1, (need,)) if waits else (SessionWord.IDLE, 0, ()))
    # The machine of the agent slept.
    beat(world, 0)
    later(world)
    assert shown(world) == (SessionWord.NEEDS_YOU, 1, (need,))


def test_a_new_question_is_shown_before_its_agent_is_known(world: World) -> None:
    world.write("s", "a")
    asked = Need("1", "s", "input", "Which?", since=world.now, agent=AGENT)
    world.store.records.ask(asked)

    assert shown(world) == (SessionWord.NEEDS_YOU, 1, (asked,))
