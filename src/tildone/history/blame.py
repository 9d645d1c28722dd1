"""Blame as lines for a terminal: who added each task and who gave it its check and its status, or its full history."""

from __future__ import annotations

from tildone.history.authors import describe_author, of_several_people, who
from tildone.history.changes import ChangeKind
from tildone.history.durations import ENDING_KINDS
from tildone.history.sentences import describe_change
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING
from tildone.views.amounts import elapsed
from tildone.views.line_layout import INDENT, clip_line, hanging_lines
from tildone.views.plan_lines import task_line
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tildone.history.task_history import TaskHistory, TaskStep
    from tildone.views.line_layout import Line, TextAndSuffix

MAX_ARGUMENT_CHARS = 200
"""How many characters of a call's arguments are shown where lines are not clipped."""

_TIMED = ENDING_KINDS | {ChangeKind.REMOVED}


def blame_lines(
    found: Sequence[TaskHistory],
    when: Callable[[int], str],
    short: Mapping[str, str],
    columns: int | None = None,
    *,
    whole: bool = False,
) -> list[Line]:
    """Return each task, followed by the events that added it and set its status or, with `whole`, by all of its events.

    `when` formats a time in milliseconds; `short` maps event ids to short ones.
    """
    lines: list[Line] = []
    with_person = of_several_people(step.event for entry in found for step in entry.steps)
    for entry in found:
        lines += [()] if lines and whole else []
        phase = (Span(f"  {printable(entry.phase)}", Role.MUTED),) if entry.phase else ()
        title = (*task_line(entry.task), *phase)
        lines.append(title if columns is None else clip_line(title, columns))
        for step in entry.steps if whole else _main_steps(entry):
            lead = (
                Span(INDENT),
                Span(printable(short[step.event.id]), Role.WARNING),
                Span(f"  {when(step.event.at)}  {who(step.event, with_person=with_person)}", Role.MUTED),
            )
            lines += hanging_lines(lead, _details(step) if whole else [_summary(step)], columns)
    return lines


def _main_steps(entry: TaskHistory) -> list[TaskStep]:
    """The steps that added the task, set its check and its status, and removed it."""
    main = (
        entry.added,
        entry.check_change,
        entry.status_change,
        None if entry.position is not None else entry.steps[-1],
    )
    shown = {step.event.id for step in main if step}
    return [step for step in entry.steps if step.event.id in shown]


def _summary(step: TaskStep) -> TextAndSuffix:
    call = step.call
    brief = [
        describe_change(change) for change in step.changes if change.kind not in (ChangeKind.NOTED, ChangeKind.UNNOTED)
    ]
    tool = (Span(f"  {printable(call.tool)}", Role.DIM),) if call else ()
    return Span(", ".join(brief), Role.TEXT), (*_duration(step), *tool)


def _details(step: TaskStep) -> list[TextAndSuffix]:
    details: list[TextAndSuffix] = [
        (Span(describe_change(change), Role.TEXT), _duration(step) if change.kind in _TIMED else ())
        for change in step.changes
    ]
    if step.event.author.agent:
        details.append((Span(f"by {describe_author(step.event.author)}", Role.DIM), ()))
    call = step.call
    if call:
        arguments = printable(call.arguments)
        shown = arguments if len(arguments) <= MAX_ARGUMENT_CHARS else f"{arguments[:MAX_ARGUMENT_CHARS]}…"
        details.append((Span(f"{printable(call.tool)} {shown}", Role.DIM), ()))
    return details


def _duration(step: TaskStep) -> Line:
    return () if step.duration is None else (Span(f" ({elapsed(step.duration)})", Role.MUTED),)
