"""The mirror: native todo lists of coding agents, followed in the plan without overriding changes of others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tests.hooks.agent import CLAUDE, CODEX, COPILOT, CURSOR, GEMINI, OPENCODE, QWEN, HookedAgent, Workspace, tasks_of
from tildone.agents.hooks.context import NativeTask, arguments, native_tasks
from tildone.agents.hooks.native import find_tasks, follow, numbered_list, shares_most_words, tick_off
from tildone.agents.integrations import HookPoint, Integration
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.events import Actor, PlanChanged
from tildone.plan.model import Phase, Plan, Status, Task, flat, numbered
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

    assert agent.seen_head == agent.workspace.session.state.head
    assert agent.report(HookPoint.STOP, last_assistant_message="Which one?").out == ""

    nudge = agent.stops()

    assert nudge.startswith("Your todo list is not done:\n- Wire (in progress)\n- Measure\n")
    assert "todo tool" not in agent.report(HookPoint.SESSION_START).out
    agent.writes(("Parse", "completed"), ("Wire", "cancelled"))
    assert agent.stops() == ""


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


def test_arguments_may_be_json_text_and_only_those_of_list_tools_are_lists() -> None:
    assert arguments('{"a": 1}') == {"a": 1}
    assert arguments("[1]") == arguments(None) == arguments("{") == {}
    assert native_tasks(COPILOT, "bash", {"todos": []}) is None
    assert native_tasks(CLAUDE, "TodoWrite", {"todos": [{"content": " "}, {}, 3, {"content": 1}]}) == []


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

    assert agent.workspace.tasks == [("Another", "pending"), ("Ship it", "pending"), ("Wire it up", "abandoned")]


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


SAME = (
    ("Wire it up", "Wire it up"),
    ("wire IT up", "Wire it up"),
    ("  Wire   it\tup ", "Wire it up"),
    ("Wire it up.", "Wire it up"),
    ("Wire it up", "Wire it up!"),
    ("Wire it up…", "Wire it up"),
    ("Fix `parse()`", "Fix parse()"),
    ("Fix the “old” parser’s tests", 'Fix the "old" parser\'s tests'),
    ("Straße – sperren", "STRASSE - sperren"),
    ("1. Wire it up", "Wire it up"),
    ("12) Wire it up", "Wire it up"),
    ("[3] Wire it up", "Wire it up"),
    ("(3) Wire it up.", "wire it up"),
    ("3: Wire it up", "Wire it up"),
    ("- [ ] Wire it up", "Wire it up"),
    ("Wire it up", "2. Wire it up"),
    ("1. Wire it up", "2. Wire it up"),
    ("#7 Wire it up", "Wire it up"),
    ("#7: Wire it up", "Wire it up"),
    ("7 Wire it up", "Wire it up"),
    (f"{LONG[:40]}…", LONG),
    (f"{LONG[:40]}...", LONG),
    (LONG, f"{LONG[:40]}…"),
)
DIFFERENT = (
    ("Wire it", "Wire it up"),
    ("Wire it up and test it", "Wire it up"),
    ("Write tests", "Write the tests"),
    ("Fix bug 1", "Fix bug 2"),
    ("Release 2.0", "Release 2"),
    ("C++", "C"),
    ("Ship it?", "Ship it"),
    ("3 retries for the client", "retries for the client"),
    ("#12 Fix the crash", "Fix the crash"),
    ("#12 Fix the crash", "#13 Fix the crash"),
    ("12:30 Meet Ada", "30 Meet Ada"),
    ("20240 Meet Ada", "Meet Ada"),
    ("Write the…", LONG),
    (f"{LONG[:40]}", LONG),
    (f"{LONG[:30]}else…", LONG),
    ("…", "Wire it up"),
    ("7", ""),
    ("1.", "2."),
)


def test_small_changes_of_a_text_do_not_matter_and_texts_that_differ_in_a_word_are_two_tasks() -> None:
    assert [pair for pair in SAME if not is_found(*pair)] == []
    assert [pair for pair in DIFFERENT if is_found(*pair)] == []


def test_a_task_without_a_number_is_not_found_by_one() -> None:
    """As in plans of earlier versions."""
    assert not is_found("0 Wire it up", "Wire it up", number=0)
    assert not is_found("Do wire it up", "Wire it up", number=0)


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
