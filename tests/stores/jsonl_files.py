"""Session files on disk, for tests of the jsonl store."""

import json
from pathlib import Path

from tildone.log.kept import Severity
from tildone.plan.dialects import plan_in_entry
from tildone.stores.pi.store import JsonlStore


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


def oddities(store: JsonlStore) -> list[str]:
    return [finding.what for finding in store.check() if finding.severity is not Severity.OK]
