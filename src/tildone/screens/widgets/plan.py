"""One session as rows and lines: its plan, who works on it, and its newest events."""

from collections.abc import Iterator, Mapping, Sequence

from tildone.app.check_states import CheckFacts, CheckState, CheckWord, check_state
from tildone.app.sessions import SessionRow
from tildone.base import value
from tildone.plan.claims import Claim
from tildone.plan.events import State
from tildone.plan.gate import Patience
from tildone.plan.guard import PLAN
from tildone.plan.model import WORD_FIELDS, Check, Phase, Plan, Status, Task, in_the_way, progress, waits_for
from tildone.plan.text.amounts import MINUTE, elapsed
from tildone.plan.text.claims import holder_text
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import UNNAMED_PHASE, clipped, printable, printable_lines
from tildone.plan.text.state import signs_spans
from tildone.plan.text.styles import Role, Span, clip_text, display_width, wrap_text
from tildone.screens.watch.need_panel import agents_text, count_text, used_text
from tildone.screens.widgets.keys import Line, spread, width_of
from tildone.screens.widgets.prompt import SessionDetail, TaskTime
from tildone.screens.widgets.rows import ListRow

GUTTER = 4
"""The cells before the text of a task: two spaces, its sign, and a space."""

PLAN_ROW = "plan"
"""The key of the row about the check of the plan."""

MAX_OUTPUT_ROWS = 5
MIN_COMMAND_COLUMNS = 8

CHECK_ROLES = {
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
        line = (*line, Span("  "), Span(said, CHECK_ROLES[state.word]))
    return ListRow(line, key, command, gutter)


MAX_TEXT_ROWS, MAX_NOTE_ROWS, MAX_NOTE_ROWS_SHOWN = 6, 3, 60
TIME_COLUMNS = 8
MIN_COLUMNS_WITH_USAGE = 60
"""Narrower lists show only the time of a task."""

MIN_STRIP_COLUMNS, MAX_STRIP_COLUMNS = 8, 60
SIGN_COLUMN = 3
"""Where the sign of a task is: after the cursor and two spaces."""

PHASE = "phase:"
"""How the key of a folded phase begins; that of a task is its number."""

STATUS_ROLES = {
    Status.PENDING: Role.DIM,
    Status.IN_PROGRESS: Role.ACCENT,
    Status.COMPLETED: Role.SUCCESS,
    Status.ABANDONED: Role.DIM,
    Status.BLOCKED: Role.WARNING,
}


@value
class PlanOptions:
    """What of a plan is shown: the tasks that contain all words, without the folded phases; all notes, or few.

    `checks` is what is known about its checks on this machine; `outputs` has the ends of the outputs of checks that
    did not pass, by the numbers of the tasks. With `numbers`, all tasks are shown with their numbers.
    """

    words: str = ""
    folded: frozenset[str] = frozenset()
    all_notes: bool = False
    checks: CheckFacts = CheckFacts()
    outputs: tuple[tuple[int, str], ...] = ()
    numbers: bool = False


def plan_rows(plan: Plan, times: Mapping[int, TaskTime], options: PlanOptions, now: int, columns: int) -> list[ListRow]:
    """Return the phases and tasks, with the notes of tasks in progress and what blocked ones wait for."""
    with_headings = len(plan.phases) > 1 or any(phase.name for phase in plan.phases)
    rows: list[ListRow] = []
    outputs = dict(options.outputs)
    is_numbered = options.numbers or any(task.after for task in plan.tasks)
    digits = len(str(max((task.number for task in plan.tasks), default=0))) if is_numbered else 0
    for phase in plan.phases:
        tasks = [task for task in phase.tasks if _is_wanted(task, options.words)]
        if not tasks:
            continue
        rows += [ListRow(())] if rows else []
        folded = with_headings and phase.name in options.folded and not options.words
        # The cursor can stand on a folded phase, to unfold it.
        rows += (
            [ListRow(_heading(phase, folded=folded), f"{PHASE}{phase.name}" if folded else "")] if with_headings else []
        )
        if not folded:
            for task in tasks:
                time = times.get(task.number, TaskTime())
                rows += _task_rows(task, time, now, columns, digits)
                rows += claim_rows(task, time.claim, now)
                rows += order_rows(plan, task)
                rows += check_rows(task, options.checks, outputs.get(task.number, ""), columns)
                rows += _note_rows(task, options, max(8, columns - 8))
    return [*rows, *plan_check_rows(plan, options.checks, outputs.get(PLAN, ""), columns)] if rows else rows


def title_line(session: SessionRow, columns: int) -> Line:
    """Return the title of a plan: its session, the strip, and the state."""
    name, count = printable(session.title), count_text(session)
    state = f"{session.word.sign} {session.word.value}".lstrip()
    # The state and the count are always whole; the name leaves at least a few cells to the strip.
    room = columns - len(count) - len(state) - 7
    name = clip_text(name, max(4, room - MIN_STRIP_COLUMNS))
    strip = signs_spans(session.strip, max(0, min(room - display_width(name), MAX_STRIP_COLUMNS)))
    parts = (Span(f" {name}", bold=True), Span("  "), *strip, Span(f"  {count}  ", Role.MUTED))
    return *parts, Span(state, session.word.role)


def fact_lines(session: SessionRow, state: State, patience: Patience, now: int, proposed: str = "") -> list[Line]:
    """Return what is asked, who is at work, which bounds are left, and what the agents have used.

    `proposed` says which checks wait for the approval of a person, and how they are shown.
    """
    told = [Span(f"{state.nudges} of {patience.nudges}"), Span(" since the last change", Role.DIM)]
    if state.drift:
        told += [Span(f" · {state.drift} of {patience.drift}"), Span(" without progress", Role.DIM)]
        most = Span(f" of {elapsed(patience.minutes * MINUTE)}", Role.DIM)
        told += [Span(f" for {elapsed(max(0, now - state.since))}"), most]
    left = _left(state, patience, now)
    why = (Span(" · ", Role.DIM), Span(session.why)) if session.why else ()
    used = used_text(session)
    asks = (Span(" asks     ", Role.WARNING), Span("in the list, y answers: ", Role.DIM), Span(session.why))
    return [
        *([asks] if session.needs else []),
        *([(Span(" approve  ", Role.WARNING), Span(proposed))] if proposed else []),
        (Span(" at work  ", Role.DIM), *_at_work(session, now)),
        (Span(" told     ", Role.DIM), *told),
        (Span(" left     ", Role.DIM), *left),
        (Span(" used     ", Role.DIM), Span(used))
        if used
        else (Span(" state    ", Role.DIM), Span(session.word.value, session.word.role), *why),
    ]


def preview_lines(session: SessionRow, detail: SessionDetail, now: int, columns: int) -> list[Line]:
    """Return a session in a few lines: who works on it, its next tasks, its newest events."""
    times = dict(detail.times)
    facts = [agents_text(session) or "nobody at work", session.word.value, used_text(session)]
    about = " · ".join(fact for fact in facts if fact)
    lines: list[Line] = [(Span(f" {printable(session.title)}", bold=True), Span(f" · {about}", Role.DIM))]
    tasks = [task for task in detail.plan.tasks if task.status.is_open]
    tasks.sort(key=lambda task: task.status is not Status.IN_PROGRESS)
    if session.needs:
        asked = (Span(" ? ", Role.WARNING, bold=True), Span(session.why))
        # At the end of the row only if the question has to be clipped.
        answers = (Span("  y answers", Role.DIM),)
        room = min(columns, width_of((*asked, *answers)))
        lines.append(spread(asked, answers, room))
    for task in tasks[: 5 - len(lines) - 1]:
        time = times.get(task.number, TaskTime())
        since = f"  for {elapsed(max(0, now - time.since))}" if time.since else ""
        lines.append(
            (Span(f" {task.status.icon} ", STATUS_ROLES[task.status]), _text(task, task.text), Span(since, Role.DIM))
        )
    said = " · ".join(f"{row.when} {row.who} {'; '.join(row.what)}" for row in detail.events[:2])
    return [*lines, (Span(f" {said}", Role.DIM),)]


def event_lines(detail: SessionDetail) -> list[Line]:
    width = max((len(row.who) for row in detail.events), default=0)
    return [
        (Span(f" {row.when}  {row.who:{width}}  ", Role.DIM), Span("; ".join(row.what), Role.MUTED))
        for row in detail.events
    ]


def _is_wanted(task: Task, words: str) -> bool:
    check = " ".join(task.check.command) if task.check else ""
    searched = f"#{task.number} {task.text} {task.status.value} {' '.join(task.notes)} {check}".casefold()
    return all(word in searched for word in words.casefold().split())


def _heading(phase: Phase, *, folded: bool) -> Line:
    done = progress(Plan((phase,)))
    name = printable(phase.name) or UNNAMED_PHASE
    more = Span(" …", Role.DIM) if folded else Span("")
    return Span(name, bold=True), Span(f" {done.closed}/{done.total}", Role.MUTED), more


def _task_rows(task: Task, time: TaskTime, now: int, columns: int, digits: int) -> Iterator[ListRow]:
    key = str(task.number)
    spent = time.spent + (max(0, now - time.since) if time.since else 0)
    used = f"{time.used} · " if time.used and spent and columns >= MIN_COLUMNS_WITH_USAGE else ""
    amounts = f"{used}{elapsed(spent) if spent else ''}"
    reserved = max(TIME_COLUMNS, len(amounts))
    right = (Span(f"{amounts:>{reserved}} ", Role.DIM),)
    number = f"{f'#{key}':<{digits + 1}} " if digits else ""
    gutter = GUTTER + len(number)
    lead: Line = (Span("  "), Span(task.status.icon, STATUS_ROLES[task.status]), Span(" "))
    lead = (*lead, Span(number, Role.DIM)) if number else lead
    whole = printable(clipped(task.text))
    texts = wrap_text(whole, max(8, columns - reserved - 6 - len(number)))
    texts = texts if len(texts) <= MAX_TEXT_ROWS else [*texts[: MAX_TEXT_ROWS - 1], "…"]
    for index, (text, joint) in enumerate(zip(texts, _joints(whole, texts), strict=True)):
        line = (*(lead if not index else (Span(" " * gutter),)), _text(task, text))
        yield ListRow(spread(line, right if not index else (), columns), key, text, gutter, joint)


def _joints(text: str, lines: Sequence[str]) -> Iterator[str | None]:
    """What is between each line of a wrapped text and the line before: a space, or nothing within a long word."""
    place = 0
    for index, line in enumerate(lines):
        joint = " " if index and text.startswith(f" {line}", place) else ""
        place += len(joint) + len(line)
        yield joint if index else None


def _note_rows(task: Task, options: PlanOptions, columns: int) -> Iterator[ListRow]:
    notes: Sequence[str] = task.notes
    bar = Span(f"{' ' * GUTTER}│ ", Role.DIM)
    role = Role.MUTED
    if not options.all_notes and task.status is Status.BLOCKED and notes:
        notes, role = [f"waits: {notes[-1]}"], Role.WARNING
    elif not options.all_notes and task.status is not Status.IN_PROGRESS:
        return
    limit = MAX_NOTE_ROWS_SHOWN if options.all_notes else MAX_NOTE_ROWS
    for note in notes:
        wrapped: list[tuple[str, str | None]] = []
        for line in printable_lines(clipped(note)):
            parts = wrap_text(line, columns)
            wrapped += zip(parts, _joints(line, parts), strict=True)
        if len(wrapped) > limit:
            wrapped[limit - 1 :] = [("…", None)]
        yield from (
            ListRow((bar, Span(part, role)), str(task.number), part, GUTTER + 2, joint) for part, joint in wrapped
        )


def _text(task: Task, text: str) -> Span:
    if task.status.is_open:
        return Span(printable(text), bold=task.status is Status.IN_PROGRESS)
    return Span(printable(text), Role.DIM, strike=task.status is Status.ABANDONED)


def _at_work(session: SessionRow, now: int) -> Line:
    agents = agents_text(session)
    if not agents:
        return (Span("nobody that is known here", Role.DIM),)
    busy = next((agent for agent in session.agents if agent.doing), None)
    if busy is None:
        return (Span(agents),)
    since = f" for {elapsed(max(0, now - busy.since))}" if busy.since else ""
    return Span(agents), Span(" · ", Role.DIM), Span(printable(busy.doing)), Span(since, Role.DIM)


def _left(state: State, patience: Patience, now: int) -> Line:
    """What is left of the bounds since a person last spoke."""
    ledger = state.ledger
    nudges = Span(f"{max(0, patience.total - ledger.continued)} nudges")
    hours = patience.hours * 60 * MINUTE - (now - ledger.began if ledger.began else 0)
    return nudges, Span(f" · {elapsed(max(0, hours))}"), Span(", counted since you last spoke", Role.DIM)
