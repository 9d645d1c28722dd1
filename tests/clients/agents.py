"""The real agents, each with its own home and working folder, and a scripted model."""

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

from tests.clients.install import CLIENTS, FOLDER, folder_of, installed, programs
from tests.clients.supervisor import supervised
from tests.rpc.client import Client

TIMEOUT_SECONDS = 120.0
"""How long a client may take for one task; on an idle machine, it takes a few seconds."""

DEAD_PROXY = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The environment of one client: its home, its working folder, and the URL of its model."""

    home: Path
    work: Path
    model: str


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client is started: its command line, and the environment variables it needs."""

    command: list[str]
    environ: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    code: int
    out: str
    err: str


@contextmanager
def talking(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[Client]:
    """Run a program that speaks pi's RPC protocol; on exit, check that it ends with exit code 0."""
    pipe = subprocess.PIPE
    with supervised(command, seconds=TIMEOUT_SECONDS, cwd=cwd, env=env, stdin=pipe, stdout=pipe) as process:
        client = Client(process)
        yield client
        assert process.stdin
        process.stdin.close()
        assert process.wait(TIMEOUT_SECONDS) == 0
        client.hung_up.wait(TIMEOUT_SECONDS)


def environment(name: str, sandbox: Sandbox) -> dict[str, str]:
    require(name)
    node = shutil.which("node")
    own = [programs(name, folder_of(name)), programs("node")] + ([Path(node).parent] if node else [])
    path = os.pathsep.join([*map(str, own), "/usr/local/bin", "/usr/bin", "/bin"])
    temporary = sandbox.home / "tmp"
    temporary.mkdir(exist_ok=True)
    return {
        "PATH": path,
        "HOME": str(sandbox.home),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "NO_COLOR": "1",
        # Only the model can be reached; all other connections fail.
        "HTTP_PROXY": DEAD_PROXY,
        "HTTPS_PROXY": DEAD_PROXY,
        "NO_PROXY": "127.0.0.1,localhost",
    }


def require(name: str) -> None:
    """Skip the test if the client is not installed, and say how to install it."""
    if os.name == "nt":
        pytest.skip("the processes of a client can be killed reliably on Unix only")
    package = CLIENTS[name]
    if folder_of(name) == FOLDER and not installed(name, package):
        pytest.skip(f"{name} {package.version} is not installed; `python3 do.py clients {name}` installs it")


def pi(sandbox: Sandbox, task: str) -> Launch:
    """Pi supports neither MCP servers nor hooks."""
    return Launch([*_pi(sandbox), "-p", task])


def _pi(sandbox: Sandbox) -> list[str]:
    model = {"id": "scripted", "contextWindow": 100_000, "maxTokens": 4000}
    provider = {"baseUrl": f"{sandbox.model}/v1", "api": "openai-completions", "apiKey": "none", "models": [model]}
    _write(sandbox.home / ".pi" / "agent" / "models.json", {"providers": {"local": provider}})
    return ["pi", "--provider", "local", "--model", "scripted", "--offline"]


def pi_rpc(sandbox: Sandbox, *options: str) -> AbstractContextManager[Client]:
    return talking([*_pi(sandbox), "--mode", "rpc", *options], cwd=sandbox.work, env=environment("pi", sandbox))


def codex(sandbox: Sandbox, task: str) -> Launch:
    own = sandbox.home / ".codex"
    # Which projects are trusted may be there already.
    trust = (own / "config.toml").read_text(encoding="utf-8") if (own / "config.toml").exists() else ""
    settings = f"""\
model = "scripted"
model_provider = "local"
{trust}
[model_providers.local]
name = "local"
base_url = "{sandbox.model}/v1"
wire_api = "responses"
"""
    _write(own / "config.toml", settings)
    bypass = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
    return Launch(["codex", "exec", "--skip-git-repo-check", *bypass, task], {"CODEX_HOME": str(own)})


def gemini(sandbox: Sandbox, task: str) -> Launch:
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    _write(sandbox.home / ".gemini" / "settings.json", settings)
    command = ["gemini", "-m", "gemini-2.5-flash", "--skip-trust", "--approval-mode", "yolo", "-p", task]
    return Launch(command, {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": sandbox.model})


def qwen(sandbox: Sandbox, task: str) -> Launch:
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "openai"}},
        # After a turn it would ask the model what to remember.
        "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        "general": {"enableAutoUpdate": False},
        # At a terminal, it would ask the model what the person could type next.
        "ui": {"enableFollowupSuggestions": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    _write(sandbox.home / ".qwen" / "settings.json", settings)
    environ = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{sandbox.model}/v1", "OPENAI_MODEL": "scripted"}
    return Launch(["qwen", "--approval-mode", "yolo", "-p", task], environ)


def claude(sandbox: Sandbox, task: str) -> Launch:
    command = ["claude", "-p", task, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"]
    environ = {
        "ANTHROPIC_API_KEY": "sk-ant-none",
        "ANTHROPIC_BASE_URL": sandbox.model,
        "IS_SANDBOX": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # No request is sent before the tools are available, and all of them are offered at once.
        "MCP_CONNECTION_NONBLOCKING": "0",
        "ENABLE_TOOL_SEARCH": "false",
    }
    return Launch(command, environ)


def kimi(sandbox: Sandbox, task: str) -> Launch:
    environ = {
        "KIMI_MODEL_NAME": "scripted",
        "KIMI_MODEL_PROVIDER_TYPE": "openai",
        "KIMI_MODEL_BASE_URL": f"{sandbox.model}/v1",
        "KIMI_MODEL_API_KEY": "none",
        "KIMI_CODE_NO_AUTO_UPDATE": "1",
    }
    return Launch(["kimi", "-p", task], environ)


def kilo(sandbox: Sandbox, task: str) -> Launch:
    return opencode(sandbox, task, "kilo")


def opencode(sandbox: Sandbox, task: str, name: str = "opencode") -> Launch:
    options = {"baseURL": f"{sandbox.model}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": {}}}
    settings = {
        "provider": {"local": provider},
        "model": "local/scripted",
        "autoupdate": False,
        "share": "disabled",
        "permission": {"*": "allow"},
    }
    _write(sandbox.work / f"{name}.json", settings)
    prefix = name.upper()
    environ = {f"{prefix}_DISABLE_AUTOUPDATE": "1", f"{prefix}_DISABLE_MODELS_FETCH": "1"}
    return Launch([name, "run", task], environ)


def copilot(sandbox: Sandbox, task: str) -> Launch:
    environ = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{sandbox.model}/v1",
        "COPILOT_MODEL": "scripted",
        "COPILOT_AUTO_UPDATE": "false",
        # The program unpacks itself at its first start; all tests use the same files.
        "COPILOT_CACHE_HOME": str(folder_of("copilot") / "copilot" / "unpacked"),
    }
    return Launch(["copilot", "-p", task, "--allow-all"], environ)


def _write(path: Path, settings: str | dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings, indent=1), encoding="utf-8")


AGENTS: Mapping[str, Callable[[Sandbox, str], Launch]] = {
    "pi": pi,
    "codex": codex,
    "gemini": gemini,
    "claude": claude,
    "opencode": opencode,
    "copilot": copilot,
    "qwen": qwen,
    "kimi": kimi,
    "kilo": kilo,
}
WITH_SERVERS = ("codex", "gemini", "claude", "opencode", "qwen", "copilot")
