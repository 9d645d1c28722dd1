"""An HTTP server in a separate process, and its clients."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.clients.supervisor import supervised
from tests.mcp.project import TIMEOUT_SECONDS, Inbox, Project, client_info
from tests.suite.forking import PROGRAM

SERVER_SECONDS = 3600.0
"""A server may serve all tests of a module, on a machine of any speed. It ends with the tests in any case."""

PRINTS_ITS_PID = 'echo "$$" >&2; exec "$@"'


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: what it printed at its start, and the token it requires."""

    process: "subprocess.Popen[bytes]"
    pid: int
    notice: list[str]
    token: str

    @property
    def url(self) -> str:
        return self.notice[0].split()[-1]

    @property
    def token_file(self) -> Path:
        return Path(self.notice[1].split()[-1])

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send the server a signal; return its exit code and the rest of its output."""
        os.kill(self.pid, number)
        code = self.process.wait(TIMEOUT_SECONDS)
        assert self.process.stderr
        return code, self.process.stderr.read().decode()

    @asynccontextmanager
    async def client(
        self, mode: str = "auto", session: str | None = None, inbox: Inbox | None = None, *, query: str = ""
    ) -> AsyncIterator[Client]:
        """The official client, with the token, and a session if one is named."""
        headers = {b"Authorization": f"Bearer {self.token}".encode()}
        headers |= {b"Tildone-Session": session.encode()} if session else {}
        async with httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS) as http:
            transport = streamable_http_client(f"{self.url}{query}", http_client=http)
            client = Client(transport, mode=mode, client_info=client_info("test"), message_handler=inbox)
            async with client:
                yield client

    def post(self, body: object = None, *, path: str = "", **given: str) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.token}".strip(), "accept": "application/json, text/event-stream"}
        headers |= {name.replace("_", "-"): value for name, value in given.items()}
        return httpx2.post(path or self.url, json=body or {}, headers=headers, timeout=TIMEOUT_SECONDS)


@contextmanager
def serving(
    project: Project, *words: str, program: Sequence[str] = (str(PROGRAM),), **environ: str
) -> Iterator[Served]:
    """Run a server on a free port; it has ended on exit, whatever happens in the test."""
    if os.name == "nt":
        pytest.skip("a server and all it started can be ended for certain on Unix")
    command = ["sh", "-c", PRINTS_ITS_PID, "sh", *program, "mcp", "--http", "--port", "0", *words]
    env = project.environment(**environ)
    with supervised(command, seconds=SERVER_SECONDS, cwd=project.folder, env=env, stderr=subprocess.PIPE) as process:
        assert process.stderr
        pid = int(process.stderr.readline())
        notice = [process.stderr.readline().decode().removeprefix("tildone mcp: ").strip() for _ in range(2)]
        served = Served(process, pid, notice, environ.get("TILDONE_TOKEN", ""))
        if notice[1].startswith("clients need the token in /"):
            served = Served(process, pid, notice, served.token_file.read_text().strip())
        yield served
