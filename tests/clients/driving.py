"""One way to drive every client in both modes, and a model that acts on the world between two of its turns."""

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from tests.clients.agents import TIMEOUT_SECONDS, Sandbox
from tests.clients.inside import CLIENTS as INSIDE
from tests.clients.inside import OPENCODES, TASK, InstalledClient, PatientModel, Server, install, last_message, serving
from tests.clients.inside import WAIT as HEADLESS_WAIT
from tests.clients.install import CLIENTS
from tests.clients.model import Model
from tests.clients.tui import WAIT as TERMINAL_WAIT
from tests.clients.tui import Screen, at_terminal, install_for_terminal
from tests.host.models.model_server import ReceivedRequest, Turn
from tests.walks import tmux

HEADLESS, TERMINAL = "headless", "terminal"
MakeSandbox = Callable[[Model], Sandbox]

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
START: Turn = {"tool": "todo", "args": {"start": 1}}
FINISH: Turn = {"tools": [["todo", {"done": 1}], ["todo", {"done": 2}]]}
STOP: Turn = {"text": "I stop here."}
ASKS: Turn = {"text": "Which of the two shall I begin with?"}
ALL: Turn = {"text": "All of it is done."}
HELLO: Turn = {"text": "Hello from the script."}
OPEN = [("Write the parser", "pending"), ("Wire it up", "pending")]
DONE = [("Write the parser", "completed"), ("Wire it up", "completed")]
FIRST, SECOND = "First errand.", "Second errand."
NUDGES = 3
"""How often an agent is continued that does nothing and repeats the same message."""

SETTLING_SECONDS = 3.0
"""How long the hook of a stop may take after the message is shown: that an agent may stop leaves no trace."""


class Say(Protocol):
    """Sends a prompt and waits until one of the texts ends its turn."""

    def __call__(self, prompt: str, *ends: str) -> None: ...


needs_tmux = pytest.mark.skipif(tmux.why_not() is not None, reason=str(tmux.why_not()))
in_every_client = pytest.mark.parametrize("name", INSIDE)
in_both_modes = pytest.mark.parametrize(
    "mode", [HEADLESS, pytest.param(TERMINAL, marks=[pytest.mark.long, needs_tmux])]
)
"""At a terminal only in the long form, because each start of an interface takes seconds."""

SHELL: Mapping[str, tuple[str, str]] = {
    "claude": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
    "opencode": ("bash", "command"),
    "pi": ("bash", "command"),
    "copilot": ("bash", "command"),
    "qwen": ("run_shell_command", "command"),
}
"""Each client's own tool that runs a command, and the argument that contains the command."""


def shell(name: str, command: str, **more: object) -> Turn:
    tool, argument = SHELL[name]
    return {"tool": tool, "args": {argument: command, "description": "Run it"}, **more}


class ActingModel(PatientModel):
    """A model whose turns may have a `do`: it is called before the turn is answered.

    Requests for a summary of the conversation are answered without using up a turn.
    """

    def __init__(self, name: str, mode: str, *script: Turn) -> None:
        super().__init__(*script, wait=wait_in(mode, name))
        self.summaries: list[ReceivedRequest] = []
        self._summary: Turn = {"text": "<summary>A summary of the conversation.</summary>", **LONG_INPUT.get(name, {})}

    def respond(self, request: ReceivedRequest) -> Turn:
        if is_for_summary(request):
            self.summaries.append(request)
            return self._summary
        turn = super().respond(request)
        if "do" in turn:
            turn["do"]()
        return turn


def wait_in(mode: str, name: str) -> Turn | None:
    """What a model does while its tool is missing, if the client may ask it so early in this mode."""
    return (TERMINAL_WAIT if mode == TERMINAL else HEADLESS_WAIT).get(name)


def is_for_summary(request: ReceivedRequest) -> bool:
    instructions = json.dumps([request.body.get(key) for key in ("system", "systemInstruction", "instructions")])
    texts = (last_message(request), instructions)
    return any(phrase in text for text in texts for phrase in SUMMARY_PHRASES)


LONG_INPUT: Mapping[str, Turn] = {"qwen": {"usage": {"prompt_tokens": 50_000, "total_tokens": 50_005}}}
"""Qwen Code drops a summary of a conversation that was short."""

SUMMARY_PHRASES = (
    "create a detailed summary of the conversation",
    "CONTEXT CHECKPOINT COMPACTION",
    "<state_snapshot>",
    "Create a new anchored summary",
    "structured context checkpoint summary",
    "Only summarize information explicitly present above",
)
"""How each client asks for a summary: Claude Code, Codex, Gemini CLI, opencode, and pi in two ways."""


RUN_COMMANDS: Mapping[str, Sequence[str]] = {
    "claude": ("--allowedTools", "Bash"),
    "codex": ("--dangerously-bypass-approvals-and-sandbox",),
}
"""Options of clients that would ask at a terminal before a command runs; Codex does where its sandbox does not work."""


def install_in(mode: str, name: str, sandbox: Sandbox) -> InstalledClient:
    return install_for_terminal(name, sandbox) if mode == TERMINAL else install(name, sandbox)


@contextlib.contextmanager
def conversation(client: InstalledClient, mode: str, *, again: bool = False) -> Iterator[Say]:
    """Hold a conversation with a client: `say(prompt, end)` sends a prompt and waits until a text ends its turn."""
    if mode == TERMINAL:
        with at_terminal(client, *RUN_COMMANDS.get(client.name, ()), again=again) as screen:
            yield partial(_type, screen)
    elif client.name in OPENCODES:
        with serving(client) as server:
            yield partial(_send, server)
    else:
        yield partial(_run, client, [])


def _type(screen: Screen, prompt: str, *ends: str) -> None:
    screen.say(prompt)
    screen.until(*ends)


def _send(server: Server, prompt: str, *ends: str) -> None:
    server.say(prompt)
    while True:
        server.until("session.idle")
        messages = server.messages()
        if any(end in messages for end in ends):
            return


def _run(client: InstalledClient, prompts: list[str], prompt: str, *ends: str) -> None:
    result = client.run(prompt, resume=bool(prompts))
    prompts.append(prompt)
    assert result.code == 0, result
    assert any(end in result.out + result.err for end in ends), result


def run_until_killed(client: InstalledClient, mode: str) -> None:
    if mode == TERMINAL:
        with at_terminal(client) as screen:
            screen.say(TASK)
            screen.until("[the program has ended:")
        return
    with client.running() as process:
        assert process.wait(TIMEOUT_SECONDS) != 0


def kill_client(client: InstalledClient) -> None:
    """Kill a client and its own child processes as `kill -9` does; ours stay, and notice it by themselves."""
    ours = {pid for pid, _ in tildone_processes(client.sandbox.home)}
    own = [pid for pid, words in processes(client.sandbox.home) if pid not in ours and is_client(client.name, words)]
    assert own, [words for _, words in processes(client.sandbox.home)]
    for pid in own:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def is_client(name: str, words: list[str]) -> bool:
    """Whether a command line is that of a client: its program, or node with its program."""
    package = CLIENTS[name].name
    return any(f"/{package}" in word or os.path.basename(word) == name for word in words[:3]) and "sh" not in words[:1]


def kill_server(client: InstalledClient) -> None:
    servers = [pid for pid, words in tildone_processes(client.sandbox.home) if "mcp" in words]
    assert servers, [words for _, words in processes(client.sandbox.home)]
    for pid in servers:
        os.kill(pid, signal.SIGKILL)


def tildone_processes(home: Path) -> list[tuple[int, list[str]]]:
    return [(pid, words) for pid, words in processes(home) if any(word.endswith("/tildone") for word in words[:4])]


def processes(home: Path) -> list[tuple[int, list[str]]]:
    """The processes with this home: their ids and command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            environ = (folder / "environ").read_text(encoding="utf-8", errors="replace").split("\0")
            words = (folder / "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
            if f"HOME={home}" in environ and "supervisor.py" not in " ".join(words):
                found.append((int(folder.name), [word for word in words if word]))
    return found
