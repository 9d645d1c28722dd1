"""The shell driver: finds the commands of tasks, and continues from any state of the plan and the conversation."""

import asyncio
from typing import Any

import pytest

from tests.host import records as messages
from tests.host.records import Message
from tests.plans import plan_of
from tildone.plan.model import Plan, Status, Task, flat
from tildone.run.kit.definition import AbortController, Aborted
from tildone.run.model import ChatRequest, ModelFailure, ToolSpec
from tildone.run.shell_model import ShellModel, commands_of, tasks_without_command, title_of

BRIEF = ("todo", "bash")
TOOLS = {
    "indexed": ("write_todos", "list_todos", "edit_todos", "bash"),
    "phased": ("todo_write", "bash"),
    "declared": ("TodoWrite", "bash"),
    "brief": BRIEF,
}


@pytest.mark.parametrize(
    ("text", "title", "commands"),
    [
        ("Say hello: `echo hello`", "#1 Say hello", ("echo hello",)),
        ("Say hello – `echo hello`", "#1 Say hello", ("echo hello",)),
        ("`make test`", "#1 make test", ("make test",)),
        ("Show `x` with `cat x`", "#1 Show `x` with", ("cat x",)),
        ("Ticks: ``echo `date` ``", "#1 Ticks", ("echo `date`",)),
        ("No command: `here` it is not", "#1 No command: `here` it is not", ()),
        ("Empty: ` `", "#1 Empty", ()),
    ],
)
def test_a_command_is_in_backticks_at_the_end(text: str, title: str, commands: tuple[str, ...]) -> None:
    task = Task(text, number=1)

    assert (title_of(task), commands_of(task)) == (title, commands)


def test_commands_in_notes_are_run_and_other_notes_ignored() -> None:
    task = Task("Make: `first`", notes=("Slowly.\n$ make", "$ make check\n$ "))

    assert commands_of(task) == ("first", "make", "make check")


def test_only_tasks_that_could_be_worked_on_need_a_command() -> None:
    plan = flat(Task("a"), Task("b: `b`"), Task("c", Status.COMPLETED), Task("d", Status.BLOCKED), Task("e"))

    assert [title_of(task) for task in tasks_without_command(plan)] == ["#1 a", "#5 e"]


class Talk:
    """A conversation with the shell driver in which the test supplies the plan and the tool results."""

    def __init__(self, *tasks: Task | str, tools: tuple[str, ...] = BRIEF, taken: frozenset[int] = frozenset()) -> None:
        self.plan: Plan = flat(*(task if isinstance(task, Task) else Task(task) for task in tasks))
        self.model = ShellModel(lambda: self.plan, lambda: 0, lambda: taken)
        self.tools = tuple(ToolSpec(name, "", {}) for name in tools)
        self.told: list[Message] = [messages.user("Go", 0)]

    def next(self) -> dict[str, Any]:
        """The block that the model answers with."""
        answer: Message = asyncio.run(self._deltas())[-1]["message"]
        self.told.append(answer)
        [block] = answer["content"]
        return dict(block)

    def call(self) -> tuple[str, Any]:
        """The call that the model answers with."""
        block = self.next()
        return block["name"], block["arguments"]

    def gives(self, text: str = "", details: dict[str, Any] | None = None, *, error: bool = False) -> None:
        """The result of the call."""
        [call] = messages.tool_calls(self.told[-1])
        self.told.append(messages.tool_result(call["id"], call["name"], text, details or {}, is_error=error, at=0))

    def becomes(self, *statuses: Status) -> None:
        """The plan after the call, and its result."""
        self.plan = flat(*(Task(task.text, status) for task, status in zip(self.plan.tasks, statuses, strict=True)))
        self.gives("ok")

    async def _deltas(self) -> list[Message]:
        request = ChatRequest("", [messages.model_message(each) for each in self.told], self.tools)
        return [messages.delta(event) async for event in self.model.stream(request)]


def test_each_task_is_started_run_and_completed() -> None:
    talk = Talk("A: `a`", "B: `b`")

    calls = [talk.call()]
    talk.becomes(Status.IN_PROGRESS, Status.PENDING)
    calls.append(talk.call())
    talk.gives()
    calls.append(talk.call())
    talk.becomes(Status.COMPLETED, Status.PENDING)
    calls.append(talk.call())
    talk.becomes(Status.COMPLETED, Status.COMPLETED)

    assert calls == [
        ("todo", {"start": 1}),
        ("bash", {"command": "a"}),
        ("todo", {"done": 1}),
        ("todo", {"start": 2}),
    ]
    assert talk.next()["text"] == "All 2 tasks are done."


@pytest.mark.parametrize(
    ("dialect", "call"),
    [
        ("indexed", ("edit_todos", {"action": "start", "indices": [1]})),
        ("phased", ("todo_write", {"ops": [{"op": "start", "task": "B: `b`"}]})),
        ("brief", ("todo", {"start": 2})),
    ],
)
def test_it_speaks_the_dialect_whose_tools_it_is_offered(dialect: str, call: tuple[str, Any]) -> None:
    talk = Talk(Task("A", Status.COMPLETED), "B: `b`", tools=TOOLS[dialect])

    assert talk.call() == call


def test_it_searches_once_for_the_tools_of_a_dialect_that_have_to_be_found() -> None:
    """The plan is checked afterwards as at the start of a run."""
    talk = Talk("A: `a`", tools=("bash", "find_tools"))

    assert talk.call() == ("find_tools", {"query": "todo"})
    talk.gives("Found 1 tool")
    with pytest.raises(ModelFailure, match="needs the todo tools"):
        talk.next()
    talk.tools = tuple(ToolSpec(name, "", {}) for name in TOOLS["phased"])
    assert talk.call() == ("todo_write", {"ops": [{"op": "start", "task": "A: `a`"}]})


def test_a_search_does_not_hide_that_a_task_has_no_command() -> None:
    talk = Talk("A: `a`", "B", tools=("bash", "find_tools"))

    talk.call()
    talk.gives("Found 1 tool")
    talk.tools = tuple(ToolSpec(name, "", {}) for name in TOOLS["phased"])

    with pytest.raises(ModelFailure, match="#2 B"):
        talk.next()


def test_a_task_in_progress_comes_first_and_is_not_started_again() -> None:
    talk = Talk("A: `a`", Task("B: `b`", Status.IN_PROGRESS))

    assert talk.call() == ("bash", {"command": "b"})


def test_a_task_that_somebody_else_works_on_is_left_alone() -> None:
    talk = Talk(Task("A: `a`", Status.IN_PROGRESS), "B: `b`", taken=frozenset({1}))

    assert talk.call() == ("todo", {"start": 2})
    talk.becomes(Status.IN_PROGRESS, Status.COMPLETED)
    with pytest.raises(ModelFailure, match="nothing more can be done here: #1 is in progress elsewhere"):
        talk.next()


def test_blocked_tasks_are_left_open_and_named() -> None:
    talk = Talk(Task("A: `a`", Status.BLOCKED), Task("B", Status.BLOCKED))

    with pytest.raises(ModelFailure, match="nothing more can be done here: #1 and #2 are blocked"):
        talk.next()


def test_two_tasks_with_the_same_command_both_run() -> None:
    talk = Talk("A: `make`", "B: `make`")
    talk.next()
    talk.becomes(Status.IN_PROGRESS, Status.PENDING)
    talk.next()
    talk.gives()
    talk.next()
    talk.becomes(Status.COMPLETED, Status.IN_PROGRESS)

    assert talk.call() == ("bash", {"command": "make"})


def test_a_task_of_several_commands_continues_with_the_one_that_failed() -> None:
    talk = Talk(Task("A: `a`", Status.IN_PROGRESS, ("$ b",)))
    talk.next()
    talk.gives()
    talk.next()
    talk.gives(details={"summary": "Exit code 1"}, error=True)
    talk.told.append(messages.user("Again", 0))

    assert talk.call() == ("bash", {"command": "b"})


def test_a_failed_command_is_tried_again_only_when_somebody_speaks() -> None:
    talk = Talk(Task("A: `a`", Status.IN_PROGRESS))
    talk.next()
    talk.gives(details={"summary": "Exit code 2"}, error=True)
    reminder = messages.user("<system-reminder>\nTodos: A\n</system-reminder>", 0)

    talk.told.append(reminder)
    with pytest.raises(ModelFailure, match=r"#1 A failed: Exit code 2\n\$ a") as failure:
        talk.next()
    talk.told.append(messages.user("Again", 0))

    assert not failure.value.transient
    assert talk.call() == ("bash", {"command": "a"})


def test_a_refused_call_ends_it() -> None:
    talk = Talk("A: `a`")
    talk.next()
    talk.gives("no 1", error=True)

    with pytest.raises(ModelFailure, match="todo refused the call: no 1"):
        talk.next()


def test_a_plan_tool_that_does_nothing_ends_it() -> None:
    """The same call would be made for ever."""
    talk = Talk("A: `a`")
    for _ in range(2):
        talk.next()
        talk.gives("Nothing happened.")

    with pytest.raises(ModelFailure, match=r"todo did not do what it was told: Nothing happened\."):
        talk.next()


def test_nothing_is_run_if_a_task_has_no_command() -> None:
    talk = Talk("A: `a`", "Think about it")

    with pytest.raises(ModelFailure, match=r"a task has no command:\n  #2 Think about it\n.*--model PROVIDER:NAME"):
        talk.next()


def test_a_task_without_command_that_somebody_adds_later_is_named_at_the_end() -> None:
    talk = Talk("A: `a`")
    talk.next()
    talk.plan = flat(Task("A: `a`", Status.IN_PROGRESS), Task("Think"))
    talk.gives("ok")

    assert talk.call() == ("bash", {"command": "a"})
    talk.gives()
    talk.next()
    talk.becomes(Status.COMPLETED, Status.PENDING)
    with pytest.raises(ModelFailure, match="#2 Think"):
        talk.next()


def test_without_todo_tools_there_is_nothing_to_speak_with() -> None:
    with pytest.raises(ModelFailure, match="needs the todo tools"):
        Talk("A: `a`", tools=("bash",)).next()


def test_answers_come_in_pieces_and_stop_when_told_to() -> None:
    model = ShellModel(lambda: plan_of("A: `a`"), lambda: 0)
    tools = tuple(ToolSpec(name, "", {}) for name in TOOLS["indexed"])
    request = ChatRequest("", [messages.model_message(messages.user("Go", 0))], tools)
    controller = AbortController()

    kinds: list[str] = []

    async def listen() -> None:
        async for delta in model.stream(request, controller.signal):
            kinds.append(messages.delta(delta)["type"])
            if len(kinds) == 3:
                controller.abort()

    with pytest.raises(Aborted):
        asyncio.run(listen())

    assert kinds == ["toolcall_start", "toolcall_delta", "toolcall_delta"]
