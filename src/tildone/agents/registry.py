"""Which agent on this machine works on which plan: a small file for each agent, in a folder for each project.

An agent is known by its host's own id for the session. Hosts that tell it to their hooks but not to their tool servers
are recognised by the process that both were started from.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident

from tildone.errors import StoreError
from tildone.log.json_scanner import parse, quoted
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

try:
    # What `hashlib` gives, without the rest of it: that takes longer to load than a hook takes to run.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUR = 3_600_000
WEEK = 7 * 24 * HOUR
MONTH = 30 * 24 * HOUR
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ash", "ksh", "env", "timeout", "nice"})

CALLER = "caller"
"""Under this name it is kept, about a process of several agents, which of them is about to call a tool."""

_RECORD = ".json"
_PATIENCE = 1.0
_KINDS = (str, str, str | None, int, int, int)
_STAT_AFTER_NAME = (1, 19)
"""Where Linux says who a process was started from, and when: in its line of statistics, after the program's name."""


@value
class Agent:
    """An agent, and what is known of it: its plan, the head that its model last saw, its process, when it last came.

    `born` tells its process from a later one of the same number; 0 where that is not known.
    """

    key: str
    session: str
    seen: str | None = None
    pid: int = 0
    at: int = 0
    born: int = 0

    def is_fresh(self, pid: int, now: int) -> bool:
        """Whether nothing new is known of it: it comes from the same process, if that is known, within the hour."""
        return pid in (0, self.pid) and now - self.at < HOUR


class Agents:
    """The agents of one project.

    A key that ends in the number of the agent's process is that of an agent whose session's id is not known: it is
    the same one as the next that comes from this process, under whatever key.
    """

    def __init__(self, folder: str, project: str) -> None:
        self._folder = os.path.join(folder, digest(project))
        self._project = project

    def known(self, key: str) -> Agent | None:
        """The agent of that key."""
        return _read(self._path(key))

    def all(self) -> Iterator[Agent]:
        """Every agent that is known of."""
        for name in self._names():
            agent = _read(os.path.join(self._folder, name)) if name.endswith(_RECORD) else None
            if agent is not None:
                yield agent

    def at_work(self, now: int) -> Iterator[Agent]:
        """Those whose process runs, or who were heard of within the hour if it is not known."""
        return (agent for agent in self.all() if _alive(agent, now))

    def keep(self, agent: Agent) -> None:
        """Write down what is known of an agent, in place of what was.

        Raises:
            StoreError: it cannot be written.
        """
        seen = "null" if agent.seen is None else quoted(agent.seen)
        self._write(
            self._path(agent.key),
            f'{{"key":{quoted(agent.key)},"session":{quoted(agent.session)},"seen":{seen},'
            f'"pid":{agent.pid},"at":{agent.at},"born":{agent.born}}}',
        )

    def forget(self, key: str) -> None:
        """Forget an agent whose session is over; its plan stays."""
        own = digest(key)
        for name in self._names():
            if name.partition(".")[0] == own:
                _remove(os.path.join(self._folder, name))

    def leave(self, agent: Agent) -> None:
        """Let an agent go that may come back: one that has a plan of its own finds it again."""
        if agent.session == self._project:
            self.forget(agent.key)
        else:
            self.keep(replace(agent, pid=0, at=0, born=0))

    def jot(self, key: str, what: str, text: str) -> None:
        """Keep a word about an agent, apart from the rest: others may be writing that at the same moment."""
        if text != self.jotted(key, what):
            self._write(self._path(key, f".{what}"), text)

    def jotted(self, key: str, what: str) -> str:
        """The word that was kept; empty if none was."""
        try:
            with open(self._path(key, f".{what}"), encoding="utf-8") as file:
                return file.read()
        except (OSError, ValueError):
            return ""

    def admit(self, key: str, pid: int, now: int, handle: str | None = None, *, heir: bool = False) -> Agent:
        """The agent of that key, with the plan it works on: the one it had, else the one named, else the project's.

        Where another agent is at work on the project's plan it gets one of its own, so that neither overwrites the
        other's. An `heir` goes on with the plan of the agent that was in its process before, knowing nothing of it.

        Raises:
            StoreError: it cannot be written down.
        """
        agent = self.known(key)
        if agent is not None and agent.is_fresh(pid, now) and handle in (None, agent.session):
            return agent
        # Late, because an agent is admitted once and comes again and again.
        from tildone.files.lock import FolderLock  # noqa: PLC0415  see above

        with FolderLock(self._folder, _PATIENCE):
            before = agent or self._before(key, pid, heir=heir)
            if before is not None and handle in (None, before.session):
                seen = None if heir and agent is None else before.seen
                agent = replace(before, key=key, seen=seen, pid=pid or before.pid, at=now, born=born(pid or before.pid))
            else:
                self._sweep(now)
                agent = Agent(key, handle or self._free_session(key, now), pid=pid, at=now, born=born(pid))
            self.keep(agent)
            if before is not None and before.key != key:
                self.forget(before.key)
        return agent

    def _before(self, key: str, pid: int, *, heir: bool) -> Agent | None:
        """The agent that this one is, or else the one that it comes after, in the same process."""
        host, nameless = key.partition(":")[0], f":{pid}"
        here = [agent for agent in self.all() if pid and agent.pid == pid]
        same = [agent for agent in here if agent.key.endswith(nameless) or key.endswith(nameless)]
        earlier = [agent for agent in here if heir and agent.key.startswith(f"{host}:")]
        return max(same or earlier, key=lambda agent: agent.at, default=None)

    def _free_session(self, key: str, now: int) -> str:
        taken = any(agent.session == self._project for agent in self.at_work(now))
        return f"{self._project}#{key}" if taken else self._project

    def _sweep(self, now: int) -> None:
        """Forget those who have not been heard of for a month."""
        for name in self._names():
            path = os.path.join(self._folder, name)
            try:
                old = os.stat(path).st_mtime * 1000 < now - MONTH
            except OSError:
                continue
            if old and not name.startswith("."):
                _remove(path)

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._folder))
        except OSError:
            return []

    def _path(self, key: str, kind: str = _RECORD) -> str:
        return os.path.join(self._folder, digest(key) + kind)

    def _write(self, path: str, text: str) -> None:
        draft = f"{path}.{os.getpid()}.{get_ident()}"
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with open(draft, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(draft, path)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from error


def digest(text: str) -> str:
    """A short name for a text of any length."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def agent_process() -> int:
    """The process that this one was started from, not counting shells in between; 0 if it can't be told.

    Where there is no telling what a process runs, shells count: most of them step aside for a single command.
    """
    pid = os.getppid()
    while pid > 1:
        name, numbers = _statistics(pid)
        if name not in SHELLS:
            return pid
        pid = int(numbers[_STAT_AFTER_NAME[0]])
    return 0


def born(pid: int) -> int:
    """When a process was started, as the system counts; 0 if it can't be told, or there is none."""
    numbers = _statistics(pid)[1] if pid else []
    return int(numbers[_STAT_AFTER_NAME[1]]) if len(numbers) > _STAT_AFTER_NAME[1] else 0


def _statistics(pid: int) -> tuple[str, list[bytes]]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            name, _, rest = file.read().partition(b"(")[2].rpartition(b")")
    except OSError:
        return "", []
    return name.decode("utf-8", "replace"), rest.split()


def _alive(agent: Agent, now: int) -> bool:
    # On Windows the signal that asks whether a process is there would interrupt it.
    if not agent.pid or sys.platform == "win32":
        return now - agent.at < HOUR
    if now - agent.at >= WEEK or (agent.born and born(agent.pid) != agent.born):
        return False
    try:
        os.kill(agent.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _read(path: str) -> Agent | None:
    try:
        with open(path, encoding="utf-8") as file:
            held = parse(file.read())
        agent = Agent(held["key"], held["session"], held["seen"], held["pid"], held["at"], held.get("born", 0))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    kinds = zip(_KINDS, (agent.key, agent.session, agent.seen, agent.pid, agent.at, agent.born), strict=True)
    return agent if all(isinstance(held, kind) for kind, held in kinds) else None


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"cannot remove {path}: {error.strerror}") from error
