"""Draws the lines around the conversation, and the plan, from what is known now."""

from __future__ import annotations

import os
import time

from tildone.core.plan import Plan, Status
from tildone.core.query import open_tasks
from tildone.host.meter import Activity, RunMeter, format_seconds
from tildone.ids import now as time_now
from tildone.kit.formatting import format_count
from tildone.kit.text import clip_text
from tildone.kit.theme import Role, Span
from tildone.log.events import Directive
from tildone.loop.decision import Patience
from tildone.tui.plan_rows import plan_rows
from tildone.tui.reading import TaskTime
from tildone.tui.row_list import Line, ListRow, RowList
from tildone.tui.run.backend import RunBackend
from tildone.tui.run.running import Running
from tildone.tui.run.status_lines import (
    FooterMode,
    RunFacts,
    activity_line,
    clock,
    countdown_line,
    empty_lines,
    footer_line,
    idle_word,
    status_line,
    top_line,
    went_on_line,
)
from tildone.value import replace
from tildone.views.sanitize import printable
from tildone.views.strip import count_text, strip_spans

DRAW_SECONDS = 0.05
NOTICE_SECONDS = 8.0
WENT_ON_SECONDS = 0.6
"""How long it is shown that the model was told to go on, if there was no countdown."""

MAX_WIDGET_ROWS = 6
_HIDDEN_STATUSES = frozenset({"todos", "til-done", "til-done-active"})
"""Statuses of the plan's extensions, which the screen shows itself."""


class Drawing(Running):
    """A run with its lines."""

    def __init__(
        self,
        backend: RunBackend,
        meter: RunMeter,
        *,
        theme: str,
        patience: Patience,
        notices: list[str],
    ) -> None:
        super().__init__(backend, meter, theme, notices)
        self._patience = patience
        self._draws_later = False
        self._notices = 0
        self._frame = 0
        self._trouble = ""
        self._went_on = 0

    @property
    def plan(self) -> Plan:
        """The plan as it was read last."""
        return self.now.state.plan

    @property
    def plan_list(self) -> RowList:
        """The list of the tasks."""
        return self._plan_list

    def draw_soon(self) -> None:
        """Draw soon; many changes are drawn once."""
        if not self._draws_later and self.is_running:
            self._draws_later = True
            self.set_timer(DRAW_SECONDS, self.draw)

    def draw(self) -> None:
        """Draw the lines again."""
        self._draws_later = False
        if not self.is_mounted_fully:
            return
        texts, facts, mode = self._texts, self._facts(), self._footer_mode()
        texts["top"].show(lambda columns: [top_line(self.plan, facts.word, columns, self.keys)])
        texts["status"].show(lambda columns: [status_line(facts, columns)])
        texts["footer"].show(lambda columns: [footer_line(mode, columns, self.keys)])
        rows = self._widget_rows(max(1, self.size.width))
        texts["widgets"].display = bool(rows)
        texts["widgets"].styles.height = max(1, len(rows))
        texts["widgets"].show(self._widget_rows)
        texts["facts"].show(lambda _: self._fact_lines())

    @property
    def is_mounted_fully(self) -> bool:
        """Whether the widgets are there to be drawn."""
        return self.is_running and self._texts["footer"].is_mounted

    def draw_plan(self) -> None:
        """Draw the plan."""
        plan, times = self.plan, self._times()
        options, title = self.with_checks(self._plan_options), self.backend.title

        def rows_for(columns: int) -> list[ListRow]:
            return plan_rows(plan, times, options, time_now(), columns) or [
                ListRow(line) for line in empty_lines(columns)
            ]

        def title_for(columns: int) -> list[Line]:
            count = count_text(plan)
            name = clip_text(printable(title), max(8, columns // 3))
            strip = strip_spans(plan, max(4, columns - len(name) - len(count) - 6))
            return [(Span(f" {name}", bold=True), Span("  "), *strip, Span(f"  {count}", Role.MUTED))]

        self._plan_list.show(rows_for)
        self._texts["plan-title"].show(title_for)

    def _times(self) -> dict[int, TaskTime]:
        """What tasks took, and which other agents work on them: that the agent of this run does is known."""
        own = f":{(self.host or self.backend).transcript.id}"
        return {
            number: replace(time, claim=None) if time.claim and time.claim.agent.endswith(own) else time
            for number, time in self.now.times
        }

    def say(self, text: str, *, failed: bool = False) -> None:
        """Show a short message above the editor, for a while."""
        self._notices += 1
        own = self._notices
        line = self._texts["message"]
        line.display = True
        line.show(lambda _: [(Span(f" {printable(text)}", Role.ERROR if failed else Role.MUTED),)])
        self.set_timer(NOTICE_SECONDS, lambda: self._unsay(own))

    def _unsay(self, notice: int) -> None:
        if notice == self._notices:
            self._texts["message"].display = False

    def told_words(self) -> str:
        """Return the words for a message that told the model to go on; without a countdown, show that it does."""
        if not self.backend.settings.countdown:
            self._went_on += 1
            self.set_timer(WENT_ON_SECONDS, self._hide_went_on)
        left = len(open_tasks(self.plan))
        state = self.now.state
        stopped = f"stopped with {format_count(left, 'task')} open" if left else "stopped"
        return f"{_time()} · {stopped} · told to go on ({max(1, state.nudges)} of {self._patience.nudges})"

    def _hide_went_on(self) -> None:
        self._went_on -= 1
        self.draw()

    def tick(self) -> None:
        """Draw what changes as time passes."""
        if self.meter.activity is not Activity.IDLE or self.is_counting_down:
            self._frame += 1
            self.draw()

    def _facts(self) -> RunFacts:
        state, meter = self.now.state, self.meter
        told = f"told {state.nudges} of {self._patience.nudges}" if state.nudges and not self.is_working else ""
        elapsed = format_seconds(meter.worked_seconds, tenths=False) if meter.worked_seconds >= 1 else ""
        figures = tuple(meter.figures())
        waits = self.ui.question is not None
        return RunFacts(self._model_name, self._word(), self.plan, elapsed, figures, told, waits, self._trouble)

    def _word(self) -> str:
        if self.host is None:
            return "starting"
        if self.ui.question is not None:
            return "waits for you"
        calls = list(self.running_calls.values())
        if self.meter.activity is Activity.RUNNING and calls:
            return f"running {clip_text(printable(calls[-1]), 24)}"
        if self.meter.activity is not Activity.IDLE:
            return str(self.meter.activity.value)
        if self.is_working:
            return "working"
        if self.now.state.directive is Directive.PAUSE:
            return "paused"
        return idle_word(self.plan, spoken=bool(self.host.transcript.messages()))

    def _footer_mode(self) -> FooterMode:
        if self.panel.has_keys:
            return FooterMode.QUESTION
        if self._plan_list.has_focus:
            return FooterMode.PLAN
        if self.view.has_focus:
            return FooterMode.TRANSCRIPT
        if self.ui.question is not None:
            return FooterMode.WAITING_QUESTION
        if self.is_counting_down:
            return FooterMode.COUNTDOWN
        return FooterMode.WORKING if self.is_working else FooterMode.EDITOR

    def _widget_rows(self, columns: int) -> list[Line]:
        """The rows above the editor: queued messages, what extensions show, the countdown, the running command."""
        rows: list[Line] = [
            (Span(clip_text(f" ❯ {printable(text)} (waits)", columns), Role.DIM),) for text in self.queued
        ]
        seconds = self.backend.settings.countdown
        for key, lines in self.ui.widgets.items():
            for text in lines:
                counting = countdown_line(text, seconds, columns) if "countdown" in key else None
                rows.append(counting or (Span(clip_text(f" {printable(text)}", columns), Role.MUTED),))
        rows += [went_on_line()] if self._went_on else []
        statuses = [text for key, text in self.ui.statuses.items() if key not in _HIDDEN_STATUSES]
        rows += [
            (Span(clip_text(f" {printable(line)}", columns), Role.ACCENT),)
            for text in statuses
            for line in text.split("\n")
        ]
        rows = rows[:MAX_WIDGET_ROWS]
        if self.meter.activity is Activity.RUNNING and self.running_calls and self.ui.question is None:
            label = list(self.running_calls.values())[-1]
            rows.append(activity_line(label, clock(self.meter.seconds), self._frame, columns, self.keys))
        return rows

    def _fact_lines(self) -> list[Line]:
        state, figures = self.now.state, self.meter.figures()
        drift = f" · {state.drift} of {self._patience.drift} without progress" if state.drift else ""
        return [
            (Span(" at work  ", Role.DIM), Span("tildone run"), Span(f" · {printable(self._model_name)}", Role.MUTED)),
            (Span(" told     ", Role.DIM), Span(f"{state.nudges} of {self._patience.nudges}"), Span(drift, Role.MUTED)),
            (Span(" used     ", Role.DIM), Span(" · ".join(figures) or "nothing yet", Role.MUTED)),
        ]

    def _question_detail(self) -> str:
        """Where a command would run, and for which task."""
        folder = self.backend.conversations.cwd
        home = os.path.expanduser("~")
        shown = f"~{folder.removeprefix(home)}" if home != "/" and folder.startswith(home) else folder
        active = next((task for task in self.plan.tasks if task.status is Status.IN_PROGRESS), None)
        return f"in {printable(shown)}{f' · for “{printable(active.text)}”' if active else ''}"


def _time() -> str:
    return time.strftime("%H:%M")
