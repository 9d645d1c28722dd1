"""Checks in hooks: which stops are held for them, what the person is told, and native lists of tasks with checks."""

import json
from pathlib import Path

import pytest

from tests.checks.repositories import git, make_repository, python
from tests.cli.person import Answer
from tests.hooks.agent import HookedAgent, Workspace
from tests.hooks.test_gate import facts
from tests.hooks.test_mirror import created, used
from tildone.agents.hooks import context
from tildone.agents.integrations import HookPoint
from tildone.app.opening import check_approvals, open_session, open_store
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.events import Actor
from tildone.plan.model import Check, Result, Status, Task, flat
from tildone.plan.ops import Numbered, SetCheck, Write

CHECK = python("import pathlib, sys; sys.exit('missing' if not pathlib.Path('src/made.py').exists() else 0)")
NO_PROGRAM = Check(("no-such-program",))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    project, home = make_repository(tmp_path / "project"), tmp_path / "home"
    home.mkdir()
    return Workspace(project, home)


def plan_with(workspace: Workspace, check: Check, *texts: str, approved: bool = True, of_plan: bool = False) -> None:
    session = workspace.session
    session.change([Write(flat(*map(Task, texts)).phases)])
    session.change([SetCheck(None if of_plan else Numbered((1,)), check)])
    if approved:
        check_approvals(workspace.settings).approve(check)


def give(workspace: Workspace, check: Check) -> None:
    workspace.session.change([SetCheck(Numbered((1,)), check)])
    check_approvals(workspace.settings).approve(check)


def done(workspace: Workspace, *numbers: int) -> None:
    """The agent calls tasks done, with a tool of ours."""
    settings = workspace.settings
    session = open_session(settings, BRIEF, open_store(settings))
    session.call("todo", {"done": list(numbers)})


def statuses(workspace: Workspace) -> list[str]:
    return [status for _, status in workspace.tasks]


def stop(agent: HookedAgent, words: str = "I stop here.") -> Answer:
    return agent.report(HookPoint.STOP, last_assistant_message=words)


def make(workspace: Workspace, text: str = "x") -> None:
    (workspace.project / "src" / "made.py").write_text(text)


def test_a_failed_check_holds_the_agent_until_it_passes(agent: HookedAgent) -> None:
    workspace = agent.workspace
    plan_with(workspace, CHECK, "Write the parser")
    done(workspace, 1)
    assert statuses(workspace) == ["in_progress"]

    nudge = agent.stops()
    make(workspace)
    done(workspace, 1)

    assert "Write the parser" in nudge
    assert "Check failed" in nudge
    assert statuses(workspace) == ["completed"]
    assert agent.stops() == ""


def test_a_stale_proof_holds_the_agent_and_a_commit_does_not(agent: HookedAgent) -> None:
    workspace = agent.workspace
    plan_with(workspace, CHECK, "Write the parser")
    make(workspace)
    done(workspace, 1)
    git(workspace.project, "add", "-A")
    git(workspace.project, "commit", "-qm", "Parser")
    assert stop(agent).out == ""
    assert facts(workspace)[-1] == "PlanChanged"

    make(workspace, "y")

    assert "Files changed since the check passed; mark it done again" in agent.stops()
    assert statuses(workspace) == ["completed"]
    done(workspace, 1)
    assert agent.stops() == ""


def test_a_stale_proof_holds_only_within_the_bounds(agent: HookedAgent) -> None:
    workspace = agent.workspace
    plan_with(workspace, CHECK, "Write the parser")
    make(workspace)
    done(workspace, 1)
    git(workspace.project, "add", "-A")
    make(workspace, "y")

    held = [bool(agent.stops("The same words.")) for _ in range(5)]

    assert held == [True, True, True, False, False]
    assert facts(workspace)[-4:] == ["Nudged", "Nudged", "Nudged", "Tripped"]


def test_the_check_of_a_plan_holds_when_every_task_is_done(agent: HookedAgent) -> None:
    workspace = agent.workspace
    plan_with(workspace, CHECK, "Write the parser", of_plan=True)
    done(workspace, 1)
    assert statuses(workspace) == ["completed"]

    nudge = agent.stops()

    assert "Make the check of the plan pass" in nudge
    make(workspace)
    done(workspace, 1)
    proof = workspace.session.plan.proof
    assert proof is not None
    assert proof.result is Result.PASSED
    assert agent.stops() == ""


@pytest.mark.parametrize("of_plan", [False, True])
def test_an_inconclusive_check_does_not_hold_and_the_person_is_told_once_for_each_run(
    *, of_plan: bool, agent: HookedAgent
) -> None:
    workspace = agent.workspace
    plan_with(workspace, NO_PROGRAM, "Write the parser", of_plan=of_plan)
    done(workspace, 1)

    answers = [stop(agent).out for _ in range(2)]

    name, argument = ("the plan", "") if of_plan else ("task 1", " 1")
    assert json.loads(answers[0]) == {
        "systemMessage": (
            f"tildone: {name} waits for you: `no-such-program` is inconclusive: it could not be started: "
            f"No such file or directory. To run its check: tildone verify{argument}"
        )
    }
    assert answers[1] == ""
    assert "Nudged" not in facts(workspace)
    done(workspace, 1)
    if not of_plan:
        # Nothing has changed, but it was run again.
        assert statuses(workspace) == ["blocked"]


def test_a_proposed_check_is_not_run_and_the_person_is_told_how_to_approve_it(agent: HookedAgent) -> None:
    workspace = agent.workspace
    check = python("open('ran', 'w')")
    plan_with(workspace, check, "Write the parser", approved=False)

    done(workspace, 1)
    notice = json.loads(stop(agent).out)["systemMessage"]

    assert not (workspace.project / "ran").exists()
    assert statuses(workspace) == ["blocked"]
    assert notice.startswith("tildone: task 1 waits for you: its check, ")
    assert notice.endswith("is only proposed. To approve it: tildone approve 1")
    assert stop(agent).out == ""


def test_while_other_tasks_are_open_the_agent_is_held_to_those(agent: HookedAgent) -> None:
    workspace = agent.workspace
    plan_with(workspace, NO_PROGRAM, "Write the parser", "Wire it up")
    done(workspace, 1)

    assert "Wire it up" in agent.stops()
    done(workspace, 2)
    assert "tildone verify 1" in json.loads(stop(agent).out)["systemMessage"]


def test_a_native_list_completes_a_task_whose_check_passes(agent: HookedAgent) -> None:
    workspace = agent.workspace
    agent.writes(("Parse", "in_progress"), ("Wire", "pending"))
    give(workspace, CHECK)

    failed = agent.writes(("Parse", "completed"), ("Wire", "in_progress"))
    assert statuses(workspace) == ["in_progress", "in_progress"]
    make(workspace)
    passed = agent.writes(("Parse", "completed"), ("Wire", "in_progress"))

    assert "“Parse” is not done:" in failed
    assert "failed with exit code 1\nmissing" in failed
    assert "not done" not in passed
    assert statuses(workspace) == ["completed", "in_progress"]
    proof = workspace.session.plan.tasks[0].proof
    assert proof is not None
    assert proof.by == "claude:s1"


def test_a_task_tool_of_the_agent_is_told_of_a_failed_check_each_time(agent: HookedAgent) -> None:
    workspace = agent.workspace
    created(agent, "1", "Parse")
    give(workspace, CHECK)

    replies = [used(agent, "TaskUpdate", {"taskId": "1", "status": "completed"}) for _ in range(2)]
    make(workspace)
    replies.append(used(agent, "TaskUpdate", {"taskId": "1", "status": "completed"}))

    assert [("is not done" in reply) for reply in replies] == [True, True, False]
    assert statuses(workspace) == ["completed"]


def test_a_check_that_takes_longer_than_a_hook_may_is_left_to_a_command(
    agent: HookedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "CHECK_SECONDS", 0.5)
    workspace = agent.workspace
    slow = python("import time; time.sleep(60)", seconds=60)
    agent.writes(("Parse", "in_progress"))
    give(workspace, slow)

    reply = agent.writes(("Parse", "completed"))

    assert "Run: tildone verify 1" in reply
    task = workspace.session.plan.tasks[0]
    assert (task.status, task.proof) == (Status.IN_PROGRESS, None)


def test_a_proposed_check_is_not_run_by_a_mirror(agent: HookedAgent) -> None:
    workspace = agent.workspace
    check = python("open('ran', 'w')")
    agent.writes(("Parse", "in_progress"))
    workspace.session.change([SetCheck(Numbered((1,)), check)], Actor.AGENT)

    reply = agent.writes(("Parse", "completed"))

    assert "waits for a person to approve its check" in reply
    assert not (workspace.project / "ran").exists()
    assert statuses(workspace) == ["blocked"]


def test_a_native_list_that_lacks_a_task_with_a_check_does_not_remove_it(agent: HookedAgent) -> None:
    workspace = agent.workspace
    agent.writes(("Parse", "in_progress"), ("Wire", "pending"))
    workspace.session.change([SetCheck(Numbered((1,)), CHECK)])

    kept = agent.writes(("Write docs", "completed"))
    again = agent.writes(("Write docs", "completed"), ("Ship", "completed"))

    assert "kept “Parse”" in kept
    assert "it has a check; only a person can remove it" in kept
    assert "kept" not in again
    assert workspace.tasks == [("Write docs", "completed"), ("Ship", "completed"), ("Parse", "in_progress")]
    assert "Parse" in agent.stops()


def test_a_task_tool_of_the_agent_does_not_delete_a_task_with_a_check(agent: HookedAgent) -> None:
    workspace = agent.workspace
    created(agent, "1", "Parse")
    created(agent, "2", "Wire")
    workspace.session.change([SetCheck(Numbered((1,)), CHECK)])

    reply = used(agent, "TaskUpdate", {"taskId": "1", "status": "deleted"})
    used(agent, "TaskUpdate", {"taskId": "2", "status": "deleted"})

    assert "kept “Parse”" in reply
    assert workspace.tasks == [("Parse", "pending")]


def test_ticking_off_tasks_of_a_person_drops_none_with_a_check(agent: HookedAgent) -> None:
    workspace = agent.workspace
    plan_with(workspace, CHECK, "Parse", "Wire")
    created(agent, "1", "Parse")
    created(agent, "2", "Wire")

    used(agent, "TaskUpdate", {"taskId": "1", "status": "deleted"})
    used(agent, "TaskUpdate", {"taskId": "2", "status": "completed"})

    assert workspace.tasks == [("Parse", "pending"), ("Wire", "completed")]
