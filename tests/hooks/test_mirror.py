"""The mirror: native todo lists of coding agents, followed in the plan without overriding changes of others."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tests.hooks.agent import (
    CLAUDE,
    CODEX,
    COPILOT,
    CURSOR,
    GEMINI,
    OPENCODE,
    QWEN,
    HookedAgent,
    Workspace,
    tasks_of,
)
from tildone.agents.hooks.context import NativeTask, arguments, native_tasks
from tildone.agents.hooks.native import find_tasks, follow, numbered_list, shares_most_words, tick_off
from tildone.agents.integrations import HookPoint, Integration
from tildone.plan.dialects import Dialect
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.events import Actor, PlanChanged
from tildone.plan.model import Phase, Plan, Status, Task, flat, numbered
from tildone.plan.ops import Append, Mark, Named, Note, Remove
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

    assert agent.seen_head == agent.workspace.session.state.head
    assert agent.report(HookPoint.STOP, last_assistant_message="Which one?").out == ""

    nudge = agent.stops()

    assert nudge.startswith("Your todo list is not done:\n- Wire (in progress)\n- Measure\n")
    assert "todo tool" not in agent.report(HookPoint.SESSION_START).out
    agent.writes(("Parse", "completed"), ("Wire", "cancelled"))
    assert agent.stops() == ""


def test_every_coding_agents_word_for_a_status_is_known(agent: HookedAgent) -> None:
    """An unknown one counts as pending, so that no task is lost."""
    as_named = {word: word for word in ("pending", "in_progress", "completed", "blocked")}
    statuses = {**as_named, "not_started": "pending", "cancelled": "abandoned", "whatever": "pending"}

    agent.writes(*((f"Parse as {word}", word) for word in statuses))

    assert agent.workspace.tasks == [(f"Parse as {word}", status) for word, status in statuses.items()]


@pytest.mark.parametrize(
    ("dialect", "tool", "given"),
    [
        (INDEXED, "write_todos", {"mode": "replace", "todos": [{"text": "Ours"}]}),
        (BRIEF, "todo", {"add": ["Ours"]}),
    ],
    ids=["indexed", "brief"],
)
def test_a_plan_that_the_model_writes_with_our_tools_does_not_change(
    agent: HookedAgent, dialect: Dialect, tool: str, given: dict[str, Any]
) -> None:
    session = agent.workspace.session
    session.dialect = dialect
    assert not session.call(tool, given).is_error

    agent.writes(*TASKS)
    created(agent, "1", "Theirs")

    assert agent.workspace.tasks == [("Ours", "pending")]


def test_failed_and_malformed_calls_are_ignored(agent: HookedAgent) -> None:
    created(agent, "1", "Parse")
    for tool, arguments_given, response in MALFORMED:
        used(agent, tool, arguments_given, response)

        assert agent.workspace.tasks == [("Parse", "pending")], (tool, arguments_given)


MALFORMED: list[tuple[str, Any, Any]] = [
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


def test_changes_by_people_survive_the_next_native_list(agent: HookedAgent) -> None:
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


def test_single_tasks_are_identified_by_their_numbers(agent: HookedAgent) -> None:
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


@pytest.mark.parametrize("of_person", [False, True])
def test_the_event_of_a_completed_task_completes_it(agent: HookedAgent, *, of_person: bool) -> None:
    """By its number, or by its text if it is in a person's plan."""
    if of_person:
        agent.workspace.plan(("Parse", "pending"))
    else:
        created(agent, "1", "Parse")

    answer = agent.report_event("TaskCompleted", task_id="9" if of_person else "1", task_subject="Parse")

    assert (answer.out, answer.err) == ("", "")
    assert agent.workspace.tasks == [("Parse", "completed")]


def test_arguments_may_be_json_text_and_only_those_of_list_tools_are_lists() -> None:
    assert arguments('{"a": 1}') == {"a": 1}
    assert arguments("[1]") == arguments(None) == arguments("{") == {}
    assert native_tasks(COPILOT, "bash", {"todos": []}) is None
    assert native_tasks(CLAUDE, "TodoWrite", {"todos": [{"content": " "}, {}, 3, {"content": 1}]}) == []


def test_a_task_that_a_person_removed_does_not_return(agent: HookedAgent) -> None:
    """Whatever the model does to it: neither in a list of single tasks nor in a whole one."""
    created(agent, "1", "Parse")
    created(agent, "2", "Wire it up")
    agent.workspace.session.change((Remove(Named("Wire it up")),))

    used(agent, "TaskUpdate", {"taskId": "2", "status": "in_progress", "subject": "Wire it up well"})
    tasks = [{"id": "1", "subject": "Parse"}, {"id": "2", "subject": "Wire it up", "status": "completed"}]
    used(agent, "TaskList", {}, {"tasks": tasks})

    assert agent.workspace.tasks == [("Parse", "pending")]


def test_two_agents_on_one_plan_have_a_list_each(workspace: Workspace) -> None:
    """Each changes its own tasks only, although the coding agent numbers the tasks of both alike."""
    shared = Workspace(workspace.project, workspace.home, {"TILDONE_SESSION": str(workspace.settings.session)})
    one, other = HookedAgent(shared), HookedAgent(shared, id="s2")
    one.writes(("Parse", "in_progress"))
    other.writes(("Wire", "in_progress"))
    one.writes(("Parse", "completed"))
    created(one, "1", "Ship")
    created(other, "1", "Measure")

    used(other, "TaskUpdate", {"taskId": "1", "status": "completed"})

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


def native(*tasks: tuple[str, str], of: Plan | None = None) -> list[NativeTask]:
    """A native list, whose tasks are those of a plan with the same texts."""
    known = {task.text: task for task in of.tasks} if of else {}
    return [
        NativeTask(text, Status(status), number=known[text].number if text in known else 0, from_user=text in known)
        for text, status in tasks
    ]


@given(st.lists(plans.tasks, max_size=4), st.lists(plans.tasks, max_size=4))
def test_without_changes_by_others_the_merge_is_the_native_list(before: list[Task], after: list[Task]) -> None:
    plan = numbered(flat(*(Task(task.text, task.status) for task in before)))
    base = [NativeTask(task.text, task.status, number=task.number) for task in plan.tasks]
    theirs = [NativeTask(task.text, task.status) for task in after]

    merged = follow(base, plan, theirs, reorder=True)

    assert [(task.text, task.status) for task in merged.tasks] == [(task.text, task.status) for task in theirs]


@given(plans.plans, st.lists(plans.tasks, max_size=4))
def test_ticking_off_closes_and_starts_open_tasks_only(plan: Plan, theirs: list[Task]) -> None:
    plan = numbered(plan)
    tasks = {task.number: task for task in plan.tasks}

    marks = tick_off([], plan, [NativeTask(task.text, task.status) for task in theirs])

    assert all(tasks[number].status.is_open and status is not Status.PENDING for number, status in marks)
    assert len(marks) == len({number for number, _ in marks})


def test_a_list_is_merged_into_phases_that_people_made() -> None:
    plan = numbered(Plan((Phase("A", (Task("Parse"), Task("By hand"))), Phase("B", (Task("Wire"),)))))
    base = [NativeTask(task.text, number=task.number) for task in plan.tasks if task.text != "By hand"]

    after = follow(base, plan, native(*TASKS), reorder=True)

    assert [(phase.name, [task.text for task in phase.tasks]) for phase in after.phases] == [
        ("A", ["Parse", "By hand"]),
        ("B", ["Wire", "Measure"]),
    ]


def test_a_task_that_was_added_again_is_closed_with_the_one_in_the_list() -> None:
    """The model has one task of that text, so it can do no more than close it."""
    plan = numbered(flat(Task("Wire"), Task("wire.", from_user=True), Task("Ship")))
    base = [NativeTask("Wire", number=1), NativeTask("Ship", number=3)]

    after = follow(base, plan, native(("Wire", "completed"), ("Ship", "pending")), reorder=False)

    assert tasks_of(after) == [("Wire", "completed"), ("wire.", "completed"), ("Ship", "pending")]
    assert tick_off(base, plan, native(("Wire", "completed"), ("Ship", "pending"))) == [
        (1, Status.COMPLETED),
        (2, Status.COMPLETED),
    ]


def test_a_task_that_was_reworded_in_its_place_keeps_its_number_and_notes() -> None:
    plan = numbered(flat(Task("Write the parser", notes=("Mind the tabs",)), Task("Ship")))
    base = native(("Write the parser", "pending"), ("Ship", "pending"), of=plan)

    after = follow(base, plan, native(("Write the parser with tests", "pending"), ("Ship", "pending")), reorder=True)

    assert after.tasks[0] == Task("Write the parser with tests", notes=("Mind the tabs",), number=1)


def test_a_replaced_task_is_another_one() -> None:
    """Also if the new one has similar words and is completed at once: the old one was not done."""
    plan = numbered(flat(Task("Write the parser", from_user=True), Task("Ship")))
    base = native(("Write the parser", "pending"), ("Ship", "pending"), of=plan)

    after = follow(base, plan, native(("Write the lexer", "completed"), ("Ship", "pending")), reorder=True)

    assert tasks_of(after) == [("Write the lexer", "completed"), ("Ship", "pending"), ("Write the parser", "pending")]


def test_a_number_that_was_assigned_again_after_an_undo_names_another_task() -> None:
    """The model completes what it created, not what a person added later under the same number."""
    plan = numbered(flat(Task("Pay the bill", from_user=True)))

    after = follow([NativeTask("Wire", number=1)], plan, native(("Wire", "completed")), reorder=True)

    assert tasks_of(after) == [("Pay the bill", "pending")]


def test_the_list_remembers_which_tasks_it_consists_of() -> None:
    """Also of tasks that were removed from the plan, so that they do not return."""
    plan = numbered(flat(Task("Parse", from_user=True), Task("Wire")))
    base = [NativeTask("Gone", number=9), NativeTask("Wire", number=2)]
    theirs = native(("Gone", "completed"), ("Wire", "pending"), ("parse", "pending"), ("New", "pending"))
    after = numbered(follow(base, plan, theirs, reorder=True))

    linked = numbered_list(base, plan, after, theirs)

    assert [(task.text, task.number, task.from_user) for task in linked] == [
        ("Gone", 9, False),
        ("Wire", 2, False),
        ("parse", 1, True),
        ("New", 3, False),
    ]
    assert tasks_of(follow(linked, after, theirs, reorder=True)) == tasks_of(after)


LONG = "Write the parser for the configuration files of all three formats"


def is_found(text: str, task: str, number: int = 7) -> bool:
    return find_tasks([text], [Task("Something else", number=1), Task(task, number=number)]) == [1]


TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))


def test_small_changes_of_a_text_do_not_matter_and_texts_that_differ_in_a_word_are_two_tasks() -> None:
    assert [pair for pair in TEXTS["same"] if not is_found(*pair)] == []
    assert [pair for pair in TEXTS["different"] if is_found(*pair)] == []
    # A task without a number, as in plans of earlier versions, is not found by one.
    assert not is_found("0 Wire it up", "Wire it up", number=0)


def test_a_text_that_can_name_several_tasks_names_none() -> None:
    tasks = [Task("1. Review"), Task("2. Review"), Task(f"{LONG} first"), Task(f"{LONG} second")]

    assert find_tasks(["Review", f"{LONG}…"], tasks) == [None, None]
    assert find_tasks(["3. Review", "4. Review"], [Task("Review")]) == [None, None]


def test_equal_texts_come_before_similar_ones_and_are_paired_in_order() -> None:
    tasks = [Task("review"), Task("Review"), Task("Review"), Task("Review.")]

    assert find_tasks(["Review", "Review", "REVIEW", "Review", "Review"], tasks) == [1, 2, 0, 3, None]


@given(st.lists(plans.tasks, max_size=6), st.lists(plans.tasks, max_size=6))
def test_no_task_is_named_twice_and_every_equal_text_is_found(one: list[Task], other: list[Task]) -> None:
    found = find_tasks([task.text for task in one], other)

    named = [index for index in found if index is not None]
    assert len(named) == len(set(named))
    for text in {task.text for task in one}:
        same = [i for i, task in enumerate(one) if task.text == text]
        equal = [j for j, task in enumerate(other) if task.text == text]
        assert len([i for i in same if found[i] in equal]) == min(len(same), len(equal))


def test_a_new_wording_shares_most_words() -> None:
    assert shares_most_words("Write the parser", "Write the parser with tests")
    assert shares_most_words("Write the parser", "Write the lexer")
    assert not shares_most_words("Write the parser", "Ship it")
    assert not shares_most_words("Parse", "Parsing")
    assert not shares_most_words("Fix it", "Fix that")
    assert not shares_most_words("", "")
