"""The application of `tildone run`: what the keys do."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any, ClassVar

import textual
from rich.traceback import Traceback
from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message

from tildone.kit.theme import Role, Span
from tildone.tui.palette import PALETTES
from tildone.tui.reading import DetailReader, SessionDetail
from tildone.tui.run.completion import EditorCompleter, EditorCompletions
from tildone.tui.run.composer import Composer
from tildone.tui.run.key_actions import KeyActions
from tildone.tui.run.keys import APP_KEYS
from tildone.tui.run.layout import plan_colours
from tildone.tui.run.plan_following import PlanFollower
from tildone.tui.run.question_panel import QUIET_SECONDS
from tildone.tui.run.running import INTERRUPTED
from tildone.tui.screen_keys import first_key, key_bindings

TICK_SECONDS = 0.25
TWICE_SECONDS = 1.0
SWALLOW_SECONDS = 0.3
"""How long the key that answered a question is ignored if it comes again: it was pressed twice, not typed."""

ESCAPE = "app.interrupt"
"""The action whose key is tried last: a list or a selection is closed first."""

TAKES_OVER = frozenset({"up", "down", "left", "right", "home", "end", "backspace", "delete", "enter"})
"""Keys that, like every character, stop a countdown."""


class RunApp(KeyActions):
    """A run in full screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *key_bindings((key for key in APP_KEYS if key.name != ESCAPE), priority=True),
        *key_bindings(key for key in APP_KEYS if key.name == ESCAPE),
        Binding("ctrl+q", "nothing", show=False, priority=True),
    ]

    class PlanRead(Message):
        """The plan was read, and has changed."""

        def __init__(self, now: SessionDetail) -> None:
            super().__init__()
            self.now = now

    class PlanLost(Message):
        """The plan cannot be read."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    _last_key = _last_interrupt = _last_stop = _quiet_before = 0.0
    _answered = ("", 0.0)

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._early: list[events.Key | events.Paste] | None = []

    def on_mount(self) -> None:
        """Draw everything, then open the host."""
        self.use_palette(self._theme_name)
        self.use_keys()
        self._texts["message"].display = False
        self.lay_out(self.size)
        self.show_conversation()
        self.draw()
        self.draw_plan()
        self.composer.focus()
        self.composer.offered = self._take_offer
        folder = self.backend.conversations.cwd
        self._completer = EditorCompleter(folder, self.command_list, lambda: self.plan, self.argument_list)
        self._follower = PlanFollower(
            self.backend.store,
            DetailReader(self.backend.store, when=lambda _: "", patience=self._patience),
            lambda: self.backend.settings.session,
            lambda now: self.post_message(self.PlanRead(now)),
            lambda reason: self.post_message(self.PlanLost(reason)),
        )
        self._follower.start()
        self.set_interval(TICK_SECONDS, self.tick)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """The first frame is drawn: type what came before it, and open the host."""
        early, self._early = self._early, None
        for event in early or ():
            self.composer.type_key(event)
        self.spawn(self.run_host())

    def _fatal_error(self) -> None:
        """Leave an error on the normal screen; without the values of variables, among which there may be secrets."""
        self.panic(Traceback(suppress=[textual]))

    def on_unmount(self) -> None:
        """Stop following."""
        self._unlisten()
        self._follower.stop()
        self._changes.shutdown(wait=False)

    async def on_event(self, event: events.Event) -> None:
        """Note when a key came, and stop a countdown. Keys that come before the first frame are kept."""
        if self._early is not None and isinstance(event, events.Key | events.Paste):
            self._early.append(event)
            return
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            key, at = self._answered
            if isinstance(event, events.Key) and event.key == key and event.time - at < SWALLOW_SECONDS:
                return
            self._quiet_before, self._last_key = event.time - self._last_key, event.time
        typed = isinstance(event, events.Paste | events.MouseDown)
        if isinstance(event, events.Key):
            typed = event.is_printable or event.key in TAKES_OVER
        if typed:
            self.take_over()
        await super().on_event(event)

    def on_resize(self, event: events.Resize) -> None:
        """Show what there is room for."""
        self.lay_out(event.size)
        self.draw()
        self.draw_plan()

    @on(PlanRead)
    def on_plan_read(self, message: PlanRead) -> None:
        """Show the plan."""
        self.now, self._trouble = message.now, ""
        self.draw_plan()
        self.draw()
        self.look_at_checks()

    @on(PlanLost)
    def on_plan_lost(self, message: PlanLost) -> None:
        """Say that the plan is not current."""
        self._trouble = f"the plan cannot be read: {message.reason}"
        self.draw()

    @on(Composer.Sent)
    def on_sent(self, message: Composer.Sent) -> None:
        """Deliver what was typed."""
        self.deliver(message.text, later=message.later)

    @on(Composer.LeaveWanted)
    def on_leave_wanted(self) -> None:
        """Leave."""
        self.leave()

    @on(Composer.Typing)
    async def on_typing(self) -> None:
        """Offer completions for what is typed; they are found in a thread."""
        composer = self.composer
        text, before = composer.text, composer.before_cursor
        if composer.completions.candidates and composer.completions.was_moved:
            self.completion_list.show(composer.completions)
            return
        found = EditorCompletions()
        if text != composer.completions.dismissed and (before.startswith("/") or "@" in before):
            found = await asyncio.to_thread(self._completer.complete, before)
        if composer.before_cursor == before:
            done = len(found.candidates) == 1 and found.candidates[0].text.strip() == before[found.start :].strip()
            composer.offer(EditorCompletions(dismissed=composer.completions.dismissed) if done else found)
            self.completion_list.show(composer.completions)
        self.draw_soon()

    def _question_answered(self, key: str) -> None:
        """Give the keys back; the same key at once is not typed into the editor."""
        self._answered = key, monotonic()
        self.composer.focus()

    def _keys_to_editor(self, event: events.Key | events.Paste | None) -> None:
        """Give the keys back, with the one that was meant for the editor."""
        self.composer.focus()
        if event is not None:
            self.composer.type_key(event)
        self.draw_soon()

    def _take_offer(self, key: str) -> bool:
        """Take a key that the last block offers, unless the person is typing."""
        return self._quiet_before >= QUIET_SECONDS and self.view.offer(key)

    def on_app_focus(self) -> None:
        """The person is back: whatever they type first is not an answer."""
        self._last_key = monotonic()

    def on_descendant_focus(self) -> None:
        """Show the keys of what has them."""
        self.draw_soon()

    def _may_take_keys(self) -> bool:
        if not self.app_focus or self.need_panel.display:
            return False
        return not self.composer.text and monotonic() - self._last_key >= QUIET_SECONDS and len(self.screen_stack) == 1

    def action_escape(self) -> None:
        """Close what is open; else stop the countdown; else stop the turn."""
        if self.plan_is_over and self._plan_wanted:
            self.hide_plan()
        elif not self.composer.has_focus:
            self.composer.focus()
        elif self.is_counting_down:
            self.take_over()
        elif self.is_working:
            self._stop_turn()

    def _stop_turn(self) -> None:
        """Stop the turn; a running command is stopped if the key comes twice, else its end is waited for."""
        again = monotonic() - self._last_stop < TWICE_SECONDS
        self._last_stop = monotonic()
        if again or not self.is_command_running:
            self.abort()
        else:
            self.stop_later()
            self.say(f"The turn ends with this command; {first_key(self.keys, ESCAPE)} twice stops the command, too.")

    def action_interrupt(self) -> None:
        """Copy a selection; else empty the editor; else as esc; twice, leave."""
        again = monotonic() - self._last_interrupt < TWICE_SECONDS
        self._last_interrupt = monotonic()
        if self.view.selection.exists:
            self.view.copy_selection()
        elif self.composer.selected_text:
            self.copy_to_clipboard(self.composer.selected_text)
        elif self.composer.text:
            self.composer.fill("")
        elif again and not self.is_working:
            self.leave(INTERRUPTED)
        elif again:
            self._ask_to_leave()
        else:
            self.action_escape()
            self.say(f"{first_key(self.keys, 'app.clear')} again leaves")

    def action_leave(self) -> None:
        """Leave."""
        self.leave()

    def _ask_to_leave(self) -> None:
        line = (
            Span(" A turn is running. Leave all the same?", Role.WARNING, bold=True),
            *(Span("  y", bold=True), Span(" leave", Role.MUTED)),
            *(Span("  n", bold=True), Span(" stay", Role.MUTED)),
        )
        self.question.ask(line, {"y": lambda: self.leave(INTERRUPTED), "n": lambda: None}, self.focus_pane)

    def action_redraw(self) -> None:
        """Draw the whole screen again."""
        self.refresh(layout=True)
        self.draw()

    def action_expand(self) -> None:
        """Expand or collapse."""
        self.view.action_fold()

    def action_nothing(self) -> None:
        """Do nothing: some terminals use the key."""

    def change_theme(self, name: str) -> None:
        """Use other colours, everywhere."""
        self._palette = PALETTES[name]
        for widget in self.screen.walk_children():
            for attribute in ("_palette", "palette"):
                if hasattr(widget, attribute):
                    own = plan_colours(self._palette) if widget is self._plan_list else self._palette
                    setattr(widget, attribute, own)
        self.use_palette(name)
        self.lay_out(self.size)
        self.draw_plan()
        self.draw()
