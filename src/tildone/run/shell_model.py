"""The shell driver: works through a plan whose tasks name their commands, without a language model.

It reads the plan before each step, so it sees what others change. It starts a task, runs its commands and completes it,
one tool call per message, with the tools that models use. A command that fails ends the run; it is retried when the
user sends another message.

The driver has no state. The plan says which task comes next: the one in progress, else the first that can be worked on.
The conversation says which commands of that task have succeeded since the plan was last changed by the driver, so an
interrupted task continues with the command that was interrupted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from tildone.base import TYPE_CHECKING, value
from tildone.plan import codec
from tildone.plan.command_line import words_and_command
from tildone.plan.dialects import DIALECTS, Dialect, Phrasing, dialect_named, tools_of
from tildone.plan.model import Plan, Status, Task, held_back, is_ready, numbered, open_tasks
from tildone.plan.text.safe import single_line
from tildone.run.events import AnswerDone, BlockDelta, BlockEnd, BlockEvent, BlockKind, BlockStart, StreamEvent
from tildone.run.kit.definition import AbortSignal
from tildone.run.messages import (
    JsonValue,
    ModelMessage,
    StopReason,
    TextBlock,
    ToolCallBlock,
    ToolResultMessage,
    UserMessage,
    text_of,
    tool_calls,
)
from tildone.run.model import ChatRequest, ModelFailure, assistant_message
from tildone.run.turn_loop import FIND_TOOLS

if TYPE_CHECKING:
    from tildone.plan.dialects import ToolCall


PROMPT = "$ "


def commands_of(task: Task) -> tuple[str, ...]:
    in_notes = (
        line.removeprefix(PROMPT).strip()
        for note in task.notes
        for line in note.splitlines()
        if line.startswith(PROMPT)
    )
    return tuple(command for command in (words_and_command(task.text)[1], *in_notes) if command)


def title_of(task: Task) -> str:
    words, command = words_and_command(task.text)
    return f"#{task.number} {single_line(words or command)}"


def tasks_without_command(plan: Plan) -> list[Task]:
    """Return the tasks that could be worked on now, but have no command."""
    tasks = numbered(plan).tasks
    return [task for task in tasks if task.status.is_actionable and not commands_of(task)]


def describe_missing(tasks: list[Task]) -> str:
    """Say which tasks have no command, and what can be done about it."""
    those = "a task has" if len(tasks) == 1 else f"{len(tasks)} tasks have"
    each = "it" if len(tasks) == 1 else "each"
    listed = "".join(f"\n  {title_of(task)}" for task in tasks)
    return (
        f"{those} no command:{listed}\n"
        f"End {each} with its command in `backticks`, or name a model that does the work: --model PROVIDER:NAME"
    )


SHELL = "bash"
REMINDER = "<system-reminder>"


@value
class FinalAnswer:
    """The text that ends the run, once nothing is left to do."""

    text: str


class Driver:
    """Works through a plan in one dialect. `taken` returns the numbers of the tasks that others are working on.

    Raises ModelFailure if the dialect has no phrasing for programs.
    """

    def __init__(self, plan: Plan, dialect: Dialect, taken: Callable[[], AbstractSet[int]]) -> None:
        if dialect.phrasing is None:
            raise ModelFailure(f"the shell model does not speak the {dialect.name} dialect", transient=False)
        self._plan = numbered(plan)
        self._phrasing: Phrasing = dialect.phrasing
        self._taken = taken

    def next_step(self, conversation: Sequence[ModelMessage]) -> ToolCall | FinalAnswer:
        """Return the next call, or the answer that ends the run.

        Raises ModelFailure if the last call failed and no user message followed, a task has no command, or tasks are
        open that cannot be worked on here.
        """
        # Extensions write reminders in the role of the user.
        conversation = [
            message
            for message in conversation
            if not (isinstance(message, UserMessage) and text_of(message).startswith(REMINDER))
        ]
        result = conversation[-1] if conversation else None
        if not isinstance(result, ToolResultMessage):
            # At the start of a run, so that nothing is run if not everything can be.
            self._check_commands()
        elif result.is_error:
            raise self._failure(result, _calls(conversation)[-1:])
        step = self._step(conversation)
        if isinstance(step, FinalAnswer) or step[0] == SHELL or _calls(conversation)[-2:] != [step, step]:
            return step
        raise ModelFailure(f"{step[0]} did not do what it was told: {text_of(conversation[-1])}", transient=False)

    def _step(self, conversation: Sequence[ModelMessage]) -> ToolCall | FinalAnswer:
        upcoming = self._next_task()
        if upcoming is None:
            return self._final_answer()
        position, task = upcoming
        if task.status is not Status.IN_PROGRESS:
            return self._phrasing.mark(self._plan, position, Status.IN_PROGRESS)
        commands = commands_of(task)
        count = _succeeded(commands, conversation)
        if count < len(commands):
            return SHELL, {"command": commands[count]}
        return self._phrasing.mark(self._plan, position, Status.COMPLETED)

    def _next_task(self) -> tuple[int, Task] | None:
        """Return the task to work on, with its position: one that has a command and that nobody else works on.

        Nothing is begun behind a blocked task of the same phase.
        """
        held = held_back(self._plan)
        tasks = [
            (position, task)
            for position, task in enumerate(self._plan.tasks)
            if is_ready(self._plan, task) and commands_of(task) and task.number not in held
        ]
        active = [pair for pair in tasks if pair[1].status is Status.IN_PROGRESS]
        if active:
            taken = self._taken()
            tasks = [pair for pair in tasks if pair[1].number not in taken]
        return next((pair for pair in tasks if pair in active), tasks[0] if tasks else None)

    def _final_answer(self) -> FinalAnswer:
        self._check_commands()
        left = [task for _, task in open_tasks(self._plan)]
        if left:
            raise ModelFailure(_describe_left(left, held_back(self._plan)), transient=False)
        count = len(self._plan.tasks)
        return FinalAnswer("The task is done." if count == 1 else f"All {count} tasks are done.")

    def _check_commands(self) -> None:
        missing = tasks_without_command(self._plan)
        if missing:
            raise ModelFailure(describe_missing(missing), transient=False)

    def _failure(self, result: ToolResultMessage, calls: Sequence[ToolCall]) -> ModelFailure:
        """Return the failure that ends the run, with the task and the command."""
        details = result.details or {}
        why = details.get("summary") or text_of(result)
        if result.tool_name != SHELL:
            return ModelFailure(f"{result.tool_name} refused the call: {why}", transient=False)
        command = next((call[1].get("command", "") for call in calls), "")
        title = next((title_of(task) for task in self._plan.tasks if command in commands_of(task)), "a command")
        return ModelFailure(f"{title} failed: {why}\n$ {command}", transient=False)


def _describe_left(tasks: Sequence[Task], held: AbstractSet[int]) -> str:
    blocked = [task for task in tasks if task.status is Status.BLOCKED]
    behind = [task for task in tasks if task.number in held and task not in blocked]
    others = [task for task in tasks if task not in (*blocked, *behind)]
    parts = [f"{_numbers(blocked)} blocked"] if blocked else []
    parts += [f"{_numbers(behind)} behind what is blocked"] if behind else []
    parts += [f"{_numbers(others)} in progress elsewhere"] if others else []
    return f"nothing more can be done here: {', '.join(parts)}"


def _numbers(tasks: Sequence[Task]) -> str:
    numbers = " and ".join(f"#{task.number}" for task in tasks)
    return f"{numbers} is" if len(tasks) == 1 else f"{numbers} are"


def _succeeded(commands: Sequence[str], conversation: Sequence[ModelMessage]) -> int:
    """Return how many of these commands have succeeded since the driver last changed the plan."""
    count = 0
    called: dict[str, JsonValue] = {}
    for message in conversation:
        called |= {call.id: call.arguments.get("command") for call in tool_calls(message)}
        if not isinstance(message, ToolResultMessage) or message.is_error:
            continue
        if message.tool_name != SHELL:
            count = 0
        elif count < len(commands) and called.get(message.tool_call_id) == commands[count]:
            count += 1
    return count


def _calls(conversation: Sequence[ModelMessage]) -> list[ToolCall]:
    """Return all calls, oldest first."""
    return [(call.name, call.arguments) for message in conversation for call in tool_calls(message)]


DELTA_CHARACTERS = 24


class ShellModel:
    """The model for one plan. It uses the dialect whose tools it is offered.

    `plan` reads the plan; `taken` returns the numbers of the tasks that others are working on.
    """

    api = "shell"
    provider = "tildone"
    id = "shell"

    def __init__(
        self, plan: Callable[[], Plan], now: Callable[[], int], taken: Callable[[], AbstractSet[int]] = frozenset
    ) -> None:
        self._plan = plan
        self._now = now
        self._taken = taken

    async def stream(
        self, request: ChatRequest, signal: AbortSignal | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        block = self._answer(request)
        for event in _block_events(block):
            # Yield to the host and its screen between events, as a real model does.
            await asyncio.sleep(0)
            if signal is not None:
                signal.raise_if_aborted()
            yield event
        reason = StopReason.TOOL_USE if isinstance(block, ToolCallBlock) else StopReason.STOP
        yield AnswerDone(assistant_message([block], self, reason, self._now()))

    async def close(self) -> None:
        """Nothing to close."""

    def _answer(self, request: ChatRequest) -> TextBlock | ToolCallBlock:
        step = self._step(request)
        if isinstance(step, FinalAnswer):
            return TextBlock(step.text)
        calls = sum(isinstance(message, ToolResultMessage) for message in request.messages)
        return ToolCallBlock(f"call_{calls + 1}", *step)

    def _step(self, request: ChatRequest) -> ToolCall | FinalAnswer:
        """Return the driver's next step. Tools that have to be found are searched for first, once."""
        steps = [message for message in request.messages if not _is_search(message)]
        dialect = _offered_dialect(request)
        if dialect is not None:
            return Driver(self._plan(), dialect, self._taken).next_step(steps)
        if FIND_TOOLS in {tool.name for tool in request.tools} and len(steps) == len(request.messages):
            return FIND_TOOLS, {"query": "todo"}
        raise ModelFailure("the shell model needs the todo tools of one dialect", transient=False)


def _offered_dialect(request: ChatRequest) -> Dialect | None:
    """Return the dialect whose tools are all offered."""
    offered = {tool.name for tool in request.tools}
    name = next((name for name in DIALECTS if offered.issuperset(tools_of(name))), None)
    return None if name is None else dialect_named(name)


def _is_search(message: ModelMessage) -> bool:
    """Return whether a message is a search for tools, or its result."""
    if isinstance(message, ToolResultMessage):
        return message.tool_name == FIND_TOOLS
    return any(call.name == FIND_TOOLS for call in tool_calls(message))


def _block_events(block: TextBlock | ToolCallBlock) -> Iterator[BlockEvent]:
    if isinstance(block, TextBlock):
        start, whole = BlockStart(BlockKind.TEXT, 0), block.text
    else:
        start, whole = BlockStart(BlockKind.TOOL_CALL, 0, block.id, block.name), codec.dump(block.arguments)
    yield start
    for at in range(0, len(whole), DELTA_CHARACTERS):
        yield BlockDelta(start.kind, start.index, whole[at : at + DELTA_CHARACTERS])
    yield BlockEnd(start.kind, start.index, block)
