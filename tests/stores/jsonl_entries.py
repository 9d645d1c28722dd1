"""Entries of pi's session files, for tests of the jsonl store."""

import json
from pathlib import Path
from typing import Any

from tests.stores.jsonl_files import file_of

Entry = dict[str, Any]
WHEN = "2026-01-02T03:04:05.006Z"


def message(entry_id: str, parent: str | None) -> Entry:
    return {
        "type": "message",
        "id": entry_id,
        "parentId": parent,
        "timestamp": WHEN,
        "message": {"role": "user", "content": [{"type": "text", "text": "write_todos todo tildone"}]},
    }


def result(entry_id: str, parent: str | None, tool: str, call_id: str, **details: object) -> Entry:
    told = {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "content": []}
    action = {"action": tool.removesuffix("_todos")} if "todos" in details else {}
    return message(entry_id, parent) | {"message": {**told, "details": action | details, "isError": False}}


def begin(folder: Path, *entries: Entry) -> None:
    """Create a file of pi for session s."""
    folder.mkdir()
    header = {"type": "session", "version": 3, "id": "s", "timestamp": WHEN, "cwd": "/p"}
    (folder / "2026-01-02T03-04-05-006Z_s.jsonl").write_text(lines(header, *entries), encoding="utf-8")


def lines(*records: Entry) -> str:
    return "".join(f"{json.dumps(record, separators=(',', ':'))}\n" for record in records)


def entries_of(folder: Path, session: str = "") -> list[Entry]:
    return [json.loads(line) for line in file_of(folder, session).read_bytes().splitlines() if line.strip()]
