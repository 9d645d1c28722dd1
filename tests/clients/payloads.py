"""What a client sends to its hooks and to its MCP server: the names of the fields, by event.

A program between the client and tildone copies everything that it reads. `schema` makes a description of the copies
that does not depend on the values, and `payloads.json` keeps the description for the versions that were tried.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.clients.inside import InstalledClient, program
from tests.suite.forking import PROGRAM

FILE = Path(__file__).parent / "payloads.json"
Schema = dict[str, list[str]]

RECORDING = """\
copy={folder}/$(date +%s%N).$$.${{@: -1}}
exec {program} "$@" < <(tee "$copy")
"""
METHODS = ("initialize", "server/discover", "tools/call")
"""The requests to a server that are described; which others there are depends on what the server offers."""

FREE_FORM = (
    *("args", "tool_input", "tool_response", "arguments", "input", "output", "background_tasks"),
    *("toolArgs", "toolResult"),
)
"""Fields whose content depends on the tool or the task; only their presence is described."""


def record(client: InstalledClient, folder: Path) -> Path:
    """Copy what the client sends from now on; return the folder with the copies."""
    copies = folder / "copies"
    copies.mkdir()
    # The process is replaced, so that tildone has the same parent process as without the copies.
    path = program(folder / "recording", RECORDING.format(folder=copies, program=PROGRAM))
    path.write_text(path.read_text(encoding="utf-8").replace("#!/bin/sh", "#!/bin/bash"), encoding="utf-8")
    client.rewrite(str(PROGRAM), str(path))
    return copies


def schema(copies: Path) -> Schema:
    """Describe the copies: for each event or method, its fields in alphabetical order."""
    fields: dict[str, set[str]] = {}
    for copy in copies.iterdir():
        for payload in _payloads(copy.read_text(encoding="utf-8")):
            method = payload.get("method")
            # Copilot CLI has the event in the command line of the hook only.
            event = payload.get("hook_event_name") or payload.get("event") or copy.suffix.removeprefix(".")
            name = event if method is None else method if method in METHODS else None
            if name:
                fields.setdefault(str(name), set()).update(_fields(payload))
    return {name: sorted(fields[name]) for name in sorted(fields)}


def load(file: Path = FILE) -> dict[str, Schema]:
    kept: dict[str, Schema] = json.loads(file.read_text(encoding="utf-8"))
    return kept


def save(sent: Mapping[str, Schema], file: Path = FILE) -> None:
    lines = [f" {json.dumps(client)}: {json.dumps(sent[client], indent=1)}" for client in sorted(sent)]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")


def differences(before: Schema, after: Schema) -> list[str]:
    lines = [f"event {name} has disappeared" for name in before if name not in after]
    lines += [f"event {name} is new: {', '.join(after[name])}" for name in after if name not in before]
    for name in before.keys() & after.keys():
        lines += [f"{name}: {field} has disappeared" for field in before[name] if field not in after[name]]
        lines += [f"{name}: {field} is new" for field in after[name] if field not in before[name]]
    return sorted(lines)


def _payloads(text: str) -> Iterator[Mapping[str, Any]]:
    """A hook is sent one JSON object, a server one in each line."""
    decoder = json.JSONDecoder()
    at = 0
    while (at := len(text) - len(text[at:].lstrip())) < len(text):
        payload, at = decoder.raw_decode(text, at)
        if isinstance(payload, dict):
            yield payload


def _fields(payload: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, content in payload.items():
        if isinstance(content, dict) and content and key not in FREE_FORM:
            yield from _fields(content, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
