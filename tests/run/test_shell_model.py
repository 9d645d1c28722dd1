"""The shell driver: parses a plan, and continues from any point of a conversation."""

import asyncio
from typing import Any

import pytest

from tests.host import records as messages
from tests.host.records import Message
from tildone.core.plan import Status
from tildone.errors import UsageError
from tildone.host.model import ChatRequest, ModelFailure, ToolSpec
from tildone.host.shell_model import ShellModel
from tildone.host.shell_model.script import Job, read_script
from tildone.kit.signal import AbortController, Aborted

INDEXED = ("write_todos", "list_todos", "edit_todos", "bash")


@pytest.mark.parametrize(
    ("line", "text", "commands"),
    [
        ("Say hello: `echo hello`", "Say hello", ("echo hello",)),
        ("Say hello – `echo hello`", "Say hello", ("echo hello",)),
        ("`make test`", "make test", ("make test",)),
        ("Show `x` with `cat x`", "Show `x` with", ("cat x",)),
        ("Ticks: ``echo `date` ``", "Ticks", ("echo `date`",)),
        ("No command: `here` it is not", "No command: `here` it is not", ()),
    ],
)
def test_a_command_is_in_backticks_at_the_end(line: str, text: str, commands: tuple[str, ...]) -> None:
    mark = " " if commands else "x"

    [job] = read_script(f"- [{mark}] {line}\n", "plan.md").jobs

    assert (job.text, job.commands) == (text, commands)


def test_commands_in_notes_are_run_and_other_notes_ignored() -> None:
    script = read_script("# Build\n- [ ] Make\n  > Slowly.\n  > $ make\n  >\n  > $ make check\n", "plan.md")

    assert script.jobs == (Job("Build", "Make", ("make", "make check"), Status.PENDING),)


@pytest.mark.parametrize("markdown", ["", "# Nothing\n"])
def test_a_plan_without_a_task_is_refused(markdown: str) -> None:
    with pytest.raises(UsageError, match=r"there is no task in plan\.md"):
        read_script(markdown, "plan.md")


def test_line_numbers_do_not_depend_on_line_ends() -> None:
    with pytest.raises(UsageError) as refused:
        read_script("# A\r\n- [ ] Fine: `true`\r\n\r\n- [ ] `  `\r\n- [ ] Bad\r\n", "plan.md")

    assert [line.split(":")[0] for line in str(refused.value).splitlines()[1:]] == ["line 4", "line 5"]


class Talk:
    """A conversation with the shell driver in which the test supplies the tool results."""

    def __init__(self, markdown: str, tools: tuple[str, ...] = INDEXED) -> None:
        self.model = ShellModel(read_script(markdown, "plan.md"), lambda: 0)
        self.tools = tuple(ToolSpec(name, "", {}) for name in tools)
        self.told: list[Message] = [messages.user("Go", 0)]

    def next(self) -> dict[str, Any]:
        """The block that the model answers with."""
        answer: Message = asyncio.run(self._heard())[-1]["message"]
        self.told.append(answer)
        [block] = answer["content"]
        return dict(block)

    def call(self) -> tuple[str, Any]:
        """The call that the model answers with."""
        block = self.next()
        return block["name"], block["arguments"]

    def gives(self, details: dict[str, Any] | None = None, text: str = "", *, error: bool = False) -> None:
        """What came of the call."""
        [call] = messages.tool_calls(self.told[-1])
        self.told.append(messages.tool_result(call["id"], call["name"], text, details or {}, is_error=error, at=0))

    def shows(self, **statuses: str) -> None:
        """The list as an indexed tool gives it."""
        todos = [{"text": text, "status": status} for text, status in statuses.items()]
        self.gives({"action": "write", "todos": todos})

    async def _heard(self) -> list[Message]:
        request = ChatRequest("", [messages.model_message(each) for each in self.told], self.tools)
        return [messages.delta(event) async for event in self.model.stream(request)]


def test_each_task_is_started_run_and_completed() -> None:
    talk = Talk("- [ ] A: `a`\n- [ ] B: `b`\n")

    calls = [talk.call()]
    talk.shows(A="not_started", B="not_started")
    calls.append(talk.call())
    talk.shows(A="in_progress", B="not_started")
    calls.append(talk.call())
    talk.gives()
    calls.append(talk.call())
    talk.shows(A="completed", B="not_started")
    calls.append(talk.call())

    assert calls == [
        ("write_todos", {"mode": "replace", "todos": [{"text": "A"}, {"text": "B"}]}),
        ("edit_todos", {"action": "start", "indices": [0]}),
        ("bash", {"command": "a"}),
        ("edit_todos", {"action": "complete", "indices": [0]}),
        ("edit_todos", {"action": "start", "indices": [1]}),
    ]


def test_two_tasks_with_the_same_command_both_run() -> None:
    talk = Talk("- [ ] A: `make`\n- [ ] B: `make`\n")
    talk.next()
    talk.shows(A="in_progress", B="not_started")
    talk.next()
    talk.gives()
    talk.next()
    talk.shows(A="completed", B="in_progress")

    assert talk.call() == ("bash", {"command": "make"})


def test_a_failed_command_is_tried_again_only_when_somebody_speaks() -> None:
    talk = Talk("- [ ] A: `a`\n")
    talk.next()
    talk.shows(A="in_progress")
    talk.next()
    talk.gives({"summary": "Exit code 2"}, error=True)
    reminder = messages.user("<system-reminder>\nTodos: A\n</system-reminder>", 0)

    talk.told.append(reminder)
    with pytest.raises(ModelFailure, match=r"“A” failed: Exit code 2\n\$ a") as failure:
        talk.next()
    talk.told.append(messages.user("Again", 0))

    assert not failure.value.transient
    assert talk.call() == ("bash", {"command": "a"})


def test_a_plan_tool_that_does_nothing_ends_it() -> None:
    """The same call would be made for ever."""
    talk = Talk("- [ ] A: `a`\n")
    talk.next()
    talk.shows(A="not_started")
    talk.next()
    talk.gives({"error": "out of range"}, "Error: out of range")

    with pytest.raises(ModelFailure, match="edit_todos did not do what it was told: Error: out of range"):
        talk.next()


def test_tasks_that_somebody_else_added_are_not_made_up() -> None:
    talk = Talk("- [x] A\n")
    talk.told.append(messages.assistant([messages.tool_call("c", "write_todos", {})], talk.model, {}, "toolUse", 0))
    talk.shows(A="completed", Foreign="not_started")

    with pytest.raises(ModelFailure, match="does not say how to do these tasks:\n- Foreign"):
        talk.next()


def test_without_todo_tools_there_is_nothing_to_speak_with() -> None:
    with pytest.raises(ModelFailure, match="needs the todo tools"):
        Talk("- [ ] A: `a`\n", ("bash",)).next()


def test_answers_come_in_pieces_and_stop_when_told_to() -> None:
    model = ShellModel(read_script("- [ ] A task with a rather long text: `a`\n", "plan.md"), lambda: 0)
    request = ChatRequest(
        "", [messages.model_message(messages.user("Go", 0))], tuple(ToolSpec(name, "", {}) for name in INDEXED)
    )
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
