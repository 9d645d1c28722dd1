"""The lines around the conversation, drawn from what is known now."""

from __future__ import annotations

import time
from collections.abc import Callable

from tildone.app.apply import Notice
from tildone.base import replace
from tildone.base.ids import now as time_now
from tildone.base.keys import KeyBindings
from tildone.plan.events import Directive
from tildone.plan.gate import Patience
from tildone.plan.model import Plan, open_tasks
from tildone.plan.text.amounts import duration, format_count, stopwatch
from tildone.plan.text.safe import printable
from tildone.plan.text.state import count_text, strip_spans
from tildone.plan.text.styles import Role, Span, clip_text
from tildone.run.metering import Activity
from tildone.screens.run.conversation import Conversation
from tildone.screens.run.plan_pane import (
    EMPTY_LINES,
    FOOTERS,
    FooterMode,
    RunFacts,
    activity_line,
    countdown_line,
    idle_word,
    status_line,
    top_line,
    went_on_line,
)
from tildone.screens.widgets.keys import Line, Palette
from tildone.screens.widgets.plan import PlanOptions, plan_rows
from tildone.screens.widgets.prompt import SessionDetail, footer_line
from tildone.screens.widgets.rows import Lines, ListRow, RowList

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
        """Draw all of them again; `mode` is what has the keys."""
        texts, facts = self.texts, self._facts()
        texts["top"].show(lambda columns: [top_line(self._plan, facts.word, columns, self._keys)])
        texts["status"].show(lambda columns: [status_line(facts, columns)])
        texts["footer"].show(lambda columns: [footer_line(FOOTERS[mode], columns, self._keys)])
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

    def _facts(self) -> RunFacts:
        state, talk = self._detail().state, self._conversation
        meter = talk.meter
        told = (
            f"told {state.nudges} of {self.patience.nudges}"
            if state.nudges and not self._conversation.is_working
            else ""
        )
        elapsed = duration(meter.worked_seconds, tenths=False) if meter.worked_seconds >= 1 else ""
        figures = tuple(meter.figures())
        waits = talk.ui.question is not None
        return RunFacts(talk.model_name, self._word(), self._plan, elapsed, figures, told, waits, self.trouble)

    def _word(self) -> str:
        talk = self._conversation
        if talk.host is None:
            return "starting"
        if self._conversation.ui.question is not None:
            return "waits for you"
        calls = list(self._conversation.running_calls.values())
        if self._conversation.meter.activity is Activity.RUNNING and calls:
            return f"running {clip_text(printable(calls[-1]), 24)}"
        if self._conversation.meter.activity is not Activity.IDLE:
            return str(self._conversation.meter.activity.value)
        if self._conversation.is_working:
            return "working"
        if self._detail().state.directive is Directive.PAUSE:
            return "paused"
        return idle_word(self._plan, spoken=bool(talk.host.transcript.messages()))

    def _widget_rows(self, columns: int) -> list[Line]:
        """The rows above the editor: queued messages, what extensions show, the countdown, the running command."""
        talk = self._conversation
        rows: list[Line] = [
            (Span(clip_text(f" ❯ {printable(text)} (waits)", columns), Role.DIM),) for text in talk.queued
        ]
        seconds = talk.backend.settings.countdown
        for key, lines in talk.ui.widgets.items():
            for text in lines:
                counting = countdown_line(text, seconds, columns) if "countdown" in key else None
                rows.append(counting or (Span(clip_text(f" {printable(text)}", columns), Role.MUTED),))
        rows += [went_on_line()] if self._went_on else []
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
