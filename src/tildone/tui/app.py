"""The application of `tildone watch`: the list of sessions, and the plan of one of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from textual import on
from textual.events import Resize
from textual.message import Message
from textual.timer import Timer

from tildone.commands import edits
from tildone.core.query import next_task
from tildone.errors import TildoneError
from tildone.history.durations import SECOND
from tildone.kit.keys import ALL_BINDINGS, NO_KEYS, KeyBindings, key_names
from tildone.kit.theme import Role, Span
from tildone.log.events import Directive
from tildone.overview.following import IndexFollower
from tildone.overview.index import SessionIndex
from tildone.tui.action_list import ActionList
from tildone.tui.editing import Editor, Notice
from tildone.tui.keys import KEYS
from tildone.tui.lists import PlanList
from tildone.tui.palette import PALETTES
from tildone.tui.panes import Panes
from tildone.tui.plan_rows import PHASE, PlanOptions
from tildone.tui.prompt import HelpScreen
from tildone.tui.reading import DetailReader, SessionDetail
from tildone.tui.row_list import RowList
from tildone.tui.screen_keys import Pane, ScreenKey, help_lines, shown_keys
from tildone.tui.selectable_rows import SelectableRows
from tildone.value import replace, value
from tildone.views.sanitize import printable

REDRAW_SECONDS, RETRY_SECONDS, NOTICE_SECONDS = 5, 1, 8
STORE_RETRY_SECONDS = 5


@value
class Start:
    """How the screen begins: the session with the cursor, and whether its plan is opened; the theme; own keys."""

    session: str = ""
    opened: bool = False
    theme: str = "dark"
    keys: KeyBindings = NO_KEYS


class WatchApp(Panes):
    """All sessions of a store, live. `now` returns the time, and `clock` formats it."""

    class Published(Message):
        """Sessions have changed."""

    class Failed(Message):
        """The store cannot be read, or one session of it."""

        def __init__(self, reason: str, session: str = "") -> None:
            super().__init__()
            self.reason, self.session = reason, session

    class DetailRead(Message):
        """A session was read in detail."""

        def __init__(self, detail: SessionDetail) -> None:
            super().__init__()
            self.detail = detail

    def __init__(
        self,
        index: SessionIndex,
        reader: DetailReader,
        editor: Editor,
        start: Start,
        *,
        now: Callable[[], int],
        clock: Callable[[int], str],
    ) -> None:
        super().__init__(index, editor, PALETTES[start.theme], reader.patience, now)
        self._begin, self._clock = start, clock
        self._in_plan = start.opened
        self.keys = {**ALL_BINDINGS, **start.keys}
        self.session_list.bindings = self._plan_list.bindings = self.keys
        self._notices = 0
        self._reader, self._reads = reader, ThreadPoolExecutor(1)
        self._follower = IndexFollower(
            index,
            lambda _change: self.post_message(self.Published()),
            lambda reason: self.post_message(self.Failed(reason)),
            retry_seconds=STORE_RETRY_SECONDS,
        )
        self._countdown: Timer | None = None

    def on_mount(self) -> None:
        """Begin to follow the store."""
        self.register_theme(self._palette.theme)
        self.theme = "tildone"
        self.set_keymap({name: ",".join(key_names(keys)) for name, keys in self._begin.keys.items()})
        self._follower.start()
        self.set_interval(REDRAW_SECONDS, self.draw_times)
        self.focus_pane()

    def on_unmount(self) -> None:
        """Stop following."""
        self._follower.stop()
        self._reads.shutdown()
        self._changes.shutdown()

    def notify_change(self, notice: Notice) -> None:
        """Show what a change came to, for a while."""
        self._notices += 1
        self._draw_notice((Span(f" {notice.text}", Role.ERROR if notice.failed else Role.MUTED),))
        own = self._notices
        self.set_timer(NOTICE_SECONDS, lambda: self._draw_notice(()) if own == self._notices else None)

    def focus_pane(self) -> None:
        """Give the keys to the pane that is in use."""
        (self._plan_list if self._in_plan else self.session_list).focus()
        self._lay_out(self.size)

    def draw(self) -> None:
        """Draw everything again, and go to the list if the session whose plan is open was deleted."""
        if self._in_plan and self.session_list.key and self.watched is None:
            self._in_plan = False
            self.focus_pane()
            self.notify_change(Notice("This session is no longer in the store.", failed=True))
        super().draw()

    @on(Published)
    def on_published(self) -> None:
        """Show what was read."""
        is_first, self._is_read = not self._is_read, True
        self._stop_countdown()
        self.draw()
        if is_first:
            self.session_list.select(self._begin.session)
        asked = self.need_panel.need
        if asked and asked.id and asked not in self._index.needs():
            self.need_panel.close()
            self.notify_change(Notice("The question is answered, or nobody waits for the answer any more."))
        if self.watched and self.watched.head != self.detail.state.head:
            self._read_detail(self.watched.name)

    @on(DetailRead)
    def on_detail_read(self, message: DetailRead) -> None:
        """Show the plan that was read; the cursor begins on the next task."""
        is_first = not self.is_drawn
        self._detail = message.detail
        self.draw()
        self.look_at_checks()
        upcoming = next_task(self.plan)
        if is_first and upcoming:
            self._plan_list.select(str(upcoming[1].number))

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
        key = shown_keys(self.keys[f"watch.resume{'Agent' if self._in_plan else ''}"])[0]
        hint = (Span("  "), Span(key, bold=True), Span(" tries now", Role.MUTED))
        self._notices += 1
        self._draw_notice((Span(f" {printable(message.reason)}", Role.ERROR), *hint))
        self.draw()

    def _stop_countdown(self) -> None:
        if self._countdown is not None:
            self._countdown.stop()
            self._countdown, self._not_live_since = None, ""
            self._draw_notice(())

    def action_steer(self, directive: str) -> None:
        """Pause, stop or resume the agent. While the store cannot be read, the key that resumes tries it again."""
        if self._not_live_since and Directive(directive) is Directive.GO:
            self._follower.try_now()
        else:
            super().action_steer(directive)

    @on(RowList.CursorMoved)
    def on_cursor_moved(self, message: RowList.CursorMoved) -> None:
        """Show the plan of the session with the cursor."""
        if message.rows is self.session_list:
            self._shown = PlanOptions(all_notes=self._shown.all_notes)
            self._words[Pane.PLAN] = ""
            self.draw()
            self._read_detail(message.key)

    @on(SelectableRows.Selected)
    def on_selected(self) -> None:
        """Say how to go on."""
        copy, end = (shown_keys(self.keys[name])[0] for name in ("transcript.copy", "transcript.escape"))
        self.notify_change(Notice(f"Selected: {copy} copies it, {end} ends the selection."))

    @on(PlanList.Dropped)
    def on_dropped(self, message: PlanList.Dropped) -> None:
        """Move the task that was dragged."""
        self._on_task(lambda _: lambda plan: edits.move(plan, [message.task], message.place, message.other))

    @on(SelectableRows.CopyWanted)
    def on_copy_wanted(self, message: SelectableRows.CopyWanted) -> None:
        """Copy what was selected."""
        self.copy_text(message.text)

    def on_resize(self, event: Resize) -> None:
        """Show both panes, or one."""
        self._lay_out(event.size)

    def action_open(self) -> None:
        """Go to the plan of the session with the cursor."""
        self._go(in_plan=self.watched is not None)

    def action_to_list(self) -> None:
        """Go to the list of sessions."""
        self._go(in_plan=False)

    def action_other(self) -> None:
        """Go to the other pane."""
        self._go(in_plan=not self._in_plan and self.watched is not None)

    def action_escape(self) -> None:
        """Clear the filter of this pane; if there is none, go to the list."""
        if self._words[self._pane]:
            self._filter("")
        else:
            self.action_to_list()

    def action_filter(self) -> None:
        """Filter this pane while the person types."""
        self.prompt.ask("/", self._words[self._pane], self._filter, self.focus_pane, self._filter)

    def action_notes(self) -> None:
        """Show all notes, or only those of tasks in progress."""
        self._shown = replace(self._shown, all_notes=not self._shown.all_notes)
        few = "Only the notes of tasks in progress are shown."
        self.notify_change(Notice("All notes are shown." if self._shown.all_notes else few))
        self.draw()

    def action_fold(self) -> None:
        """Fold the phase with the cursor, or unfold it."""
        phase = self._cursor_phase()
        if phase is not None:
            self._shown = replace(self._shown, folded=self._shown.folded ^ {phase})
            self.draw()
            self._plan_list.select(f"{PHASE}{phase}")

    def action_help(self) -> None:
        """List all keys."""
        self.push_screen(HelpScreen(self._palette, lambda columns: help_lines(KEYS, self._pane, self.keys, columns)))

    def action_palette(self) -> None:
        """List the actions of this pane, to choose one."""
        pane = self._plan_list if self._in_plan else self.session_list
        actions = [*(key for key in KEYS if key.pane is self._pane), *(key for key in KEYS if key.pane is Pane.ANY)]

        def run(key: ScreenKey) -> None:
            self.call_later(self.run_action, key.action, pane)

        self.push_screen(ActionList(self._palette, actions, self.keys, run))

    def _read_detail(self, name: str) -> None:
        """Read the plan of a session in a thread."""

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
        self._words[self._pane] = words
        self.draw()
