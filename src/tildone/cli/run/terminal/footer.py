"""The footer of the terminal: work in progress, the plan, and the input line."""

from __future__ import annotations

from tildone.cli.run.event_renderer import EventRenderer
from tildone.cli.run.terminal.line_editor import LineEditor
from tildone.cli.run.terminal.live_area import Footer
from tildone.cli.run.terminal.ui import TerminalUI
from tildone.core.plan import Plan, Status
from tildone.extensions.indexed import ACTIVE_STATUS, SUMMARY_STATUS
from tildone.extensions.skeleton import STATUS
from tildone.host.meter import RunMeter, format_seconds
from tildone.kit.components.fitting import Line
from tildone.kit.text import clip_text, display_width
from tildone.kit.theme import Role, Span
from tildone.views.sanitize import printable
from tildone.views.widget import status_text

PLAN_STATUSES = frozenset((STATUS, SUMMARY_STATUS, ACTIVE_STATUS))
"""Statuses of the extensions that the row about the plan replaces."""

WAITING = "waits for you"
SEPARATOR = " · "
MIN_TASK_COLUMNS = 12


def footer(  # noqa: PLR0913  everything that is drawn comes in by name
    renderer: EventRenderer,
    ui: TerminalUI,
    line: LineEditor,
    *,
    meter: RunMeter,
    plan: Plan,
    typing: bool,
    columns: int,
) -> Footer:
    """Return the rows, top to bottom. With `typing`, the input line is shown even if it is empty."""
    rows: list[Line] = [*renderer.unfinished]
    # A call that waits for an answer is in the question.
    rows += renderer.running_lines() if ui.question is None else []
    rows += [[Span(clip_text(f"❯ {printable(text)} (waits)", columns), Role.DIM)] for text in renderer.queued]
    for lines in ui.widgets.values():
        rows += [[Span(clip_text(printable(text), columns), Role.MUTED)] for text in lines]
    rows += _statuses(ui, columns)
    question = ui.question
    live = live_row(meter, plan, columns, waiting=question is not None)
    rows += [[Span(live, Role.ACCENT)]] if live else []
    if question is not None:
        rows += question.lines(columns)
    typed = question.line if question is not None and question.line is not None else line
    if typed is line and not line.text and (question is not None or not typing):
        return Footer(tuple(rows))
    text, cursor = typed.visible(columns)
    return Footer((*rows, [Span(text)]), cursor)


def _statuses(ui: TerminalUI, columns: int) -> list[Line]:
    """Return the first lines of all statuses in one row, and every further line in a row of its own."""
    texts = [text.split("\n") for key, text in ui.statuses.items() if key not in PLAN_STATUSES]
    rows = ["  ".join(lines[0] for lines in texts), *(row for lines in texts for row in lines[1:])] if texts else []
    return [[Span(clip_text(printable(row), columns), Role.ACCENT)] for row in rows]


def live_row(meter: RunMeter, plan: Plan, columns: int, *, waiting: bool) -> str:
    """Return the progress of the plan, what happens and for how long, tokens, cost, and the task, as far as they fit.

    The figures that matter least come last; the text of the task fills the rest of the row.
    """
    activity = WAITING if waiting else meter.activity.value
    parts = [text for text in (status_text(plan), activity) if text]
    if activity and not waiting and meter.seconds:
        parts.append(format_seconds(meter.seconds, tenths=False))
    for figure in meter.figures() if activity else ():
        if display_width(SEPARATOR.join([*parts, figure])) <= columns:
            parts.append(figure)
    row = SEPARATOR.join(parts)
    upcoming = next((task for task in plan.tasks if task.status is Status.IN_PROGRESS), None)
    room = columns - display_width(row) - len(SEPARATOR)
    if upcoming is not None and room >= MIN_TASK_COLUMNS:
        row += SEPARATOR + clip_text(f"#{upcoming.number} {printable(upcoming.text)}", room)
    return clip_text(row, columns)
