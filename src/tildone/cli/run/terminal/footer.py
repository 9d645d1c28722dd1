"""The footer of the terminal: work in progress, the plan, and the input line."""

from __future__ import annotations

import time
from collections.abc import Iterator

from tildone.cli.run.event_renderer import EventRenderer, RunningCall
from tildone.cli.run.terminal.line_editor import LineEditor
from tildone.cli.run.terminal.live_area import Footer
from tildone.cli.run.terminal.ui import TerminalUI
from tildone.kit.components.drawing import Line
from tildone.kit.text import clip_text
from tildone.kit.theme import Role, Span
from tildone.views.sanitize import printable

OUTPUT_LINES = 5
"""How many lines of a running command's output are shown."""

MIN_SECONDS_SHOWN = 1.0
"""How long a call runs before its duration is shown."""


def footer(renderer: EventRenderer, ui: TerminalUI, line: LineEditor, *, typing: bool, columns: int) -> Footer:
    """Return the rows, top to bottom. With `typing`, the input line is shown even if it is empty."""
    rows: list[Line] = [*renderer.unfinished]
    # A call that waits for an answer is in the question.
    for call in renderer.running.values() if ui.question is None else ():
        rows += _running_call(call, columns)
    rows += [[Span(clip_text(f"❯ {printable(text)} (waits)", columns), Role.DIM)] for text in renderer.queued]
    for lines in ui.widgets.values():
        rows += [[Span(clip_text(printable(text), columns), Role.MUTED)] for text in lines]
    rows += _status(ui, columns)
    question = ui.question
    if question is not None:
        rows += question.lines(columns)
    typed = question.line if question is not None and question.line is not None else line
    if typed is line and not line.text and (question is not None or not typing):
        return Footer(tuple(rows))
    text, cursor = typed.visible(columns)
    return Footer((*rows, [Span(text)]), cursor)


def _running_call(call: RunningCall, columns: int) -> Iterator[Line]:
    yield from call.header
    for text in call.output.rstrip("\n").split("\n")[-OUTPUT_LINES:]:
        if text:
            yield [Span("  "), Span(clip_text(printable(text), max(columns - 2, 1)), Role.DIM)]
    took = time.monotonic() - call.started
    if took >= MIN_SECONDS_SHOWN:
        yield [Span(clip_text(f"  … {int(took)} s", columns), Role.DIM)]


def _status(ui: TerminalUI, columns: int) -> list[Line]:
    """Return the first lines of all statuses in one row, and every further line in a row of its own."""
    texts = [text.split("\n") for text in ui.statuses.values()]
    rows = ["  ".join(lines[0] for lines in texts), *(row for lines in texts for row in lines[1:])] if texts else []
    return [[Span(clip_text(printable(row), columns), Role.ACCENT)] for row in rows]
