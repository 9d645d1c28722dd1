"""Where each host keeps its settings, and what of ours goes into them.

Claude Code, Codex, Gemini CLI, opencode and pi were run with what is written here. Cursor, Copilot CLI, Qwen Code, Zed,
VS Code and Claude Desktop are as they document it: their programs can't be run without an account or a screen.
"""

from __future__ import annotations

import os
import shlex
import sys

from tildone.errors import UsageError
from tildone.integrations.settings.edits import Block, Edit, Item, Member, Whole
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

USER, PROJECT = "user", "project"
SECONDS = 10
LOOPS = 50
SHIMS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "shims")

CLAUDE_EVENTS = (
    "Stop",
    "SessionStart",
    "UserPromptSubmit",
    "PreCompact",
    "PreToolUse",
    "PostToolUse",
    "SessionEnd",
)
GEMINI_EVENTS = (
    "AfterAgent",
    "SessionStart",
    "BeforeAgent",
    "PreCompress",
    "BeforeTool",
    "AfterTool",
    "SessionEnd",
)
CURSOR_EVENTS = (
    "stop",
    "sessionStart",
    "beforeSubmitPrompt",
    "preToolUse",
    "postToolUse",
    "afterAgentResponse",
    "preCompact",
    "sessionEnd",
)
COPILOT_EVENTS = ("agentStop", "sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "sessionEnd")


@value
class Site:
    """Where an installation goes, and what it makes hosts run."""

    home: str
    project: str
    scope: str
    environ: Mapping[str, str]
    program: str
    arguments: tuple[str, ...] = ("mcp",)
    platform: str = sys.platform
    mcp: bool = True
    hooks: bool = True

    def at(self, user: str, project: str) -> str:
        """A path in the person's home, or in the project."""
        return os.path.join(self.home, user) if self.scope == USER else os.path.join(self.project, project)

    def hook(self, host: str, *event: str) -> str:
        """The command line of a hook, as a shell takes it."""
        words = [self.program, "hook", host, *event]
        if self.platform == "win32":
            return " ".join(f'"{word}"' if " " in word else word for word in words)
        return shlex.join(words)

    @property
    def config(self) -> str:
        """Where this platform keeps the settings of programs."""
        if self.platform == "darwin":
            return os.path.join(self.home, "Library", "Application Support")
        if self.platform == "win32":
            return self.environ.get("APPDATA") or os.path.join(self.home, "AppData", "Roaming")
        return self.environ.get("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")


@value
class Host:
    """A host: its name for people, its program, the folder that gives it away, and its edits.

    `after` is what is left for the person to do.
    """

    name: str
    title: str
    program: str
    folder: Callable[[Site], str]
    edits: Callable[[Site], list[Edit]]
    after: str = ""


def _claude(site: Site) -> list[Edit]:
    folder = site.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(site.home, ".claude")
    servers = (
        os.path.join(site.environ.get("CLAUDE_CONFIG_DIR") or site.home, ".claude.json")
        if site.scope == USER
        else os.path.join(site.project, ".mcp.json")
    )
    settings = os.path.join(folder if site.scope == USER else os.path.join(site.project, ".claude"), "settings.json")
    edits: list[Edit] = []
    if site.mcp:
        edits += [Member(servers, ("mcpServers", "tildone"), {"type": "stdio", **_server(site)})]
        edits += [Item(settings, ("permissions", "allow"), "mcp__tildone")]
    if site.hooks:
        edits += [_claude_hook(settings, event, site.hook("claude")) for event in CLAUDE_EVENTS]
        line = {"type": "command", "command": site.hook("claude", "StatusLine")}
        edits += [Member(settings, ("statusLine",), line, yields=True)]
    return edits


def _claude_hook(file: str, event: str, command: str) -> Item:
    return Item(file, ("hooks", event), {"hooks": [{"type": "command", "command": command, "timeout": SECONDS}]})


def _codex(site: Site) -> list[Edit]:
    home = site.environ.get("CODEX_HOME") or os.path.join(site.home, ".codex")
    file = os.path.join(home if site.scope == USER else os.path.join(site.project, ".codex"), "config.toml")
    lines: list[str] = []
    if site.mcp:
        server = _server(site)
        args = ", ".join(map(_toml, server["args"]))
        lines += ["[mcp_servers.tildone]", f"command = {_toml(server['command'])}", f"args = [{args}]", ""]
    for event in CLAUDE_EVENTS if site.hooks else ():
        lines += [f"[[hooks.{event}]]", f"[[hooks.{event}.hooks]]", 'type = "command"']
        lines += [f"command = {_toml(site.hook('codex'))}", f"timeout = {SECONDS}", ""]
    return [Block(file, "\n".join(lines))] if lines else []


def _gemini(site: Site) -> list[Edit]:
    return _gemini_like(site, site.at(".gemini/settings.json", ".gemini/settings.json"), "gemini", GEMINI_EVENTS)


def _qwen(site: Site) -> list[Edit]:
    return _gemini_like(site, site.at(".qwen/settings.json", ".qwen/settings.json"), "qwen", CLAUDE_EVENTS)


def _gemini_like(site: Site, file: str, host: str, events: tuple[str, ...]) -> list[Edit]:
    edits: list[Edit] = []
    if site.mcp:
        # Without a bound they would wait ten minutes for a server that does not answer.
        held = {**_server(site), "trust": True, "timeout": SECONDS * 1000}
        edits += [Member(file, ("mcpServers", "tildone"), held)]
    if site.hooks:
        for event in events:
            command = {"type": "command", "command": site.hook(host), "name": "tildone", "timeout": SECONDS * 1000}
            # Gemini asks before every request whether to compress, and mostly does not: then nothing is forgotten.
            chosen = {"matcher": "manual"} if event == "PreCompress" else {}
            edits += [Item(file, ("hooks", event), {**chosen, "hooks": [command]})]
        edits += [Member(file, ("hooksConfig", "enabled"), held=True, yields=True)] if host == "gemini" else []
    return edits


def _cursor(site: Site) -> list[Edit]:
    edits: list[Edit] = []
    if site.mcp:
        edits += [Member(site.at(".cursor/mcp.json", ".cursor/mcp.json"), ("mcpServers", "tildone"), _server(site))]
    if site.hooks:
        file = site.at(".cursor/hooks.json", ".cursor/hooks.json")
        edits += [Member(file, ("version",), 1, yields=True)]
        for event in CURSOR_EVENTS:
            held: dict[str, Any] = {"command": site.hook("cursor", event)}
            edits += [Item(file, ("hooks", event), held | ({"loop_limit": LOOPS} if event == "stop" else {}))]
    return edits


def _copilot(site: Site) -> list[Edit]:
    edits: list[Edit] = []
    if site.mcp and site.scope == USER:
        server = {"type": "local", **_server(site), "tools": ["*"]}
        edits += [Member(os.path.join(site.home, ".copilot", "mcp-config.json"), ("mcpServers", "tildone"), server)]
    if site.hooks:
        hooks = {event: [_copilot_hook(site, event)] for event in COPILOT_EVENTS}
        file = site.at(".copilot/hooks/tildone.json", ".github/hooks/tildone.json")
        edits += [Whole(file, _pretty({"version": 1, "hooks": hooks}))]
    return edits


def _copilot_hook(site: Site, event: str) -> dict[str, Any]:
    command = site.hook("copilot", event)
    return {"type": "command", "bash": command, "powershell": f"& {command}", "timeoutSec": SECONDS}


def _opencode(site: Site) -> list[Edit]:
    home = site.environ.get("XDG_CONFIG_HOME") or os.path.join(site.home, ".config")
    folder = os.path.join(home, "opencode") if site.scope == USER else site.project
    file = os.path.join(folder, "opencode.jsonc")
    if not os.path.exists(file):
        file = os.path.join(folder, "opencode.json")
    edits: list[Edit] = []
    if site.mcp:
        server = _server(site)
        held = {"type": "local", "command": [server["command"], *server["args"]], "enabled": True}
        held["timeout"] = SECONDS * 1000
        edits += [Member(file, ("mcp", "tildone"), held)]
    if site.hooks:
        plugins = os.path.join(folder if site.scope == USER else os.path.join(site.project, ".opencode"), "plugins")
        edits += [Whole(os.path.join(plugins, "tildone.js"), _shim("opencode.js", site))]
    return edits


def _pi(site: Site) -> list[Edit]:
    return [Whole(site.at(".pi/agent/extensions/tildone.ts", ".pi/extensions/tildone.ts"), _shim("pi.ts", site))]


def _zed(site: Site) -> list[Edit]:
    file = os.path.join(site.home if site.platform != "win32" else site.config, ".config/zed/settings.json")
    file = file if site.scope == USER else os.path.join(site.project, ".zed", "settings.json")
    return [Member(file, ("context_servers", "tildone"), {"source": "custom", **_server(site), "env": {}})]


def _vscode(site: Site) -> list[Edit]:
    file = os.path.join(site.config, "Code", "User", "mcp.json")
    file = file if site.scope == USER else os.path.join(site.project, ".vscode", "mcp.json")
    return [Member(file, ("servers", "tildone"), {"type": "stdio", **_server(site)})]


def _claude_desktop(site: Site) -> list[Edit]:
    if site.scope == PROJECT:
        raise UsageError("Claude Desktop has settings of the person only: leave --scope project out")
    file = os.path.join(site.config, "Claude", "claude_desktop_config.json")
    return [Member(file, ("mcpServers", "tildone"), _server(site))]


def _server(site: Site) -> dict[str, Any]:
    return {"command": site.program, "args": list(site.arguments)}


def _shim(name: str, site: Site) -> str:
    """A file of ours in the host's own language, with what it is to run written into it."""
    with open(os.path.join(SHIMS, name), encoding="utf-8") as file:
        text = file.read()
    held = {"PROGRAM": site.program, "ARGUMENTS": list(site.arguments), "PARTS": {"mcp": site.mcp, "hooks": site.hooks}}
    for word, said in held.items():
        text = text.replace(f'"%{word}%"', _json(said))
    return text


def _json(held: object) -> str:
    # Late, because only installing needs it.
    import json  # noqa: PLC0415  see above

    return json.dumps(held)


def _pretty(held: object) -> str:
    import json  # noqa: PLC0415  see _json

    return json.dumps(held, indent=2) + "\n"


def _toml(text: str) -> str:
    """Text as TOML writes it, which for these is as JSON does."""
    return _json(text)


TRUST = "Codex runs hooks only once you trust them: start it and open /hooks."
RUN = "An agent in `opencode run` has the plan but is not held to it: that ends at the first stop."

HOSTS = {
    host.name: host
    for host in (
        Host("claude", "Claude Code", "claude", lambda site: os.path.join(site.home, ".claude"), _claude),
        Host("codex", "Codex", "codex", lambda site: os.path.join(site.home, ".codex"), _codex, TRUST),
        Host("gemini", "Gemini CLI", "gemini", lambda site: os.path.join(site.home, ".gemini"), _gemini),
        Host("cursor", "Cursor", "cursor", lambda site: os.path.join(site.home, ".cursor"), _cursor),
        Host("copilot", "Copilot CLI", "copilot", lambda site: os.path.join(site.home, ".copilot"), _copilot),
        Host("qwen", "Qwen Code", "qwen", lambda site: os.path.join(site.home, ".qwen"), _qwen),
        Host("opencode", "opencode", "opencode", lambda site: os.path.join(site.config, "opencode"), _opencode, RUN),
        Host("pi", "pi", "pi", lambda site: os.path.join(site.home, ".pi"), _pi),
        Host("zed", "Zed", "zed", lambda site: os.path.join(site.home, ".config", "zed"), _zed),
        Host("vscode", "VS Code", "code", lambda site: os.path.join(site.config, "Code"), _vscode),
        Host("claude-desktop", "Claude Desktop", "", lambda site: os.path.join(site.config, "Claude"), _claude_desktop),
    )
}
