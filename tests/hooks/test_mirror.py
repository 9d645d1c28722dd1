"""The mirror: native todo lists of coding agents, followed in the plan without overriding changes by people."""

from typing import Any

import pytest

from tests.hooks.agent import HookedAgent, Workspace, tasks_of
from tildone.agents.hooks.context import arguments, native_tasks
from tildone.agents.integrations import HookPoint, Integration
from tildone.agents.integrations.claude import INTEGRATION as CLAUDE
from tildone.agents.integrations.codex import INTEGRATION as CODEX
from tildone.agents.integrations.copilot import INTEGRATION as COPILOT
from tildone.agents.integrations.cursor import INTEGRATION as CURSOR
from tildone.agents.integrations.gemini import INTEGRATION as GEMINI
from tildone.agents.integrations.opencode import INTEGRATION as OPENCODE
from tildone.agents.integrations.qwen import INTEGRATION as QWEN
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.events import Actor, Call, PlanChanged
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, Mark, Named, Note, Remove, Rename
from tildone.stores.agents import LIST_NOTE, AgentId

TASKS = [("Parse", "completed"), ("Wire", "in_progress"), ("Measure", "pending")]


def used(agent: HookedAgent, tool: str, given_input: dict[str, Any], response: Any = None) -> str:
    given = {"tool_name": tool, "tool_input": given_input, "tool_response": response or {"success": True}}
    return agent.is_told(HookPoint.AFTER_TOOL, **given)


def created(agent: HookedAgent, number: str, subject: str) -> str:
    return used(agent, "TaskCreate", {"subject": subject}, {"task": {"id": number, "subject": subject}})


@pytest.mark.parametrize(
    "integration", [CLAUDE, CODEX, GEMINI, CURSOR, QWEN, OPENCODE], ids=lambda integration: integration.name
)
def test_a_native_list_becomes_the_plan_and_later_lists_update_it(
    workspace: Workspace, integration: Integration
) -> None:
    agent = HookedAgent(workspace, integration)

    agent.writes(("Parse", "in_progress"), ("Wire", "pending"))
    agent.writes(*TASKS)

    (event, _) = workspace.session.store.history(workspace.session.name)
    assert workspace.tasks == TASKS
    assert event.actor is Actor.AGENT
    assert isinstance(event.fact, PlanChanged)
    assert event.fact.call is not None
    assert event.fact.call.tool == f"{integration.name}/{next(iter(integration.list_tools))}"


def test_the_gate_continues_a_model_with_a_native_list_without_naming_our_tools(agent: HookedAgent) -> None:
    agent.writes(*TASKS)

    nudge = agent.stops()

    assert nudge.startswith("Your todo list is not done:\n- Wire (in progress)\n- Measure\n")
    assert "todo tool" not in agent.report(HookPoint.SESSION_START).out


def test_every_coding_agents_word_for_a_status_is_known(agent: HookedAgent) -> None:
    """An unknown one counts as pending, so that no task is lost."""
    statuses = {
        "pending": "pending",
        "not_started": "pending",
        "in_progress": "in_progress",
        "completed": "completed",
        "cancelled": "abandoned",
        "blocked": "blocked",
        "whatever": "pending",
    }

    agent.writes(*((f"Parse as {word}", word) for word in statuses))

    assert agent.workspace.tasks == [(f"Parse as {word}", status) for word, status in statuses.items()]


def test_a_finished_native_list_lets_the_agent_stop(agent: HookedAgent) -> None:
    agent.writes(("Parse", "completed"), ("Wire", "cancelled"))

    assert agent.stops() == ""


def test_a_list_that_the_model_wrote_counts_as_seen(agent: HookedAgent) -> None:
    agent.writes(*TASKS)

    assert agent.seen_head == agent.workspace.session.state.head


def test_changes_by_people_survive_the_next_native_list(agent: HookedAgent) -> None:
    """Added tasks, abandoned tasks, removed tasks and notes."""
    agent.writes(("Parse", "pending"), ("Wire", "pending"), ("Measure", "pending"))
    agent.workspace.session.change(
        (
            Append((Task("By hand"),)),
            Mark(Named("Wire"), Status.ABANDONED),
            Remove(Named("Measure")),
            Note(Named("Parse"), "Mind the tabs"),
        )
    )

    agent.writes(("Parse", "completed"), ("Wire", "pending"), ("Measure", "pending"), ("Ship", "pending"))
    assert ("Wire", "abandoned") in agent.workspace.tasks
    agent.workspace.session.change((Append((Task("More"),)),))
    agent.writes(("Parse", "completed"), ("Wire", "completed"), ("Ship", "completed"))

    tasks = agent.workspace.session.plan.tasks
    assert tasks_of(agent.workspace.session.plan) == [
        ("Parse", "completed"),
        ("Wire", "completed"),
        ("Ship", "completed"),
        ("By hand", "pending"),
        ("More", "pending"),
    ]
    assert tasks[0].notes == ("Mind the tabs",)


@pytest.mark.parametrize("dialect", [INDEXED, BRIEF], ids=lambda dialect: dialect.name)
def test_a_plan_that_the_model_writes_with_our_tools_does_not_change(agent: HookedAgent, dialect: Any) -> None:
    session = agent.workspace.session
    session.dialect = dialect
    tool, call = (
        ("todo", {"add": ["Ours"]})
        if dialect is BRIEF
        else ("write_todos", {"mode": "replace", "todos": [{"text": "Ours"}]})
    )
    assert not session.call(tool, call).is_error

    agent.writes(*TASKS)
    created(agent, "1", "Theirs")

    assert agent.workspace.tasks == [("Ours", "pending")]


def test_a_finished_plan_of_our_tools_is_replaced(agent: HookedAgent) -> None:
    session = agent.workspace.session
    session.dialect = BRIEF
    session.call("todo", {"add": ["Ours"]})
    session.call("todo", {"done": 1})

    agent.writes(*TASKS)

    assert agent.workspace.tasks == TASKS


def test_in_a_plan_that_people_made_tasks_are_ticked_off_and_nothing_else_changes(agent: HookedAgent) -> None:
    agent.workspace.plan(("Parse", "pending"), ("Wire", "pending"), ("Ship", "completed"))

    agent.writes(("Parse", "completed"), ("Wire", "in_progress"), ("Ship", "pending"), ("A detail", "pending"))

    assert agent.workspace.tasks == [("Parse", "completed"), ("Wire", "in_progress"), ("Ship", "completed")]
    agent.writes(("Parse", "pending"), ("Wire", "pending"))
    assert agent.workspace.tasks == [("Parse", "completed"), ("Wire", "in_progress"), ("Ship", "completed")]


def test_single_tasks_are_identified_by_their_numbers(agent: HookedAgent) -> None:
    """Also if event and tool call both report the creation, and if a task was renamed."""
    for number, subject in (("1", "Parse"), ("2", "Wire")):
        agent.report(HookPoint.TASK_CREATED, task_id=number, task_subject=subject)
        created(agent, number, subject)
    used(agent, "TaskUpdate", {"taskId": "2", "status": "in_progress"})
    used(agent, "TaskUpdate", {"taskId": "2", "subject": "Wire it up"})
    used(agent, "TaskUpdate", {"taskId": "2", "status": "completed", "subject": "Wired"})
    used(agent, "TaskUpdate", {"taskId": "1", "status": "in_progress"})

    assert agent.workspace.tasks == [("Parse", "in_progress"), ("Wired", "completed")]
    used(agent, "TaskUpdate", {"taskId": "1", "status": "deleted"})
    used(agent, "TaskUpdate", {"taskId": "2", "status": "pending"})
    assert agent.workspace.tasks == [("Wired", "pending")]


def test_a_listing_adds_tasks_that_no_hook_reported(agent: HookedAgent) -> None:
    """As after an installation in the middle of a conversation."""
    created(agent, "2", "Wire")
    tasks = [
        {"id": "1", "subject": "Parse", "status": "completed", "blockedBy": []},
        {"id": "2", "subject": "Wire", "status": "in_progress"},
        {"id": "3", "subject": "Ship", "status": "pending"},
        "odd",
    ]

    used(agent, "TaskList", {}, {"tasks": tasks})
    used(agent, "TaskList", {}, {"tasks": "none"})
    used(agent, "TaskUpdate", {"taskId": "3", "status": "completed"})

    assert agent.workspace.tasks == [("Wire", "in_progress"), ("Parse", "completed"), ("Ship", "completed")]


def test_the_event_of_a_completed_task_completes_it(agent: HookedAgent) -> None:
    created(agent, "1", "Parse")

    answer = agent.report_event("TaskCompleted", task_id="1", task_subject="Parse")

    assert (answer.out, answer.err) == ("", "")
    assert agent.workspace.tasks == [("Parse", "completed")]


def test_a_completed_task_ticks_off_the_same_text_in_a_persons_plan(agent: HookedAgent) -> None:
    agent.workspace.plan(("Parse", "pending"))

    agent.report_event("TaskCompleted", task_id="9", task_subject="Parse")

    assert agent.workspace.tasks == [("Parse", "completed")]


def test_failed_and_malformed_calls_are_ignored(agent: HookedAgent) -> None:
    created(agent, "1", "Parse")
    calls: list[tuple[str, Any, Any]] = [
        ("TaskUpdate", {"taskId": "9", "status": "completed"}, {"success": True}),
        ("TaskUpdate", {"status": "completed"}, {"success": True}),
        ("TaskUpdate", {"taskId": "1", "status": "completed"}, {"success": False}),
        ("TaskCreate", {"subject": "  "}, {"task": {"id": "2"}}),
        ("TaskCreate", {"subject": 4}, {"task": {"id": "2"}}),
        ("TaskCreate", {"subject": "No number"}, {"task": None}),
        ("TodoWrite", {"todos": "many"}, None),
        ("TodoWrite", {"todos": [{"content": "Part"}], "merge": True}, None),
        ("TodoWrite", {"todos": []}, {"error": "denied"}),
        ("TodoWrite", [], None),
        ("TodoWrite", "{", None),
    ]

    for call in calls:
        used(agent, *call)

        assert agent.workspace.tasks == [("Parse", "pending")], call


def test_a_subagents_list_is_not_the_plan(agent: HookedAgent) -> None:
    todos = {"todos": [{"content": "Mine", "status": "pending"}]}

    agent.report(HookPoint.AFTER_TOOL, tool_name="TodoWrite", tool_input=todos, agent_id="a1")

    assert agent.workspace.tasks == []


def test_arguments_may_be_json_text() -> None:
    assert arguments('{"a": 1}') == {"a": 1}
    assert arguments("[1]") == arguments(None) == arguments("{") == {}


def test_only_native_list_tools_write_lists() -> None:
    assert native_tasks(COPILOT, "bash", {"todos": []}) is None
    assert native_tasks(CLAUDE, "TodoWrite", {"todos": [{"content": " "}, {}, 3, {"content": 1}]}) == []


def test_mirrored_calls_are_distinguished_from_calls_of_our_own_tools(agent: HookedAgent) -> None:
    agent.writes(*TASKS)

    (event,) = agent.workspace.session.store.events(agent.workspace.session.name)

    assert isinstance(event.fact, PlanChanged)
    assert isinstance(event.fact.call, Call)
    assert "/" in event.fact.call.tool


def test_the_mirror_never_replies(agent: HookedAgent) -> None:
    """A question still prevents a nudge."""
    agent.writes(*TASKS)

    assert agent.report(HookPoint.STOP, last_assistant_message="Which one?").out == ""


def person_adds(agent: HookedAgent, *texts: str) -> None:
    agent.workspace.session.change((Append(tuple(Task(text) for text in texts)),))


def updated(agent: HookedAgent, number: str, **given_input: str) -> str:
    return used(agent, "TaskUpdate", {"taskId": number, **given_input})


def test_a_persons_task_that_the_model_creates_in_its_own_list_is_one_task(agent: HookedAgent) -> None:
    """The numbers are those of the model's list, and the texts need not be equal to the letter."""
    agent.workspace.plan(("Write the parser", "pending"), ("Wire it up", "pending"))

    created(agent, "1", "Look around")
    created(agent, "2", "#2 wire it up.")
    created(agent, "3", "1. Write the  parser")
    updated(agent, "3", status="in_progress")
    updated(agent, "2", status="completed")

    assert agent.workspace.tasks == [("Write the parser", "in_progress"), ("Wire it up", "completed")]
    updated(agent, "3", status="completed")
    assert agent.stops() == ""


def test_a_task_that_a_person_adds_to_a_mirrored_plan_is_not_doubled(agent: HookedAgent) -> None:
    created(agent, "1", "Parse")
    person_adds(agent, "Wire it up")

    created(agent, "2", "Wire it up")
    updated(agent, "1", status="completed")
    updated(agent, "2", status="completed")

    assert agent.workspace.tasks == [("Parse", "completed"), ("Wire it up", "completed")]
    assert agent.stops() == ""


def test_a_task_that_a_person_adds_after_the_model_has_is_closed_with_it(agent: HookedAgent) -> None:
    """Both where the plan follows the list and where the model's task is not in the plan."""
    agent.workspace.plan(("Parse", "pending"))
    created(agent, "1", "Document it")
    person_adds(agent, "document it")

    updated(agent, "1", status="completed")

    assert agent.workspace.tasks == [("Parse", "pending"), ("document it", "completed")]


def test_a_task_of_a_whole_list_that_a_person_added_before_is_one_task(agent: HookedAgent) -> None:
    agent.writes(("Parse", "in_progress"))
    person_adds(agent, "Wire it up")

    agent.writes(("Parse", "completed"), ("wire it up", "in_progress"))
    assert agent.workspace.tasks == [("Parse", "completed"), ("Wire it up", "in_progress")]
    agent.writes(("Parse", "completed"), ("wire it up", "completed"))

    assert agent.workspace.tasks == [("Parse", "completed"), ("Wire it up", "completed")]


def test_a_finished_task_can_be_added_again(agent: HookedAgent) -> None:
    created(agent, "1", "Run the tests")
    updated(agent, "1", status="completed")

    created(agent, "2", "Run the tests")

    assert agent.workspace.tasks == [("Run the tests", "completed"), ("Run the tests", "pending")]


def test_a_model_closes_a_persons_task_by_number_whatever_either_calls_it(agent: HookedAgent) -> None:
    """In a plan of a person, the person's words stay."""
    agent.workspace.plan(("Wire it up", "pending"))
    created(agent, "7", "Wire it up")
    updated(agent, "7", subject="Connect the modules")
    agent.workspace.session.change((Rename(Named("Wire it up"), "Wire all of it up"),))

    updated(agent, "7", status="completed")

    assert agent.workspace.tasks == [("Wire all of it up", "completed")]


def test_a_persons_rename_survives_a_whole_list_with_the_old_text(agent: HookedAgent) -> None:
    agent.writes(("Parse", "pending"), ("Wire", "pending"))
    agent.workspace.session.change((Rename(Named("Wire"), "Connect the modules"),))

    agent.writes(("Parse", "pending"), ("Wire", "completed"))

    assert agent.workspace.tasks == [("Parse", "pending"), ("Connect the modules", "completed")]


def test_a_persons_task_is_abandoned_if_the_model_deletes_it_and_stays_open_if_it_is_left_out(
    agent: HookedAgent,
) -> None:
    """Only an explicit deletion counts: models often list only what they do next."""
    created(agent, "1", "Parse")
    person_adds(agent, "Wire it up", "Ship it")
    created(agent, "2", "Wire it up")
    updated(agent, "2", status="deleted")
    assert agent.workspace.tasks == [("Parse", "pending"), ("Wire it up", "abandoned"), ("Ship it", "pending")]
    agent.writes(("Parse", "completed"), ("Ship it", "pending"))

    agent.writes(("Another", "pending"))

    assert agent.workspace.tasks == [
        ("Another", "pending"),
        ("Ship it", "pending"),
        ("Wire it up", "abandoned"),
    ]


def test_a_task_that_a_person_removed_does_not_return(agent: HookedAgent) -> None:
    """Whatever the model does to it: neither in a list of single tasks nor in a whole one."""
    created(agent, "1", "Parse")
    created(agent, "2", "Wire it up")
    agent.workspace.session.change((Remove(Named("Wire it up")),))

    updated(agent, "2", status="in_progress", subject="Wire it up well")
    tasks = [{"id": "1", "subject": "Parse"}, {"id": "2", "subject": "Wire it up", "status": "completed"}]
    used(agent, "TaskList", {}, {"tasks": tasks})

    assert agent.workspace.tasks == [("Parse", "pending")]


def test_a_persons_task_that_was_listed_and_then_removed_does_not_return(agent: HookedAgent) -> None:
    """The list that contained it changed nothing in the plan."""
    agent.writes(("Parse", "pending"))
    person_adds(agent, "Wire it up")
    agent.writes(("Parse", "pending"), ("Wire it up", "pending"))
    agent.workspace.session.change((Remove(Named("Wire it up")),))

    agent.writes(("Parse", "in_progress"), ("Wire it up", "pending"))

    assert agent.workspace.tasks == [("Parse", "in_progress")]


def test_what_a_person_reopened_stays_open_until_the_model_closes_it_again(agent: HookedAgent) -> None:
    agent.workspace.plan(("Parse", "pending"), ("Wire", "pending"))
    agent.writes(("Parse", "completed"), ("Wire", "pending"))
    agent.workspace.session.change((Mark(Named("Parse"), Status.PENDING),))

    agent.writes(("Parse", "completed"), ("Wire", "completed"))
    assert agent.workspace.tasks == [("Parse", "pending"), ("Wire", "completed")]
    agent.writes(("Parse", "in_progress"), ("Wire", "completed"))
    agent.writes(("Parse", "completed"), ("Wire", "completed"))

    assert agent.workspace.tasks == [("Parse", "completed"), ("Wire", "completed")]


def test_a_single_task_that_is_completed_again_is_completed(agent: HookedAgent) -> None:
    """The tool names the status, so this is a statement even if the model's own list does not change."""
    agent.workspace.plan(("Parse", "pending"), ("Wire", "pending"))
    created(agent, "1", "Parse")
    updated(agent, "1", status="completed")
    agent.workspace.session.change((Mark(Named("Parse"), Status.PENDING),))

    updated(agent, "1", status="completed")

    assert agent.workspace.tasks == [("Parse", "completed"), ("Wire", "pending")]


def test_a_plan_of_our_tools_is_ticked_off_too(agent: HookedAgent) -> None:
    session = agent.workspace.session
    session.dialect = BRIEF
    session.call("todo", {"add": ["Ours", "Second"]})
    person_adds(agent, "Wire it up")

    created(agent, "1", "Wire it up")
    created(agent, "2", "A detail")
    updated(agent, "1", status="completed")
    updated(agent, "2", status="completed")

    assert ("Wire it up", "completed") in agent.workspace.tasks
    assert [text for text, _ in agent.workspace.tasks] == ["Ours", "Second", "Wire it up"]


def test_a_list_survives_the_end_of_a_conversation_that_is_resumed(agent: HookedAgent) -> None:
    agent.workspace.plan(("Wire it up", "pending"))
    created(agent, "1", "Wire it up")
    agent.report(HookPoint.SESSION_END, reason="other")
    agent.report(HookPoint.SESSION_START, source="resume")

    updated(agent, "1", status="completed")

    assert agent.workspace.tasks == [("Wire it up", "completed")]


def test_a_new_conversation_replaces_the_list_of_the_one_before(agent: HookedAgent) -> None:
    agent.writes(("Old", "pending"))
    person_adds(agent, "By hand")
    agent.report(HookPoint.SESSION_END, reason="other")

    HookedAgent(agent.workspace, id="s2").writes(("New", "pending"))

    assert agent.workspace.tasks == [("New", "pending"), ("By hand", "pending")]


def test_two_agents_on_one_plan_have_a_list_each(workspace: Workspace) -> None:
    """Each changes its own tasks only, although the coding agent numbers the tasks of both alike."""
    shared = Workspace(workspace.project, workspace.home, {"TILDONE_SESSION": str(workspace.settings.session)})
    one, other = HookedAgent(shared), HookedAgent(shared, id="s2")
    one.writes(("Parse", "in_progress"))
    other.writes(("Wire", "in_progress"))
    one.writes(("Parse", "completed"))
    created(one, "1", "Ship")
    created(other, "1", "Measure")

    updated(other, "1", status="completed")

    assert shared.tasks == [
        ("Parse", "completed"),
        ("Wire", "in_progress"),
        ("Ship", "pending"),
        ("Measure", "completed"),
    ]


@pytest.mark.parametrize("note", ["", "{", "[]", '{"session": 1}', '{"session": "%s", "tasks": [["1"], 3]}'])
def test_a_damaged_note_of_the_list_counts_as_missing(agent: HookedAgent, note: str) -> None:
    agent.writes(("Parse", "pending"))
    agents, session = agent.workspace.agents, agent.workspace.settings.session
    agents.set_note(AgentId.parse(agent.key), LIST_NOTE, note.replace("%s", session))

    agent.writes(("Parse", "completed"))

    assert agent.workspace.tasks == [("Parse", "completed")]
