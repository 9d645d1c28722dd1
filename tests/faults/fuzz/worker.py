"""A process that feeds odd inputs to the parsers, with the arguments SEED FIRST STEP LAST SECONDS FOLDER.

Input `number` is FIRST, FIRST + STEP and so on; the seed, the target and the number determine it. A line of JSON on
standard output has the counts since the line before. What a failure needs to be repeated is a file in FOLDER. The file
`current-FIRST` always names the input at hand, in case that it ends or hangs the process.
"""

import json
import mmap
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from types import FrameType

from tests.faults.fuzz import doors, records, texts
from tests.faults.fuzz.odd import Target

WATCHDOG_SECONDS = 10.0
REPORT_SECONDS = 1.0
CURRENT_BYTES = 64


class Hang(BaseException):
    """An input takes too long."""


def alarm(_number: int, _frame: FrameType | None) -> None:
    """Interrupt an input that takes too long."""
    raise Hang


def all_targets(folder: Path) -> list[Target]:
    """Return every target; each has a folder of its own below `folder`."""
    found = []
    for module in (texts, records, doors):
        own = folder / module.__name__.rpartition(".")[2]
        own.mkdir()
        found += module.targets(own)
    return found


def slots(targets: list[Target]) -> list[Target]:
    """Return each target as often as its weight says, spread out."""
    return [target for turn in range(10) for target in targets if turn < target.weight]


def try_input(target: Target, seed: str, number: int, folder: Path) -> str:
    """Feed one input to a target; return "" if it got an answer, and what is wrong otherwise."""
    given = target.draw(Random(f"{seed} {target.name} {number}"))  # noqa: S311  it selects test cases
    signal.setitimer(signal.ITIMER_REAL, WATCHDOG_SECONDS)
    try:
        target.feed(given)
    except target.answers:
        return ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  whatever it is, it is counted
        signal.setitimer(signal.ITIMER_REAL, 0)
        what = "hang" if isinstance(error, Hang) else "crash"
        name = f"{what}-{number}-{target.name.replace(' ', '-').replace('/', '-')}.txt"
        written = f"seed={seed} {target.name} {number}\n{given!r}\n\n{traceback.format_exc()}"
        (folder / name).write_text(written, encoding="utf-8", errors="backslashreplace")
        return what
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return ""


def main(seed: str, first: str, step: str, last: str, seconds: str, folder: str) -> None:
    """Feed the inputs, and report how many there were."""
    signal.signal(signal.SIGALRM, alarm)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Hooks take over the standard streams.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    counts, found = Counter[str](), Counter[str]()
    deadline = reported = time.monotonic()
    deadline += float(seconds)
    with tempfile.TemporaryDirectory() as scratch, _current(Path(folder, f"current-{first}")) as current:
        for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            os.environ[name] = scratch
        turns = slots(all_targets(Path(scratch)))
        for number in range(int(first), int(last), int(step)):
            target = turns[(number // int(step)) % len(turns)]
            current[:CURRENT_BYTES] = f"{number} {target.name}".ljust(CURRENT_BYTES)[:CURRENT_BYTES].encode()
            counts[target.name] += 1
            wrong = try_input(target, seed, number, Path(folder))
            if wrong:
                found[wrong] += 1
            at = time.monotonic()
            if at - reported > REPORT_SECONDS or at > deadline:
                print(json.dumps({"counts": counts, "found": found, "next": number + int(step)}), file=out)
                counts, found, reported = Counter(), Counter(), at
            if at > deadline:
                break
    print(json.dumps({"counts": counts, "found": found, "next": int(last)}), file=out)


def _current(path: Path) -> mmap.mmap:
    path.write_bytes(b" " * CURRENT_BYTES)
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), CURRENT_BYTES)


if __name__ == "__main__":
    main(*sys.argv[1:])
