"""The rows below a task: who works on it, what it waits for, the files it changes, and its check with its output."""

from __future__ import annotations

from collections.abc import Iterator

from tildone.app.check_facts import CheckFacts
from tildone.app.check_states import CheckState, CheckWord, check_state
from tildone.core.check import Check
from tildone.core.guard import PLAN
from tildone.core.plan import WORD_FIELDS, Plan, Status, Task
from tildone.core.query import waits_for
from tildone.core.touches import in_the_way
from tildone.kit.text import clip_text, display_width
from tildone.kit.theme import Role, Span
from tildone.log.claims import Claim
from tildone.tui.row_list import Line, ListRow
from tildone.views.claims import holder_text
from tildone.views.limits import clipped
from tildone.views.proofs import check_text
from tildone.views.sanitize import printable, printable_lines

GUTTER = 4
"""The cells before the text of a task: two spaces, its sign, and a space."""

PLAN_ROW = "plan"
"""The key of the row about the check of the plan."""

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


def claim_rows(task: Task, claim: Claim | None, now: int) -> Iterator[ListRow]:
    """Return the row about the agent that works on a task, or left it; none if none is known."""
    if claim is not None and task.status is Status.IN_PROGRESS:
        yield _row(str(task.number), holder_text(claim, now), Role.DIM if claim.until > now else Role.WARNING)


def order_rows(plan: Plan, task: Task) -> Iterator[ListRow]:
    """Return the rows about the order and the files of an open task; none for most tasks."""
    if not task.status.is_open:
        return
    key, tasks = str(task.number), {each.number: each for each in plan.tasks}
    if after := waits_for(plan, task):
        text = f" {printable(tasks[after[0]].text)}" if len(after) == 1 else ""
        yield _row(key, f"waits for {', '.join(f'#{number}' for number in after)}{text}", Role.MUTED)
    for name, words in task.words.items():
        yield _row(key, f"{WORD_FIELDS[name].shown} {printable(', '.join(words))}", Role.DIM)
    if rivals := in_the_way(plan, task):
        numbers = ", ".join(f"#{number}" for number in rivals)
        yield _row(key, f"waits for {numbers}, which may change the same files", Role.MUTED)


def check_rows(task: Task, facts: CheckFacts, output: str, columns: int) -> Iterator[ListRow]:
    """Return the rows about the check of a task; none for most tasks."""
    if task.check is None or task.status is Status.ABANDONED:
        return
    state = check_state(task.number, task.check, task.proof, facts)
    key = str(task.number)
    yield _check_row(task.check, state, key, GUTTER, columns)
    yield from _output_rows(state, output, key, GUTTER)


def plan_check_rows(plan: Plan, facts: CheckFacts, output: str, columns: int) -> list[ListRow]:
    """Return the rows about the check of the plan itself, if it has one. The cursor can stand on them."""
    if plan.check is None:
        return []
    state = check_state(PLAN, plan.check, plan.proof, facts)
    lead = Span("the plan ", Role.DIM)
    row = _check_row(plan.check, state, "", 0, columns - len(lead.text) - 2)
    line = (Span("  "), lead, *row.spans)
    return [
        ListRow(()),
        ListRow(line, PLAN_ROW, row.text, 2 + len(lead.text)),
        *_output_rows(state, output, PLAN_ROW, 2),
    ]


def _output_rows(state: CheckState, output: str, key: str, gutter: int) -> Iterator[ListRow]:
    """The end of the output of a check that did not pass."""
    if output and state.word in (CheckWord.FAILED, CheckWord.INCONCLUSIVE):
        for line in printable_lines(clipped(output))[-MAX_OUTPUT_ROWS:]:
            yield ListRow((Span(f"{' ' * gutter}│ ", Role.DIM), Span(line, Role.MUTED)), key, line, gutter + 2)


def _row(key: str, text: str, role: Role) -> ListRow:
    return ListRow((Span(" " * GUTTER), Span(text, role)), key, text, GUTTER)


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
