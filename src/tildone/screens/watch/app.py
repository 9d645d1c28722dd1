"""The application of `tildone watch`: the list of sessions, and the plan of one of them."""

from bisect import insort
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.timer import Timer

from tildone.app.apply import Editor, Notice
from tildone.app.check_states import owner_name
from tildone.app.index import IndexFollower, SessionIndex
from tildone.app.sessions import SessionRow
from tildone.base import TildoneError, value
from tildone.base.keys import ALL_BINDINGS, NO_KEYS, KeyBindings, key_names
from tildone.plan.events import Directive
from tildone.plan.model import next_task
from tildone.plan.text.amounts import SECOND
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, clip_text
from tildone.screens.watch.actions import FOOTERS, KEYS
from tildone.screens.watch.find_screen import action_screen
from tildone.screens.watch.need_panel import NARROW, agents_text, listed, session_rows, summary
from tildone.screens.watch.plan_pane import AroundPlan, Asking, PlanList, PlanPane, SessionList
from tildone.screens.widgets import prompt
from tildone.screens.widgets.bursts import BurstApp
from tildone.screens.widgets.keys import PALETTES, Line, spread, width_of
from tildone.screens.widgets.plan import PlanOptions, event_lines, fact_lines, plan_rows, preview_lines, title_line
from tildone.screens.widgets.rows import Lines, ListRow, RowList

REDRAW_SECONDS, RETRY_SECONDS, NOTICE_SECONDS = 5, 1, 8
STORE_RETRY_SECONDS = 5
WIDE_COLUMNS = 120
"""From this width on, the list and the plan are side by side."""

SHORT_ROWS, TALL_ROWS = 16, 30
ALL = 1_000_000
TOGETHER = "Several keys came at once, so the agent is left as it is. Press the key alone."
TEXTS = ("list-title", "preview", "plan-title", "facts", "events", "message", "footer")
"""The lines around the panes."""


@value
class Start:
    """How the screen begins: the session with the cursor, and whether its plan is opened; the theme; own keys."""

    session: str = ""
    opened: bool = False
    theme: str = "dark"
    keys: KeyBindings = NO_KEYS


class WatchApp(BurstApp):
    """All sessions of a store, live. `now` returns the time, and `clock` formats it."""

    CSS = """
    Screen { background: $background; }
    ModalScreen { background: $background 60%; &:ansi { background: transparent; } }
    #left { width: 5fr; } #right { width: 7fr; }
    .wide #right { border-left: solid $panel; }
    #prompt-field, #prompt-field:focus { background: $surface; color: $foreground; width: 1fr; padding: 0; }
    """
    ENABLE_COMMAND_PALETTE = False
    # The lists select text by themselves.
    ALLOW_SELECT = False
    TITLE = "tildone watch"

    class Published(Message):
        """Sessions have changed."""

    @dataclass
    class Failed(Message):
        """The store cannot be read, or one session of it."""

        reason: str
        session: str = ""

    @dataclass
    class DetailRead(Message):
        detail: prompt.SessionDetail

    def __init__(
        self,
        index: SessionIndex,
        reader: prompt.DetailReader,
        editor: Editor,
        start: Start,
        *,
        now: Callable[[], int],
        clock: Callable[[int], str],
    ) -> None:
        palette = PALETTES[start.theme]
        super().__init__(ansi_color=palette.is_ansi)
        self._index, self._begin, self._now, self._clock = index, start, now, clock
        self._palette, self._patience = palette, reader.patience
        self.keys = {**ALL_BINDINGS, **start.keys}
        self._is_read = False
        self._detail = prompt.SessionDetail("")
        self._not_live_since, self._retry_at = "", 0
        self._in_plan = start.opened
        self._list_words = ""
        self._notices = 0
        self._asking = Asking(palette)
        self.session_list, plan_list = (
            SessionList(palette, keys=self.keys, id="sessions"),
            PlanList(palette, keys=self.keys, id="plan"),
        )
        around = AroundPlan(
            lambda: self.watched, lambda: self.detail, self.draw_plan, self.notify_change, self.focus_pane
        )
        self.plan_pane = PlanPane(plan_list, editor, self._asking, around, "right")
        self._body, self._left = Horizontal(), Vertical(id="left")
        self._texts = {name: Lines(palette, raised=name != "events") for name in TEXTS}
        self._reader, self._reads = reader, ThreadPoolExecutor(1)
        self._follower = IndexFollower(
            index,
            lambda _change: self.post_message(self.Published()),
            lambda reason: self.post_message(self.Failed(reason)),
            retry_seconds=STORE_RETRY_SECONDS,
        )
        self._countdown: Timer | None = None

    def compose(self) -> ComposeResult:
        texts, asking = self._texts, self._asking
        with self._body:
            with self._left:
                yield from (texts["list-title"], self.session_list, texts["preview"])
            with self.plan_pane:
                yield from (texts["plan-title"], self.plan_pane.rows, texts["facts"], texts["events"])
        yield from (asking.need_panel, texts["message"], asking.prompt, asking.question, texts["footer"])

    @property
    def watched(self) -> SessionRow | None:
        return self._index.row(self.session_list.key)

    @property
    def detail(self) -> prompt.SessionDetail:
        """The session that is shown, in detail; empty until it is read."""
        name = self.session_list.key
        return self._detail if self._detail.name == name else prompt.SessionDetail(name)

    @property
    def is_drawn(self) -> bool:
        """Whether the session with the cursor and its plan are read."""
        return self.watched is not None and self._detail.name == self.session_list.key

    def on_mount(self) -> None:
        self.register_theme(self._palette.theme)
        self.theme = "tildone"
        self.set_keymap({name: ",".join(key_names(keys)) for name, keys in self._begin.keys.items()})
        self._follower.start()
        self.set_interval(REDRAW_SECONDS, self.draw_times)
        self.focus_pane()

    def on_unmount(self) -> None:
        self._follower.stop()
        self._reads.shutdown()
        self.plan_pane.stop()

    def notify_change(self, notice: Notice) -> None:
        self._notices += 1
        self._draw_notice((Span(f" {notice.text}", Role.ERROR if notice.failed else Role.MUTED),))
        own = self._notices
        self.set_timer(NOTICE_SECONDS, lambda: self._draw_notice(()) if own == self._notices else None)

    def focus_pane(self) -> None:
        (self.plan_pane.rows if self._in_plan else self.session_list).focus()
        self._lay_out()

    def draw(self) -> None:
        """Draw everything again, and go to the list if the session whose plan is open was deleted."""
        if self._in_plan and self.session_list.key and self.watched is None:
            self._in_plan = False
            self.focus_pane()
            self.notify_change(Notice("This session is no longer in the store.", failed=True))
        if self._is_read:
            self._draw_sessions()
            self.draw_plan()

    def draw_times(self) -> None:
        self.session_list.refresh()
        self.draw_plan()

    def draw_plan(self) -> None:
        session, detail = self.watched, self.detail
        if session is None:
            self.plan_pane.rows.show(lambda _: [])
            for name in ("plan-title", "facts", "events"):
                self._texts[name].show(lambda _: [])
            return
        plan, options = detail.plan, self.plan_pane.shown
        # Until the plan is read, nothing is said about it.
        none = _no_tasks(options.words) if self.is_drawn else []

        def rows_for(columns: int) -> list[ListRow]:
            rows = plan_rows(plan, dict(detail.times), options, self._now(), columns)
            return rows or [ListRow(line) for line in none]

        self.plan_pane.rows.show(rows_for)

        def title(columns: int) -> list[Line]:
            agents = agents_text(session) if columns >= WIDE_COLUMNS else ""
            mark = (Span(f"{agents}  " if agents else "", Role.MUTED), *self._mark(options.words, columns))
            return [spread(title_line(session, columns - width_of(mark) - 1), mark, columns)]

        self._texts["plan-title"].show(title)
        names, key = ", ".join(map(owner_name, self.plan_pane.proposed)), prompt.first_key(self.keys, "task.approve")
        proposed = f"{names} (proposed checks; {key} shows them)" if names else ""
        self._texts["facts"].show(lambda _: fact_lines(session, detail.state, self._patience, self._now(), proposed))
        events = event_lines(detail)
        self._texts["events"].show(lambda columns: [(Span("─" * columns, Role.DIM),), *events])

    @on(Published)
    def on_published(self) -> None:
        is_first, self._is_read = not self._is_read, True
        if self._countdown is not None:
            self._countdown.stop()
            self._countdown, self._not_live_since = None, ""
            self._draw_notice(())
        self.draw()
        if is_first:
            self.session_list.select(self._begin.session)
        asked = self._asking.need_panel.need
        if asked and asked.id and asked not in self._index.needs():
            self._asking.need_panel.close()
            self.notify_change(Notice("The question is answered, or nobody waits for the answer any more."))
        if self.watched and self.watched.head != self.detail.state.head:
            self._read_detail(self.watched.name)

    @on(DetailRead)
    def on_detail_read(self, message: DetailRead) -> None:
        """Show the plan that was read; the cursor begins on the next task."""
        is_first = not self.is_drawn
        self._detail = message.detail
        self.draw()
        self.plan_pane.look_at_checks()
        upcoming = next_task(message.detail.plan)
        if is_first and upcoming:
            self.plan_pane.rows.select(str(upcoming[1].number))

    @on(Failed)
    def on_failed(self, message: Failed) -> None:
        """Say that the screen is not live. The plan of one session is read again after a while."""
        if message.session:
            if not self._not_live_since:
                self.notify_change(Notice(printable(message.reason), failed=True))
            self.set_timer(RETRY_SECONDS, lambda: self._read_detail(message.session))
            return
        self._not_live_since = self._not_live_since or self._clock(self._now())
        self._retry_at = self._now() + STORE_RETRY_SECONDS * SECOND
        if self._countdown is None:
            self._countdown = self.set_interval(1, self.draw)
        key = prompt.shown_keys(self.keys[f"watch.resume{'Agent' if self._in_plan else ''}"])[0]
        hint = (Span("  "), Span(key, bold=True), Span(" tries now", Role.MUTED))
        self._notices += 1
        self._draw_notice((Span(f" {printable(message.reason)}", Role.ERROR), *hint))
        self.draw()

    def action_steer(self, directive: str) -> None:
        """Pause, stop or resume the agent, but not by a key of a burst.

        While the store cannot be read, the key that resumes tries it again.
        """
        if self.is_bursting:
            self.notify_change(Notice(TOGETHER, failed=True))
        elif self._not_live_since and Directive(directive) is Directive.GO:
            self._follower.try_now()
        else:
            self.plan_pane.action_steer(directive)

    @on(RowList.CursorMoved)
    def on_cursor_moved(self, message: RowList.CursorMoved) -> None:
        if message.rows is self.session_list:
            before = self.plan_pane.options
            self.plan_pane.options = PlanOptions(all_notes=before.all_notes, numbers=before.numbers)
            self.draw()
            self._read_detail(message.key)

    @on(RowList.Selected)
    def on_selected(self) -> None:
        copy, end = (prompt.shown_keys(self.keys[name])[0] for name in ("task.copy", "transcript.escape"))
        self.notify_change(Notice(f"Selected: {copy} copies it, {end} ends the selection."))

    @on(RowList.CopyWanted)
    def on_copy_wanted(self, message: RowList.CopyWanted) -> None:
        self.plan_pane.copy_text(message.text)

    def on_resize(self) -> None:
        # Textual gives the application its new size after this.
        self.call_later(self._lay_out)

    def action_open(self) -> None:
        self._go(in_plan=self.watched is not None)

    def action_to_list(self) -> None:
        self._go(in_plan=False)

    def action_other(self) -> None:
        self._go(in_plan=not self._in_plan and self.watched is not None)

    def action_escape(self) -> None:
        """Clear the filter of this pane; if there is none, go to the list."""
        if self._in_plan and self.plan_pane.options.words:
            self.plan_pane.filter("")
        elif not self._in_plan and self._list_words:
            self._filter("")
        else:
            self.action_to_list()

    def action_filter(self) -> None:
        if self._in_plan:
            self.plan_pane.action_filter()
        else:
            self._asking.prompt.ask("/", self._list_words, self._filter, self.focus_pane, self._filter)

    def action_notes(self) -> None:
        self.plan_pane.action_notes()
        few = "Only the notes of tasks in progress are shown."
        self.notify_change(Notice("All notes are shown." if self.plan_pane.options.all_notes else few))

    def action_answer(self) -> None:
        self.plan_pane.action_answer()

    def action_undo(self) -> None:
        self.plan_pane.action_undo()

    def action_redo(self) -> None:
        self.plan_pane.action_redo()

    def action_help(self) -> None:
        self.push_screen(
            prompt.HelpScreen(self._palette, lambda columns: prompt.help_lines(KEYS, self._pane, self.keys, columns))
        )

    def action_palette(self) -> None:
        pane = self.plan_pane if self._in_plan else self.session_list
        actions = [
            *(key for key in KEYS if key.pane is self._pane),
            *(key for key in KEYS if key.pane is prompt.Pane.ANY),
        ]

        def run(name: str | None) -> None:
            chosen = next((key for key in actions if key.name == name), None)
            if chosen:
                self.call_later(self.run_action, chosen.action, pane)

        self.push_screen(action_screen(self._palette, actions, self.keys), run)

    def _read_detail(self, name: str) -> None:

        def read() -> None:
            # The cursor may be elsewhere by now.
            if name == self.session_list.key:
                try:
                    self.post_message(self.DetailRead(self._reader.read(name)))
                except TildoneError as error:
                    self.post_message(self.Failed(str(error), name))

        self._reads.submit(read)

    def _go(self, *, in_plan: bool) -> None:
        self._in_plan = in_plan
        self.focus_pane()
        self.draw()

    def _filter(self, words: str) -> None:
        self._list_words = words
        self.draw()

    @property
    def _pane(self) -> prompt.Pane:
        return prompt.Pane.PLAN if self._in_plan else prompt.Pane.LIST

    def _lay_out(self) -> None:
        """Show both panes or one, and as many of the lines around them as there is room for."""
        is_wide, rows = self.size.width >= WIDE_COLUMNS, self.size.height
        self._body.set_class(is_wide, "wide")
        self._left.display = is_wide or not self._in_plan
        self.plan_pane.display = is_wide or self._in_plan
        heights = {
            "preview": 0 if is_wide or rows < SHORT_ROWS else 5,
            "facts": 0 if rows < SHORT_ROWS else 2 if rows < TALL_ROWS else 4,
            "events": 0 if rows < TALL_ROWS else min(9, rows // 5),
            "footer": 1 if rows >= SHORT_ROWS else 0,
        }
        for name in ("list-title", "plan-title"):
            self._texts[name].styles.margin = (0, 0, 0 if rows < SHORT_ROWS else 1, 0)
        for name, height in heights.items():
            self._texts[name].display = height > 0
            self._texts[name].styles.height = height
        self._texts["footer"].show(lambda columns: [prompt.footer_line(FOOTERS[self._pane], columns, self.keys)])
        self._asking.need_panel.fit()

    def _draw_notice(self, line: Line) -> None:
        self._texts["message"].show(lambda _: [line])

    def _draw_sessions(self) -> None:
        words, held = self._list_words, self.session_list.key
        rows = listed(self._found(words), held, self.session_list.keys)
        counts, unreadable = self._index.counts(), len(self._index.unreadable())
        is_wide = self.size.width >= WIDE_COLUMNS

        def title(columns: int) -> list[Line]:
            mark = self._mark(words, columns, with_live=not is_wide)
            return [spread(summary(counts, unreadable, columns - width_of(mark) - 1), mark, columns)]

        self._texts["list-title"].show(title)
        if rows:
            self.session_list.show(lambda columns: session_rows(rows, self._now, columns))
        else:
            self.session_list.show(lambda _: [ListRow(line) for line in _no_sessions(words)])
        session, detail = self.watched, self.detail
        self._texts["preview"].show(
            lambda columns: preview_lines(session, detail, self._now(), columns) if session else []
        )

    def _found(self, words: str) -> list[SessionRow]:
        """The sessions that contain all of these words, and the one whose plan is open."""
        rows = [*self._index.rows(query=words, limit=ALL).rows]
        opened = self.watched if self._in_plan else None
        if opened is not None and opened not in rows:
            insort(rows, opened, key=lambda row: row.sort_key)
        return rows

    def _mark(self, words: str, columns: int, *, with_live: bool = True) -> Line:
        """The right end of a title: the filter, and whether the screen is live."""
        found = (Span(f"/{clip_text(printable(words), columns // 4)}  ", Role.ACCENT),) if words else ()
        if not with_live:
            return found
        if not self._not_live_since:
            return *found, Span("● live " if columns >= NARROW else "● ", Role.SUCCESS)
        seconds = -(-max(0, self._retry_at - self._now()) // SECOND)
        again = f" since {self._not_live_since} · trying again {f'in {seconds} s' if seconds else 'now'}"
        return *found, Span(f"○ not live{again if columns >= NARROW else f' · {seconds} s'} ", Role.ERROR)


def _no_sessions(words: str) -> list[Line]:
    if words:
        nothing = Span(f"  Nothing contains “{printable(words)}”. ", Role.MUTED)
        return [(), (nothing, Span("esc", bold=True), Span(" clears the filter.", Role.MUTED))]
    return [
        (),
        (Span("  No plans here yet."),),
        (Span("  An agent with tildone shows up by itself: ", Role.MUTED), Span("tildone install claude", bold=True)),
    ]


def _no_tasks(words: str) -> list[Line]:
    if words:
        return _no_sessions(words)
    return [
        (),
        (Span("  No tasks yet."),),
        (
            Span("  Press ", Role.MUTED),
            Span("a", bold=True),
            Span(" to add one, or wait for the agent to.", Role.MUTED),
        ),
    ]
