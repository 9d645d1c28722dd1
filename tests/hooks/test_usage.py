"""What a coding agent says that it has used is recorded with its events, and bounds its tasks."""

from tests.hooks.agent import HookedAgent, Workspace
from tests.trusted import write_trusted
from tildone.agents.integrations import HookPoint
from tildone.agents.integrations.codex import INTEGRATION as CODEX
from tildone.agents.integrations.pi import INTEGRATION as PI
from tildone.plan.events import AgentUsage, Nudged, PlanChanged, Tripped

IN_PROGRESS = (("Write the parser", "in_progress"), ("Ship it", "pending"))


def todo(*tasks: tuple[str, str]) -> dict[str, object]:
    """Claude Code's own list, as its tool is reported."""
    todos = [{"content": text, "status": status, "activeForm": text} for text, status in tasks]
    return {"tool_name": "TodoWrite", "tool_input": {"todos": todos}, "tool_response": {}}


def events(workspace: Workspace) -> list[tuple[type, AgentUsage | None]]:
    session = workspace.session
    return [(type(event.fact), event.usage) for event in session.store.events(session.name)]


def costs(agent: HookedAgent, dollars: float) -> None:
    agent.report(HookPoint.STATUS_LINE, cost={"total_cost_usd": dollars})


def test_the_cost_that_claude_reports_is_recorded(workspace: Workspace) -> None:
    agent = HookedAgent(workspace)
    agent.report(HookPoint.AFTER_TOOL, **todo(*IN_PROGRESS))
    costs(agent, 0.5)
    agent.stops()
    costs(agent, 0.75)
    agent.report(HookPoint.AFTER_TOOL, **todo(("Write the parser", "completed"), ("Ship it", "in_progress")))

    assert events(workspace) == [
        (PlanChanged, None),
        (Nudged, AgentUsage(cost=0.5)),
        (PlanChanged, AgentUsage(cost=0.75)),
    ]


def test_the_tokens_that_a_plugin_reports_are_recorded(workspace: Workspace) -> None:
    """With any event, also one that needs no reply. Amounts of another type are not."""
    workspace.plan(*IN_PROGRESS)
    agent = HookedAgent(workspace, PI)
    agent.report(HookPoint.BEFORE_TOOL, usage={"in": 70, "out": 5, "cost": 0.25})
    agent.report(HookPoint.BEFORE_TOOL, usage={"in": "many"})
    agent.report(HookPoint.BEFORE_TOOL, usage=[1])
    agent.stops()

    assert events(workspace)[-1] == (Nudged, AgentUsage(70, 5, 0.25))


def test_what_a_subagent_used_is_not_noted_as_that_of_its_agent(workspace: Workspace) -> None:
    workspace.plan(*IN_PROGRESS)
    agent = HookedAgent(workspace, PI)
    agent.report(HookPoint.BEFORE_TOOL, usage={"in": 70, "out": 5})
    agent.report(HookPoint.BEFORE_TOOL, usage={"in": 7, "out": 1}, agentID="sub")
    agent.stops()

    assert events(workspace)[-1] == (Nudged, AgentUsage(70, 5))


def test_without_a_store_nothing_is_noted(workspace: Workspace) -> None:
    agent = HookedAgent(workspace, PI)
    agent.report(HookPoint.BEFORE_TOOL, usage={"in": 70, "out": 5})

    assert list(workspace.home.rglob("*.usage")) == []


def test_codex_tells_nothing_and_nothing_is_recorded(workspace: Workspace) -> None:
    workspace.plan(*IN_PROGRESS)
    agent = HookedAgent(workspace, CODEX)
    agent.stops()

    assert events(workspace)[-1] == (Nudged, None)


def test_an_agent_is_let_go_when_its_task_is_over_its_budget(workspace: Workspace) -> None:
    """Until the person speaks."""
    write_trusted(workspace.project / "tildone.toml", "max_task_cost = 0.5\n", workspace.environ)
    agent = HookedAgent(workspace)
    agent.report(HookPoint.AFTER_TOOL, **todo(("Write the parser", "pending")))
    costs(agent, 1.0)
    agent.report(HookPoint.AFTER_TOOL, **todo(*IN_PROGRESS))
    costs(agent, 1.4)
    assert agent.stops()
    costs(agent, 1.5)
    answer = agent.report(HookPoint.STOP, last_assistant_message="I stop.")

    assert "tildone lets the agent go: the task in progress has cost $0.50." in answer.out
    assert events(workspace)[-1] == (Tripped, AgentUsage(cost=1.5))

    agent.report(HookPoint.PROMPT, prompt="Go on, please.")
    costs(agent, 1.9)
    assert agent.stops("I stop again.")


def test_a_prompt_starts_the_budget_again_although_the_agent_was_never_continued(workspace: Workspace) -> None:
    """The fast path leaves that to the store only if there is such a budget."""
    write_trusted(workspace.project / "tildone.toml", "max_task_cost = 0.5\n", workspace.environ)
    agent = HookedAgent(workspace)
    agent.report(HookPoint.AFTER_TOOL, **todo(("Write the parser", "pending")))
    costs(agent, 1.0)
    agent.report(HookPoint.AFTER_TOOL, **todo(*IN_PROGRESS))
    costs(agent, 1.4)
    agent.report(HookPoint.AFTER_TOOL, **todo(*IN_PROGRESS, ("Rest", "pending")))
    agent.report(HookPoint.PROMPT, prompt="Mind the tests, too.")
    costs(agent, 1.8)

    assert agent.stops()


def test_without_a_budget_a_prompt_writes_nothing(workspace: Workspace) -> None:
    agent = HookedAgent(workspace)
    agent.report(HookPoint.AFTER_TOOL, **todo(*IN_PROGRESS))
    before = events(workspace)
    agent.report(HookPoint.PROMPT, prompt="Mind the tests, too.")

    assert events(workspace) == before
