"""The lines around the conversation, drawn from what is known now."""

import os
import re
import time
from collections.abc import Callable
from enum import Enum
from threading import Event, Thread

from tildone.app.apply import Notice
from tildone.app.index import RETRY_SECONDS, WAIT_SECONDS
from tildone.base import TildoneError, replace
from tildone.base.ids import now as time_now
from tildone.base.keys import ALL_BINDINGS, EXPAND, KeyBindings
from tildone.log.store import Store
from tildone.plan.gate import Patience
from tildone.plan.model import Plan, Status, open_tasks
from tildone.plan.text.amounts import duration, format_count, stopwatch
from tildone.plan.text.safe import printable
from tildone.plan.text.state import SessionFacts, SessionWord, count_text, session_state, strip_spans
from tildone.plan.text.styles import Role, Span, clip_text, display_width
from tildone.run.metering import Activity
from tildone.screens.run.conversation import Conversation
from tildone.screens.transcript.blocks import FRAMES
from tildone.screens.watch.actions import PLAN_HINTS
from tildone.screens.widgets.keys import Line, Palette, spread, width_of
from tildone.screens.widgets.plan import PlanOptions, plan_rows
from tildone.screens.widgets.prompt import DetailReader, Hint, SessionDetail, first_key, footer_line
from tildone.screens.widgets.rows import Lines, ListRow, RowList


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


class FooterMode(Enum):
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
    FooterMode.QUESTION: (Hint("editor", ("escape",)), Hint("read first", ("run.nextPane",))),
    FooterMode.WAITING_QUESTION: (Hint("answers", ("run.nextPane",)), _SEND, _STOP),
    FooterMode.TRANSCRIPT: (
        Hint("scroll", ("transcript.lineDown", "transcript.lineUp")),
        *(Hint("expand", ("transcript.fold",)), Hint("find", ("transcript.find",)), Hint("end", ("transcript.last",))),
        *(_EDITOR, Hint("copy", ("transcript.copy",)), _PLAN),
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


NOTICE_SECONDS = 8.0
WENT_ON_SECONDS = 0.6
"""How long it is shown that the model was told to go on, if there was no countdown."""

MAX_WIDGET_ROWS = 6
_HIDDEN_STATUSES = frozenset({"todos", "til-done", "til-done-active"})
"""Statuses of the plan's extensions, which the screen shows itself."""

NAMES = ("top", "plan-title", "facts", "message", "widgets", "rule", "status", "footer")
RAISED = frozenset({"top", "plan-title", "facts", "widgets", "status", "message"})


class RunLines:
    """The lines by name. `detail` returns what was read of the plan; `trouble` is why it cannot be read."""

    def __init__(
        self,
        conversation: Conversation,
        detail: Callable[[], SessionDetail],
        patience: Patience,
        palette: Palette,
        keys: KeyBindings,
    ) -> None:
        self.texts = {name: Lines(palette, raised=name in RAISED, id=name) for name in NAMES}
        self.texts["message"].display = False
        self.trouble = ""
        self._conversation, self._detail = conversation, detail
        self.patience, self._keys = patience, keys
        self._notices = self._frame = self._went_on = 0

    def draw(self, mode: FooterMode, columns: int) -> None:
        texts, word = self.texts, self._word()
        texts["top"].show(lambda columns: [top_line(self._plan, word, columns, self._keys)])
        texts["status"].show(lambda columns: [self._status_line(word, columns)])
        question = self._conversation.ui.question if mode is FooterMode.QUESTION else None
        hints = (*([Hint("answer", question.keys())] if question else ()), *FOOTERS[mode])
        texts["footer"].show(lambda columns: [footer_line(hints, columns, self._keys)])
        rows = self._widget_rows(max(1, columns))
        texts["widgets"].display = bool(rows)
        texts["widgets"].styles.height = max(1, len(rows))
        texts["widgets"].show(self._widget_rows)
        texts["facts"].show(lambda _: self._fact_lines())

    def draw_plan(self, rows: RowList, options: PlanOptions) -> None:
        plan, title = self._plan, self._conversation.backend.title
        own = f":{self._conversation.transcript.id}"
        # That the agent of this run works on a task is known.
        times = {
            number: replace(time, claim=None) if time.claim and time.claim.agent.endswith(own) else time
            for number, time in self._detail().times
        }

        def title_for(columns: int) -> list[Line]:
            count = count_text(plan)
            name = clip_text(printable(title), max(8, columns // 3))
            strip = strip_spans(plan, max(4, columns - len(name) - len(count) - 6))
            return [(Span(f" {name}", bold=True), Span("  "), *strip, Span(f"  {count}", Role.MUTED))]

        empty = [ListRow(line) for line in EMPTY_LINES]
        rows.show(lambda columns: plan_rows(plan, times, options, time_now(), columns) or empty)
        self.texts["plan-title"].show(title_for)

    def tick(self) -> bool:
        """Take the next frame of what moves; return whether something does."""
        moves = self._conversation.meter.activity is not Activity.IDLE or self._conversation.is_counting_down
        self._frame += moves
        return moves

    def say(self, notice: Notice) -> None:
        self._notices += 1
        own, line = self._notices, self.texts["message"]
        line.display = True
        line.show(lambda _: [(Span(f" {printable(notice.text)}", Role.ERROR if notice.failed else Role.MUTED),)])

        def end() -> None:
            if own == self._notices:
                line.display = False

        line.set_timer(NOTICE_SECONDS, end)

    def told(self, end: Callable[[], object]) -> str:
        """Return the words for a message that told the model to go on; without a countdown, show that it does.

        `end` is called when that is not shown any more.
        """

        def hide() -> None:
            self._went_on -= 1
            end()

        if not self._conversation.backend.settings.countdown:
            self._went_on += 1
            self.texts["widgets"].set_timer(WENT_ON_SECONDS, hide)
        left = len(open_tasks(self._plan))
        stopped = f"stopped with {format_count(left, 'task')} open" if left else "stopped"
        told = f"told to go on ({max(1, self._detail().state.nudges)} of {self.patience.nudges})"
        return f"{time.strftime('%H:%M')} · {stopped} · {told}"

    @property
    def _plan(self) -> Plan:
        return self._detail().plan

    def _status_line(self, word: str, columns: int) -> Line:
        """The status bar: the model, what happens, and the figures, the cost last, as far as there is room."""
        if self.trouble:
            return spread((Span(f" ! {printable(self.trouble)}", Role.ERROR, bold=True),), (), columns)
        state, talk = self._detail().state, self._conversation
        meter, name = talk.meter, talk.model_name
        elapsed = duration(meter.worked_seconds, tenths=False) if meter.worked_seconds >= 1 else ""
        figures = meter.figures()
        model = printable(name.rpartition(":")[2] if columns < WIDE_COLUMNS else name)
        if columns < NARROW_COLUMNS:
            parts = [model, *(figure for figure in figures if "$" in figure), elapsed]
            return (Span(f" {clip_text(SEPARATOR.join(filter(None, parts)), columns - 2)}", Role.MUTED),)
        told = f"told {state.nudges} of {self.patience.nudges}" if state.nudges and not talk.is_working else ""
        rest = [text for text in (told, elapsed, *sorted(figures, key=lambda figure: "$" in figure)) if text]
        while rest and display_width(SEPARATOR.join([word, *rest])) > columns - display_width(model) - 8:
            del rest[-2 if len(rest) > 1 else -1]
        happens = Span(word, Role.MUTED if talk.ui.question is None else Role.WARNING)
        right = (happens, Span("".join(f"{SEPARATOR}{text}" for text in rest) + " ", Role.MUTED))
        mark: Line = (Span(" ● ", Role.SUCCESS),) if columns >= WIDE_COLUMNS else (Span(" "),)
        return spread((*mark, Span(model)), right, columns)

    def _word(self) -> str:
        talk = self._conversation
        if talk.host is None:
            return "starting"
        if talk.ui.question is not None:
            return str(SessionWord.NEEDS_YOU.value)
        calls = list(talk.running_calls.values())
        if talk.meter.activity is Activity.RUNNING and calls:
            return f"running {clip_text(printable(calls[-1]), 24)}"
        if talk.meter.activity is not Activity.IDLE:
            return str(talk.meter.activity.value)
        if talk.is_working:
            return str(SessionWord.WORKING.value)
        word = session_state(SessionFacts(self._detail().state)).word
        return str((SessionWord.IDLE if word is SessionWord.EMPTY else word).value)

    def _widget_rows(self, columns: int) -> list[Line]:
        """The rows above the editor: queued messages, what extensions show, the countdown, the running command."""
        talk = self._conversation
        rows: list[Line] = [
            (Span(clip_text(f" ❯ {printable(text)} (waits)", columns), Role.DIM),) for text in talk.waiting
        ]
        seconds = talk.backend.settings.countdown
        for key, lines in talk.ui.widgets.items():
            for text in lines:
                counting = countdown_line(text, seconds, columns) if "countdown" in key else None
                rows.append(counting or (Span(clip_text(f" {printable(text)}", columns), Role.MUTED),))
        # In place of a countdown of 0 seconds.
        rows += [(Span(" ● ", Role.WARNING), Span("Goes on by itself", bold=True))] if self._went_on else []
        statuses = [text for key, text in talk.ui.statuses.items() if key not in _HIDDEN_STATUSES]
        rows += [
            (Span(clip_text(f" {printable(line)}", columns), Role.ACCENT),)
            for text in statuses
            for line in text.split("\n")
        ]
        rows = rows[:MAX_WIDGET_ROWS]
        if talk.meter.activity is Activity.RUNNING and talk.running_calls and talk.ui.question is None:
            label = list(talk.running_calls.values())[-1]
            rows.append(activity_line(label, stopwatch(talk.meter.seconds), self._frame, columns, self._keys))
        return rows

    def _fact_lines(self) -> list[Line]:
        state, talk = self._detail().state, self._conversation
        drift = f" · {state.drift} of {self.patience.drift} without progress" if state.drift else ""
        return [
            (
                Span(" at work  ", Role.DIM),
                Span("tildone run"),
                Span(f" · {printable(talk.model_name)}", Role.MUTED),
            ),
            (Span(" told     ", Role.DIM), Span(f"{state.nudges} of {self.patience.nudges}"), Span(drift, Role.MUTED)),
            (Span(" used     ", Role.DIM), Span(" · ".join(talk.meter.figures()) or "nothing yet", Role.MUTED)),
        ]
