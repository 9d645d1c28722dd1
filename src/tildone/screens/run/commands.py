"""The commands of the screen itself, typed as `/name`; the others are the host's."""

from __future__ import annotations

import re
from collections.abc import Callable

from tildone.app.values import THEMES
from tildone.base import closest, did_you_mean
from tildone.screens.run.composer import Composer
from tildone.screens.run.conversation import Conversation

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
            self._conversation.feed.note(f"The themes are {', '.join(THEMES)}.", "warning")
        elif name != "later":
            self._actions[SAME.get(name, name)]()
        elif rest.strip():
            self.deliver(rest.strip(), later=True)

    def deliver(self, text: str, *, later: bool = False) -> None:
        """Run a command; send anything else to the model, before its next request if it is working."""
        talk, host = self._conversation, self._conversation.host
        if host is None:
            self._composer.fill(text)
            talk.feed.note("The model is being loaded; your text is kept.", "warning")
            return
        command = COMMAND.fullmatch(text)
        name = command["name"] if command else ""
        own = {*ABOUT, *SAME}
        if command and name in own:
            self.run(name, command["rest"] or "")
        elif name and name not in host.commands:
            close = [f"/{known}" for known in closest(name, (*host.commands, *own))]
            talk.feed.note(
                f"There is no command /{name}; {did_you_mean(close) if close else '/help lists them'}", "warning"
            )
        else:
            talk.send(
                host, text.removeprefix("/") if text.startswith(ESCAPED) else text, later=later, is_command=bool(name)
            )

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
        more = ("//TEXT", "send a message that begins with a slash")
        self._conversation.feed.note("\n".join(f"{name.ljust(width)}  {about}" for name, about in (*rows, more)))
