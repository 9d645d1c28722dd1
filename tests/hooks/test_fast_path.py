"""A hook that has nothing to say loads nothing to say it with, and is never wrong about it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import plans
from tests.hooks.agent import Desk, Hooked, dumped
from tests.test_imports import HEAVY
from tildone.agents.assignment import assign_session
from tildone.agents.identity import AgentId
from tildone.agents.processes import agent_process
from tildone.core.ops import Write
from tildone.core.plan import Phase, Plan, Status, Task
from tildone.core.query import next_task, open_tasks
from tildone.dialects.by_hand import BY_HAND
from tildone.ids import now
from tildone.integrations.record import HookPoint
from tildone.log.events import Actor, Call, Directive
from tildone.loop.decision import Turn
from tildone.session import Session
from tildone.stores.sqlite.store import SqliteStore
from tildone.stores.sqlite.summary import SessionSummary, summarize
from tildone.wiring import session_in

LOADED_BY_A_SILENT_HOOK = {
    # The package, the entry point of every command, and types that the rest is written with.
    *("tildone", "tildone.cli", "tildone.errors", "tildone.typing", "tildone.value"),
    # The fail-open frame, the event on standard input, and the decision that there is nothing to say.
    *("tildone.hooks", "tildone.hooks.event", "tildone.hooks.fast_path"),
    # The facts about the one coding agent that calls.
    *("tildone.registry", "tildone.integrations", "tildone.integrations.record"),
    *("tildone.integrations.hook_protocol", "tildone.integrations.claude"),
    # Which agent it is, and on which session it works.
    *("tildone.agents", "tildone.agents.identity", "tildone.agents.processes", "tildone.agents.registry"),
    # The settings, and the summary of the session that they name.
    *("tildone.config", "tildone.log", "tildone.log.json_scanner", "tildone.log.json_markers"),
    *("tildone.stores", "tildone.stores.sqlite", "tildone.stores.sqlite.summary"),
}
SLOW = {"re", "enum", "json", "typing", "functools", "subprocess", "threading", "hashlib", "tomllib"}
SHOW = """
import atexit, sys
before = set(sys.modules)
atexit.register(lambda: print(*sorted(set(sys.modules) - before), file=sys.stderr))
from tildone.cli import main
sys.exit(main({words!r}))
"""

NASTY = st.sampled_from(
    [
        '"status":"pending"',
        '\\"status\\":\\"in_progress\\"',
        '"fact":"plan_changed"',
        '"course":"stop"',
        "\\",
        '"',
        "\n",
    ]
)


def loaded(agent: Hooked, point: HookPoint, *, speaks: bool = False, **said: Any) -> set[str]:
    """What a hook loads."""
    event = agent.event(point)
    done = subprocess.run(
        [sys.executable, "-I", "-c", SHOW.format(words=["hook", agent.integration.name, event])],
        input=dumped(agent.words(event, said)),
        env={**os.environ, **agent.desk.environ},
        capture_output=True,
        check=True,
    )
    assert bool(done.stdout) is speaks
    return set(done.stderr.decode().split())


@pytest.mark.parametrize(
    ("point", "said"),
    [
        (HookPoint.STOP, {"last_assistant_message": "Done."}),
        (HookPoint.SESSION_START, {"source": "startup"}),
        (HookPoint.BEFORE_TOOL, {"tool_name": "Bash"}),
        (HookPoint.AFTER_TOOL, {"tool_name": "Bash", "tool_response": {}}),
        (HookPoint.PROMPT, {"prompt": "Hello"}),
        (HookPoint.COMPACTION, {"trigger": "auto"}),
        (HookPoint.SESSION_END, {"reason": "other"}),
    ],
)
@pytest.mark.parametrize("begun", [False, True], ids=["no plan", "all done"])
def test_a_hook_with_nothing_to_say_loads_next_to_nothing(
    agent: Hooked, point: HookPoint, said: dict[str, Any], *, begun: bool
) -> None:
    """Imports are all that such a hook costs."""
    if begun:
        agent.desk.plan(("One", "completed"))
        agent.call(HookPoint.SESSION_START)

    modules = loaded(agent, point, **said)

    assert {name for name in modules if name.split(".")[0] == "tildone"} <= LOADED_BY_A_SILENT_HOOK
    assert modules & SLOW == set()
    assert "apsw" not in modules or begun


def test_a_hook_that_speaks_loads_nothing_heavy(agent: Hooked) -> None:
    agent.desk.plan(("One", "pending"))

    modules = loaded(agent, HookPoint.STOP, speaks=True, last_assistant_message="I stop.")

    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert "subprocess" not in modules


def session_at(path: Path) -> Session:
    return session_in(SqliteStore(path), "s", BY_HAND)


@settings(max_examples=60)
@given(
    st.lists(st.builds(Task, NASTY | plans.texts, plans.statuses, st.lists(NASTY, max_size=1).map(tuple)), max_size=4),
    st.sampled_from(Directive),
)
def test_a_glance_tells_what_a_close_look_tells(
    tmp_path_factory: pytest.TempPathFactory, tasks: list[Task], course: Directive
) -> None:
    """Whatever the texts hold: quotes in them are escaped, so they can't pass for a status."""
    path = tmp_path_factory.mktemp("glance") / "plans.db"
    session = session_at(path)
    call = Call("x", '{"status":"pending","course":"stop"}')
    session.change((Write((Phase('"status":"pending"', tuple(tasks)),)),), Actor.AGENT, None, call)
    session.set_directive(course)
    state = session.state

    found = summarize(str(path), "s")

    waiting = any(task.status is Status.BLOCKED for task in state.plan.tasks)
    assert found == SessionSummary(state.head, next_task(state.plan) is not None, waiting, course.value)
    assert (found.workable or found.blocked) == bool(open_tasks(state.plan))
    session.store.close()


def test_a_glance_sees_that_an_agent_was_let_go_and_that_it_was_taken_up_again(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.change((Write((Phase("", (Task("One"),)),)),))
    for _ in range(21):
        session.turn_ended(Turn())
    let_go = summarize(str(path), "s")
    session.label(session.state.head or "", "here")
    labelled = summarize(str(path), "s")
    session.set_directive(Directive.GO)

    assert let_go is not None
    assert labelled is not None
    assert (let_go.tripped, labelled.tripped) == (True, True)
    assert summarize(str(path), "s") == SessionSummary(session.state.head, workable=True)


def test_a_course_is_seen_before_there_is_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.set_directive(Directive.STOP)

    assert summarize(str(path), "s") == SessionSummary(session.state.head, directive="stop")


def test_there_may_be_no_file_and_no_such_session(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    before = summarize(str(path), "s")
    session_at(path).change((Write((Phase("", (Task("One"),)),)),))

    assert (before, summarize(str(path), "other")) == (SessionSummary(), SessionSummary())
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("name", ["half a pair \ud800", "ünïcode", "a" * 5000])
def test_a_session_of_any_name_is_seen_or_left_to_a_closer_look(tmp_path: Path, name: str) -> None:
    path = tmp_path / "plans.db"
    session = session_in(SqliteStore(path), name, BY_HAND)
    session.change((Write((Phase("", (Task("One"),)),)),))

    found = summarize(str(path), name)

    assert found is None or found.workable


def test_what_can_not_be_read_is_left_to_a_closer_look(tmp_path: Path) -> None:
    file = tmp_path / "plans.db"
    file.write_bytes(b"this is no database, and long enough to be taken for one" * 100)

    assert summarize(str(file), "s") is None
    assert summarize(str(tmp_path), "s") is None


def test_a_long_way_to_the_plan_is_left_to_a_closer_look(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.change((Write((Phase("", (Task("One"),)),)),))
    for number in range(250):
        session.label(session.state.head or "", f"n{number}")

    assert summarize(str(path), "s") is None


def test_looking_leaves_a_store_as_it_was(tmp_path: Path) -> None:
    """Whoever opens it next finds nothing amiss."""
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.change((Write((Phase("", (Task("One"),)),)),))
    session.store.close()

    summarize(str(path), "s")
    session = session_at(path)
    session.change((Write(()),))

    assert session.plan == Plan()


def test_the_hooks_of_an_agent_that_is_not_known_yet_do_not_miss_its_plan(desk: Desk) -> None:
    """Its tool server may have been there first, under the number of the process."""
    pid = agent_process()
    assign_session(desk.agents, AgentId("claude", "other"), os.getpid(), now())
    server = assign_session(desk.agents, AgentId("claude", pid=pid), pid, now())
    desk.session_of(server.session).change((Write((Phase("", (Task("One"),)),)),))

    assert server.session != desk.settings.session
    assert "One" in Hooked(desk, id="new").stops()
