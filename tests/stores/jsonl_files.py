"""Session files on disk and pi's entries in them, for tests of the jsonl store."""

import json
from pathlib import Path
from typing import Any

from tildone.log.kept import Severity
from tildone.log.store import Store
from tildone.plan.dialects import plan_in_entry
from tildone.stores.pi.store import JsonlStore

Entry = dict[str, Any]
WHEN = "2026-01-02T03:04:05.006Z"


def garble(path: Path, number: int, keep: int = 0) -> None:
    """Make one line of a file unparsable, keeping its first bytes."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = lines[number - 1][:keep] + b"\x00garbage\n"
    path.write_bytes(b"".join(lines))


def opened(folder: Path) -> JsonlStore:
    return JsonlStore(folder, plan_in_entry)


def file_of(folder: Path, session: str = "") -> Path:
    [path] = folder.glob(f"*{session}.jsonl")
    return path


def as_pi_reads(folder: Path) -> list[dict[str, str]]:
    """Return every line that is JSON."""
    found = []
    for line in file_of(folder).read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def oddities(store: Store) -> list[str]:
    return [finding.what for finding in store.check() if finding.severity is not Severity.OK]


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


def lines(*records: object) -> str:
    return "".join(f"{json.dumps(record, separators=(',', ':'))}\n" for record in records)


def entries_of(folder: Path, session: str = "") -> list[Entry]:
    return [json.loads(line) for line in file_of(folder, session).read_bytes().splitlines() if line.strip()]
