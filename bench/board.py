"""The board: loading its first page with few and many sessions, a change until all pages have it, memory of a page."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Self

from bench.board_pages import page_rows
from bench.measure import Memory, Row, medians, resident_megabytes
from bench.plans import PLAN
from tildone.app.opening import session_in, store_at
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Phase, Plan, Status
from tildone.plan.ops import At, Mark, Write

LOAD_AIM, LIVE_AIM, MEMORY_AIM = 1.5, 4.0, 0.1
LOAD, LIVE, MEMORY = (
    "Board: first load",
    "Board: a change until all have it",
    "Board: an open page, in the server",
)
TIMEOUT_SECONDS = 120
BUILD = Plan((Phase("Build", PLAN.tasks),))


def rows(folder: Path, loads: int, changes: int, pages: int, middle: int, many: int) -> Iterator[Row | Memory]:
    """First loads with 10 sessions, `middle` and `many`; changes with one page open and with `pages`."""
    with ExitStack() as stack:
        boards = [
            stack.enter_context(Board(folder / f"board{place}", sessions))
            for place, sessions in enumerate((min(10, middle), middle, many))
        ]
        few_took, middle_took, many_took = medians([board.load for board in boards], loads)
    yield Row(f"{LOAD}, {middle:,} sessions", "10 sessions", LOAD_AIM, middle_took, few_took)
    yield Row(f"{LOAD}, {many:,} sessions", "10 sessions", LOAD_AIM, many_took, few_took)
    with ExitStack() as stack:
        quiet = stack.enter_context(Board(folder / "quiet", 10))
        busy = stack.enter_context(Board(folder / "busy", 10))
        quiet.open_page()
        busy.open_page()
        before = busy.resident_megabytes()
        for _ in range(pages - 1):
            busy.open_page()
        quiet_took, busy_took = medians([quiet.change(), busy.change()], changes)
        after = busy.resident_megabytes()
        painted = list(page_rows(quiet, busy, changes, pages))
    yield Row(f"{LIVE}, {pages} open", "1 open", LIVE_AIM, busy_took, quiet_took)
    each = (after - before) / max(1, pages - 1)
    yield Memory(MEMORY, each, MEMORY_AIM) if after else Row(MEMORY, "", 0, skipped="only Linux tells")
    yield from painted


class Board:
    """A running board of a store with this many sessions of the same plan, and a browser that was let in."""

    def __init__(self, folder: Path, sessions: int, plan: Plan = BUILD) -> None:
        folder.mkdir()
        store = store_at(str(folder / "plans.db"))
        for number in range(sessions):
            session_in(store, f"session {number}", BY_HAND).change([Write(plan.phases)])
        self._store = store
        environ = {**os.environ, "XDG_DATA_HOME": str(folder), "TILDONE_STORE": str(folder / "plans.db")}
        program = str(Path(sys.executable).with_name("tildone"))
        command = [program, "board", "--no-open", "--port", "0"]
        self._process = subprocess.Popen(command, env=environ, cwd=folder, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        self._port = int(self._process.stdout.readline().strip().rpartition(":")[2])
        token = self._process.stdout.readline().strip().partition("#t=")[2]
        self._headers: dict[str, str] = {}
        response = self._send("POST", "/api/in", {"token": token})
        cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
        self._headers = {"Cookie": cookie, "X-Tildone-Key": json.loads(response.read())["key"]}
        first = json.loads(self._send("GET", "/api/sessions").read())["sessions"][0]
        self._key, self._session = str(first["key"]), str(first["name"])
        self.page = f"http://127.0.0.1:{self._port}/s/{self._key}"
        self._pages: list[http.client.HTTPResponse] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()
        self._store.close()

    def load(self) -> None:
        """What a browser does to show the first page, without its files, which it keeps."""
        self._send("GET", "/").read()
        assert self._send("GET", "/api/sessions?sort=activity&limit=60").read()

    def open_page(self) -> None:
        """A page that shows a session, live."""
        response = self._send("GET", f"/api/live?topics=needs,session:{self._key}")
        assert response.readline() == b"retry: 1000\n"
        self._pages.append(response)

    def change(self) -> Callable[[], None]:
        """An edit, until every open page has it."""
        names = cycle(("completed", "pending"))
        head = str(json.loads(self._send("GET", f"/api/s/{self._key}").read())["head"])

        def run() -> None:
            nonlocal head
            ops = {"ops": [{"op": "mark", "at": [3], "status": next(names)}]}
            response = self._send("POST", f"/api/s/{self._key}/ops", ops, head)
            head = json.loads(response.read())["head"]
            for page in self._pages:
                while head.encode() not in page.readline():
                    pass

        return run

    def edit(self, status: str) -> None:
        """Change a task in this process, past the board."""
        session_in(self._store, self._session, BY_HAND).change([Mark(At((3,)), Status(status))])

    def drain(self) -> None:
        """Read what the last edit has sent to the open streams."""
        head = str(self._store.session_head(self._session).head).encode()
        for page in self._pages:
            while head not in page.readline():
                pass

    def signed_in(self) -> dict[str, object]:
        """What a browser keeps that was let in."""
        name, _, text = self._headers["Cookie"].partition("=")
        cookie: dict[str, object] = {
            "name": name,
            "value": text,
            "domain": "127.0.0.1",
            "path": "/",
            "sameSite": "Strict",
        }
        cookie |= {"expires": -1, "httpOnly": True, "secure": False}
        kept = [{"name": "tildone-key:", "value": self._headers["X-Tildone-Key"]}]
        return {"cookies": [cookie], "origins": [{"origin": f"http://127.0.0.1:{self._port}", "localStorage": kept}]}

    def cpu_seconds(self) -> float:
        """The CPU time of the board's threads so far, in a finer unit than the clock ticks of /proc/PID/stat."""
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text(encoding="ascii").split()[0]) for each in threads) / 1e9

    def resident_megabytes(self) -> float:
        return resident_megabytes(self._process.pid)

    def _send(self, method: str, path: str, body: object = None, head: str = "") -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_SECONDS)
        more = {"Content-Type": "application/json", "If-Match": f'"{head}"'} if body else {}
        connection.request(method, path, json.dumps(body).encode() if body else None, self._headers | more)
        return connection.getresponse()
