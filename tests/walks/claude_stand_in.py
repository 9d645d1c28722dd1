"""A program that takes the place of Claude Code where that is not installed: `claude -p TASK`, with a scripted model.

It reads the settings that `tildone install claude` wrote, starts the MCP server that they name, runs their hooks with
the events that Claude Code sends, and continues after a stop if a hook says so. The environment variable
`STAND_IN_SCRIPT` holds the turns of the model (`tests.host.models.model_server`).
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

CONVERSATION = {"CLAUDE_CODE_SESSION_ID": "5f0c"}


class Server:
    """The MCP server of the settings, and its tools."""

    def __init__(self, settings: dict[str, Any]) -> None:
        server = settings["mcpServers"]["tildone"]
        self._process = subprocess.Popen(
            [server["command"], *server["args"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **CONVERSATION, **server.get("env", {})},
        )
        client = {"name": "claude-code", "version": "1"}
        self._request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, arguments: object) -> None:
        self._request("tools/call", {"name": tool, "arguments": arguments})

    def close(self) -> None:
        self._process.communicate()

    def _request(self, method: str, params: object) -> None:
        self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert self._process.stdout is not None
        answer = json.loads(self._process.stdout.readline())
        assert "result" in answer, answer

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def run_hooks(settings: dict[str, Any], event: str, **fields: str) -> str | None:
    """Run the hooks of an event; return the reason if one of them blocks it."""
    given = {"session_id": "5f0c", "cwd": str(Path.cwd()), "hook_event_name": event, **fields}
    reason = None
    for entry in settings["hooks"].get(event, ()):
        for hook in entry["hooks"]:
            done = subprocess.run(
                ["sh", "-c", hook["command"]],
                input=json.dumps(given),
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, **CONVERSATION},
            )
            answer = json.loads(done.stdout or "{}")
            reason = answer["reason"] if answer.get("decision") == "block" else reason
    return reason


def main(task: str) -> None:
    """Work through the script, and print the last answer."""
    settings = json.loads(Path("~/.claude/settings.json").expanduser().read_text())
    server = Server(json.loads(Path("~/.claude.json").expanduser().read_text()))
    run_hooks(settings, "SessionStart", source="startup")
    run_hooks(settings, "UserPromptSubmit", prompt=task)
    for turn in json.loads(os.environ["STAND_IN_SCRIPT"]):
        for tool, arguments in turn.get("tools", ()):
            server.call(tool, arguments)
        if "text" in turn and run_hooks(settings, "Stop", last_assistant_message=turn["text"]) is None:
            print(turn["text"])
            break
    run_hooks(settings, "SessionEnd", reason="other")
    server.close()


if __name__ == "__main__":
    main(sys.argv[2])
