"""A server over HTTP in a process of its own, and clients that come to it."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.clients.leash import leashed
from tests.mcp.room import PATIENCE, PROGRAM, Heard, Room, called

TELLS_ITS_ID = 'echo "$$" >&2; exec "$@"'


@dataclass(frozen=True, slots=True)
class Served:
    """Where a server is, what it said when it began, and the token it asks for."""

    process: "subprocess.Popen[bytes]"
    pid: int
    told: list[str]
    token: str

    @property
    def url(self) -> str:
        return self.told[0].split()[-1]

    @property
    def token_file(self) -> Path:
        """Where it said that the token is."""
        return Path(self.told[1].split()[-1])

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send it a signal; how it ended, and what else it said."""
        os.kill(self.pid, number)
        code = self.process.wait(PATIENCE)
        assert self.process.stderr
        return code, self.process.stderr.read().decode()

    @asynccontextmanager
    async def client(
        self, mode: str = "auto", handle: str | None = None, heard: Heard | None = None, *, query: str = ""
    ) -> AsyncIterator[Client]:
        """The official client, with the token, and a plan if one is named."""
        headers = {b"Authorization": f"Bearer {self.token}".encode()}
        headers |= {b"Tildone-Session": handle.encode()} if handle else {}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
            transport = streamable_http_client(f"{self.url}{query}", http_client=http)
            client = Client(transport, mode=mode, client_info=called("test"), message_handler=heard)
            async with client:
                yield client

    def post(self, body: object = None, *, path: str = "", **headers: str) -> httpx2.Response:
        """One bare request, with the token unless another is shown."""
        usual = {"authorization": f"Bearer {self.token}".strip(), "accept": "application/json, text/event-stream"}
        said = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.post(path or self.url, json=body or {}, headers=said, timeout=PATIENCE)


@contextmanager
def serving(room: Room, *words: str, **environ: str) -> Iterator[Served]:
    """A server on a port that was free. Whatever happens to the test, it is gone in the end."""
    command = ["sh", "-c", TELLS_ITS_ID, "sh", PROGRAM, "mcp", "--http", "--port", "0", *words]
    env = room.environment(**environ)
    with leashed(command, seconds=2 * PATIENCE, cwd=room.project, env=env, stderr=subprocess.PIPE) as process:
        assert process.stderr
        pid = int(process.stderr.readline())
        told = [process.stderr.readline().decode().removeprefix("tildone mcp: ").strip() for _ in range(2)]
        served = Served(process, pid, told, environ.get("TILDONE_TOKEN", ""))
        if told[1].startswith("clients need the token in /"):
            served = Served(process, pid, told, served.token_file.read_text().strip())
        yield served
