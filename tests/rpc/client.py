"""A client of `tildone run --mode rpc`: it talks to a real process through pipes, and records what it receives."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS

Record = dict[str, Any]
EXTENSION = str(Path(__file__).with_name("extension.py"))
COUNTDOWN = "til-done-countdown"


class Client:
    """The client's end of the pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.records: list[Record] = []
        self._inbox: queue.Queue[Record | None] = queue.Queue()
        self.hung_up = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, **record: Any) -> None:
        self.write(json.dumps(record).encode())

    def write(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def until(self, wanted: Callable[[Record], bool]) -> Record:
        """Return the next record for which `wanted` is true."""
        while True:
            record = self._inbox.get(timeout=LIMIT_SECONDS)
            assert record is not None, self.records[-5:]
            if wanted(record):
                return record

    def event(self, kind: str) -> Record:
        return self.until(lambda record: record["type"] == kind)

    def progress(self, kind: str) -> Record:
        return self.until(lambda record: record.get("assistantMessageEvent", {}).get("type") == kind)

    def response(self, name: str) -> Record:
        return self.until(lambda record: record["type"] == "response" and record.get("id") == name)

    def ask(self, command: str, **fields: Any) -> Record:
        self.send(id=command, type=command, **fields)
        return self.response(command)

    def get(self, command: str, **fields: Any) -> Any:
        response = self.ask(command, **fields)
        assert response["success"], response
        return response.get("data")

    def settle(self, message: str) -> None:
        self.get("prompt", message=message)
        self.event("agent_settled")

    def answer(self, method: str, **fields: Any) -> Record:
        """Answer the next question of this kind, and return it."""
        question = self.until(lambda record: record.get("method") == method)
        self.send(type="extension_ui_response", id=question["id"], **fields)
        return question

    def widgets(self) -> list[Any]:
        """Return what the countdown has shown so far; None where it was removed."""
        shown = [record for record in self.records if record.get("widgetKey") == COUNTDOWN]
        return [record.get("widgetLines") for record in shown]

    def kinds(self) -> set[str]:
        return {record["type"] for record in self.records}

    def hang_up(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        code = self.process.wait(LIMIT_SECONDS)
        assert self.hung_up.wait(LIMIT_SECONDS)
        return code

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            record = json.loads(line)
            self.records.append(record)
            self._inbox.put(record)
        self._inbox.put(None)
        self.hung_up.set()


@contextmanager
def started(folder: Path, model_url: str, *options: str, **environ: str) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a host in a folder, with the model at that URL; on exit, it is killed if it has not ended."""
    work = folder / "project"
    work.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "OPENAI_BASE_URL": f"{model_url}/v1",
        "OPENAI_API_KEY": "x",
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        **environ,
    }
    command = [str(PROGRAM), "run", "--mode", "rpc", "--dialect", "indexed", "--model", "openai-chat:scripted"]
    command += ["--no-builtin-tools", "--session-dir", str(folder / "sessions"), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=sys.stderr, cwd=work, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def connected(folder: Path, model_url: str, *options: str, **environ: str) -> Iterator[Client]:
    """Do the same, with a client."""
    with started(folder, model_url, *options, **environ) as process:
        yield Client(process)


@contextmanager
def rpc(folder: Path, model_url: str, *options: str, **environ: str) -> Iterator[Client]:
    """Do the same; on exit, hang up, and check that the process ends with exit code 0."""
    with connected(folder, model_url, *options, **environ) as client:
        yield client
        assert client.hang_up() == 0


def entries(file: str) -> list[Record]:
    """Return the records of a conversation file, its header first."""
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


def first_message(file: str) -> str:
    """Return the id of the person's first message in a conversation file."""
    return next(str(entry["id"]) for entry in entries(file) if entry.get("message", {}).get("role") == "user")
