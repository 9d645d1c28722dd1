"""Who did what to each task: who brought it, who closed it, or its whole life with the calls that made it."""

from __future__ import annotations

from tildone.history.changes import ChangeKind
from tildone.history.durations import ENDING_KINDS, format_elapsed
from tildone.kit.theme import Role, Span
from tildone.log.events import PlanChanged
from tildone.typing import TYPE_CHECKING
from tildone.views.line_layout import INDENT, clip_line, hanging_lines
from tildone.views.sanitize import printable
from tildone.views.themed import task_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tildone.history.changes import Change
    from tildone.history.task_history import TaskHistory, TaskStep
    from tildone.log.events import Call
    from tildone.views.line_layout import Line, TextAndSuffix

LONGEST = 200
"""How much of a call's arguments is shown where a line may be as wide as it likes."""

_TIMED = ENDING_KINDS | {ChangeKind.REMOVED}


def blame_lines(
    found: Sequence[TaskHistory],
    when: Callable[[int], str],
    short: Mapping[str, str],
    columns: int | None = None,
    *,
    whole: bool = False,
) -> list[Line]:
    """Each task, and below it the events that brought it and gave it its status; or, of its `whole` life, all of them.

    `when` says a moment as the reader wants to see it, `short` the ids of events.
    """
    lines: list[Line] = []
    for life in found:
        lines += [()] if lines and whole else []
        phase = (Span(f"  {printable(life.phase)}", Role.MUTED),) if life.phase else ()
        title = (*task_line(life.task, life.position), *phase)
        lines.append(title if columns is None else clip_line(title, columns))
        for step in life.steps if whole else _ends(life):
            lead = (
                Span(INDENT),
                Span(printable(short[step.event.id]), Role.WARNING),
                Span(f"  {when(step.event.at)}  {step.event.actor.value}", Role.MUTED),
            )
            lines += hanging_lines(lead, _all(step) if whole else [_briefly(step)], columns)
    return lines


def call_of(step: TaskStep) -> Call | None:
    """The tool call that a step was made by, if it was one."""
    return step.event.fact.call if isinstance(step.event.fact, PlanChanged) else None


def describe_change(change: Change) -> str:
    """A change as it is told under the task that it happened to."""
    match change.what:
        case ChangeKind.NOTED:
            return f"noted: {printable(change.detail or '')}"
        case ChangeKind.UNNOTED:
            return f"took off the note: {printable(change.detail or '')}"
        case ChangeKind.CLOSED | ChangeKind.MARKED:
            return f"{change.what.verb} as {change.detail}"
        case ChangeKind.MOVED if change.detail:
            return f"moved to {printable(change.detail)}"
        case _:
            return change.what.verb


def _ends(life: TaskHistory) -> list[TaskStep]:
    """How it came, how it got its status, and how it went."""
    kept = [life.added, life.stood, None if life.position is not None else life.steps[-1]]
    return list({step.event.id: step for step in kept if step}.values())


def _briefly(step: TaskStep) -> TextAndSuffix:
    call = call_of(step)
    brief = [
        describe_change(change) for change in step.changes if change.what not in (ChangeKind.NOTED, ChangeKind.UNNOTED)
    ]
    tool = (Span(f"  {printable(call.tool)}", Role.DIM),) if call else ()
    return Span(", ".join(brief), Role.TEXT), (*_took(step), *tool)


def _all(step: TaskStep) -> list[TextAndSuffix]:
    told: list[TextAndSuffix] = [
        (Span(describe_change(change), Role.TEXT), _took(step) if change.what in _TIMED else ())
        for change in step.changes
    ]
    call = call_of(step)
    if call:
        arguments = printable(call.arguments)
        shown = arguments if len(arguments) <= LONGEST else f"{arguments[:LONGEST]}…"
        told.append((Span(f"{printable(call.tool)} {shown}", Role.DIM), ()))
    return told


def _took(step: TaskStep) -> Line:
    return () if step.took is None else (Span(f" ({format_elapsed(step.took)})", Role.MUTED),)
