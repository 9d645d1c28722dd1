"""The application of `tildone run`: where its parts are, by the size of the terminal, and what the keys do."""

import asyncio
import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar

import textual
from rich.traceback import Traceback
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.dom import DOMNode
from textual.driver import Driver
from textual.message import Message

from tildone.app.apply import Editor, Notice
from tildone.app.sessions import SessionRow
from tildone.app.values import THEMES
from tildone.base import closest, did_you_mean, replace
from tildone.base.keys import ALL_BINDINGS, key_names
from tildone.plan.gate import Patience
from tildone.plan.text.state import SessionWord
from tildone.plan.text.styles import Role, Span, plain
from tildone.run.host import Host
from tildone.run.metering import RunMeter
from tildone.run.tools import typed
from tildone.screens.run import APP_KEYS, FIXED, KEYS, listed_first
from tildone.screens.run.composer import CompletionList, Composer, EditorCompleter, EditorCompletions
from tildone.screens.run.conversation import AroundConversation, Conversation, RunBackend
from tildone.screens.run.drawing import (
    NARROW_COLUMNS,
    WIDE_COLUMNS,
    FooterMode,
    PlanFollower,
    RunLines,
    question_detail,
)
from tildone.screens.run.questions import QUIET_SECONDS, AskedQuestion, QuestionPanel
from tildone.screens.watch.find_screen import action_screen
from tildone.screens.watch.plan_pane import AroundPlan, Asking, PlanPane
from tildone.screens.widgets import prompt
from tildone.screens.widgets.bursts import marking_bursts
from tildone.screens.widgets.keys import PALETTES, Palette
from tildone.screens.widgets.rows import Lines, RowList

ABOUT = {
    "quit": "leave; ctrl+d does, too",
    "keys": "list all keys",
    "plan": "show the plan, to edit it",
    "tree": "show the conversation as a tree, to go back or to fork",
    "sessions": "list the conversations, to go on with another one",
    "later": "send a message when the model has stopped",
    "theme": f"choose the colours: {', '.join(THEMES)}",
    "mouse": "give the mouse back to the terminal, or take it again",
    "copy": "copy the last answer",
    "help": "list the commands",
}
SAME = {"exit": "quit", "fork": "tree"}
"""Other names of commands."""

LEAVING = ("/quit", *(f"/{name}" for name, same in SAME.items() if same == "quit"))
WITH_ARGUMENT = frozenset({"later", "theme"})
COMMAND = re.compile(r"/(?P<name>[a-z]\w*)(?:\s+(?P<rest>.*))?", re.DOTALL)
ESCAPED = "//"
"""The beginning of a message that begins with a slash."""


class ScreenCommands:
    """Delivers what is sent. `actions` are what the commands do that take no argument."""

    def __init__(
        self,
        conversation: Conversation,
        composer: Composer,
        actions: dict[str, Callable[[], object]],
        change_theme: Callable[[str], object],
    ) -> None:
        self._conversation, self._composer = conversation, composer
        self._change_theme = change_theme
        self._actions = {**actions, "help": self._help}

    def listed(self) -> list[tuple[str, str]]:
        host = self._conversation.host
        return sorted(
            {**{name: each.description for name, each in (host.commands if host else {}).items()}, **ABOUT}.items()
        )

    def arguments(self, command: str) -> list[str]:
        """Return what can follow a command: themes, or the models in use and those with a price."""
        if command == "theme":
            return list(THEMES)
        models = [self._conversation.model_name, *(name for name, _ in self._conversation.backend.settings.prices)]
        return list(dict.fromkeys(models)) if command == "model" else []

    def run(self, name: str, rest: str = "") -> None:
        if name == "theme" and rest.strip() in THEMES:
            self._change_theme(rest.strip())
        elif name == "theme":
            self._note(f"The themes are {', '.join(THEMES)}.", "warning")
        elif name != "later":
            self._actions[SAME.get(name, name)]()
        elif rest.strip():
            self.deliver(rest.strip(), later=True)

    def deliver(self, text: str, *, later: bool = False) -> None:
        """Run a command; send anything else to the model, before its next request if it is working.

        While the run is starting, everything waits, except for the wish to leave.
        """
        talk = self._conversation
        if text in LEAVING:
            self.run(text.removeprefix("/"))
        elif talk.ready is None:
            talk.early.append((text, later))
        else:
            talk.spawn(self.perform(talk.ready, text, later))

    async def perform(self, host: Host, text: str, later: bool) -> None:  # noqa: FBT001  as it was kept
        """Deliver a text to a host that has started."""
        if text.startswith(typed.SIGN):
            self._conversation.run_typed(host, text)
            return
        command = COMMAND.fullmatch(text)
        name = command["name"] if command else ""
        own = {*ABOUT, *SAME}
        if command and name in own:
            self.run(name, command["rest"] or "")
        elif name and name not in host.commands:
            close = [f"/{known}" for known in closest(name, (*host.commands, *own))]
            self._note(
                f"There is no command /{name}; {did_you_mean(close) if close else '/help lists them'}", "warning"
            )
        else:
            text = text[1:] if text.startswith((ESCAPED, typed.ESCAPED)) else text
            await self._conversation.send(host, text, later=later, is_command=bool(name))

    def choose(self, name: str) -> None:
        """Run a command that was chosen from a list; if it may take an argument, let the person type it."""
        if name in {*ABOUT} - WITH_ARGUMENT:
            self.deliver(f"/{name}")
        else:
            self._composer.fill(f"/{name} ")
            self._composer.focus()

    def _help(self) -> None:
        rows = [(f"/{name}", about) for name, about in self.listed()]
        width = max(len(name) for name, _ in rows)
        self._note("\n".join(f"{name.ljust(width)}  {about}" for name, about in (*rows, *typed.HELP)))

    def _note(self, text: str, kind: str = "info") -> None:
        """Answer what the person has sent, where they see it."""
        self._conversation.feed.note(text, kind)
        self._conversation.view.go_to_end()


TICK_SECONDS, DRAW_SECONDS = 0.25, 0.05
TWICE_SECONDS = 1.0
SWALLOW_SECONDS = 0.3
"""How long the key that answered a question is ignored if it comes again: it was pressed twice, not typed."""

INTERRUPTED = 130
NOTIFICATION_COLUMNS = 120
PLAN_COLUMNS = 54
TINY_COLUMNS, TINY_ROWS = 40, 10
NO_FOOTER_ROWS, NO_STATUS_ROWS, NO_RULE_ROWS = 16, 13, 10

ESCAPE = "app.interrupt"
"""The action whose key is tried last: a list or a selection is closed first."""

TAKES_OVER = frozenset({"up", "down", "left", "right", "home", "end", "backspace", "delete", "enter"})
"""Keys that, like every character, stop a countdown."""


class RunApp(App[None]):
    """A run in full screen. `code` is that of a signal or a key that ended it."""

    CSS = """
    Screen { background: $background; layers: base over; overflow: hidden; }
    #body { height: 1fr; layers: base over; }
    #left { width: 1fr; }
    #plan { width: 54; background: $surface; padding: 0 1; display: none; }
    #plan.over { layer: over; dock: right; }
    #plan.whole { width: 100%; }
    #composer-row { height: auto; }
    #prompt-sign { width: 3; }
    #composer { width: 1fr; }
    #prompt-field, #prompt-field:focus { background: $surface; color: $foreground; width: 1fr; padding: 0; }
    #plan-title { margin: 0 0 1 0; }
    """
    ENABLE_COMMAND_PALETTE = False
    TITLE = "tildone run"
    BINDINGS: ClassVar[list[BindingType]] = [
        *prompt.key_bindings((key for key in APP_KEYS if key.name != ESCAPE), priority=True),
        *prompt.key_bindings(key for key in APP_KEYS if key.name == ESCAPE),
        Binding("ctrl+q", "nothing", show=False, priority=True),
    ]

    @dataclass
    class PlanRead(Message):
        detail: prompt.SessionDetail

    @dataclass
    class PlanLost(Message):
        reason: str

    def __init__(
        self, backend: RunBackend, meter: RunMeter, *, theme: str, patience: Patience, notices: list[str]
    ) -> None:
        palette = PALETTES[theme]
        super().__init__(ansi_color=palette.is_ansi)
        self.backend, self.code = backend, 0
        self.keys = {**ALL_BINDINGS, **dict(backend.settings.keys)}
        self.detail = prompt.SessionDetail("")
        # A key that the last block offers is taken unless the person is typing.
        self.composer = Composer(
            self.keys, lambda key: self._quiet_before >= QUIET_SECONDS and self.conversation.view.offer(key)
        )
        self.completion_list = CompletionList(palette)
        self.panel = QuestionPanel(
            palette,
            may_take_keys=self._may_take_keys,
            give_back=self._keys_to_editor,
            answered=self._question_answered,
            changed=self._question_changed,
        )
        around = AroundConversation(
            self.draw_soon,
            self.say,
            lambda: self.lines.told(self.draw),
            self._question_opened,
            lambda: question_detail(backend.conversations.cwd, self.detail.plan),
            lambda host, text, later: self.commands.perform(host, text, later),  # noqa: PLW0108  they are made below
        )
        self.conversation = Conversation(backend, meter, self.composer, around, palette, self.keys)
        self.lines = RunLines(self.conversation, lambda: self.detail, patience, palette, self.keys)
        self.plan = PlanPane(
            RowList(plan_colours(palette), id="plan-list"),
            Editor(backend.settings, backend.store),
            Asking(palette),
            AroundPlan(self._session, lambda: self.detail, self.draw_plan, self.say, self.focus_pane),
            "plan",
        )
        actions: dict[str, Callable[[], object]] = {
            "quit": self.leave,
            "keys": self._show_keys,
            "plan": self._go_to_plan,
            "tree": lambda: self.conversation.show_tree(self._palette),
            "sessions": lambda: self.conversation.show_others(self._palette),
            "mouse": self._toggle_mouse,
            "copy": self.conversation.copy_answer,
        }
        self.commands = ScreenCommands(self.conversation, self.composer, actions, self.change_theme)
        self._palette, self._theme_name, self._start_notices = palette, theme, notices
        self._body, self._composer_row = Horizontal(id="body"), Horizontal(id="composer-row")
        self._sign = Lines(palette, id="prompt-sign")
        self._plan_wanted: bool | None = None
        self._has_mouse = True
        self._draws_later = False
        self._early: list[events.Key | events.Paste] | None = []
        self._last_key = self._last_interrupt = self._last_stop = self._quiet_before = 0.0
        self._answered, self._text_left = ("", 0.0), ""

    def compose(self) -> ComposeResult:
        texts, asking = self.lines.texts, self.plan.asking
        yield texts["top"]
        with self._body:
            with self.conversation:
                yield from (self.conversation.view, self.panel)
            with self.plan:
                yield from (texts["plan-title"], self.plan.rows, texts["facts"])
        yield from (texts["message"], asking.need_panel, asking.prompt, asking.question)
        yield from (texts["widgets"], self.completion_list, texts["rule"])
        with self._composer_row:
            yield from (self._sign, self.composer)
        yield from (texts["status"], texts["footer"])

    def on_mount(self) -> None:
        self._use_palette(self._theme_name)
        self.set_keymap({name: ",".join(key_names(keys)) for name, keys in self.backend.settings.keys})
        self._lay_out()
        self.conversation.show()
        self.draw()
        self.draw_plan()
        self.composer.focus()
        folder = self.backend.conversations.cwd
        commands = self.commands
        self._completer = EditorCompleter(folder, commands.listed, lambda: self.detail.plan, commands.arguments)
        self._follower = PlanFollower(
            self.backend.store,
            prompt.DetailReader(self.backend.store, when=lambda _: "", patience=self.lines.patience),
            lambda: self.backend.settings.session,
            lambda detail: self.post_message(self.PlanRead(detail)),
            lambda reason: self.post_message(self.PlanLost(reason)),
        )
        self._follower.start()
        self.set_interval(TICK_SECONDS, lambda: self.draw() if self.lines.tick() else None)
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw())
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """The first frame is drawn: type what came before it, and open the host."""
        early, self._early = self._early, None
        for event in early or ():
            self.composer.type_key(event)
        self.conversation.spawn(self.conversation.run(self._start_notices))

    def _fatal_error(self) -> None:
        """Leave an error on the normal screen; without the values of variables, among which there may be secrets."""
        self.panic(Traceback(suppress=[textual]))

    def on_unmount(self) -> None:
        self.conversation.unlisten()
        self._follower.stop()
        self.plan.stop()

    def leave(self, code: int = 0) -> None:
        self.code = code
        self.exit()

    def say(self, notice: Notice) -> None:
        self.lines.say(notice)

    def draw_soon(self) -> None:
        """Draw the lines around the conversation soon; many changes are drawn once."""
        if not self._draws_later and self.is_running:
            self._draws_later = True
            self.set_timer(DRAW_SECONDS, self.draw)

    def draw(self) -> None:
        self._draws_later = False
        if self.is_running and self.lines.texts["footer"].is_mounted:
            self.lines.draw(self._footer_mode(), self.size.width)

    def draw_plan(self) -> None:
        self.lines.draw_plan(self.plan.rows, self.plan.shown)

    def focus_pane(self) -> None:
        (self.plan.rows if self.plan.display else self.composer).focus()

    def change_theme(self, name: str) -> None:
        self._palette = PALETTES[name]
        for widget in self.screen.walk_children():
            for attribute in ("_palette", "palette"):
                if hasattr(widget, attribute):
                    own = plan_colours(self._palette) if widget is self.plan.rows else self._palette
                    setattr(widget, attribute, own)
        self._use_palette(name)
        self._lay_out_anew()

    def get_driver_class(self) -> type[Driver]:
        return marking_bursts(super().get_driver_class())

    async def on_event(self, event: events.Event) -> None:
        """Note when a key came, and stop a countdown. Keys that come before the first frame are kept."""
        if self._early is not None and isinstance(event, events.Key | events.Paste):
            self._early.append(event)
            return
        if isinstance(event, events.Key) and event.key.startswith("alt+") and event.key in self.screen.active_bindings:
            # The letter that Textual adds would be typed.
            event.character = None
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            key, at = self._answered
            if isinstance(event, events.Key) and event.key == key and event.time - at < SWALLOW_SECONDS:
                return
            self._quiet_before, self._last_key = event.time - self._last_key, event.time
        acts = isinstance(event, events.Paste | events.MouseDown)
        if isinstance(event, events.Key):
            acts = event.is_printable or event.key in TAKES_OVER
        if acts:
            self.conversation.take_over()
        if self._is_text(event):
            self.screen.set_focus(self.composer)
        await super().on_event(event)

    def on_resize(self) -> None:
        # Textual gives the application its new size after this.
        self.call_later(self._lay_out_anew)

    def _lay_out_anew(self) -> None:
        self._lay_out()
        self.draw()
        self.draw_plan()

    @on(PlanRead)
    def on_plan_read(self, message: PlanRead) -> None:
        self.detail, self.lines.trouble = message.detail, ""
        self.draw_plan()
        self.draw()
        self.plan.look_at_checks()

    @on(PlanLost)
    def on_plan_lost(self, message: PlanLost) -> None:
        self.lines.trouble = f"the plan cannot be read: {message.reason}"
        self.draw()

    @on(Composer.Sent)
    def on_sent(self, message: Composer.Sent) -> None:
        self.commands.deliver(message.text, later=message.later)
        self.draw_soon()

    @on(Composer.Folded)
    def on_folded(self) -> None:
        self.say(Notice(f"It is sent whole; {prompt.first_key(self.keys, 'editor.unfold')} unfolds it."))

    @on(Composer.Typing)
    async def on_typing(self) -> None:
        """Offer completions for what is typed; they are found in a thread."""
        composer = self.composer
        text, before = composer.text, composer.before_cursor
        if composer.completions.candidates and composer.completions.was_moved:
            self.completion_list.show(composer.completions)
            return
        none = found = EditorCompletions(dismissed=composer.completions.dismissed)
        if text != none.dismissed and (before.startswith("/") or "@" in before):
            found = await asyncio.to_thread(self._completer.complete, before)
        if composer.before_cursor == before:
            done = len(found.candidates) == 1 and found.candidates[0].text.strip() == before[found.start :].strip()
            composer.completions = none if done else found
            self.completion_list.show(composer.completions)
        self.draw_soon()

    def on_app_focus(self) -> None:
        """The person is back: whatever they type first is not an answer."""
        self._last_key = monotonic()

    def on_descendant_focus(self) -> None:
        self.draw_soon()

    def action_command(self, name: str) -> None:
        self.commands.run(name)

    def action_palette(self) -> None:
        # A key of a screen over this one is chosen there.
        actions = {key.name: key for key in listed_first(self._pane) if key.pane is not prompt.Pane.TREE}
        commands = {f"/{name}": prompt.ScreenKey(f"/{name}", about, "") for name, about in self.commands.listed()}
        keys = {**self.keys, **dict.fromkeys(commands, "")}
        panes: dict[prompt.Pane, DOMNode] = {
            prompt.Pane.EDITOR: self.composer,
            prompt.Pane.TRANSCRIPT: self.conversation.view,
            prompt.Pane.PLAN: self.plan,
        }

        def run(name: str | None) -> None:
            if name in actions:
                self.call_later(self.run_action, actions[name].action, panes.get(actions[name].pane, self))
            elif name is not None:
                self.call_later(self.commands.choose, name.removeprefix("/"))

        self.push_screen(action_screen(self._palette, [*actions.values(), *commands.values()], keys), run)

    def action_escape(self) -> None:
        """Close what is open; else stop the countdown; else stop the turn, and take back what it has not read."""
        if self._plan_is_over and self._plan_wanted:
            self._hide_plan()
        elif not self.composer.has_focus:
            self.composer.focus()
        elif self.conversation.typed.is_running:
            self.conversation.typed.stop()
        elif self.conversation.is_counting_down:
            self.conversation.take_over()
        else:
            if self.conversation.is_working:
                self._stop_turn()
            if texts := self.conversation.take_back():
                self.composer.fill("\n".join(filter(None, (self.composer.text, *texts))))
                # No list of completions: the key may come again.
                self.composer.completions = EditorCompletions(dismissed=self.composer.text)
                self.draw_soon()

    def action_interrupt(self) -> None:
        """Copy a selection; else empty the editor; else as esc; twice, leave."""
        # What came back into the editor with the first key is not emptied by the second.
        again = monotonic() - self._last_interrupt < TWICE_SECONDS and self.composer.text == self._text_left
        if self.conversation.view.selection.exists:
            self.conversation.view.copy_selection()
        elif self.composer.selected_text:
            self.conversation.view.copy(self.composer.unfolded(self.composer.selected_text))
        elif self.composer.text and not again:
            self.composer.fill("")
        elif again and not self.conversation.is_working:
            self.leave(INTERRUPTED)
        elif again:
            answers = {"y": ("leave", lambda: self.leave(INTERRUPTED)), "n": ("stay", lambda: None)}
            self.plan.asking.question.ask("A turn is running. Leave all the same?", answers, self.focus_pane)
        else:
            self.action_escape()
            self.say(Notice(f"{prompt.first_key(self.keys, 'app.clear')} again leaves"))
        self._last_interrupt, self._text_left = monotonic(), self.composer.text

    action_leave = leave

    def action_next_pane(self) -> None:
        """Complete what is typed; else give the keys to the next pane: question, editor, conversation, plan."""
        if self.composer.has_focus and self.composer.completions.candidates:
            self.composer.accept(self.composer.completions.candidate)
            self.composer.post_message(Composer.Typing())
        else:
            # A question that took the keys while Tab was pressed to give them to it keeps them.
            self._go_round(0 if self.panel.took_keys_itself() else 1)

    def action_previous_pane(self) -> None:
        self._go_round(-1)

    async def action_edit_outside(self) -> None:

        async def edit() -> None:
            edited = await self.conversation.edit_outside(self.composer.whole)
            if edited is not None:
                self.composer.fill(edited.rstrip("\n"))

        self.conversation.spawn(edit())

    def action_redraw(self) -> None:
        self.refresh(layout=True)
        self.draw()

    def action_conversation_end(self) -> None:
        self.conversation.view.go_to_end()

    def action_expand(self) -> None:
        self.conversation.view.action_fold()

    def action_nothing(self) -> None:
        """Do nothing: some terminals use the key."""

    @property
    def _pane(self) -> prompt.Pane:
        if self.plan.rows.has_focus:
            return prompt.Pane.PLAN
        return prompt.Pane.TRANSCRIPT if self.conversation.view.has_focus else prompt.Pane.EDITOR

    @property
    def _plan_is_over(self) -> bool:
        return bool(self.plan.display) and self.size.width < WIDE_COLUMNS

    def _session(self) -> SessionRow:
        head = self.detail.state.head
        return SessionRow(self.backend.settings.session, self.backend.title, head, SessionWord.WORKING)

    def _use_palette(self, name: str) -> None:
        palette = PALETTES[name]
        # Otherwise Textual would convert the terminal's own colours, of which it does not know the values.
        self.ansi_color = palette.is_ansi
        self.register_theme(dataclasses.replace(palette.theme, name=f"tildone-{name}"))
        self.theme = f"tildone-{name}"

    def _lay_out(self) -> None:
        """Show what there is room for. Nothing is refused: in the smallest terminal, two rows are left."""
        columns, rows = self.size
        is_wide, is_tiny = columns >= WIDE_COLUMNS, columns < TINY_COLUMNS or rows < TINY_ROWS
        plan, texts = self.plan, self.lines.texts
        wanted = is_wide if self._plan_wanted is None else self._plan_wanted
        plan.display = wanted and not (is_tiny and self._plan_wanted is None)
        plan.set_class(not is_wide, "over")
        plan.set_class(columns < NARROW_COLUMNS, "whole")
        plan.styles.width = "100%" if columns < NARROW_COLUMNS else PLAN_COLUMNS
        self._body.set_class(is_wide, "wide")
        texts["top"].display = not is_tiny and not (is_wide and plan.display)
        texts["footer"].display = rows >= NO_FOOTER_ROWS and columns >= TINY_COLUMNS
        texts["status"].display = rows >= NO_STATUS_ROWS and columns >= TINY_COLUMNS
        texts["rule"].display = rows >= NO_RULE_ROWS and not is_tiny
        texts["facts"].display = rows >= NO_FOOTER_ROWS
        texts["facts"].styles.height = 3
        self.composer.styles.max_height = 1 if is_tiny else 3 if columns < NARROW_COLUMNS else 5 if not is_wide else 8
        texts["rule"].show(lambda width: [(Span("─" * width, Role.DIM),)])
        self._sign.show(lambda _: [(Span(" ❯ ", Role.ACCENT, bold=True),)])
        plan.asking.need_panel.fit()
        if self.panel.question is not None:
            self.panel.fit()

    def _footer_mode(self) -> FooterMode:
        if self.panel.has_keys:
            return FooterMode.QUESTION
        if self.plan.rows.has_focus:
            return FooterMode.PLAN
        if self.conversation.view.has_focus:
            return FooterMode.TRANSCRIPT
        if self.conversation.ui.question is not None:
            return FooterMode.WAITING_QUESTION
        if self.conversation.is_counting_down:
            return FooterMode.COUNTDOWN
        return FooterMode.WORKING if self.conversation.is_working else FooterMode.EDITOR

    def _go_to_plan(self) -> None:
        """Show the plan and give it the keys; hide it if it has them."""
        if self.plan.display and self.plan.rows.has_focus:
            self._hide_plan()
        else:
            self._plan_wanted = True
            self._lay_out()
            self.call_after_refresh(self.plan.rows.focus)
        self.draw_plan()
        self.draw()

    def _hide_plan(self) -> None:
        self._plan_wanted = None if self._plan_is_over else False
        self._lay_out()
        self.composer.focus()

    def _go_round(self, step: int) -> None:
        panes: list[Any] = [self.composer, self.conversation.view]
        panes += [self.plan.rows] if self.plan.display else []
        if self.conversation.ui.question is not None:
            panes.insert(1, self.panel.body)
        held = next((place for place, pane in enumerate(panes) if pane.has_focus), 0)
        if self.panel.has_keys:
            held = 1
        pane = panes[(held + step) % len(panes)]
        if pane is self.panel.body:
            self.panel.take_keys()
        else:
            pane.focus()
        self.call_after_refresh(self.panel.body.build)

    def _show_keys(self) -> None:
        pane, keys = self._pane, self.keys
        self.push_screen(
            prompt.HelpScreen(
                self._palette,
                lambda columns: prompt.help_lines(KEYS, pane, keys, columns, FIXED),
                "esc closes this; /help lists the commands",
            )
        )

    def _toggle_mouse(self) -> None:
        """Give the mouse back to the terminal, or take it again."""
        self._has_mouse = not self._has_mouse
        name = "_enable_mouse_support" if self._has_mouse else "_disable_mouse_support"
        switch: Callable[[], None] | None = getattr(self._driver, name, None)
        if switch is not None:
            switch()
        again = "The mouse is used here again."
        self.say(Notice(again if self._has_mouse else "The mouse is the terminal's; /mouse takes it back."))

    def _stop_turn(self) -> None:
        """Stop the turn; a running command is stopped if the key comes twice, else its end is waited for."""
        again = monotonic() - self._last_stop < TWICE_SECONDS
        self._last_stop = monotonic()
        # A tool is at work, and does not wait for the person.
        later = not again and bool(self.conversation.running_calls) and self.conversation.ui.question is None
        self.conversation.stop(later=later)
        if later:
            key = prompt.first_key(self.keys, ESCAPE)
            self.say(Notice(f"The turn ends with this command; {key} twice stops the command, too."))

    def _question_opened(self, question: AskedQuestion[Any] | None) -> None:
        if question is not None and question is self.panel.question:
            self.panel.fit()
        else:
            view, meter = self.conversation.view, self.conversation.meter
            follows = view.viewport.follows
            self.panel.open(question)
            if follows:
                self.call_after_refresh(view.go_to_end)
            if question is None:
                meter.resume()
            else:
                meter.pause()
                self.bell()
                # A person who looks elsewhere gets a notification of the desktop, where the terminal can.
                if not self.app_focus and self._driver is not None:
                    first = plain(question.rows(NOTIFICATION_COLUMNS)[0])
                    self._driver.write(f"\x1b]9;tildone: {first}\x07")
        self.draw_soon()

    def _question_answered(self, key: str) -> None:
        """Give the keys back; the same key at once is not typed into the editor."""
        self._answered = key, monotonic()
        self.composer.focus()

    def _question_changed(self, hint: str) -> None:
        if hint:
            self.say(Notice(hint))
        self.draw_soon()

    def _keys_to_editor(self, event: events.Key | events.Paste | None) -> None:
        """Give the keys back, with the one that was meant for the editor."""
        self.composer.focus()
        if event is not None:
            self.composer.type_key(event)
        self.draw_soon()

    def _is_text(self, event: events.Event) -> bool:
        """Return whether something is typed or pasted while the conversation has the keys, and has no use for it."""
        view = self.conversation.view
        if (
            not isinstance(event, events.Key | events.Paste)
            or self.focused is not view
            or view.search.typed is not None
        ):
            return False
        if isinstance(event, events.Paste):
            return True
        return event.is_printable and event.key not in self.screen.active_bindings

    def _may_take_keys(self) -> bool:
        """Return whether a question may take the keys by itself."""
        if not self.app_focus or self.plan.asking.need_panel.display:
            return False
        return not self.composer.text and monotonic() - self._last_key >= QUIET_SECONDS and len(self.screen_stack) == 1


def plan_colours(palette: Palette) -> Palette:
    """Return the colours of the plan, which is one step above the rest."""
    return replace(palette, background=palette.bar, bar=palette.selected)
