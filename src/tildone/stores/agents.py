"""Which agent on this machine works on which plan: a small file for each agent, in a folder for each project.

An agent is known by its host's own id for the session. Hosts that tell it to their hooks but not to their tool servers
are recognised by the process that both were started from.
"""

import os
from hashlib import sha256

from tildone.errors import StoreError
from tildone.log import codec
from tildone.value import but, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

HOUR = 3_600_000
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ash", "ksh", "env", "timeout", "nice"})

_FIELDS = ("key", "session", "seen", "pid", "at", "cost")


@value
class Agent:
    """An agent, and what is known of it: its plan, the head that its model last saw, its process, when it last came.

    `cost` is what its session has come to in dollars, as far as its host has told.
    """

    key: str
    session: str
    seen: str | None = None
    pid: int = 0
    at: int = 0
    cost: float = 0


class Agents:
    """The agents of one project."""

    def __init__(self, folder: str, project: str) -> None:
        self._folder = os.path.join(folder, _digest(project))
        self._project = project

    def known(self, key: str) -> Agent | None:
        """The agent of that key."""
        return _read(self._path(key))

    def all(self) -> "Iterator[Agent]":
        """Every agent that is known of."""
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return
        for name in names:
            agent = _read(os.path.join(self._folder, name)) if name.endswith(".json") else None
            if agent is not None:
                yield agent

    def keep(self, agent: Agent) -> None:
        """Write down what is known of an agent, in place of what was.

        Raises:
            StoreError: it cannot be written.
        """
        path = self._path(agent.key)
        draft = f"{path}.{os.getpid()}"
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with open(draft, "w", encoding="ascii") as file:
                file.write(codec.dump({field: getattr(agent, field) for field in _FIELDS}))
            os.replace(draft, path)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from error

    def forget(self, key: str) -> None:
        """Forget an agent whose session is over; its plan stays."""
        try:
            os.remove(self._path(key))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StoreError(f"cannot remove {error.filename}: {error.strerror}") from error

    def admit(self, key: str, pid: int, now: int, handle: str | None = None) -> Agent:
        """The agent of that key, with the plan it works on: the one it had, else the one named, else the project's.

        Where another agent is at work on the project's plan it gets one of its own, so that neither overwrites the
        other's. One that comes from the process of another takes its place: it is the same, under a new key.
        """
        before = self.known(key) or self._of_process(pid)
        if before is not None and (handle is None or handle == before.session):
            if before.key == key and before.pid == pid and now - before.at < HOUR:
                return before
            agent = but(before, key=key, pid=pid or before.pid, at=now)
        else:
            agent = Agent(key, handle or self._free_session(key, now), pid=pid, at=now)
        self.keep(agent)
        if before is not None and before.key != key:
            self.forget(before.key)
        if handle is None and agent.session == self._project and self._outrun(agent, now):
            agent = but(agent, session=self._own_session(key))
            self.keep(agent)
        return agent

    def _of_process(self, pid: int) -> Agent | None:
        return next((agent for agent in self.all() if agent.pid == pid), None) if pid else None

    def _free_session(self, key: str, now: int) -> str:
        taken = any(agent.session == self._project and _alive(agent, now) for agent in self.all())
        return self._own_session(key) if taken else self._project

    def _outrun(self, agent: Agent, now: int) -> bool:
        """Whether another took the project's plan at the same moment; of two, the one whose key comes first has it."""
        return any(
            other.session == self._project and other.key < agent.key and other.at >= agent.at and _alive(other, now)
            for other in self.all()
        )

    def _own_session(self, key: str) -> str:
        return f"{self._project}#{key}"

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, f"{_digest(key)}.json")


def agent_process() -> int:
    """The process that this one was started from, not counting shells in between; 0 if it can't be told."""
    pid = os.getppid()
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                name, _, rest = file.read().partition(b"(")[2].rpartition(b")")
        except OSError:
            return pid
        if name.decode("utf-8", "replace") not in SHELLS:
            return pid
        pid = int(rest.split()[1])
    return 0


def _alive(agent: Agent, now: int) -> bool:
    """Whether the agent is at work: its process runs, or it was heard of within the hour."""
    if not agent.pid:
        return now - agent.at < HOUR
    try:
        os.kill(agent.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _read(path: str) -> Agent | None:
    try:
        with open(path, encoding="ascii") as file:
            held = codec.parse(file.read())
        return Agent(*(held[field] for field in _FIELDS))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
