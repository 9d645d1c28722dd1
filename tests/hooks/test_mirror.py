"""Hosts' own todo lists, followed in the plan: all of them, never against anybody's will, and never in the way."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tests.hooks.agent import Desk, Hooked, hooks_of, plan_of, tasks_of
from tildone.core.ops import Append, Mark, Named, Note, Remove
from tildone.core.plan import Phase, Plan, Status, Task, flat
from tildone.dialects.brief import DIALECT as BRIEF
from tildone.dialects.indexed import DIALECT as INDEXED
from tildone.hooks.native_lists import arguments, change_task, merge_lists, native_tasks, tick_off
from tildone.integrations.claude import INTEGRATION as CLAUDE
from tildone.integrations.codex import INTEGRATION as CODEX
from tildone.integrations.copilot import INTEGRATION as COPILOT
from tildone.integrations.cursor import INTEGRATION as CURSOR
from tildone.integrations.gemini import INTEGRATION as GEMINI
from tildone.integrations.opencode import INTEGRATION as OPENCODE
from tildone.integrations.qwen import INTEGRATION as QWEN
from tildone.integrations.record import HookPoint, Integration
from tildone.log.events import Actor, Call, PlanChanged

TASKS = [("Parse", "completed"), ("Wire", "in_progress"), ("Measure", "pending")]


def wrote(agent: Hooked, *items: tuple[str, str], **more: Any) -> None:
    """The model writes its host's own list."""
    ((tool, (where, text)), *_) = agent.integration.list_tools.items()
    given_list = {where: [{text: content, "status": status} for content, status in items], **more}
    fields = hooks_of(agent.integration).fields
    answer = agent.tell(HookPoint.AFTER_TOOL, **{fields["tool"]: tool, fields["tool_input"]: given_list})
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def used(agent: Hooked, tool: str, given_input: dict[str, Any], response: Any = None) -> None:
    answer = agent.tell(
        HookPoint.AFTER_TOOL, tool_name=tool, tool_input=given_input, tool_response=response or {"success": True}
    )
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def created(agent: Hooked, number: str, subject: str) -> None:
    used(agent, "TaskCreate", {"subject": subject}, {"task": {"id": number, "subject": subject}})


@pytest.mark.parametrize(
    "integration", [CLAUDE, CODEX, GEMINI, CURSOR, QWEN, OPENCODE], ids=lambda integration: integration.name
)
def test_a_list_becomes_the_plan_and_the_plan_follows_it(desk: Desk, integration: Integration) -> None:
    agent = Hooked(desk, integration)

    wrote(agent, ("Parse", "in_progress"), ("Wire", "pending"))
    wrote(agent, *TASKS)

    (event, _) = desk.session.store.history(desk.session.name)
    assert desk.tasks == TASKS
    assert event.actor is Actor.AGENT
    assert isinstance(event.fact, PlanChanged)
    assert event.fact.call is not None
    assert event.fact.call.tool == f"{integration.name}/{next(iter(integration.list_tools))}"


def test_the_gate_holds_a_model_to_its_hosts_list_in_words_that_name_no_tool_of_ours(agent: Hooked) -> None:
    wrote(agent, *TASKS)

    told = agent.stops()

    assert told.startswith("Your todo list is not done:\n- Wire (in progress)\n- Measure\n")
    assert "todo tool" not in agent.tell(HookPoint.SESSION_START).out


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("pending", "pending"),
        ("not_started", "pending"),
        ("in_progress", "in_progress"),
        ("completed", "completed"),
        ("cancelled", "abandoned"),
        ("blocked", "blocked"),
        ("whatever", "pending"),
    ],
)
def test_every_hosts_word_for_a_status_is_known(agent: Hooked, word: str, status: str) -> None:
    """One that is not is taken for pending: nothing is lost."""
    wrote(agent, ("Parse", word))

    assert agent.desk.tasks == [("Parse", status)]


def test_a_list_in_which_nothing_is_left_lets_the_agent_go(agent: Hooked) -> None:
    wrote(agent, ("Parse", "completed"), ("Wire", "cancelled"))

    assert agent.stops() == ""


def test_what_a_model_knows_because_it_wrote_it_is_not_news_to_it(agent: Hooked) -> None:
    wrote(agent, *TASKS)

    record = agent.record

    assert record is not None
    assert record.seen_head == agent.desk.session.state.head


def test_people_may_change_the_plan_meanwhile(agent: Hooked) -> None:
    """What they added stays, what they dropped stays dropped, what they took out stays out; and so do their notes."""
    wrote(agent, ("Parse", "pending"), ("Wire", "pending"), ("Measure", "pending"))
    agent.desk.session.change(
        (
            Append((Task("By hand"),)),
            Mark(Named("Wire"), Status.ABANDONED),
            Remove(Named("Measure")),
            Note(Named("Parse"), "Mind the tabs"),
        )
    )

    wrote(agent, ("Parse", "completed"), ("Wire", "pending"), ("Measure", "pending"), ("Ship", "pending"))
    assert ("Wire", "abandoned") in agent.desk.tasks
    agent.desk.session.change((Append((Task("More"),)),))
    wrote(agent, ("Parse", "completed"), ("Wire", "completed"), ("Ship", "completed"))

    tasks = agent.desk.session.plan.tasks
    assert tasks_of(agent.desk.session.plan) == [
        ("Parse", "completed"),
        ("Wire", "completed"),
        ("Ship", "completed"),
        ("By hand", "pending"),
        ("More", "pending"),
    ]
    assert tasks[0].notes == ("Mind the tabs",)


@pytest.mark.parametrize("dialect", [INDEXED, BRIEF], ids=lambda dialect: dialect.name)
def test_a_plan_that_the_model_keeps_with_our_tools_is_left_alone(agent: Hooked, dialect: Any) -> None:
    session = agent.desk.session
    session.dialect = dialect
    tool, call = (
        ("todo", {"add": ["Ours"]})
        if dialect is BRIEF
        else ("write_todos", {"mode": "replace", "todos": [{"text": "Ours"}]})
    )
    assert not session.call(tool, call).is_error

    wrote(agent, *TASKS)
    created(agent, "1", "Theirs")

    assert agent.desk.tasks == [("Ours", "pending")]


def test_a_plan_of_ours_that_is_done_makes_way(agent: Hooked) -> None:
    session = agent.desk.session
    session.dialect = BRIEF
    session.call("todo", {"add": ["Ours"]})
    session.call("todo", {"done": 1})

    wrote(agent, *TASKS)

    assert agent.desk.tasks == TASKS


def test_a_plan_that_people_made_is_ticked_off_and_nothing_else(agent: Hooked) -> None:
    agent.desk.plan(("Parse", "pending"), ("Wire", "pending"), ("Ship", "completed"))

    wrote(agent, ("Parse", "completed"), ("Wire", "in_progress"), ("Ship", "pending"), ("A detail", "pending"))

    assert agent.desk.tasks == [("Parse", "completed"), ("Wire", "in_progress"), ("Ship", "completed")]
    wrote(agent, ("Parse", "pending"), ("Wire", "pending"))
    assert agent.desk.tasks == [("Parse", "completed"), ("Wire", "in_progress"), ("Ship", "completed")]


def test_tasks_one_by_one_are_followed_by_their_numbers(agent: Hooked) -> None:
    """Created twice over: once by an event, and once by the call. A number finds its task under its newest name."""
    for number, subject in (("1", "Parse"), ("2", "Wire")):
        agent.tell(HookPoint.TASK_CREATED, task_id=number, task_subject=subject)
        created(agent, number, subject)
    used(agent, "TaskUpdate", {"taskId": "2", "status": "in_progress"})
    used(agent, "TaskUpdate", {"taskId": "2", "subject": "Wire it up"})
    used(agent, "TaskUpdate", {"taskId": "2", "status": "completed", "subject": "Wired"})
    used(agent, "TaskUpdate", {"taskId": "1", "status": "in_progress"})

    assert agent.desk.tasks == [("Parse", "in_progress"), ("Wired", "completed")]
    used(agent, "TaskUpdate", {"taskId": "1", "status": "deleted"})
    used(agent, "TaskUpdate", {"taskId": "2", "status": "pending"})
    assert agent.desk.tasks == [("Wired", "pending")]


def test_a_listing_brings_what_was_missed(agent: Hooked) -> None:
    """Hooks that were installed in the middle of a session."""
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

    assert agent.desk.tasks == [("Wire", "in_progress"), ("Parse", "completed"), ("Ship", "completed")]


def test_the_event_of_a_finished_task_will_do(agent: Hooked) -> None:
    created(agent, "1", "Parse")

    answer = agent.tell_of("TaskCompleted", task_id="1", task_subject="Parse")

    assert (answer.out, answer.err) == ("", "")
    assert agent.desk.tasks == [("Parse", "completed")]


def test_a_finished_task_of_a_plan_that_people_made_is_ticked_off_by_its_name(agent: Hooked) -> None:
    agent.desk.plan(("Parse", "pending"))

    agent.tell_of("TaskCompleted", task_id="9", task_subject="Parse")

    assert agent.desk.tasks == [("Parse", "completed")]


@pytest.mark.parametrize(
    ("tool", "given_input", "response"),
    [
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
    ],
)
def test_what_failed_or_makes_no_sense_is_not_followed(
    agent: Hooked, tool: str, given_input: Any, response: Any
) -> None:
    created(agent, "1", "Parse")

    used(agent, tool, given_input, response)

    assert agent.desk.tasks == [("Parse", "pending")]


def test_a_subagents_list_is_its_own_affair(agent: Hooked) -> None:
    todos = {"todos": [{"content": "Mine", "status": "pending"}]}

    agent.tell(HookPoint.AFTER_TOOL, tool_name="TodoWrite", tool_input=todos, agent_id="a1")

    assert agent.desk.tasks == []


def test_arguments_may_come_as_text() -> None:
    assert arguments('{"a": 1}') == {"a": 1}
    assert arguments("[1]") == arguments(None) == arguments("{") == {}


def test_a_host_without_lists_of_its_own_has_none() -> None:
    assert native_tasks(COPILOT, "bash", {"todos": []}) is None
    assert native_tasks(CLAUDE, "TodoWrite", {"todos": [{"content": " "}, {}, 3, {"content": 1}]}) == []


@given(st.lists(plans.tasks, max_size=4), st.lists(plans.tasks, max_size=4))
def test_where_nobody_else_changed_anything_the_plan_is_the_list(before: list[Task], after: list[Task]) -> None:
    """In its order, with its statuses."""
    base = [Task(task.text, task.status) for task in unlike(before)]
    theirs = [Task(task.text, task.status) for task in unlike(after)]

    assert merge_lists(base, flat(*base), theirs) == flat(*theirs)


@given(plans.plans, st.lists(plans.tasks, max_size=4))
def test_following_adds_nothing_takes_nothing_away_and_opens_nothing_again(plan: Plan, theirs: list[Task]) -> None:
    after = tick_off(plan, theirs)

    assert [task.text for task in after.tasks] == [task.text for task in plan.tasks]
    pairs = zip(plan.tasks, after.tasks, strict=True)
    assert all(now == was or (was.status.is_open and now.status is not Status.PENDING) for was, now in pairs)


def test_a_list_is_merged_into_phases_that_people_made() -> None:
    plan = Plan((Phase("A", (Task("Parse"), Task("By hand"))), Phase("B", (Task("Wire"),))))
    base, theirs = plan_of([("Parse", "pending"), ("Wire", "pending")]).tasks, plan_of(TASKS).tasks

    after = merge_lists(base, plan, theirs)

    assert [(phase.name, [task.text for task in phase.tasks]) for phase in after.phases] == [
        ("A", ["Parse", "By hand"]),
        ("B", ["Wire", "Measure"]),
    ]


def test_the_open_one_of_two_tasks_of_a_name_is_meant() -> None:
    plan = flat(Task("Parse", Status.COMPLETED), Task("Parse"), Task("Other"))

    after = change_task(plan, "Parse", None, "in_progress")

    assert tasks_of(after) == [("Parse", "completed"), ("Parse", "in_progress"), ("Other", "pending")]
    assert change_task(plan, "None", None, "completed") == plan


def test_a_call_that_was_followed_can_not_be_taken_for_one_of_ours(agent: Hooked) -> None:
    wrote(agent, *TASKS)

    (event,) = agent.desk.session.store.events(agent.desk.session.name)

    assert isinstance(event.fact, PlanChanged)
    assert isinstance(event.fact.call, Call)
    assert "/" in event.fact.call.tool


def test_nothing_is_ever_said_about_a_list(agent: Hooked) -> None:
    """A mirror never blocks."""
    wrote(agent, *TASKS)

    assert agent.tell(HookPoint.STOP, last_assistant_message="Which one?").out == ""


def unlike(tasks: list[Task]) -> list[Task]:
    """Each text once."""
    return list({task.text: task for task in tasks}.values())
