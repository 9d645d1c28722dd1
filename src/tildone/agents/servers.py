"""Which coding agents have our tools: one small file for each process that provides a coding agent with them.

Theory of operation. A hook must not tell a model to use a tool that the model does not have: the MCP server may not be
installed, may be disabled, or may have died. A server therefore creates the file `AGENT.SERVER` while it serves; both
are process ids, and the file contains the start times of the two processes, which distinguish them from later
processes with the same ids. A server that ends removes its file. The file of a server that was killed stays, but its
process does not run any more, so the file does not count; the next server removes it.

A server on HTTP may serve any coding agent, so it provides for the process 0. Where no file can be written, hooks
consider the tools missing; what they say then is true of a model with the tools, too.
"""

from __future__ import annotations

import os
import sys

from tildone.agents.processes import is_running, start_time
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ANY_AGENT = 0
"""In place of the process id of a coding agent: the tools are there for all of them."""

FOLDER = "servers"
"""Beside the folder of the agent registry."""


class ProvidedTools:
    """A context in which a server process provides a coding agent with tools.

    `agents_dir` is the folder of the agent registry. `agent_pids` is the process of the coding agent, and any other
    that its hooks may consider to be that. `server_pid` is this process by default.
    """

    def __init__(self, agents_dir: str, *agent_pids: int, server_pid: int = 0) -> None:
        self._folder = _folder(agents_dir)
        self._agents = agent_pids
        self._server = server_pid or os.getpid()

    def __enter__(self) -> None:
        self.announce()

    def __exit__(self, *_: object) -> None:
        self.withdraw()

    def announce(self) -> None:
        """Say that the tools are there, until the context or the server process ends."""
        # Late, because hooks only ask which files are there.
        from tildone.files.private import make_private_folder, open_private  # noqa: PLC0415  see above

        try:
            make_private_folder(self._folder)
            for path, agent, server in _entries(self._folder):
                if not _counts(path, agent, server):
                    _remove(path)
            for agent in self._agents:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
                with os.fdopen(open_private(self._path(agent), flags), "w", encoding="ascii") as file:
                    file.write(_start_times(agent, self._server))
        except OSError:
            # Serving is more important than hooks that know of it.
            return

    def withdraw(self) -> None:
        """Say that the tools are not there any more, if that was announced."""
        for agent in self._agents:
            _remove(self._path(agent))

    def _path(self, agent: int) -> str:
        return os.path.join(self._folder, f"{agent}.{self._server}")


def has_tools(agents_dir: str, agent_pid: int) -> bool:
    """Return whether a running process provides this coding agent with our tools.

    If that cannot be determined, because its process id is not known, the answer is yes.
    """
    if not agent_pid or sys.platform == "win32":
        return True
    entries = _entries(_folder(agents_dir))
    return any(_counts(path, agent, server) for path, agent, server in entries if agent in (agent_pid, ANY_AGENT))


def _folder(agents_dir: str) -> str:
    return os.path.join(os.path.dirname(agents_dir), FOLDER)


def _entries(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield the path of each file, with the process ids of the coding agent and of the server."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        agent, _, server = name.partition(".")
        if agent.isdecimal() and server.isdecimal():
            yield os.path.join(folder, name), int(agent), int(server)


def _counts(path: str, agent: int, server: int) -> bool:
    """Return whether the processes that a file names are the ones that run now."""
    try:
        with open(path, encoding="utf-8") as file:
            times = file.read()
    except (OSError, ValueError):
        return False
    return times == _start_times(agent, server) and (sys.platform == "win32" or is_running(server))


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        # Another server may have removed it at the same moment.
        return


def _start_times(agent: int, server: int) -> str:
    return f"{start_time(agent)} {start_time(server)}"
