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

Record = dict[str, Any]
TIMEOUT_SECONDS = 30.0


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

    def until(self, wanted: Callable[[Record], bool], timeout: float = TIMEOUT_SECONDS) -> Record:
        """Return the next record for which `wanted` is true."""
        while True:
            record = self._inbox.get(timeout=timeout)
            assert record is not None, self.records[-5:]
            if wanted(record):
                return record

    def event(self, kind: str) -> Record:
        return self.until(lambda record: record["type"] == kind)

    def ask(self, command: str, **fields: Any) -> Record:
        """Send a command and wait for its response."""
        self.send(id=command, type=command, **fields)
        return self.until(lambda record: record["type"] == "response" and record.get("id") == command)

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            record = json.loads(line)
            self.records.append(record)
            self._inbox.put(record)
        self._inbox.put(None)
        self.hung_up.set()


@contextmanager
def rpc(folder: Path, model_url: str, *options: str) -> Iterator[Client]:
    """Run a host in a folder, with the model at that URL; on exit, check that it ends with exit code 0."""
    work = folder / "project"
    work.mkdir(exist_ok=True)
    environ = {
        **os.environ,
        "OPENAI_BASE_URL": f"{model_url}/v1",
        "OPENAI_API_KEY": "x",
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    command = [str(PROGRAM), "run", "--mode", "rpc", "--dialect", "indexed", "--model", "openai-chat:scripted"]
    command += ["--no-builtin-tools", "--session-dir", str(folder / "sessions"), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=sys.stderr, cwd=work, env=environ) as process:
        try:
            client = Client(process)
            yield client
            assert process.stdin
            process.stdin.close()
            assert process.wait(TIMEOUT_SECONDS) == 0
            client.hung_up.wait(TIMEOUT_SECONDS)
        finally:
            process.kill()
