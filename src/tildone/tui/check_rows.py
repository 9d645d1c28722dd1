"""The rows below a task: what it waits for, its check, and the end of the output of a check that did not pass."""

from __future__ import annotations

from collections.abc import Iterator

from tildone.core.check import Check
from tildone.core.guard import PLAN
from tildone.core.plan import Plan, Status, Task
from tildone.core.query import waits_for
from tildone.kit.text import clip_text, display_width
from tildone.kit.theme import Role, Span
from tildone.overview.check_states import CheckFacts, CheckState, CheckWord, check_state
from tildone.tui.row_list import Line, ListRow
from tildone.views.limits import clipped
from tildone.views.proofs import check_text
from tildone.views.sanitize import printable, printable_lines

GUTTER = 4
"""The cells before the text of a task: two spaces, its sign, and a space."""

MAX_OUTPUT_ROWS = 5
MIN_COMMAND_COLUMNS = 8

_ROLES = {
    CheckWord.CHECKING: Role.ACCENT,
    CheckWord.STALE: Role.WARNING,
    CheckWord.PROPOSED: Role.WARNING,
    CheckWord.PASSED: Role.DIM,
    CheckWord.FAILED: Role.ERROR,
    CheckWord.INCONCLUSIVE: Role.WARNING,
}


def check_rows(plan: Plan, task: Task, facts: CheckFacts, output: str, columns: int) -> Iterator[ListRow]:
    """Return the rows about the order and the check of a task; none for most tasks."""
    key = str(task.number)
    if after := waits_for(plan, task) if task.status.is_open else ():
        text = f"after {', '.join(map(str, after))}"
        yield ListRow((Span(" " * GUTTER), Span(text, Role.MUTED)), key, text, GUTTER)
    if task.check is None or task.status is Status.ABANDONED:
        return
    state = check_state(task.number, task.check, task.proof, facts)
    yield _check_row(task.check, state, key, GUTTER, columns)
    if output and state.word in (CheckWord.FAILED, CheckWord.INCONCLUSIVE):
        for line in printable_lines(clipped(output))[-MAX_OUTPUT_ROWS:]:
            yield ListRow((Span(f"{' ' * GUTTER}│ ", Role.DIM), Span(line, Role.MUTED)), key, line, GUTTER + 2)


def plan_check_rows(plan: Plan, facts: CheckFacts, columns: int) -> list[ListRow]:
    """Return the row about the check of the plan itself, if it has one."""
    if plan.check is None:
        return []
    state = check_state(PLAN, plan.check, plan.proof, facts)
    lead = Span("the plan ", Role.DIM)
    row = _check_row(plan.check, state, "", 0, columns - len(lead.text) - 2)
    return [ListRow(()), ListRow((Span("  "), lead, *row.spans))]


def _check_row(check: Check, state: CheckState, key: str, gutter: int, columns: int) -> ListRow:
    """The command, and its state: the command is clipped if there is not enough room for both."""
    folder = f" (in {printable(check.folder)})" if check.folder else ""
    command = f"$ {printable(check_text(check))}{folder}"
    said = clip_text(state.text, max(1, columns - gutter - MIN_COMMAND_COLUMNS - 2))
    room = columns - gutter - display_width(said) - 2
    shown = clip_text(command, max(MIN_COMMAND_COLUMNS, room))
    line: Line = (Span(" " * gutter), Span(shown, Role.MUTED))
    if said:
        line = (*line, Span("  "), Span(said, _ROLES[state.word]))
    return ListRow(line, key, command, gutter)
