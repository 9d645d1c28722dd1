"""The commands of the screen itself, typed as `/name`; the others are the host's."""

from __future__ import annotations

from collections.abc import Callable

from tildone.config.values import THEMES
from tildone.host.messages import last_answer, text_of
from tildone.tui.run.plan_pane import PlanPane
from tildone.tui.run.running import LocalCommand

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


class ScreenCommands(PlanPane):
    """A run with the commands of its screen."""

    plain_commands = frozenset(ABOUT) - {"later", "theme"}
    """Those that take no argument."""

    def local_commands(self) -> dict[str, LocalCommand]:
        """Return the commands by name."""
        return {
            "quit": lambda _: self.leave(),
            "exit": lambda _: self.leave(),
            "keys": lambda _: self.action_keys(),
            "plan": lambda _: self.action_plan(),
            "tree": lambda _: self.action_tree(),
            "sessions": lambda _: self.action_sessions(),
            "fork": lambda _: self.action_tree(),
            "later": self._later,
            "theme": self._theme,
            "mouse": lambda _: self._toggle_mouse(),
            "copy": lambda _: self._copy(),
            "help": lambda _: self._help(),
        }

    def action_keys(self) -> None:
        """List all keys."""
        raise NotImplementedError

    def action_tree(self) -> None:
        """Show the conversation as a tree."""
        raise NotImplementedError

    def action_sessions(self) -> None:
        """List the conversations."""
        raise NotImplementedError

    def command_list(self) -> list[tuple[str, str]]:
        """Return all commands and what they do, by name."""
        host = {name: command.description for name, command in self.host.commands.items()} if self.host else {}
        return sorted({**host, **ABOUT}.items())

    def argument_list(self, command: str) -> list[str]:
        """Return what can follow a command."""
        if command == "theme":
            return list(THEMES)
        return list(dict.fromkeys(self.models())) if command == "model" else []

    def models(self) -> list[str]:
        """Return the names of the models that are known here: the one in use, and those with a price."""
        return [self._model_name, *(name for name, _ in self.backend.settings.prices)]

    def _later(self, text: str) -> None:
        if text.strip():
            self.deliver(text.strip(), later=True)

    def _theme(self, name: str) -> None:
        if name.strip() in THEMES:
            self.change_theme(name.strip())
        else:
            self.feed.note(f"The themes are {', '.join(THEMES)}.", "warning")

    def change_theme(self, name: str) -> None:
        """Use other colours."""
        raise NotImplementedError

    def _toggle_mouse(self) -> None:
        driver = self._driver
        self._has_mouse = not getattr(self, "_has_mouse", True)
        name = "_enable_mouse_support" if self._has_mouse else "_disable_mouse_support"
        switch: Callable[[], None] | None = getattr(driver, name, None)
        if switch is not None:
            switch()
        self.say(
            "The mouse is used here again." if self._has_mouse else "The mouse is the terminal's; /mouse takes it back."
        )

    def _copy(self) -> None:
        host = self.host
        last = last_answer(host.transcript.messages()) if host else None
        if last is None or not text_of(last):
            self.say("There is no answer to copy.", failed=True)
            return
        self.copy_to_clipboard(text_of(last))
        self.say("Copied the last answer, if the terminal allows it.")

    def _help(self) -> None:
        rows = [(f"/{name}", about) for name, about in self.command_list()]
        width = max(len(name) for name, _ in rows)
        self.feed.note(
            "\n".join(
                f"{name.ljust(width)}  {about}"
                for name, about in (*rows, ("//TEXT", "send a message that begins with a slash"))
            )
        )
