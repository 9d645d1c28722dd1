"""What the gate makes of the closings of agents: `python -m tests.loop.closings.figures [--languages]`.

The rules were made with the closings in `own.jsonl`. Those in `held_out.jsonl` were written by somebody who did not
know the rules, and were not read when they were made.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tildone.plan.gate import Asked
from tildone.plan.questions import asks_person

HALVES = {"made with the rules": "own.jsonl", "held out": "held_out.jsonl"}
HEAD = """\
| closings | ask: left alone | in doubt | told to go on | do not ask: told to go on | in doubt | left alone |
|---|---|---|---|---|---|---|
"""


def closings(half: str) -> list[dict[str, Any]]:
    text = Path(__file__).with_name(HALVES[half]).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def table(*, languages: bool = False) -> str:
    return HEAD + "".join(line for half in HALVES for line in _lines(half, languages=languages))


def _lines(half: str, *, languages: bool) -> Iterator[str]:
    listed = closings(half)
    yield _line(half, listed)
    if languages:
        for language in sorted({each["language"] for each in listed}):
            yield _line(f"{half}, {language}", [each for each in listed if each["language"] == language])


def _line(title: str, listed: Iterable[dict[str, Any]]) -> str:
    counts = Counter((each["asks"], asks_person(each["closing"])) for each in listed)
    found = [counts[asks, told] for asks in (True, False) for told in (Asked.YES, Asked.DOUBT, Asked.NO)]
    cells = [*found[:3], *reversed(found[3:])]
    return f"| {title} | {' | '.join(map(str, cells))} |\n"


if __name__ == "__main__":
    print(table(languages="--languages" in sys.argv), end="")
