"""A client of `tildone run --mode rpc`: a real process, real pipes, records as they come."""

import json
import os
import queue
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Record = dict[str, Any]
PATIENCE = 30.0
PROGRAM = str(Path(sysconfig.get_path("scripts")) / "tildone")


class Client:
    """The other end of the pipes."""

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

    def until(self, wanted: Callable[[Record], bool], patience: float = PATIENCE) -> Record:
        """The next record that is wanted."""
        while True:
            record = self._inbox.get(timeout=patience)
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
    """A host in a folder of its own, talking to the model at that address; it has ended well when this is left."""
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
    line = [PROGRAM, "run", "--mode", "rpc", "--dialect", "indexed", "--model", "openai-chat:scripted"]
    line += ["--no-builtin-tools", "--session-dir", str(folder / "sessions"), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=sys.stderr, cwd=work, env=environ) as process:
        try:
            client = Client(process)
            yield client
            assert process.stdin
            process.stdin.close()
            assert process.wait(PATIENCE) == 0
            client.hung_up.wait(PATIENCE)
        finally:
            process.kill()
