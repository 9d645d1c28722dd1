"""Damaged SQLite files: bytes of a real store are changed, and what commands then show is compared with the truth."""

import contextlib
import io
import os
import random
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tildone.app.opening import session_in
from tildone.cli import main
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import SessionHead
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, At, Mark
from tildone.stores.sqlite.store import SqliteStore
from tildone.stores.summary import SessionSummary, read_summary

CLEAR_ERROR, RIGHT_PLAN, WRONG_PLAN, TRACEBACK = "clear error", "right plan", "wrong plan", "traceback"

SESSIONS = ("alpha", "beta", "gamma", "delta")
CHANGES = 8
FIRST_PAGES = 8
VERBS = (
    ("todo", "list", "--json"),
    ("todo", "export", "-"),
    ("log", "--json", "--limit", "1000"),
    ("log", "--all", "--json", "--limit", "1000"),
    ("status", "--json"),
)
"""Commands that show a plan. Each of them tells what is stored, or fails."""

MORE_VERBS = (("sessions",), ("doctor", "--json"), ("branch",), ("blame",))
"""Commands that must not crash. They show no plan, or other things beside it."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a command came to: its exit code and what it printed, or the traceback of an exception."""

    code: int
    out: str
    trace: str = ""


def campaign(count: int, seed: int) -> Counter[str]:
    """Damage a store `count` times, and count what came of it. The worst of all commands counts for each damage."""
    return Counter(result for _, result in results(count, seed))


def results(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield what was done to the file, and what came of it."""
    chance = random.Random(seed)  # noqa: S311  it is to be repeatable
    with tempfile.TemporaryDirectory(prefix="tildone-") as name, _alone_in(Path(name)) as path:
        content = _written_store(path)
        truth = {(session, verb): _run(verb, session) for session in SESSIONS for verb in VERBS}
        assert all(shown.code == 0 for shown in truth.values()), truth
        heads = {session: read_summary(str(path), session) for session in SESSIONS}
        for _ in range(count):
            what, damaged = _damaged(content, chance)
            session, verb = chance.choice(SESSIONS), chance.choice(VERBS)
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            path.write_bytes(damaged)
            shown, more = _run(verb, session), _run(chance.choice(MORE_VERBS), session)
            traces = shown.trace, more.trace
            found = [_judged(shown, truth[session, verb])]
            found += [_judged_summary(path, session, heads[session])]
            found += [TRACEBACK] * bool(more.trace)
            worst = max(found, key=(RIGHT_PLAN, CLEAR_ERROR, WRONG_PLAN, TRACEBACK).index)
            yield f"{what}: {verb} {session} {'; '.join(each for each in traces if each)}", worst


def _judged(shown: Shown, truth: Shown) -> str:
    if shown.trace:
        return TRACEBACK
    if shown.code:
        return CLEAR_ERROR
    return RIGHT_PLAN if shown == truth else WRONG_PLAN


def _judged_summary(path: Path, session: str, truth: SessionSummary | None) -> str:
    """Judge what a hook reads. None means that it opens the store, which a command does, too."""
    try:
        summary = read_summary(str(path), session)
    except Exception:  # noqa: BLE001  each one is a finding
        return TRACEBACK
    return RIGHT_PLAN if summary in {truth, None} else WRONG_PLAN


def _damaged(content: bytes, chance: random.Random) -> tuple[str, bytes]:
    """Return a description and the content with something broken, most often one byte."""
    # The schema and the heads are at the beginning; the rest of a page follows what describes the page.
    place = chance.randrange(len(content) if chance.random() < 0.5 else FIRST_PAGES * 4096)
    page = place - place % 4096
    if chance.random() < 0.25:
        place = page + chance.randrange(64)
    match chance.randrange(20):
        case 0:
            return f"cut at {place}", content[:place]
        case 1:
            return f"zeros in the page at {page}", content[:page] + bytes(4096) + content[page + 4096 :]
        case 2:
            place = chance.randrange(100)
            other = content[place] ^ chance.randrange(1, 256)
            return f"header byte {place} is {other}", content[:place] + bytes([other]) + content[place + 1 :]
        case 3:
            other = chance.randrange(0, len(content), 4096)
            copied = content[other : other + 4096]
            return f"page at {page} is that at {other}", content[:page] + copied + content[page + 4096 :]
        case _:
            other = content[place] ^ chance.choice((1 << chance.randrange(8), chance.randrange(1, 256)))
            return f"byte {place} is {other}", content[:place] + bytes([other]) + content[place + 1 :]


def _written_store(path: Path) -> bytes:
    """Write a store with several sessions, each with changes, a branch and an undone change."""
    store = SqliteStore(path)
    for number, name in enumerate(SESSIONS):
        session = session_in(store, name, BY_HAND)
        for change in range(CHANGES + number):
            session.change((Append((Task(f"{name} task {change}, {'with words ' * (change % 7)}"),)),))
            if change % 3 == 0:
                session.change((Mark(At((change,)), Status.COMPLETED),))
        head = store.session_head(name)
        *_, earlier = (event for event, _ in zip(store.history(name), range(3), strict=False))
        store.move_head(name, SessionHead(earlier.id, (str(head.head),)), expected=head.head)
    store.close()
    return path.read_bytes()


def _run(verb: tuple[str, ...], session: str) -> Shown:
    """Run a command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([*verb, *([] if verb[0] in {"sessions", "doctor"} else ["--session", session])])
        except (Exception, SystemExit):  # noqa: BLE001  each one is a finding
            return Shown(1, "", traceback.format_exc())
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return Shown(code, out.buffer.getvalue().decode())


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[Path]:
    """Make a folder the home and the working folder of this process, and yield the path of its store."""
    path = folder / "plans.db"
    own = {"HOME": str(folder), "TILDONE_STORE": str(path), "TILDONE_USER": "Ada"}
    others = {name: text for name, text in os.environ.items() if not name.startswith(("TILDONE_", "XDG_"))}
    with patch.dict(os.environ, others | own, clear=True), contextlib.chdir(folder):
        yield path
