"""What `tildone doctor` says of a real client is what the client does: it answers, it is dead, or it is silenced."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.clients.driving import HELLO, MakeSandbox, in_every_client
from tests.clients.inside import GO_ON, WAIT, InstalledClient, PatientModel, install, last_message
from tests.clients.model import Model, offered_tools
from tests.clients.test_inside_gate import trusted
from tests.host.models.model_server import Turn
from tests.suite.forking import PROGRAM

pytestmark = pytest.mark.slow

ADD: Turn = {"tool": "todo", "args": {"add": ["Write the parser"]}}
BYPASS = "--dangerously-bypass-hook-trust"


def doctor(client: InstalledClient) -> list[tuple[str, str]]:
    done = subprocess.run(
        [PROGRAM, "doctor", client.name, "--json"],
        cwd=client.sandbox.work,
        env=client.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = [(each["status"], each["message"]) for each in json.loads(done.stdout)["checks"]]
    assert (done.returncode == 5) == any(status == "problem" for status, _ in found)
    return found


def offered(model: Model) -> bool:
    return any(tool.endswith("todo") for tool in offered_tools(model.requests[-1].body))


@in_every_client
def test_a_client_has_our_tool_as_long_as_doctor_says_so(name: str, make_sandbox: MakeSandbox) -> None:
    with PatientModel(ADD, HELLO, wait=WAIT.get(name)) as model:
        client = install(name, make_sandbox(model))
        client.run()
        assert offered(model)
    alive = doctor(client)
    client.rewrite(str(PROGRAM), "/gone/bin/tildone")
    with Model(HELLO) as model:
        replaced = rebuilt(client, model)
        replaced.run()
        assert not offered(model)

    dead = doctor(client)

    assert {status for status, _ in (alive if name in ("opencode", "pi") else alive[:1])} == {"ok"}
    assert "tools and hooks" in alive[0][1] or "tools, hooks and status line" in alive[0][1]
    assert {status for status, message in dead if "silenced" not in message and " mcp list" not in message} == {
        "problem"
    }
    said = [[(status, found) for status, found in each if " mcp list says: " in found] for each in (alive, dead)]
    if name != "pi":
        # Two only say that the server is configured, and Gemini CLI starts none before it trusts the folder.
        assert [status for status, _ in said[0]] == ["warning" if name == "gemini" else "ok"]
        assert [status for status, _ in said[1]] == ["ok" if name in ("codex", "copilot") else "warning"]
    assert all("do not answer" in message for status, message in dead if status == "problem")


def rebuilt(client: InstalledClient, model: Model) -> InstalledClient:
    old = client.sandbox.model
    for path in client.sandbox.home.rglob("*"):
        if path.is_file() and path.suffix in {".json", ".toml"} and old in path.read_text(errors="replace"):
            path.write_text(path.read_text().replace(old, model.url))
    for path in client.sandbox.work.glob("*.json"):
        path.write_text(path.read_text().replace(old, model.url))
    environ = {key: text.replace(old, model.url) for key, text in client.start.environ.items()}
    sandbox = replace(client.sandbox, model=model.url)
    return replace(client, sandbox=sandbox, start=replace(client.start, environ=environ))


def merge(path: Path, settings: Mapping[str, Any]) -> None:
    data: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for key, setting in settings.items():
        both = isinstance(setting, dict) and isinstance(data.get(key), dict)
        data[key] = {**data[key], **setting} if both else setting
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


GEMINI = ".gemini/settings.json"
HOOKS_OFF: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "claude": (".claude/settings.json", {"disableAllHooks": True}, "all hooks are disabled in "),
    "gemini": (GEMINI, {"hooksConfig": {"enabled": False}}, "hooks are disabled in "),
    "copilot": (".github/copilot/settings.json", {"disableAllHooks": True}, "all hooks are disabled in "),
    "gemini, one hook": (GEMINI, {"hooksConfig": {"disabled": ["tildone"]}}, "our hooks are disabled"),
}
TOOLS_OFF: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "gemini, no server": (GEMINI, {"mcp": {"excluded": ["tildone"]}}, "the server is excluded in "),
    "gemini, others only": (GEMINI, {"mcp": {"allowed": ["other"]}}, "allows other MCP servers only"),
    "opencode": (
        ".config/opencode/opencode.json",
        {"mcp": {"tildone": {"type": "local", "command": [str(PROGRAM), "mcp"], "enabled": False}}},
        "the server is disabled in ",
    ),
    "pi": (".pi/agent/settings.json", {"extensions": ["-extensions/tildone.ts"]}, "the extension is disabled in "),
}


@pytest.mark.parametrize("case", [*HOOKS_OFF, *TOOLS_OFF])
def test_a_client_with_disabled_hooks_or_a_disabled_server_is_silenced(case: str, make_sandbox: MakeSandbox) -> None:
    file, settings, what = {**HOOKS_OFF, **TOOLS_OFF}[case]
    with PatientModel(*([ADD, HELLO] if case in HOOKS_OFF else [HELLO])) as model:
        name = case.partition(",")[0]
        client = install(name, trusted(name, make_sandbox(model)))
        folder = client.sandbox.work if file.startswith(".github") else client.sandbox.home
        merge(folder / file, settings)
        client.run()

    assert not any(GO_ON in last_message(request) for request in model.requests)
    assert offered(model) == (case in HOOKS_OFF)
    assert [message for status, message in doctor(client) if status == "warning" and what in message]


def test_codex_runs_the_hooks_that_doctor_calls_trusted(make_sandbox: MakeSandbox) -> None:
    """Trust is a hash in Codex's settings; doctor computes the same one."""
    with PatientModel(ADD, HELLO, ADD, HELLO, HELLO, wait=WAIT["codex"]) as model:
        client = install("codex", make_sandbox(model))
        strict = [word for word in client.start.command if word != BYPASS]
        client = replace(client, start=replace(client.start, command=strict))
        client.run()
        assert not any(GO_ON in last_message(request) for request in model.requests)
        assert is_silenced(client)
        trust(client)
        assert not is_silenced(client)
        client.run()
        assert any(GO_ON in last_message(request) for request in model.requests)
        settings = client.sandbox.home / ".codex" / "config.toml"
        settings.write_text(settings.read_text().replace("hook codex", "hook  codex"))
        assert is_silenced(client)


def is_silenced(client: InstalledClient) -> bool:
    return any("that you have not trusted" in message for _, message in doctor(client))


def trust(client: InstalledClient) -> None:
    """Trust every hook, as `/hooks` in Codex does, with the hashes that Codex reports."""
    requests = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(client.sandbox.work)]}},
    ]
    with subprocess.Popen(
        ["codex", "app-server"],
        cwd=client.sandbox.work,
        env=client.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin
        assert server.stdout
        for request in requests:
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
        answer = next(each for line in server.stdout if (each := json.loads(line)).get("id") == 2)
        server.kill()
    hooks = answer["result"]["data"][0]["hooks"]
    assert hooks
    state = [f'[hooks.state."{hook["key"]}"]\ntrusted_hash = "{hook["currentHash"]}"\n' for hook in hooks]
    with (client.sandbox.home / ".codex" / "config.toml").open("a") as settings:
        settings.write("\n" + "".join(state))
