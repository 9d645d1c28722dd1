"""The real agents, each with a home and a working folder of its own and a scripted model to ask."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.clients.install import CLIENTS, installed, programs
from tests.clients.leash import leashed
from tests.rpc.client import Client

SECONDS = 120.0
"""How long a client may take for one task; each takes a few seconds on a machine that is not busy."""

NOBODY = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a client finds what is its own, where it finds the model, and what it is to use beside its own tools.

    `servers` are MCP servers by name, each as a command. `on_stop` is a command that the client runs as its hook when
    it is about to stop.
    """

    home: Path
    work: Path
    model: str
    servers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    on_stop: str | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """How a client is started: what is typed, and what it needs in its environment."""

    command: list[str]
    environ: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a client."""

    code: int
    out: str
    err: str


def run(name: str, desk: Desk, task: str, seconds: float = SECONDS) -> Ended:
    """Let a client do a task, alone, to its end."""
    start = AGENTS[name](desk, task)
    pipe = subprocess.PIPE
    env = environment(name, desk) | start.environ
    with leashed(
        start.command, seconds=seconds, cwd=desk.work, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    ) as process:
        out, err = process.communicate()
    return Ended(process.returncode, out.decode(), err.decode())


@contextmanager
def talking(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[Client]:
    """A program that speaks pi's protocol on pipes; it has ended well when this is left."""
    pipe = subprocess.PIPE
    with leashed(command, seconds=SECONDS, cwd=cwd, env=env, stdin=pipe, stdout=pipe) as process:
        client = Client(process)
        yield client
        assert process.stdin
        process.stdin.close()
        assert process.wait(SECONDS) == 0
        client.hung_up.wait(SECONDS)


def environment(name: str, desk: Desk) -> dict[str, str]:
    """All that a client is told of the machine it runs on."""
    require(name)
    node = shutil.which("node")
    own = [programs(name), programs("node")] + ([Path(node).parent] if node else [])
    path = os.pathsep.join([*map(str, own), "/usr/local/bin", "/usr/bin", "/bin"])
    temporary = desk.home / "tmp"
    temporary.mkdir(exist_ok=True)
    return {
        "PATH": path,
        "HOME": str(desk.home),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "NO_COLOR": "1",
        # The model is all there is to be reached; to whatever else a client would like to talk, nobody listens.
        "HTTP_PROXY": NOBODY,
        "HTTPS_PROXY": NOBODY,
        "NO_PROXY": "127.0.0.1,localhost",
    }


def require(name: str) -> None:
    """Skip the test where it cannot be tried with this client, and say how it can be."""
    if os.name == "nt":
        pytest.skip("a client and what it has started can be ended for certain on Unix only")
    package = CLIENTS[name]
    if not installed(name, package):
        pytest.skip(f"{name} {package.version} is not there; `python3 do.py clients {name}` installs it")


def pi(desk: Desk, task: str) -> Start:
    """It takes neither servers nor hooks; extensions are what it is given with its options."""
    return Start([*_pi(desk), "-p", task])


def _pi(desk: Desk) -> list[str]:
    """pi, and where it finds the model."""
    model = {"id": "scripted", "contextWindow": 100_000, "maxTokens": 4000}
    provider = {"baseUrl": f"{desk.model}/v1", "api": "openai-completions", "apiKey": "none", "models": [model]}
    _write(desk.home / ".pi" / "agent" / "models.json", {"providers": {"local": provider}})
    return ["pi", "--provider", "local", "--model", "scripted", "--offline"]


def pi_rpc(desk: Desk, *options: str) -> AbstractContextManager[Client]:
    """pi, with its end of the protocol on pipes."""
    return talking([*_pi(desk), "--mode", "rpc", *options], cwd=desk.work, env=environment("pi", desk))


def codex(desk: Desk, task: str) -> Start:
    own = desk.home / ".codex"
    settings = f"""\
model = "scripted"
model_provider = "local"

[model_providers.local]
name = "local"
base_url = "{desk.model}/v1"
wire_api = "responses"
"""
    for name, (program, *rest) in desk.servers.items():
        settings += f"\n[mcp_servers.{name}]\ncommand = {json.dumps(program)}\nargs = {json.dumps(rest)}\n"
        settings += "required = true\n"  # the model is not asked before its tools are there
    if desk.on_stop:
        hook = f'type = "command"\ncommand = {json.dumps(desk.on_stop)}\n'
        settings += f"\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\n{hook}"
    _write(own / "config.toml", settings)
    bypass = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
    return Start(["codex", "exec", "--skip-git-repo-check", *bypass, task], {"CODEX_HOME": str(own)})


def gemini(desk: Desk, task: str) -> Start:
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "mcpServers": {name: {**_program(line), "trust": True} for name, line in desk.servers.items()},
    }
    if desk.on_stop:
        hook = {"type": "command", "name": "stop", "command": desk.on_stop}
        settings |= {"hooksConfig": {"enabled": True}, "hooks": {"AfterAgent": [{"matcher": "*", "hooks": [hook]}]}}
    _write(desk.home / ".gemini" / "settings.json", settings)
    command = ["gemini", "-m", "gemini-2.5-flash", "--skip-trust", "--approval-mode", "yolo", "-p", task]
    return Start(command, {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": desk.model})


def claude(desk: Desk, task: str) -> Start:
    servers = desk.home / "mcp.json"
    _write(servers, {"mcpServers": {name: _program(line) for name, line in desk.servers.items()}})
    if desk.on_stop:
        hook = {"type": "command", "command": desk.on_stop}
        _write(desk.home / ".claude" / "settings.json", {"hooks": {"Stop": [{"hooks": [hook]}]}})
    command = ["claude", "-p", task, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"]
    command += ["--mcp-config", str(servers), "--strict-mcp-config"]
    environ = {
        "ANTHROPIC_API_KEY": "sk-ant-none",
        "ANTHROPIC_BASE_URL": desk.model,
        "IS_SANDBOX": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # The model is not asked before its tools are there, and has none of them to look for.
        "MCP_CONNECTION_NONBLOCKING": "0",
        "ENABLE_TOOL_SEARCH": "false",
    }
    return Start(command, environ)


def opencode(desk: Desk, task: str) -> Start:
    """Its hooks are plugins, which are files of the project that it works on."""
    options = {"baseURL": f"{desk.model}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": {}}}
    servers = {name: {"type": "local", "command": list(line), "enabled": True} for name, line in desk.servers.items()}
    settings = {
        "provider": {"local": provider},
        "model": "local/scripted",
        "autoupdate": False,
        "share": "disabled",
        "permission": {"*": "allow"},
        "mcp": servers,
    }
    _write(desk.work / "opencode.json", settings)
    environ = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    return Start(["opencode", "run", task], environ)


def _program(line: Sequence[str]) -> dict[str, Any]:
    program, *rest = line
    return {"command": program, "args": rest}


def _write(path: Path, settings: str | dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings, indent=1), encoding="utf-8")


AGENTS: Mapping[str, Callable[[Desk, str], Start]] = {
    "pi": pi,
    "codex": codex,
    "gemini": gemini,
    "claude": claude,
    "opencode": opencode,
}
WITH_SERVERS = ("codex", "gemini", "claude", "opencode")
WITH_HOOKS = ("codex", "gemini", "claude")
