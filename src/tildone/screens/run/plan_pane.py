"""The lines around the conversation: the plan in one row, the status bar, the countdown, and the keys."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from enum import Enum
from threading import Event, Thread

from tildone.app.index import RETRY_SECONDS, WAIT_SECONDS
from tildone.base import TildoneError, value
from tildone.base.keys import ALL_BINDINGS, EXPAND, KeyBindings
from tildone.log.store import Store
from tildone.plan.model import Plan, Status, open_tasks
from tildone.plan.text.safe import printable
from tildone.plan.text.state import count_text, strip_spans
from tildone.plan.text.styles import Role, Span, clip_text, display_width
from tildone.screens.transcript.blocks import FRAMES
from tildone.screens.watch.actions import PLAN_HINTS
from tildone.screens.widgets.keys import Line, spread, width_of
from tildone.screens.widgets.prompt import DetailReader, Hint, SessionDetail, first_key


class PlanFollower:
    """A thread that reads the plan that `session` names whenever it has changed, until it is stopped.

    `publish` is called in that thread with what was read, `fail` with the reason if the store cannot be read.
    """

    def __init__(
        self,
        store: Store,
        reader: DetailReader,
        session: Callable[[], str],
        publish: Callable[[SessionDetail], object],
        fail: Callable[[str], object],
    ) -> None:
        self._store, self._reader, self._session = store, reader, session
        self._publish, self._fail = publish, fail
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="tildone-plan", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        last: SessionDetail | None = None
        while not self._stopped.is_set():
            try:
                session = self._session()
                found = self._reader.read(session)
                if found != last:
                    self._publish(found)
                last = found
                self._store.wait(session, found.state.head, WAIT_SECONDS)
            except TildoneError as error:
                last = None
                self._fail(str(error))
                self._stopped.wait(RETRY_SECONDS)


NARROW_COLUMNS, WIDE_COLUMNS = 60, 120
"""Below NARROW_COLUMNS, lines are shortened; from WIDE_COLUMNS on, the plan is beside the conversation."""

SEPARATOR = " · "
BAR_CELLS = 9
_SECONDS = re.compile(r"(\d+)\s*s\b")


@value
class RunFacts:
    """What the status bar shows. `figures` are tokens and cost, the cost last; `word` is what happens."""

    model: str
    word: str
    plan: Plan = Plan()
    elapsed: str = ""
    figures: tuple[str, ...] = ()
    told: str = ""
    waits: bool = False
    trouble: str = ""


class FooterMode(Enum):
    """What has the keys."""

    EDITOR = "editor"
    WORKING = "working"
    COUNTDOWN = "countdown"
    QUESTION = "question"
    WAITING_QUESTION = "waiting question"
    TRANSCRIPT = "transcript"
    PLAN = "plan"


_PLAN, _EXPAND = Hint("plan", ("run.plan",)), Hint("expand", (EXPAND,))
_SEND, _PANE = Hint("send", ("tui.input.submit",)), Hint("transcript", ("run.nextPane",))
_EDITOR, _STOP = Hint("editor", ("app.interrupt",)), Hint("stop", ("app.interrupt",))
_FOOTERS = {
    FooterMode.EDITOR: (
        *(_SEND, Hint("new line", ("editor.newLine",)), _PANE, _PLAN, Hint("tree", ("run.tree",)), _EXPAND),
        Hint("sessions", ("run.conversations",)),
    ),
    FooterMode.WORKING: (
        *(Hint("steer", ("tui.input.submit",)), _STOP, Hint("later", ("app.message.followUp",)), _PANE, _PLAN, _EXPAND),
    ),
    FooterMode.COUNTDOWN: (_SEND, Hint("leave it", ("app.interrupt",)), _PLAN),
    FooterMode.QUESTION: (Hint("answer", ("y", "a", "n")), Hint("editor", ("escape",)), Hint("read first", ("tab",))),
    FooterMode.WAITING_QUESTION: (Hint("answers", ("run.nextPane",)), _SEND, _STOP),
    FooterMode.TRANSCRIPT: (
        Hint("scroll", ("transcript.lineDown", "transcript.lineUp")),
        *(Hint("expand", ("transcript.fold",)), Hint("find", ("transcript.find",)), Hint("copy", ("transcript.copy",))),
        *(Hint("end", ("transcript.last",)), _EDITOR, _PLAN),
    ),
    FooterMode.PLAN: (*PLAN_HINTS, _EDITOR),
}
FOOTERS = {mode: (*hints, Hint("keys", ("run.keys",))) for mode, hints in _FOOTERS.items()}
"""The keys in the footer, the most useful first. A name that is not that of an action is a key."""


def top_line(plan: Plan, state: str, columns: int, keys: KeyBindings = ALL_BINDINGS) -> Line:
    """Return the plan in one row: the strip, the count, and the task in progress; below 60 columns, the state."""
    count = count_text(plan)
    if columns < NARROW_COLUMNS:
        strip = strip_spans(plan, max(4, columns // 3))
        return Span(" "), *strip, Span(f" {count} ", Role.MUTED), Span(clip_text(state, columns // 3), Role.ACCENT)
    right = (Span(f"{first_key(keys, 'run.plan')} plan ", Role.DIM),)
    strip = strip_spans(plan, columns // 3)
    left: Line = (Span(" "), *strip, Span(f"  {count}  " if count else "", Role.MUTED))
    active = next((task for task in plan.tasks if task.status is Status.IN_PROGRESS), None)
    room = columns - width_of(left) - width_of(right) - 4
    if active is not None and room > 0:
        left = (*left, Span("● ", Role.ACCENT), Span(clip_text(printable(active.text), room), bold=True))
    elif not plan.tasks:
        left = (Span(" No plan yet", Role.DIM),)
    return spread(left, right, columns)


def status_line(facts: RunFacts, columns: int) -> Line:
    """Return the status bar: the model, what happens, and the figures, as far as there is room."""
    if facts.trouble:
        return spread((Span(f" ! {printable(facts.trouble)}", Role.ERROR, bold=True),), (), columns)
    is_narrow = columns < NARROW_COLUMNS
    model = printable(facts.model.rpartition(":")[2] if columns < WIDE_COLUMNS else facts.model)
    cost = [figure for figure in facts.figures if "$" in figure]
    tokens = [figure for figure in facts.figures if "$" not in figure]
    if is_narrow:
        parts = [model, *cost, facts.elapsed]
        return (Span(f" {clip_text(SEPARATOR.join(filter(None, parts)), columns - 2)}", Role.MUTED),)
    rest = [text for text in (facts.told, facts.elapsed, *tokens, *cost) if text]
    while rest and display_width(SEPARATOR.join([facts.word, *rest])) > columns - display_width(model) - 8:
        del rest[-2 if len(rest) > 1 else -1]
    word = Span(facts.word, Role.WARNING if facts.waits else Role.MUTED)
    right = (word, Span("".join(f"{SEPARATOR}{text}" for text in rest) + " ", Role.MUTED))
    mark: Line = (Span(" ● ", Role.SUCCESS),) if columns >= WIDE_COLUMNS else (Span(" "),)
    return spread((*mark, Span(model)), right, columns)


def countdown_line(text: str, seconds: int, columns: int) -> Line | None:
    """Return the countdown with a bar that shrinks; None if the text is not that of a countdown of seconds."""
    found = _SECONDS.search(text)
    if found is None or seconds < 1:
        return None
    left = min(int(found[1]), seconds)
    cells = round(BAR_CELLS * left / seconds)
    line: Line = (
        Span(" ● ", Role.WARNING),
        Span(f"Goes on by itself in {left} s", bold=True),
        Span(f"  {'━' * cells}", Role.WARNING),
        Span("─" * (BAR_CELLS - cells), Role.DIM),
    )
    return (*line, Span("  type anything to stop it", Role.MUTED)) if columns >= NARROW_COLUMNS else line


def went_on_line() -> Line:
    """Return the row in place of a countdown of 0 seconds."""
    return Span(" ● ", Role.WARNING), Span("Goes on by itself", bold=True)


def activity_line(label: str, elapsed: str, frame: int, columns: int, keys: KeyBindings = ALL_BINDINGS) -> Line:
    """Return the command that is running, for how long, and what keys do meanwhile."""
    more = " · what you type now reaches it before its next step" if columns >= WIDE_COLUMNS else ""
    hint = f" · {first_key(keys, 'app.interrupt')} stops the turn{more}"
    shown = clip_text(printable(label), max(8, columns - len(hint) - len(elapsed) - 6))
    return (
        Span(f" {FRAMES[frame % len(FRAMES)]} ", Role.ACCENT),
        Span(shown),
        Span(f" {elapsed}", Role.ACCENT),
        Span(hint, Role.DIM),
    )


def idle_word(plan: Plan, *, spoken: bool) -> str:
    if open_tasks(plan) and spoken:
        return "stopped"
    return "done" if plan.tasks and spoken else "ready"


def question_detail(folder: str, plan: Plan) -> str:
    """Return where a command would run, and for which task."""
    home = os.path.expanduser("~")
    shown = f"~{folder.removeprefix(home)}" if home != "/" and folder.startswith(home) else folder
    active = next((task for task in plan.tasks if task.status is Status.IN_PROGRESS), None)
    return f"in {printable(shown)}{f' · for “{printable(active.text)}”' if active else ''}"


EMPTY_LINES: tuple[Line, ...] = (
    (),
    (Span("No plan yet."),),
    (Span("Say what is to be done, and the", Role.MUTED),),
    (Span("model writes one; or ", Role.MUTED), Span("/todo add TEXT", bold=True)),
)
"""What is shown in place of a plan that is empty."""
