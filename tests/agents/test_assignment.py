"""The choice of an agent's session: it is found again and never shared by accident."""

from concurrent.futures import ThreadPoolExecutor

from tests.agents.facts import CLAUDE_A, CLAUDE_B, CODEX_A, CODEX_B, HERE, NOW, PARENT, PROJECT
from tildone.base import replace
from tildone.stores.agents import FRESH_FOR_MS, Agent, AgentId, AgentRegistry, start_time
from tildone.stores.assignment import assign_session


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


def test_an_agent_whose_process_is_not_known_this_time_keeps_it(agents: AgentRegistry) -> None:
    first = assign_session(agents, CLAUDE_A, HERE, NOW)
    later = NOW + FRESH_FOR_MS

    assert assign_session(agents, CLAUDE_A, 0, NOW + 1) == first
    assert assign_session(agents, CLAUDE_A, 0, later) == replace(first, last_active=later)


def test_a_record_is_renewed_once_an_hour(agents: AgentRegistry) -> None:
    assign_session(agents, CLAUDE_A, HERE, NOW)

    assign_session(agents, CLAUDE_A, HERE, NOW + FRESH_FOR_MS - 1)
    before = agents.get(CLAUDE_A)
    assign_session(agents, CLAUDE_A, HERE, NOW + FRESH_FOR_MS)
    after = agents.get(CLAUDE_A)

    assert before is not None
    assert after is not None
    assert (before.last_active, after.last_active) == (NOW, NOW + FRESH_FOR_MS)


def test_of_agents_that_arrive_at_once_one_gets_the_project_session(agents: AgentRegistry) -> None:
    arriving = [AgentId("codex", str(number)) for number in range(24)]

    with ThreadPoolExecutor(8) as pool:
        assigned = list(pool.map(lambda agent_id: assign_session(agents, agent_id, HERE, NOW), arriving))

    assert sum(agent.session == PROJECT for agent in assigned) == 1
    assert len({agent.session for agent in assigned}) == len(arriving)
