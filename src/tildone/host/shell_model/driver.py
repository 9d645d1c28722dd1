"""Decides the next tool call from the plan and the conversation.

The driver has no state. The plan says which task comes next: the one in progress, else the first that can be worked on.
The conversation says which commands of that task have succeeded since the plan was last changed by the driver, so an
interrupted task continues with the command that was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from tildone.core.numbers import numbered
from tildone.core.plan import Plan, Status, Task
from tildone.core.query import open_tasks
from tildone.dialects.base import Dialect, Phrasing
from tildone.host.messages import ModelMessage, ToolResultMessage, UserMessage, text_of, tool_calls
from tildone.host.model import ModelFailure
from tildone.host.shell_model.script import commands_of, describe_missing, tasks_without_command, title_of
from tildone.host.wire import JsonValue
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from tildone.dialects.base import ToolCall

SHELL = "bash"
REMINDER = "<system-reminder>"


@value
class FinalAnswer:
    """The text that ends the run, once nothing is left to do."""

    text: str


class Driver:
    """Works through a plan in one dialect. `taken` returns the numbers of the tasks that others are working on.

    Raises:
        ModelFailure: the dialect has no phrasing for programs.
    """

    def __init__(self, plan: Plan, dialect: Dialect, taken: Callable[[], AbstractSet[int]]) -> None:
        if dialect.phrasing is None:
            raise ModelFailure(f"the shell model does not speak the {dialect.name} dialect", transient=False)
        self._plan = numbered(plan)
        self._phrasing: Phrasing = dialect.phrasing
        self._taken = taken

    def next_step(self, conversation: Sequence[ModelMessage]) -> ToolCall | FinalAnswer:
        """Return the next call, or the answer that ends the run.

        Raises:
            ModelFailure: the last call failed and no user message followed, a task has no command, or tasks are open
                that cannot be worked on here.
        """
        conversation = [message for message in conversation if not _is_reminder(message)]
        result = _last_result(conversation)
        if result is None:
            # At the start of a run, so that nothing is run if not everything can be.
            self._check_commands()
        elif result.is_error:
            raise self._failure(result, _calls(conversation)[-1:])
        step = self._step(conversation)
        if isinstance(step, FinalAnswer) or step[0] == SHELL or _calls(conversation)[-2:] != [step, step]:
            return step
        raise ModelFailure(f"{step[0]} did not do what it was told: {text_of(conversation[-1])}", transient=False)

    def _step(self, conversation: Sequence[ModelMessage]) -> ToolCall | FinalAnswer:
        """Return the next call for the task in progress, else for the first that can be worked on."""
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
        """Return the task to work on, with its position: one that has a command and that nobody else works on."""
        tasks = [
            (position, task)
            for position, task in enumerate(self._plan.tasks)
            if task.status.is_actionable and commands_of(task)
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
            raise ModelFailure(_describe_left(left), transient=False)
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


def _describe_left(tasks: Sequence[Task]) -> str:
    blocked = [task for task in tasks if task.status is Status.BLOCKED]
    others = [task for task in tasks if task not in blocked]
    parts = [f"{_numbers(blocked)} blocked"] if blocked else []
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


def _last_result(conversation: Sequence[ModelMessage]) -> ToolResultMessage | None:
    last = conversation[-1] if conversation else None
    return last if isinstance(last, ToolResultMessage) else None


def _is_reminder(message: ModelMessage) -> bool:
    """Return whether an extension wrote this message in the user's role."""
    return isinstance(message, UserMessage) and text_of(message).startswith(REMINDER)
