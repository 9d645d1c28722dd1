"""Agents of this machine: their identities, processes, records, sessions, subagents and servers of tools."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from shlex import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.facts import CLAUDE_A, CLAUDE_B, CODEX_A, CODEX_B, HERE, NOW, PARENT, PROJECT
from tildone.base import StoreError, replace
from tildone.stores import agents as module
from tildone.stores.agents import (
    ACTIVE_FOR_MS,
    EXPIRY_EVERY_MS,
    FOLDER,
    FRESH_FOR_MS,
    MAX_CONVERSATION_ID_CHARS,
    REMOVED_AFTER_MS,
    Agent,
    AgentId,
    AgentRegistry,
    active_everywhere,
    agent_id,
    agent_process,
    digest,
    has_ended,
    is_running,
    runs_program,
    start_time,
)
from tildone.stores.assignment import (
    ANY_AGENT,
    ProvidedTools,
    assign_session,
    end,
    has_tools,
    parent_session,
    register,
    subagent_id,
    subagent_of,
    subagent_session,
    subagents_on,
)


@given(
    st.builds(
        Agent,
        st.builds(agent_id, st.sampled_from(("claude", "codex")), st.text(max_size=30), st.integers(0, 2**31)),
        st.text(max_size=30),
        st.text(max_size=30),
        st.integers(0, 2**31),
        st.integers(0, 2**50),
        st.integers(0, 2**50),
    )
)
def test_a_record_is_read_back_exactly(tmp_path_factory: pytest.TempPathFactory, agent: Agent) -> None:
    agents = AgentRegistry(str(tmp_path_factory.mktemp("agents")), PROJECT)

    agents.save(agent)

    assert agents.get(agent.id) == agent
    assert list(agents.all()) == [agent]


def test_the_format_of_a_record_is_fixed(agents: AgentRegistry, tmp_path: Path) -> None:
    """Other versions of tildone may run beside this one."""
    agents.save(Agent(CLAUDE_A, PROJECT, "claude:a@1", 7, NOW, 9))

    file = tmp_path / digest(PROJECT) / f"{digest('claude:a')}.json"

    assert file.read_text(encoding="utf-8") == (
        f'{{"key":"claude:a","session":"{PROJECT}","reader":"claude:a@1","pid":7,"at":{NOW},"born":9}}'
    )


def test_agents_of_another_project_are_not_found(tmp_path: Path) -> None:
    assign_session(AgentRegistry(str(tmp_path), PROJECT), CLAUDE_A, HERE, NOW)

    other = AgentRegistry(str(tmp_path), "/projects/other")

    assert list(other.all()) == []
    assert assign_session(other, CLAUDE_B, HERE, NOW).session == "/projects/other"


def test_an_unreadable_record_counts_as_absent(agents: AgentRegistry, tmp_path: Path) -> None:
    for text in (
        "",
        "{",
        "[]",
        "7",
        '{"key": "a"}',
        '{"key":1,"session":"s","reader":"r","pid":1,"at":1}',
        '{"key":"claude:a","session":1,"reader":"r","pid":1,"at":1}',
        '{"key":"claude:a","session":"s","reader":null,"pid":1,"at":1}',
        '{"key":"claude:","session":"s","reader":"r","pid":1,"at":1}',
        "\udcff",
    ):
        assign_session(agents, CLAUDE_A, HERE, NOW)
        file = tmp_path / digest(PROJECT) / f"{digest('claude:a')}.json"
        file.write_bytes(text.encode("utf-8", "surrogateescape"))

        assert agents.get(CLAUDE_A) is None, text
        assert assign_session(agents, CLAUDE_A, HERE, NOW).session == PROJECT, text


def test_a_record_of_an_earlier_version_is_read(agents: AgentRegistry, tmp_path: Path) -> None:
    """It has no start time, and a seen head in place of a reader."""
    assign_session(agents, CLAUDE_A, HERE, NOW)
    file = tmp_path / digest(PROJECT) / f"{digest('claude:a')}.json"
    file.write_text('{"key":"claude:a","session":"s","seen":"e1","pid":1,"at":2}', encoding="utf-8")

    assert agents.get(CLAUDE_A) == Agent(CLAUDE_A, "s", "claude:a", 1, 2)


def test_notes_are_removed_with_their_agent(agents: AgentRegistry) -> None:
    assign_session(agents, CLAUDE_A, HERE, NOW)

    agents.set_note(CLAUDE_A, "cost", "1.5")
    agents.set_note(CLAUDE_A, "cost", "2.5")

    assert (agents.note(CLAUDE_A, "cost"), agents.note(CLAUDE_B, "cost")) == ("2.5", "")
    agents.remove(CLAUDE_A)
    assert agents.note(CLAUDE_A, "cost") == ""


def test_records_that_were_not_written_for_a_month_are_removed(agents: AgentRegistry, tmp_path: Path) -> None:
    old, new = AgentId("claude", "old"), AgentId("claude", "new")
    agents.save(Agent(old, f"{PROJECT}#claude:old", "", 0, NOW - REMOVED_AFTER_MS))
    agents.save(Agent(new, f"{PROJECT}#claude:new", "", 0, NOW))
    folder = tmp_path / digest(PROJECT)
    long_ago = (NOW - REMOVED_AFTER_MS - 1) / 1000
    for name, at in (("old", long_ago), ("new", NOW / 1000)):
        os.utime(folder / f"{digest(f'claude:{name}')}.json", (at, at))

    assign_session(agents, CODEX_A, HERE, NOW)

    assert {agent.id for agent in agents.all()} == {new, CODEX_A}


def test_a_folder_that_cannot_be_written_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    agents = AgentRegistry(str(tmp_path / "file"), PROJECT)

    assert list(agents.all()) == []
    with pytest.raises(StoreError, match="file"):
        agents.save(Agent(CLAUDE_A, "s"))
    with pytest.raises(StoreError, match="file"):
        assign_session(agents, CLAUDE_A, HERE, NOW)


def test_the_first_agent_gets_the_project_session_and_keeps_it(agents: AgentRegistry) -> None:
    first = assign_session(agents, CLAUDE_A, HERE, NOW)

    assert first == Agent(CLAUDE_A, PROJECT, f"claude:a@{NOW}", HERE, NOW, start_time(HERE))
    assert assign_session(agents, CLAUDE_A, HERE, NOW + 1) == first


def test_a_second_agent_gets_its_own_session_and_finds_it_again(agents: AgentRegistry) -> None:
    assign_session(agents, CLAUDE_A, HERE, NOW)

    other = assign_session(agents, CODEX_B, PARENT, NOW)

    assert other.session == f"{PROJECT}#codex:b"
    agents.release(other)
    agents.remove(CLAUDE_A)
    assert assign_session(agents, CODEX_B, HERE, NOW).session == f"{PROJECT}#codex:b"


def test_agents_that_name_a_session_share_it(agents: AgentRegistry) -> None:
    assign_session(agents, CLAUDE_A, HERE, NOW)

    shared = [assign_session(agents, agent_id, HERE, NOW, "ours") for agent_id in (CLAUDE_A, CODEX_B)]

    assert [agent.session for agent in shared] == ["ours", "ours"]


def test_an_mcp_server_and_a_hook_of_one_process_serve_one_agent(agents: AgentRegistry) -> None:
    """The server knows only the process; the hook knows the conversation."""
    assign_session(agents, AgentId("claude", "other"), PARENT, NOW)
    server = assign_session(agents, AgentId("gemini", pid=HERE), HERE, NOW)

    hook = assign_session(agents, AgentId("gemini", "s1"), HERE, NOW)
    again = assign_session(agents, AgentId(pid=HERE), HERE, NOW)

    assert (hook.session, hook.reader) == (server.session, server.reader)
    assert (again.session, again.reader) == (server.session, server.reader)
    assert {str(agent.id) for agent in agents.all()} == {"claude:other", f"pid:{HERE}"}


def test_two_conversations_in_one_process_are_two_agents(agents: AgentRegistry) -> None:
    """Servers and editors run several at once."""
    one, two = (assign_session(agents, agent_id, HERE, NOW) for agent_id in (CODEX_A, CODEX_B))

    assert one.session != two.session
    assert assign_session(agents, CODEX_A, HERE, NOW + 2 * FRESH_FOR_MS).session == one.session


def test_a_successor_continues_the_session_without_having_seen_it(agents: AgentRegistry) -> None:
    first = assign_session(agents, CLAUDE_A, HERE, NOW)

    successor = assign_session(agents, CLAUDE_B, HERE, NOW + 1, successor=True)

    assert (first.session, successor.session) == (PROJECT, PROJECT)
    assert successor.reader != first.reader
    assert agents.get(CLAUDE_A) is None
    another = assign_session(agents, CODEX_A, HERE, NOW, successor=True)
    assert another.session == f"{PROJECT}#codex:a"


def test_a_record_is_renewed_once_an_hour_and_a_process_that_is_not_known_this_time_stays(
    agents: AgentRegistry,
) -> None:
    first = assign_session(agents, CLAUDE_A, HERE, NOW)
    later = NOW + FRESH_FOR_MS

    assert assign_session(agents, CLAUDE_A, 0, NOW + 1) == first
    assert assign_session(agents, CLAUDE_A, HERE, later - 1) == first
    assert assign_session(agents, CLAUDE_A, 0, later) == replace(first, last_active=later)


def test_of_agents_that_arrive_at_once_one_gets_the_project_session(agents: AgentRegistry) -> None:
    arriving = [AgentId("codex", str(number)) for number in range(24)]

    with ThreadPoolExecutor(8) as pool:
        assigned = list(pool.map(lambda agent_id: assign_session(agents, agent_id, HERE, NOW), arriving))

    assert sum(agent.session == PROJECT for agent in assigned) == 1
    assert len({agent.session for agent in assigned}) == len(arriving)


LATE = 1_800_000_000_000


def agent(name: str, session: str, *, started: int) -> Agent:
    return Agent(AgentId("claude", name), session, name, os.getpid(), LATE, started)


def test_the_agents_of_all_projects_are_found_without_those_that_have_ended(tmp_path: Path) -> None:
    own = start_time(os.getpid())
    here = [agent("a", "/one", started=own), agent("b", "/two", started=own), agent("s", "/two#sub:x", started=own)]
    for each in (*here, agent("c", "/two", started=own + 1)):
        AgentRegistry(str(tmp_path), each.session[:4]).save(each)

    assert sorted(active_everywhere(str(tmp_path), LATE), key=str) == sorted(here, key=str)
    assert list(active_everywhere(str(tmp_path / "missing"), LATE)) == []


def test_the_text_form_is_fixed() -> None:
    """Records, notes and session names that earlier versions wrote contain it."""
    forms = {
        AgentId("claude", "5f0c"): "claude:5f0c",
        AgentId("claude", "a:b"): "claude:a:b",
        AgentId("gemini", pid=7): "gemini:pid:7",
        AgentId("gemini"): "gemini:pid:0",
        AgentId(pid=7): "pid:7",
        AgentId(conversation="http"): "http",
        AgentId("claude", "pid:07"): "claude:pid:07",
        AgentId("claude", "pid:x"): "claude:pid:x",
    }

    assert {AgentId.parse(text): str(identity) for identity, text in forms.items()} == forms
    for text in ("", ":", "claude:", ":x"):
        with pytest.raises(ValueError, match="not an agent id"):
            AgentId.parse(text)


@given(st.text(max_size=20))
def test_every_text_that_parses_is_the_text_of_what_it_parses_to(text: str) -> None:
    try:
        identity = AgentId.parse(text)
    except ValueError:
        return
    assert str(identity) == text


def test_a_conversation_identifies_an_agent_before_its_process_does_and_a_long_one_by_its_digest() -> None:
    assert agent_id("claude", "a", 7) == AgentId("claude", "a")
    assert agent_id("claude", "", 7) == AgentId("claude", pid=7)
    longest = "x" * MAX_CONVERSATION_ID_CHARS

    assert agent_id("claude", longest, 0).conversation == longest
    assert agent_id("claude", f"{longest}x", 0).conversation == digest(f"{longest}x")


def test_an_agent_is_anonymous_as_long_as_only_its_process_is_known() -> None:
    known, by_process, unknown = AgentId("claude", "a"), AgentId("claude", pid=7), AgentId("claude")

    assert [one.is_anonymous for one in (known, by_process, unknown)] == [False, True, True]
    assert [one.is_unknown for one in (known, by_process, unknown)] == [False, False, True]
    assert [one.is_process(7) for one in (known, by_process, unknown)] == [False, True, False]


LATER = 2_000_000_000_000
DEAD = 2**22 + 1
unix_only = pytest.mark.skipif(os.name == "nt", reason="processes are looked up on Unix")


def live_agent(name: str, pid: int = 0, at: int = LATER) -> Agent:
    return Agent(AgentId("claude", name), f"session of {name}", name, pid, at, start_time(pid))


def markers(agents: AgentRegistry) -> set[str]:
    return set(os.listdir(Path(agents.folder) / FOLDER))


@unix_only
def test_the_marker_of_an_agent_that_is_gone_is_removed_and_its_record_stays(agents: AgentRegistry) -> None:
    """Its process has ended, its record is an hour old and its process unknown, or its record is a week old."""
    here, gone = live_agent("here", os.getpid()), replace(live_agent("gone", DEAD), session=PROJECT)
    old, unknown = live_agent("old", HERE, LATER - ACTIVE_FOR_MS), live_agent("unknown", 0, LATER - FRESH_FOR_MS)
    for each in (here, gone, old, unknown):
        agents.save(each)

    assert list(agents.live(LATER)) == list(agents.active(LATER)) == [here]
    assert markers(agents) == {digest(str(here.id))}
    assert {each.id for each in agents.all()} == {each.id for each in (here, gone, old, unknown)}
    assert assign_session(agents, CODEX_A, HERE, LATER).session == PROJECT


@unix_only
def test_an_agent_renewed_while_its_marker_is_removed_keeps_one(
    agents: AgentRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own process writes the record between the two readings of another."""
    renewed, load = live_agent("one", os.getpid()), module._load  # noqa: SLF001  the moment between two of its calls
    agents.save(live_agent("one", DEAD))

    def load_then_renew(path: str) -> Agent | None:
        found = load(path)
        monkeypatch.setattr(module, "_load", load)
        agents.save(renewed)
        return found

    monkeypatch.setattr(module, "_load", load_then_renew)

    assert list(agents.active(LATER)) == [renewed]
    assert markers(agents) == {digest(str(renewed.id))}


@unix_only
def test_a_registry_of_an_earlier_version_gets_markers(agents: AgentRegistry) -> None:
    here, gone = live_agent("here", os.getpid()), live_agent("gone", DEAD)
    for each in (here, gone):
        agents.save(each)
    folder = Path(agents.folder) / FOLDER
    for marker in folder.iterdir():
        marker.unlink()
    folder.rmdir()

    assert list(agents.active(LATER)) == [here]
    assert markers(agents) == {digest(str(here.id))}
    assert [path.name for path in Path(agents.folder).iterdir() if path.name.startswith(".")] == [FOLDER]


def test_where_no_marker_can_be_kept_every_record_is_read(agents: AgentRegistry) -> None:
    agents.save(live_agent("one"))
    folder = Path(agents.folder) / FOLDER
    for marker in folder.iterdir():
        marker.unlink()
    folder.rmdir()
    folder.write_text("in the way")

    assert [each.id.conversation for each in agents.live(LATER)] == ["one"]


def test_the_marker_of_an_agent_without_a_record_is_removed_and_none_is_made_without_agents(
    agents: AgentRegistry,
) -> None:
    assert (list(agents.live(LATER)), agents.is_empty()) == ([], True)
    assert not Path(agents.folder).exists()
    agents.save(live_agent("one"))
    assert not agents.is_empty()

    agents.remove(AgentId("claude", "one"))

    assert (agents.is_empty(), list(agents.live(LATER)), markers(agents)) == (True, [], set())


def test_old_records_are_looked_for_once_a_day(agents: AgentRegistry) -> None:
    def old(name: str) -> Path:
        agents.set_note(AgentId("claude", name), "model", "m")
        path = Path(agents.folder) / f"{digest(str(AgentId('claude', name)))}.model"
        os.utime(path, (0, 0))
        return path

    now = LATER + REMOVED_AFTER_MS
    first = old("first")
    assign_session(agents, AgentId("claude", "new"), 0, now)
    second = old("second")
    assign_session(agents, AgentId("claude", "newer"), 0, now + 1)
    assert (first.exists(), second.exists()) == (False, True)

    assign_session(agents, AgentId("claude", "newest"), 0, now + EXPIRY_EVERY_MS)

    assert not second.exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says what a process runs")
def test_the_agent_process_is_the_first_that_is_not_a_shell() -> None:
    show = "from tildone.stores.agents import agent_process; print(agent_process())"
    script = f"env nice sh -c {quote(f'{quote(sys.executable)} -c {quote(show)}; true')}"

    direct = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    wrapped = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)

    assert (int(direct.stdout), int(wrapped.stdout)) == (HERE, HERE)
    assert agent_process() > 0


def test_a_process_that_has_ended_is_not_running() -> None:
    """The start time of a process does not change, and one that never ran has none."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    assert [is_running(HERE), is_running(ended.pid)] == [True, False]
    assert start_time(HERE) == start_time(HERE)
    assert start_time(0) == start_time(2**30) == 0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says that a process is a zombie")
def test_a_process_whose_parent_does_not_ask_for_its_exit_code_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = start_time(process.pid)
        before = has_ended(process.pid, started)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert (before, has_ended(process.pid, started)) == (False, True)
        assert is_running(process.pid)


@pytest.mark.skipif(sys.platform == "win32", reason="hooks do not know their agent's process there")
def test_a_process_is_known_by_the_program_that_it_runs(tmp_path: Path) -> None:
    """Its own, or the script that its interpreter runs."""
    script = tmp_path / "agent.py"
    script.write_text("print('ready', flush=True)\ninput()\n", encoding="utf-8")
    with subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        # Its command line is set a moment after it has been started.
        process.stdout.readline()
        found = [runs_program(process.pid, names) for names in (("agent",), ("other",), ())]
        process.communicate(b"\n")

    assert found == [True, False, False]


MAIN = Agent(CLAUDE_A, PROJECT, "r", HERE, NOW, 0)


def test_names_can_be_taken_apart_again_whatever_the_coding_agent_calls_its_subagents() -> None:
    parents = (CLAUDE_A, AgentId("gemini", pid=7), AgentId(conversation="c" * 199))
    names = ("a1", "01a1-b2", "ses_1", "", "#sub:x", "a b", "ä", "x" * 300, "a/b", "\n")
    for parent, own in product(parents, names):
        identity = subagent_id(parent, own)

        assert AgentId.parse(str(identity)) == identity
        assert identity.integration == parent.integration
        assert parent_session(subagent_session(PROJECT, own)) == PROJECT
        assert parent_session(subagent_session(f"{PROJECT}#{parent}", own)) == f"{PROJECT}#{parent}"
    # Only a subagent's session has a parent.
    assert [parent_session(name) for name in (PROJECT, f"{PROJECT}#claude:a", "mine", "")] == ["", "", "", ""]


def test_a_record_is_kept_while_it_is_fresh_and_moves_with_its_parent(agents: AgentRegistry) -> None:
    first = subagent_of(agents, MAIN, "a1", NOW)
    register(agents, first)

    assert subagent_of(agents, MAIN, "a1", NOW + 1) == first
    moved = subagent_of(agents, Agent(CLAUDE_A, "mine", "r", HERE + 1, NOW, 0), "a1", NOW + 1)
    assert (moved.session, moved.pid, moved.reader) == ("mine#sub:a1", HERE + 1, first.reader)


def test_the_subagents_of_a_plan_are_those_at_work_and_those_that_ended_lately(agents: AgentRegistry) -> None:
    for own in ("a1", "a2"):
        register(agents, subagent_of(agents, MAIN, own, NOW), "Explore")
    register(agents, subagent_of(agents, Agent(CLAUDE_A, "mine", "r", HERE, NOW, 0), "a3", NOW), "Explore")
    register(agents, subagent_of(agents, Agent(CLAUDE_A, PROJECT, "r", 2**30, NOW, 0), "a4", NOW))
    end(agents, subagent_id(CLAUDE_A, "a2"), NOW + 10)

    found = subagents_on(agents, PROJECT, NOW + 20)
    later = subagents_on(agents, PROJECT, NOW + 3 * 3_600_000)

    assert sorted((each.name, each.ended) for each in found if each.ended) == [("Explore", NOW + 10), ("a4", NOW)]
    assert [each.agent.session for each in found if not each.ended] == [f"{PROJECT}#sub:a1"]
    assert [each.agent.session for each in later] == [f"{PROJECT}#sub:a1"]


@pytest.fixture
def agents_dir(tmp_path: Path) -> str:
    if sys.platform == "win32":
        pytest.skip("hooks do not know their agent's process there")
    return str(tmp_path / "data" / "agents")


@pytest.fixture
def other() -> Iterator["subprocess.Popen[bytes]"]:
    """Another process, which runs until its standard input is closed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_an_agent_has_tools_while_a_server_serves_it(agents_dir: str, other: "subprocess.Popen[bytes]") -> None:
    """Not after that has ended or was killed, even if unnoticed, and not by a later process with the same ids.

    The next one tidies up.
    """
    with ProvidedTools(agents_dir, os.getppid()):
        during = has_tools(agents_dir, os.getppid()), has_tools(agents_dir, os.getpid())
    after = has_tools(agents_dir, os.getppid())
    ProvidedTools(agents_dir, os.getpid(), server_pid=other.pid).announce()
    announced = has_tools(agents_dir, os.getpid())
    (file,) = Path(agents_dir).with_name("servers").iterdir()
    start_times = file.read_text(encoding="ascii")
    file.write_text("1 1", encoding="ascii")
    reused = has_tools(agents_dir, os.getpid())
    file.write_text(start_times, encoding="ascii")
    again = has_tools(agents_dir, os.getpid())

    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    unreaped = has_tools(agents_dir, os.getpid())
    other.wait()

    assert (during, after) == ((True, False), False)
    assert (announced, reused, again, unreaped) == (True, False, True, False)
    assert not has_tools(agents_dir, os.getpid())
    with ProvidedTools(agents_dir, os.getppid()):
        assert [each.name for each in file.parent.iterdir()] == [f"{os.getppid()}.{os.getpid()}"]


def test_a_server_on_http_serves_every_agent_and_an_agent_of_an_unknown_process_counts_as_served(
    agents_dir: str,
) -> None:
    assert has_tools(agents_dir, 0)
    with ProvidedTools(agents_dir, ANY_AGENT):
        assert has_tools(agents_dir, os.getpid())


def test_a_server_serves_where_nothing_can_be_written(agents_dir: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file\n", encoding="utf-8")

    with ProvidedTools(agents_dir, os.getpid()):
        assert not has_tools(agents_dir, os.getpid())
