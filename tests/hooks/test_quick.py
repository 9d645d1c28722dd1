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
from tildone.hooks.fast_path import Glance, glance
from tildone.hooks.hosts import AFTER, BEFORE, END, FORGET, PROMPT, START, STOP
from tildone.ids import now
from tildone.log.events import Actor, Call, Directive
from tildone.loop.decision import Turn
from tildone.session import Session
from tildone.stores.sqlite.store import SqliteStore
from tildone.wiring import BY_HAND, session_in

LIGHT = {"tildone", "tildone.cli", "tildone.errors", "tildone.config", "tildone.typing", "tildone.value"}
LIGHT |= {"tildone.agents", "tildone.agents.identity", "tildone.agents.processes", "tildone.agents.registry"}
LIGHT |= {"tildone.log", "tildone.log.json_scanner", "tildone.stores"}
LIGHT |= {"tildone.hooks", "tildone.hooks.hosts", "tildone.hooks.event", "tildone.hooks.fast_path"}
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


def loaded(agent: Hooked, moment: str, *, speaks: bool = False, **said: Any) -> set[str]:
    """What a hook loads."""
    event = agent.event(moment)
    done = subprocess.run(
        [sys.executable, "-I", "-c", SHOW.format(words=["hook", agent.host.name, event])],
        input=dumped(agent.words(event, said)),
        env={**os.environ, **agent.desk.environ},
        capture_output=True,
        check=True,
    )
    assert bool(done.stdout) is speaks
    return set(done.stderr.decode().split())


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (STOP, {"last_assistant_message": "Done."}),
        (START, {"source": "startup"}),
        (BEFORE, {"tool_name": "Bash"}),
        (AFTER, {"tool_name": "Bash", "tool_response": {}}),
        (PROMPT, {"prompt": "Hello"}),
        (FORGET, {"trigger": "auto"}),
        (END, {"reason": "other"}),
    ],
)
@pytest.mark.parametrize("begun", [False, True], ids=["no plan", "all done"])
def test_a_hook_with_nothing_to_say_loads_next_to_nothing(
    agent: Hooked, moment: str, said: dict[str, Any], *, begun: bool
) -> None:
    """Imports are all that such a hook costs."""
    if begun:
        agent.desk.plan(("One", "completed"))
        agent.call(START)

    modules = loaded(agent, moment, **said)

    assert {name for name in modules if name.split(".")[0] == "tildone"} <= LIGHT
    assert modules & SLOW == set()
    assert "apsw" not in modules or begun


def test_a_hook_that_speaks_loads_nothing_heavy(agent: Hooked) -> None:
    agent.desk.plan(("One", "pending"))

    modules = loaded(agent, STOP, speaks=True, last_assistant_message="I stop.")

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

    found = glance(str(path), "s")

    waiting = any(task.status is Status.BLOCKED for task in state.plan.tasks)
    assert found == Glance(state.head, next_task(state.plan) is not None, waiting, course.value)
    assert (found.to_do or found.waiting) == bool(open_tasks(state.plan))
    session.store.close()


def test_a_glance_sees_that_an_agent_was_let_go_and_that_it_was_taken_up_again(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.change((Write((Phase("", (Task("One"),)),)),))
    for _ in range(21):
        session.turn_ended(Turn())
    let_go = glance(str(path), "s")
    session.label(session.state.head or "", "here")
    labelled = glance(str(path), "s")
    session.set_directive(Directive.GO)

    assert let_go is not None
    assert labelled is not None
    assert (let_go.let_go, labelled.let_go) == (True, True)
    assert glance(str(path), "s") == Glance(session.state.head, to_do=True)


def test_a_course_is_seen_before_there_is_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.set_directive(Directive.STOP)

    assert glance(str(path), "s") == Glance(session.state.head, directive="stop")


def test_there_may_be_no_file_and_no_such_session(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    before = glance(str(path), "s")
    session_at(path).change((Write((Phase("", (Task("One"),)),)),))

    assert (before, glance(str(path), "other")) == (Glance(), Glance())
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("name", ["half a pair \ud800", "ünïcode", "a" * 5000])
def test_a_session_of_any_name_is_seen_or_left_to_a_closer_look(tmp_path: Path, name: str) -> None:
    path = tmp_path / "plans.db"
    session = session_in(SqliteStore(path), name, BY_HAND)
    session.change((Write((Phase("", (Task("One"),)),)),))

    found = glance(str(path), name)

    assert found is None or found.to_do


def test_what_can_not_be_read_is_left_to_a_closer_look(tmp_path: Path) -> None:
    file = tmp_path / "plans.db"
    file.write_bytes(b"this is no database, and long enough to be taken for one" * 100)

    assert glance(str(file), "s") is None
    assert glance(str(tmp_path), "s") is None


def test_a_long_way_to_the_plan_is_left_to_a_closer_look(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.change((Write((Phase("", (Task("One"),)),)),))
    for number in range(250):
        session.label(session.state.head or "", f"n{number}")

    assert glance(str(path), "s") is None


def test_looking_leaves_a_store_as_it_was(tmp_path: Path) -> None:
    """Whoever opens it next finds nothing amiss."""
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.change((Write((Phase("", (Task("One"),)),)),))
    session.store.close()

    glance(str(path), "s")
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
