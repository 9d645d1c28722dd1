"""Which agent works on which plan: found again, kept apart, and never mistaken for another."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.agents.registry import HOUR, MONTH, WEEK, Agent, Agents, agent_process, born, digest
from tildone.errors import StoreError
from tildone.ids import now
from tildone.value import replace

PROJECT = "/projects/parser"
NOW = now()
HERE = os.getpid()


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return Agents(str(tmp_path), PROJECT)


@given(
    st.builds(
        Agent,
        st.text(max_size=30),
        st.text(max_size=30),
        st.none() | st.text(max_size=30),
        st.integers(0, 2**31),
        st.integers(0, 2**50),
        st.integers(0, 2**50),
    )
)
def test_what_is_known_of_an_agent_is_kept_to_the_letter(
    tmp_path_factory: pytest.TempPathFactory, agent: Agent
) -> None:
    agents = Agents(str(tmp_path_factory.mktemp("agents")), PROJECT)

    agents.keep(agent)

    assert agents.known(agent.key) == agent
    assert list(agents.all()) == [agent]


def test_the_first_agent_has_the_projects_plan_and_comes_back_to_it(agents: Agents) -> None:
    first = agents.admit("claude:a", HERE, NOW)

    assert first == Agent("claude:a", PROJECT, None, HERE, NOW, born(HERE))
    assert agents.admit("claude:a", HERE, NOW + 1) == first


def test_another_agent_has_a_plan_of_its_own_and_comes_back_to_it(agents: Agents) -> None:
    agents.admit("claude:a", HERE, NOW)

    other = agents.admit("codex:b", os.getppid(), NOW)

    assert other.session == f"{PROJECT}#codex:b"
    agents.leave(other)
    agents.forget("claude:a")
    assert agents.admit("codex:b", HERE, NOW).session == f"{PROJECT}#codex:b"


def test_one_that_is_gone_leaves_the_projects_plan(agents: Agents) -> None:
    """Its process is over, or it was not heard of for an hour where that is not known, or for a week."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for key, pid, at in (("claude:a", gone.pid, NOW), ("claude:b", 0, NOW - HOUR), ("claude:c", HERE, NOW - WEEK)):
        agents.keep(Agent(key, PROJECT, None, pid, at))

    assert list(agents.at_work(NOW)) == []
    assert agents.admit("claude:d", HERE, NOW).session == PROJECT


def test_a_process_that_has_the_number_of_another_is_not_it(agents: Agents) -> None:
    """After a restart numbers are given again."""
    agents.keep(Agent("claude:a", PROJECT, None, HERE, NOW, born(HERE) + 1))

    assert list(agents.at_work(NOW)) == ([] if born(HERE) else list(agents.all()))


def test_one_that_is_named_a_plan_has_that_beside_whoever_has_it(agents: Agents) -> None:
    agents.admit("claude:a", HERE, NOW)

    shared = [agents.admit(key, HERE, NOW, "ours") for key in ("claude:a", "codex:b")]

    assert [agent.session for agent in shared] == ["ours", "ours"]


def test_a_tool_server_and_a_hook_of_one_process_are_one_agent(agents: Agents) -> None:
    """The server knows nothing but the process; the hook knows the session."""
    agents.admit("claude:other", os.getppid(), NOW)
    server = agents.admit(f"gemini:pid:{HERE}", HERE, NOW)
    agents.keep(replace(server, seen="e1"))

    hook = agents.admit("gemini:s1", HERE, NOW)
    again = agents.admit(f"pid:{HERE}", HERE, NOW)

    assert (hook.session, hook.seen) == (server.session, "e1")
    assert (again.session, again.seen) == (server.session, "e1")
    assert {agent.key for agent in agents.all()} == {"claude:other", f"pid:{HERE}"}


def test_two_sessions_in_one_process_are_two_agents(agents: Agents) -> None:
    """Servers and editors run many at once."""
    one, two = agents.admit("codex:a", HERE, NOW), agents.admit("codex:b", HERE, NOW)

    assert one.session != two.session
    assert agents.admit("codex:a", HERE, NOW + 2 * HOUR).session == one.session


def test_an_heir_goes_on_with_the_plan_and_knows_nothing_of_it(agents: Agents) -> None:
    first = agents.admit("claude:a", HERE, NOW)
    agents.keep(replace(first, seen="e1"))

    heir = agents.admit("claude:b", HERE, NOW + 1, heir=True)

    assert (heir.session, heir.seen) == (PROJECT, None)
    assert agents.known("claude:a") is None
    assert agents.admit("codex:c", HERE, NOW, heir=True).session == f"{PROJECT}#codex:c"


def test_one_whose_process_is_not_known_this_time_is_the_same(agents: Agents) -> None:
    first = agents.admit("claude:a", HERE, NOW)

    assert agents.admit("claude:a", 0, NOW + 1) == first
    assert agents.admit("claude:a", 0, NOW + HOUR) == replace(first, at=NOW + HOUR)


def test_an_agent_is_heard_of_again_every_hour(agents: Agents) -> None:
    agents.admit("claude:a", HERE, NOW)

    agents.admit("claude:a", HERE, NOW + HOUR - 1)
    before = agents.known("claude:a")
    agents.admit("claude:a", HERE, NOW + HOUR)
    after = agents.known("claude:a")

    assert before is not None
    assert after is not None
    assert (before.at, after.at) == (NOW, NOW + HOUR)


def test_of_many_that_come_at_once_one_gets_the_projects_plan(agents: Agents) -> None:
    keys = [f"codex:{number}" for number in range(24)]

    with ThreadPoolExecutor(8) as pool:
        admitted = list(pool.map(lambda key: agents.admit(key, HERE, NOW), keys))

    assert sum(agent.session == PROJECT for agent in admitted) == 1
    assert len({agent.session for agent in admitted}) == len(keys)


def test_agents_of_another_project_are_not_seen(tmp_path: Path) -> None:
    Agents(str(tmp_path), PROJECT).admit("claude:a", HERE, NOW)

    other = Agents(str(tmp_path), "/projects/other")

    assert list(other.all()) == []
    assert other.admit("claude:b", HERE, NOW).session == "/projects/other"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"key": "a"}', '{"key":1,"session":"s","seen":null,"pid":1,"at":1}', "\udcff"],
)
def test_what_can_not_be_read_is_not_known(agents: Agents, tmp_path: Path, text: str) -> None:
    agents.admit("claude:a", HERE, NOW)
    file = tmp_path / digest(PROJECT) / f"{digest('claude:a')}.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))

    assert agents.known("claude:a") is None
    assert agents.admit("claude:a", HERE, NOW).session == PROJECT


def test_a_word_kept_apart_is_found_and_goes_with_the_agent(agents: Agents) -> None:
    agents.admit("claude:a", HERE, NOW)

    agents.jot("claude:a", "cost", "1.5")
    agents.jot("claude:a", "cost", "2.5")

    assert (agents.jotted("claude:a", "cost"), agents.jotted("claude:b", "cost")) == ("2.5", "")
    agents.forget("claude:a")
    assert agents.jotted("claude:a", "cost") == ""


def test_those_not_heard_of_for_a_month_are_forgotten(agents: Agents, tmp_path: Path) -> None:
    agents.keep(Agent("claude:old", f"{PROJECT}#claude:old", None, 0, NOW - MONTH))
    agents.keep(Agent("claude:new", f"{PROJECT}#claude:new", None, 0, NOW))
    folder = tmp_path / digest(PROJECT)
    long_ago = (NOW - MONTH - 1) / 1000
    for name, at in (("old", long_ago), ("new", NOW / 1000)):
        os.utime(folder / f"{digest(f'claude:{name}')}.json", (at, at))

    agents.admit("codex:a", HERE, NOW)

    assert {agent.key for agent in agents.all()} == {"claude:new", "codex:a"}


def test_a_place_that_can_not_be_written_to_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    agents = Agents(str(tmp_path / "file"), PROJECT)

    assert list(agents.all()) == []
    with pytest.raises(StoreError, match="file"):
        agents.keep(Agent("a", "s"))
    with pytest.raises(StoreError, match="file"):
        agents.admit("a", HERE, NOW)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")
def test_the_process_is_that_of_the_host_and_not_of_the_shells_in_between() -> None:
    show = "from tildone.agents.registry import agent_process; print(agent_process())"
    script = f"env nice sh -c '{sys.executable} -c \"{show}\"; true'"

    direct = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    wrapped = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)

    assert (int(direct.stdout), int(wrapped.stdout)) == (HERE, HERE)
    assert agent_process() > 0


def test_when_a_process_was_started_tells_it_from_others() -> None:
    assert born(HERE) == born(HERE)
    assert born(0) == 0
    assert born(2**30) == 0
