"""Programs that tests run on a folder of session files: `python -m tests.stores.jsonl_programs NAME ARGUMENT…`.

They import little, because a test may start many of them; and each ends with the test that started it.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stores.writers import become_nobody, kill_writers, say, session_of, toggle_on, write_cramped, write_on
from tildone.base import TildoneError
from tildone.base.durable import FolderLock
from tildone.log.store import Store
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import Actor, Event, Nudged, SessionHead
from tildone.plan.model import Phase, Task
from tildone.plan.ops import Write
from tildone.stores.pi.store import JsonlStore

ROOT = Path(__file__).resolve().parents[2]
LONG_ENOUGH = 120.0
BATCH = 20


@contextmanager
def started(program: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Start one of these programs; it is killed at the end of the block."""
    command = [sys.executable, "-m", "tests.stores.jsonl_programs", program, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]") -> str:
    """Wait until a program ends successfully, and return its output."""
    out, err = process.communicate(timeout=LONG_ENOUGH)
    assert process.returncode == 0, err or out
    return out


def toggle(folder: str, worker: str, times: str) -> None:
    toggle_on(opened(folder), worker, times)


def make(folder: str, name: str) -> None:
    """Report readiness, and create a session when the input ends, unless another process has."""
    store = opened(folder)
    say("ready")
    sys.stdin.read()
    session_of(store, name).change([Write((Phase("", (Task(name),)),))])


def hold(folder: str) -> None:
    """Hold the write lock until the input ends."""
    with FolderLock(folder, 0):
        say("held")
        sys.stdin.read()


def cramped(folder: str) -> None:
    write_cramped(opened(folder))


def examined(folder: str) -> None:
    """Print the findings of a check by an unprivileged user."""
    store = opened(folder)
    become_nobody()
    for finding in store.check():
        say(f"{finding.severity.value}: {finding.what}")


def unprivileged(folder: str) -> None:
    """Read and write as an unprivileged user, and print how far that succeeded."""
    become_nobody()
    try:
        store = opened(folder)
        say(f"read {store.session_head('s').head}")
        write_on(store, "mine", 1)
    except TildoneError as error:
        say(f"{type(error).__name__}: {error}")


def killed(folder: str, work: str, kills: str, seed: str) -> None:
    does = {"append": write_on, "adopt": adopt_on}[work]
    kill_writers(lambda prefix: does(opened(folder), prefix), kills, seed)


def adopt_on(store: Store, prefix: str) -> None:
    """Import batches of events, and print each batch once it is acknowledged."""
    for number in range(sys.maxsize):
        ids = [f"{prefix}-{number}-{each}" for each in range(BATCH)]
        events = [Event(new, old, 1, Actor.IMPORT, Nudged(1, 1)) for old, new in zip([None, *ids], ids, strict=False)]
        store.import_events("s", events, SessionHead(ids[0], (ids[1],)))
        say(ids[0])


def opened(folder: str) -> JsonlStore:
    return JsonlStore(folder, plan_in_entry)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
