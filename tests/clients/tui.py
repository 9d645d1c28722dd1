"""A real client at a terminal: start it, answer what it asks first, type prompts, and read its screen."""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.clients.agents import Sandbox
from tests.clients.inside import InstalledClient, install
from tests.host.models.model_server import Turn
from tests.walks.tmux import Pane, TimedOut

SIZE = (120, 45)
SESSION_SECONDS = 480.0
WAIT_SECONDS = 120.0
"""How long one wait may take; on an idle machine, each takes a few seconds."""

ATTEMPTS, UNCHANGED_SECONDS = 10, 4.0
"""How often keys are sent that do not change the screen, and when they are sent again."""

QUIET_SECONDS, MAX_SETTLE_SECONDS = 0.7, 8.0
"""A client has settled when it prints nothing for this long; one that never pauses is not waited for any longer."""

ENTER, ESCAPE, UP, DOWN = "\r", "\x1b", "\x1b[A", "\x1b[B"

LEADS_TO_YES: Mapping[str, str] = {"❯ No, exit": DOWN, "❯ Continue without using this MCP server": UP}
"""Newer versions of Claude Code have selected no; the key selects yes."""


@dataclass(frozen=True, slots=True)
class StartPrompt:
    """A question that a client asks when it starts.

    Its name is part of the sentence by which `tildone install` announces it; a part of the question is on the screen.
    The keys say yes.
    """

    name: str
    text: str
    keys: tuple[str, ...] = (ENTER,)


FOLDER, _SERVER, _HOOKS = "whether you trust th", "whether to use the new MCP server", "whether you trust the new hooks"
_CLAUDE_FOLDER = StartPrompt(FOLDER, "Yes, I trust this folder")
_CLAUDE_SERVER = StartPrompt(_SERVER, "Continue without using this MCP server")
_CODEX_HOOKS = StartPrompt(_HOOKS, "Hooks need review", (DOWN, ENTER))
_GEMINI_FOLDER = StartPrompt(FOLDER, "Do you trust the files in this folder?")
_COPILOT_FOLDER = StartPrompt(FOLDER, "Yes, and remember this folder", (DOWN, ENTER))

PROMPTS: Mapping[tuple[str, str], tuple[StartPrompt, ...]] = {
    ("claude", "user"): (_CLAUDE_FOLDER,),
    ("claude", "project"): (_CLAUDE_FOLDER, _CLAUDE_SERVER),
    ("codex", "user"): (_CODEX_HOOKS,),
    ("codex", "project"): (StartPrompt(FOLDER, "Trust this folder?"), _CODEX_HOOKS),
    ("gemini", "user"): (_GEMINI_FOLDER,),
    ("gemini", "project"): (_GEMINI_FOLDER,),
    ("opencode", "user"): (),
    ("opencode", "project"): (),
    ("pi", "user"): (),
    ("pi", "project"): (StartPrompt(FOLDER, "Trust project folder?"),),
    ("qwen", "user"): (),
    ("qwen", "project"): (),
    ("copilot", "user"): (_COPILOT_FOLDER,),
    ("copilot", "project"): (_COPILOT_FOLDER,),
}
"""What each client asks when it starts for the first time after an installation in a scope, in this order."""

STARTING = "Startup is still in progress"
"""What pi says of a prompt that it does not accept yet."""

READY: Mapping[str, Sequence[str]] = {
    "claude": ("Tips for getting started", "manual mode on"),
    "codex": ("Ask Codex to do anything",),
    "gemini": ("1 MCP server",),
    "opencode": ("Ask anything...",),
    "pi": ("(auto)",),
    "qwen": ("Type your message",),
    "copilot": ("/ commands", "still waiting on"),
}
"""What is on the screen when a client waits for a prompt; more than one text if it differs by version."""

COMMANDS: Mapping[str, Sequence[str]] = {
    "claude": ("claude", "--model", "claude-sonnet-4-5"),
    "codex": ("codex",),
    "gemini": ("gemini", "-m", "gemini-2.5-flash", "--approval-mode", "yolo"),
    "opencode": ("opencode",),
    "pi": ("pi", "--provider", "local", "--model", "scripted", "--offline"),
    "qwen": ("qwen", "--approval-mode", "yolo"),
    "copilot": ("copilot", "--allow-all"),
}
WAIT: Mapping[str, Turn] = {
    "claude": {"tool": "WaitForMcpServers"},
    "codex": {"tool": "exec_command", "args": {"cmd": "sleep 0.5"}},
    "opencode": {"tool": "bash", "args": {"command": "sleep 0.5", "description": "Wait"}},
    "copilot": {"tool": "bash", "args": {"command": "sleep 0.5", "description": "Wait"}},
}
"""What a model does while its tool is missing: at a terminal, a client does not wait for its MCP servers."""

HOLD_OPEN = ("sh", "-c", '"$@"; echo "[the program has ended: $?]"; read line', "sh")
"""Keeps the last screen of a program that ends."""


class Screen(Pane):
    def until(self, *texts: str, seconds: float = WAIT_SECONDS) -> str:
        """Wait until one of the texts is on the screen; return the first of them that is.

        Raises:
            TimedOut: None of them appeared; the message contains the screen.
        """
        deadline = time.monotonic() + seconds
        while True:
            screen = self.screen
            shown = _without_spaces(screen)
            for text in texts:
                if _without_spaces(text) in shown:
                    return text
            try:
                while not self.next_line(deadline).startswith("%output"):
                    pass
            except TimedOut as late:
                raise TimedOut(f"{late}; waiting for {texts}, the screen shows:\n{screen}") from None

    @property
    def plain(self) -> str:
        return _without_spaces(self.screen)

    def say(self, text: str) -> None:
        """Type a prompt and send it."""
        # Codex takes a question mark for a command as long as the text before it has not arrived.
        self.press(text[:-1])
        self.until(text[:-1])
        self.press(text[-1])
        # A client takes a line end that arrives soon after the text as part of a pasted text.
        self.until(text)
        self.settle()
        self.press(ENTER)
        for _ in range(ATTEMPTS):
            if STARTING not in self.screen:
                return
            # It is shown for a while, also after the prompt was accepted; then the line is empty.
            with contextlib.suppress(TimedOut):
                self.next_line(time.monotonic() + UNCHANGED_SECONDS)
            self.send(ENTER)

    def settle(self) -> None:
        deadline = time.monotonic() + MAX_SETTLE_SECONDS
        with contextlib.suppress(TimedOut):
            while time.monotonic() < deadline:
                self.next_line(time.monotonic() + QUIET_SECONDS)

    def press(self, keys: str) -> None:
        """Send keys until the screen changes: a client may draw a screen before it reads what is typed there."""
        before = self.screen
        for _ in range(ATTEMPTS):
            self.send(keys)
            deadline = time.monotonic() + UNCHANGED_SECONDS
            with contextlib.suppress(TimedOut):
                while self.screen == before:
                    self.next_line(deadline)
                return
        raise TimedOut(f"keys have no effect; the screen shows:\n{before}")

    def answer(self, prompts: Sequence[StartPrompt]) -> None:
        for prompt in prompts:
            self.until(prompt.text)
            for _ in range(ATTEMPTS):
                no = next((no for no in LEADS_TO_YES if no in self.screen), None)
                for key in prompt.keys if no is None else (LEADS_TO_YES[no], *prompt.keys):
                    self.press(key)
                if no is None or not self._is_shown_again(no):
                    break

    def _is_shown_again(self, text: str) -> bool:
        """Whether a question is drawn anew with this answer selected: an early answer may be lost."""
        try:
            self.until(text, seconds=UNCHANGED_SECONDS)
        except TimedOut:
            return False
        return True


def install_for_terminal(
    name: str, sandbox: Sandbox, scope: str = "user", *, new_folder: bool = False
) -> InstalledClient:
    """Install tildone into a client of a person who has used the client before.

    Gemini CLI starts again after it was told to trust a folder, so it trusts the folder already unless it is new.
    """
    if name == "gemini" and not new_folder:
        folders = sandbox.home / ".gemini" / "trustedFolders.json"
        folders.parent.mkdir(exist_ok=True)
        folders.write_text(json.dumps({str(sandbox.work): "TRUST_FOLDER"}), encoding="utf-8")
    if name == "claude":
        # Otherwise it asks for a theme and an account, and tries to reach its maker.
        known = {"approved": ["sk-ant-none"], "rejected": []}
        state = {"hasCompletedOnboarding": True, "customApiKeyResponses": known}
        (sandbox.home / ".claude.json").write_text(json.dumps(state), encoding="utf-8")
    return install(name, sandbox, scope)


@contextlib.contextmanager
def at_terminal(client: InstalledClient, *options: str, again: bool = False, works: bool = True) -> Iterator[Screen]:
    """Start a client at a terminal; on exit, its processes have ended.

    The questions of its first start are answered, unless it has been started before. If tildone works, its tool is
    waited for where the screen shows that it is there.
    """
    command = [*HOLD_OPEN, *COMMANDS[client.name], *options]
    with Screen(command, client.sandbox.work, client.environ, size=SIZE, seconds=SESSION_SECONDS) as screen:
        if not again:
            screen.answer(expected_prompts(client))
        screen.until(*(READY[client.name] if works or client.name != "gemini" else ["Type your message"]))
        yield screen


def expected_prompts(client: InstalledClient) -> Sequence[StartPrompt]:
    # Codex asks about a repository whatever is installed for its folder.
    in_repository = client.name == "codex" and (client.sandbox.work / ".git").exists()
    prompts = PROMPTS[client.name, "project" if in_repository else client.scope]
    knows_folder = (client.sandbox.home / ".gemini" / "trustedFolders.json").exists()
    return [prompt for prompt in prompts if prompt.name != FOLDER] if knows_folder else prompts


def _without_spaces(text: str) -> str:
    """A text without white space and borders: a client may wrap it anywhere."""
    return "".join(letter for letter in text if not letter.isspace() and letter not in "│┃")
