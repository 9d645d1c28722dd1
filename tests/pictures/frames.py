"""Frames as JSON, so that a picture can be drawn again without a recording."""

import json
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from tests.pictures.recording import Cell, Frame


def write_frames(path: Path, frames: Sequence[Frame]) -> None:
    """Write frames, one row per line. Each look is written once."""
    looks = list(dict.fromkeys(look for frame in frames for row in frame.rows for _, look in row))
    rows = list(dict.fromkeys(row for frame in frames for row in frame.rows))
    lines = ["{", f' "looks": {_json([astuple(look) for look in looks])},', ' "rows": [']
    drawn = [_json([[text, looks.index(look)] for text, look in row]) for row in rows]
    lines += [f"  {row}{',' if number < len(rows) - 1 else ''}" for number, row in enumerate(drawn)]
    shown = [[frame.seconds, [rows.index(row) for row in frame.rows]] for frame in frames]
    lines += [" ],", f' "frames": {_json(shown)}', "}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_frames(path: Path) -> list[Frame]:
    """Read what `write_frames` has written."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    looks = [Cell(*look) for look in stored["looks"]]
    rows = [tuple((text, looks[look]) for text, look in row) for row in stored["rows"]]
    return [Frame(tuple(rows[row] for row in shown), seconds) for seconds, shown in stored["frames"]]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
