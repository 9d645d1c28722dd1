"""The list of all keys and the palette: every action by name, with its key."""

from __future__ import annotations

from textual.dom import DOMNode

from tildone.kit.keys import key_names
from tildone.tui.action_list import ActionList
from tildone.tui.prompt import HelpScreen
from tildone.tui.run.keys import FIXED, KEYS, listed_first
from tildone.tui.run.pane_actions import PaneActions
from tildone.tui.screen_keys import Pane, ScreenKey, help_lines


class KeyActions(PaneActions):
    """A run with the keys of the person, and the lists of them."""

    def use_keys(self) -> None:
        """Bind the keys of the person in place of the defaults."""
        own = self.backend.settings.keys
        self.set_keymap({name: ",".join(key_names(keys)) for name, keys in own})
        self.composer.keys = self.keys

    def action_keys(self) -> None:
        """List all keys, those of the pane in use first."""
        pane, keys = self._pane, self.keys
        self.push_screen(
            HelpScreen(
                self._palette,
                lambda columns: help_lines(KEYS, pane, keys, columns, FIXED),
                "esc closes this; /help lists the commands",
            )
        )

    def action_palette(self) -> None:
        """List all actions and commands, to choose one."""
        # A key of a screen over this one is chosen there.
        actions = [key for key in listed_first(self._pane) if key.pane is not Pane.TREE]
        commands = [ScreenKey(f"/{name}", about, "") for name, about in self.command_list()]
        keys = {**self.keys, **{command.name: "" for command in commands}}
        self.push_screen(ActionList(self._palette, [*actions, *commands], keys, self._chosen))

    def _chosen(self, key: ScreenKey) -> None:
        if key.action:
            panes: dict[Pane, DOMNode] = {
                Pane.EDITOR: self.composer,
                Pane.TRANSCRIPT: self.view,
                Pane.PLAN: self._plan_list,
            }
            self.call_later(self.run_action, key.action, panes.get(key.pane, self))
        elif key.name.removeprefix("/") in self.plain_commands:
            self.call_later(self.deliver, key.name)
        else:
            # It may take an argument.
            self.composer.fill(f"{key.name} ")
            self.composer.focus()

    @property
    def _pane(self) -> Pane:
        if self._plan_list.has_focus:
            return Pane.PLAN
        return Pane.TRANSCRIPT if self.view.has_focus else Pane.EDITOR
