"""A board as a real process on a port of this machine, and browsers that talk to it over real sockets."""

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest

from tests.suite import waiting
from tests.suite.forking import PROGRAM
from tildone.app.opening import open_store, session_in
from tildone.app.settings import Settings, load
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Author

TIMEOUT_SECONDS = 60.0
Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answered:
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Place:
    """A project, and a home folder with the store of its user."""

    folder: Path
    home: Path
    environ: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        homes = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
        known = {"PATH": os.environ["PATH"], "TILDONE_USER": "Ada", **dict.fromkeys(homes, str(self.home))}
        return known | self.environ

    def settings(self) -> Settings:
        return load({}, self.environment(), str(self.folder))

    @property
    def private_folder(self) -> Path:
        return self.home / "tildone" / "board"

    def store(self) -> Store:
        """The store, opened as another process would."""
        return open_store(self.settings())

    def session(self, name: str = "", author: str = "Grace") -> Session:
        return session_in(self.store(), name or self.settings().session, BY_HAND, author=Author(author))

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command of tildone in the project."""
        command: list[str | Path] = [PROGRAM, *words]
        own, limit = self.environment(), TIMEOUT_SECONDS
        return subprocess.run(
            command, cwd=self.folder, env=own, capture_output=True, text=True, timeout=limit, check=False
        )


@dataclass(frozen=True, slots=True)
class RunningBoard:
    """A board, and what it printed at its start."""

    process: "subprocess.Popen[bytes]"
    notice: list[str]

    @property
    def url(self) -> str:
        return self.notice[0].split()[-1]

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 80

    @property
    def token(self) -> str:
        """The token of the one-time link."""
        return self.notice[1].partition("#t=")[2]

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and the rest of the output."""
        os.kill(self.process.pid, number)
        code = self.process.wait(TIMEOUT_SECONDS)
        assert self.process.stdout
        return code, self.process.stdout.read().decode()

    def browser(self, given: str | None = "", base: str = "", **headers: str) -> "Browser":
        """A browser that came in by the link, by a given token, or, with None, because a proxy names the person."""
        browser = Browser(self.port, base, dict(headers))
        answered = browser.post("/api/in", {} if given is None else {"token": given or self.token})
        assert answered.status == 200, answered.body
        cookie = answered.headers["set-cookie"].partition(";")[0]
        return Browser(self.port, base, {**headers, "Cookie": cookie, "X-Tildone-Key": answered.json["key"]})


@dataclass(frozen=True, slots=True)
class Browser:
    """Sends requests with these headers."""

    port: int
    base: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **more: str) -> Answered:
        return self.send("GET", path, None, **more)

    def post(self, path: str, body: object, head: str | None = None, **more: str) -> Answered:
        given = {"Content-Type": "application/json"} | ({} if head is None else {"If-Match": f'"{head}"'})
        return self.send("POST", path, json.dumps(body).encode(), **(given | more))

    def send(self, method: str, path: str, body: bytes | None, **more: str) -> Answered:
        headers = self.headers | {name.replace("_", "-"): text for name, text in more.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, self.base + path, body, {k: v for k, v in headers.items() if v})
            response = connection.getresponse()
            found = {name.lower(): text for name, text in response.getheaders()}
            return Answered(response.status, found, response.read())
        finally:
            connection.close()

    def sessions(self) -> list[Json]:
        rows: list[Json] = self.get("/api/sessions").json["sessions"]
        return rows

    def key(self, title: str = "project") -> str:
        return next(str(row["key"]) for row in self.sessions() if row["title"] == title)

    @contextmanager
    def live(self, topics: str, last: str = "") -> Iterator["Live"]:
        """An open stream."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        headers = self.headers | ({"Last-Event-ID": last} if last else {})
        try:
            connection.request("GET", f"{self.base}/api/live?topics={topics}", headers=headers)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            assert response.readline() == b"retry: 1000\n"
            assert response.readline() == b"\n"
            yield Live(response)
        finally:
            connection.close()


@dataclass(slots=True)
class Live:
    """The events of a stream."""

    response: http.client.HTTPResponse
    last: str = ""

    def next(self) -> tuple[str, Any]:
        """The next event and its data; comments are passed over. `end` at the end of the stream."""
        event, data = "", ""
        while line := self.response.readline().decode().rstrip("\n"):
            name, _, text = line.partition(": ")
            if name == "id":
                self.last = text
            elif name == "event":
                event = text
            elif name == "data":
                data = text
        if event:
            return event, json.loads(data)
        return ("end", None) if self.response.closed or self.response.isclosed() else self.next()

    def until(self, event: str) -> Any:
        """The data of the next event of this kind."""
        while True:
            found, data = self.next()
            assert found != "end", f"the stream ended before {event}"
            if found == event:
                return data


def until(look: Callable[[], T], is_there: Callable[[T], object]) -> T:
    """Look again and again until something is there, and return it."""
    [found] = waiting.until(lambda: [found] if is_there(found := look()) else [], look)
    return found


@contextmanager
def board(place: Place, *words: str, program: Sequence[str | Path] = (PROGRAM,)) -> Iterator[RunningBoard]:
    """Run a board on a free port; it has ended on exit, whatever happens in the test."""
    port = () if "--port" in words else ("--port", "0")
    command: list[str | Path] = [*program, "board", "--no-open", *port, *words]
    pipe, own = subprocess.PIPE, place.environment()
    with subprocess.Popen(
        command, cwd=place.folder, env=own, stdout=pipe, stderr=pipe, start_new_session=True
    ) as process:
        try:
            assert process.stdout
            notice = [process.stdout.readline().decode().removeprefix("tildone board: ").strip() for _ in range(2)]
            yield RunningBoard(process, notice)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def place_in(parent: Path, **environ: str) -> Place:
    if os.name == "nt":
        pytest.skip("a board and all it started can be ended for certain on Unix")
    folder, home = parent / "project", parent / "home"
    (folder / ".git").mkdir(parents=True)
    home.mkdir()
    return Place(folder.resolve(), home.resolve(), environ)
