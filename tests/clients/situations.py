"""The situations in which tildone is tried in real clients, and the marker that says which of them a test proves."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from tests.clients.inside import CLIENTS


class Mode(Enum):
    """How a client runs: without a terminal, or with its full-screen interface in one."""

    HEADLESS = "headless"
    TERMINAL = "terminal"


GROUPS: Mapping[str, Mapping[str, str]] = {
    "Work on a plan": {
        "first request": "the first request offers the tool",
        "held": "an agent that stops early is continued",
        "finished": "an agent whose plan is done may stop",
        "released": "an agent that makes no progress is released",
        "native list": "the plan follows the agent's own todo list",
        "status line": "the plan is shown in the status line",
    },
    "Checks of tasks": {
        "failed check": "an agent whose check fails is continued until it passes",
        "stale check": "an agent that changes the files of a passed check is continued until it passes again",
        "inconclusive check": "an agent whose check cannot be run may stop",
        "unapproved check": "a check that a model wrote is not run, and the agent may stop",
        "checked native list": "a task of the agent's own list is done when its check passes",
    },
    "Steering by a person": {
        "edit": "an edit during the work reaches the model",
        "stop": "`tildone stop` ends the turn",
        "pause": "a paused agent may stop with open tasks",
        "resume": "a resumed agent is continued again",
    },
    "Long conversations": {
        "compaction by the person": "the plan is known after the person compacts the conversation",
        "automatic compaction": "the plan is known after the agent compacts the conversation",
        "restart": "the plan is known after a restart and in a resumed conversation",
        "fork": "a forked conversation has a copy of the plan, and each goes its own way",
        "killed client": "the plan survives `kill -9` of the agent",
        "killed server": "the agent goes on after `kill -9` of the MCP server",
    },
    "Several agents": {
        "two sessions": "two sessions in one folder have plans of their own",
        "two hosts": "two coding agents in one folder have plans of their own",
        "left over": "a plan that an earlier conversation left holds nobody until it is taken up",
        "subagents": "a subagent has a list of its own",
    },
    "Failures": {
        "broken program": "works with a program that fails, prints garbage or hangs",
        "missing program": "works without the program",
        "bad config": "works with a config file that cannot be read",
        "full disk": "works where nothing can be written",
        "unusable store": "works where the store cannot be opened",
        "deleted store": "works after the store was deleted",
        "locked store": "works while the store is locked",
    },
    "First start": {"start prompts": "asks what `tildone install` says that it will ask"},
}
"""The groups of situations; each situation has a name and the sentence that its row begins with."""

SITUATIONS: Mapping[str, str] = {name: text for group in GROUPS.values() for name, text in group.items()}

CONTINUATIONS: Mapping[str, int] = {
    "failed check": 1,
    "stale check": 1,
    "inconclusive check": 0,
    "unapproved check": 0,
    "checked native list": 1,
}
"""How often the agent is told to go on, in situations that are about that. It is part of their rows."""

ABSENT: Mapping[str, tuple[str, ...]] = {
    "native list": ("pi", "copilot"),
    "fork": ("gemini", "copilot"),
    "checked native list": ("pi", "copilot"),
    "status line": ("codex", "gemini", "opencode"),
    "killed server": ("pi",),
    "subagents": ("pi",),
}
"""The clients that have no such thing, by situation. A note in their record says so."""

ONE_MODE: Mapping[str, str] = {
    "unapproved check": "Only Claude Code asks the person at a terminal; what the model reads is the same elsewhere.",
    "compaction by the person": "The command for it is one of the interface at a terminal.",
    "fork": "Hooks report a fork in the same way in both modes.",
    "start prompts": "Without a terminal, nothing is asked.",
}
"""Why a situation is tried in one mode."""

PROPERTY = "proves"


@dataclass(frozen=True, slots=True)
class Cell:
    situation: str
    client: str
    mode: Mode

    def __str__(self) -> str:
        return f"{self.situation}/{self.client}/{self.mode.value}"

    @classmethod
    def parse(cls, text: str) -> "Cell":
        situation, client, mode = text.split("/")
        return cls(situation, client, Mode(mode))


def proves(*situations: str, tui: bool = False, client: str = "") -> pytest.MarkDecorator:
    """Mark a test as the proof of these situations, or of the one in its parameter `situation`.

    The client is `client` or the one that the test's parameters name. The mode is its parameter `mode`, if it has one.
    """
    unknown = [situation for situation in situations if situation not in SITUATIONS]
    assert not unknown, f"no such situation: {unknown}"
    return pytest.mark.proves(*situations, tui=tui, client=client)


def cells_of(item: pytest.Item) -> list[Cell]:
    return [
        Cell(situation, _client(item, mark), _mode(item, mark))
        for mark in item.iter_markers("proves")
        for situation in mark.args or [_parameters(item)["situation"]]
    ]


def runs_one_of(item: pytest.Item, clients: Collection[str]) -> bool:
    return any(parameter in clients for parameter in _parameters(item).values())


def _client(item: pytest.Item, mark: pytest.Mark) -> str:
    """Return the client of a test: the one that the marker names, else the first parameter that begins with one."""
    words = [mark.kwargs["client"], *(str(parameter).partition("-")[0] for parameter in _parameters(item).values())]
    return next(str(word) for word in words if word in CLIENTS)


def _mode(item: pytest.Item, mark: pytest.Mark) -> Mode:
    fixed = Mode.TERMINAL if mark.kwargs["tui"] else Mode.HEADLESS
    return Mode(_parameters(item).get("mode", fixed.value))


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
