"""The registry of agents: one small file per agent, in one folder per project; their identities and processes.

Theory of operation. Several short-lived processes serve one running agent: a hook at each of its events, and one or
more MCP servers. None of them has all the facts, but they must agree on which agent they serve. An agent is therefore
identified (`AgentId`) by the most specific fact that its coding agent reveals:

1. the conversation id that the coding agent assigned, scoped by the integration that reported it: `claude:5f0c…`;
2. else the process that started both hook and server: `gemini:pid:4711`, or `pid:4711` if not even the product is
   known. Such an identity is *anonymous*. It belongs to the agent that next reveals a conversation id from the same
   process (`tildone.stores.assignment` merges the two).

Where only the hooks are told the conversation, a hook before a call notes it for its process, so that the server makes
its first change under the same identity as all later ones, although a hook with nothing to say registers nobody.

The operating system reuses process ids, so a record with a process id also holds the start time of the process.

Hooks and MCP servers are separate processes that may run at the same moment. Each record is a JSON
file that is replaced as a whole (write to a temporary file, then rename), so a reader sees the old record or the new
one, never a part. Writers are not serialized: the last one wins. That is safe because only the processes of one agent
write its record, and facts that several of them write at the same time are separate files, called *notes*. Only the
choice of a session depends on other records, and it is made under a lock (`tildone.stores.assignment`).

A record that cannot be parsed is treated as missing: the agent is registered again, and its plan is not affected.

A record stays for a month, and few agents are at work. Those that may be are listed in a folder of markers
(`tildone.stores.agents`), so that no hook reads the records of all agents that there have been.
"""

from __future__ import annotations

import os
import sys

from tildone.base import TYPE_CHECKING, StoreError, replace, value
from tildone.base.json import parse, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from tildone.plan.events import AgentUsage

FOLDER = ".live"
"""A name with a dot at its beginning never expires."""

STAMP = ".expired"


class LiveMarkers:
    """The markers in the folder of a registry."""

    def __init__(self, registry: str) -> None:
        self._registry = registry
        self._folder = os.path.join(registry, FOLDER)

    @property
    def exists(self) -> bool:
        """Whether the folder of the markers is there."""
        return os.path.isdir(self._folder)

    def names(self, all_names: Callable[[], list[str]]) -> list[str]:
        """Return the names of all markers, sorted. `all_names` returns the names to begin with."""
        try:
            return sorted(os.listdir(self._folder))
        except OSError:
            names = all_names()
            if os.path.isdir(self._registry):
                self._create(names)
            return names

    def add(self, name: str) -> None:
        """Set a marker. Raises OSError if it cannot be written."""
        # Late, here and below, because most hooks find all markers set.
        from tildone.base.private import open_private

        os.close(open_private(os.path.join(self._folder, name), os.O_WRONLY | os.O_CREAT))

    def remove(self, name: str) -> None:
        """Remove a marker, if it is there. One that cannot be removed only costs time."""
        try:
            os.remove(os.path.join(self._folder, name))
        except OSError:
            return

    def is_due(self, every_ms: int, now: int) -> bool:
        """Return whether that much time has passed since this was last true; it is now."""
        path = os.path.join(self._registry, STAMP)
        try:
            if now - os.stat(path).st_mtime * 1000 < every_ms:
                return False
        except OSError:
            pass
        from tildone.base.private import open_private

        try:
            os.close(open_private(path, os.O_WRONLY | os.O_CREAT))
            os.utime(path, (now / 1000, now / 1000))
        except OSError:
            return True
        return True

    def _create(self, names: list[str]) -> None:
        from tildone.base.private import make_private_folder, open_private

        draft = f"{self._folder}.{os.getpid()}"
        try:
            make_private_folder(draft)
            for name in names:
                os.close(open_private(os.path.join(draft, name), os.O_WRONLY | os.O_CREAT))
            os.rename(draft, self._folder)
        except OSError:
            # Another process was first, or nothing can be written here: then all records are read, as they were.
            self._discard(draft)

    def _discard(self, draft: str) -> None:
        try:
            for name in os.listdir(draft):
                os.remove(os.path.join(draft, name))
            os.rmdir(draft)
        except OSError:
            return


try:
    # The C implementation of `hashlib`: importing `hashlib` takes longer than a hook takes to run.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

ANY_AGENT = "AI_AGENT"
"""The variable by which coding agents, also those that tildone does not know, mark the shells of their models."""
_OF_SERVANTS = "_harness"
"""The end of its value in the hooks and servers of Claude Code, which a model does not start."""

MAX_CONVERSATION_ID_CHARS = 200
_PID = "pid:"


@value
class McpClient:
    """How a coding agent behaves as an MCP client.

    `names` are prefixes, in lower case, of the name it gives in `initialize`. The id of its conversation is in the
    server's environment (`conversation_variable`) or in the `_meta` of every call (`conversation_meta`, first key
    present); if it is in neither, `process_variable` may contain the agent's PID. `text_only` clients show the model
    the structured content of a result in place of its text, or both, so they are sent none. Clients with
    `resource_tools` give their model tools of their own if any server has resources. These cost two to four times as
    much as our tool in every request, and a model needs none of them, so such a client is not told of our resources.

    A subagent's call is recognised in `_meta`: by `call_meta`, the key of an id that the hook before the call has, too;
    or by `subagent_meta`, the keys of the subagent's id and of a fact that only a subagent's call has. A space in a key
    separates it from a key in its object. Otherwise, if it `announces_calls`, a hook before the call knows whose it is,
    and the two meet by the agent's process and the arguments.
    """

    names: tuple[str, ...] = ()
    conversation_variable: str = ""
    conversation_meta: tuple[str, ...] = ()
    process_variable: str = ""
    text_only: bool = False
    resource_tools: bool = False
    call_meta: str = ""
    subagent_meta: tuple[str, str] | None = None
    announces_calls: bool = False

    @property
    def knows_conversation(self) -> bool:
        """Whether our server, and a command in the agent's shells, learn the conversation without its hooks."""
        return bool(self.conversation_variable or self.conversation_meta)


@value
class Known:
    """What is known of a coding agent without importing its integration.

    `executable` is its command, and `package` the npm package that it comes in. `conversation` is the variable with the
    id of the conversation in the shells that its model uses, and `marks` are others that are set there and nowhere
    else. `unmarked` says why there is none. `mcp` is how it behaves as an MCP client. `hook_mark` is a variable that it
    sets for its hooks only, if it also runs those that are in the settings of other coding agents.
    """

    executable: str = ""
    package: str = ""
    conversation: str = ""
    marks: tuple[str, ...] = ()
    unmarked: str = ""
    calls_hooks: bool = True
    hook_mark: str = ""
    mcp: McpClient | None = None


_LIKE_THE_PERSONS = "its model's terminals are like those of the person"

KNOWN = {
    "claude": Known(
        "claude",
        "@anthropic-ai/claude-code",
        "CLAUDE_CODE_SESSION_ID",
        ("CLAUDECODE",),
        mcp=McpClient(
            names=("claude-code",),
            conversation_variable="CLAUDE_CODE_SESSION_ID",
            text_only=True,
            resource_tools=True,
            call_meta="claudecode/toolUseId",
        ),
    ),
    "codex": Known(
        "codex",
        "@openai/codex",
        "CODEX_SESSION_ID",
        ("CODEX_THREAD_ID", "CODEX_SANDBOX"),
        mcp=McpClient(
            names=("codex",),
            conversation_meta=("sessionId", "threadId"),
            text_only=True,
            subagent_meta=("threadId", "x-codex-turn-metadata parent_thread_id"),
        ),
    ),
    "gemini": Known(
        "gemini",
        "@google/gemini-cli",
        "",
        ("GEMINI_CLI",),
        mcp=McpClient(names=("gemini",), text_only=True, resource_tools=True),
    ),
    "cursor": Known("cursor", "", "", ("CURSOR_AGENT",), mcp=McpClient(names=("cursor",))),
    "copilot": Known(
        "copilot",
        "@github/copilot",
        "COPILOT_AGENT_SESSION_ID",
        ("COPILOT_CLI",),
        hook_mark="COPILOT_PROJECT_DIR",
        mcp=McpClient(
            names=("copilot",),
            conversation_variable="COPILOT_AGENT_SESSION_ID",
            text_only=True,
            announces_calls=True,
        ),
    ),
    "qwen": Known(
        "qwen",
        "@qwen-code/qwen-code",
        "QWEN_CODE_SESSION_ID",
        ("QWEN_CODE",),
        mcp=McpClient(
            names=("qwen",), conversation_variable="QWEN_CODE_SESSION_ID", text_only=True, announces_calls=True
        ),
    ),
    "opencode": Known(
        "opencode",
        "opencode-ai",
        "OPENCODE_SESSION_ID",
        ("OPENCODE",),
        mcp=McpClient(names=("opencode",), process_variable="OPENCODE_PID", resource_tools=True, announces_calls=True),
    ),
    "pi": Known("pi", "@earendil-works/pi-coding-agent", "PI_SESSION_ID", ("PI_CODING_AGENT",)),
    "kimi": Known("kimi", "@moonshot-ai/kimi-code", unmarked=_LIKE_THE_PERSONS, mcp=McpClient(names=("kimi",))),
    "droid": Known("droid", "droid", unmarked=_LIKE_THE_PERSONS, mcp=McpClient(names=("droid", "factory"))),
    "auggie": Known(
        "auggie", "@augmentcode/auggie", unmarked=_LIKE_THE_PERSONS, mcp=McpClient(names=("auggie", "augment"))
    ),
    "kilo": Known(
        "kilo",
        "@kilocode/cli",
        marks=("KILO",),
        mcp=McpClient(names=("kilo",), process_variable="KILO_PID", resource_tools=True),
    ),
    "cline": Known("cline", "cline", calls_hooks=False, unmarked=_LIKE_THE_PERSONS, mcp=McpClient(names=("cline",))),
    "crush": Known(
        "crush", "@charmland/crush", calls_hooks=False, unmarked=_LIKE_THE_PERSONS, mcp=McpClient(names=("crush",))
    ),
    "amp": Known(
        "amp", "@sourcegraph/amp", calls_hooks=False, unmarked=_LIKE_THE_PERSONS, mcp=McpClient(names=("amp",))
    ),
    "junie": Known(
        "junie", "@jetbrains/junie", calls_hooks=False, unmarked=_LIKE_THE_PERSONS, mcp=McpClient(names=("junie",))
    ),
    "continue": Known(
        "cn", "@continuedev/cli", calls_hooks=False, unmarked=_LIKE_THE_PERSONS, mcp=McpClient(names=("continue",))
    ),
    "zed": Known("zed", calls_hooks=False, unmarked=_LIKE_THE_PERSONS, mcp=McpClient(names=("zed",))),
    "vscode": Known(
        "code",
        calls_hooks=False,
        unmarked=_LIKE_THE_PERSONS,
        mcp=McpClient(names=("visual studio code",), text_only=True),
    ),
    "claude-desktop": Known(calls_hooks=False, unmarked="its model has no shell", mcp=McpClient(names=("claude-ai",))),
}
"""The coding agents with an integration, by the names of their modules."""


@value
class AgentId:
    """The identity of an agent: the integration that reported it, and its conversation or, if unknown, its process.

    An empty `integration` means that the coding agent is not known. The text form is stored in records, session names
    and notes; its format is fixed. `AgentId.parse(str(x)) == x` holds for every identity that `agent_id` returns.
    """

    integration: str = ""
    conversation: str = ""
    pid: int = 0

    def __str__(self) -> str:
        return f"{self.integration}:{self.own}" if self.integration else self.own

    @property
    def own(self) -> str:
        """The text without the integration: the conversation id, or `pid:N`."""
        return self.conversation or f"{_PID}{self.pid}"

    @property
    def is_anonymous(self) -> bool:
        return not self.conversation

    @property
    def is_unknown(self) -> bool:
        """Whether neither a conversation nor a process is known: nothing can be recorded under this identity."""
        return not self.conversation and not self.pid

    def is_process(self, pid: int) -> bool:
        return self.is_anonymous and self.pid == pid

    @staticmethod
    def parse(text: str) -> AgentId:
        """Parse the text form of an identity. Raises ValueError if the text is not an identity."""
        integration, colon, own = text.partition(":")
        if _is_pid(text):
            parsed = AgentId(pid=int(own))
        elif not colon:
            parsed = AgentId(conversation=text)
        elif _is_pid(own):
            parsed = AgentId(integration, pid=int(own.removeprefix(_PID)))
        else:
            parsed = AgentId(integration, own)
        if str(parsed) != text:
            raise ValueError(f"not an agent id: {text!r}")
        return parsed


def agent_id(integration: str, conversation: str, pid: int) -> AgentId:
    """Return the identity of an agent: its conversation if that is known, else its process.

    Only this function replaces long conversation ids by a digest; otherwise, hook and server could disagree.
    """
    if not conversation:
        return AgentId(integration, pid=pid)
    if len(conversation) > MAX_CONVERSATION_ID_CHARS:
        conversation = digest(conversation)
    return AgentId(integration, conversation)


def digest(text: str) -> str:
    """Return a short hash of a text, safe as a file name."""
    return digest_of_bytes(text.encode("utf-8", "surrogatepass"))


def digest_of_bytes(content: bytes) -> str:
    return blake2b(content, digest_size=12).hexdigest()


def _is_pid(text: str) -> bool:
    digits = text.removeprefix(_PID)
    return digits != text and digits.isdecimal() and str(int(digits)) == digits


_SHELLS = ("ash", "bash", "busybox", "dash", "fish", "ksh", "sh", "zsh")
WRAPPERS = frozenset(
    {"doas", "env", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "time", "timeout", "uv", "uvx", *_SHELLS}
)
"""Programs that start another program and are not the agent themselves."""

MAX_RELAYS = 4
STATE, PARENT, FLAGS, START_TIME, START_CODE, ENV_START, ENV_END = 0, 1, 6, 19, 23, 47, 48
"""Positions in `/proc/PID/stat` (proc(5)), counted after the command name."""

_STANDARD_STREAMS = ("0", "1")


def agent_process(hosts: Collection[str] = ()) -> int:
    """Return the process of the agent that started this one; 0 if it cannot be determined.

    Theory of operation. A coding agent starts our hooks and our MCP server, and both must find its process. Other
    programs may stand in between: a shell that the coding agent uses, a script that a person wrote, `uvx`, `timeout`.
    Going up from our parent process, a process is passed over if

    - its program is one of `WRAPPERS`: the file that it executes counts, because a script carries its own name; or
    - it has our standard input and output: a coding agent gives its children pipes of their own, so whoever has the
      same ones has passed them on.

    A program that reads and writes for us (a relay) has other pipes. It is passed over if its own input and output are
    pipes, too, and one of `hosts`, the programs that the agent may be, is found above it.

    Every hook does this. Reading the links of a process takes microseconds, and its status or command line a hundred
    times as long, so links decide as far as they can. Without `/proc`, the agent's process is the parent process,
    because most shells replace themselves to run a single command.
    """
    if not os.path.exists("/proc/self/stat"):
        return os.getppid()
    own, nearest = _pipes("self"), 0
    for pid in _ancestors(os.getppid()):
        if _is_wrapper(pid):
            continue
        nearest = nearest or pid
        pipes = _pipes(pid)
        if not own or pipes != own:
            return (_host_behind_relays(pid, hosts) if pipes else 0) or pid
    return nearest


def command_line(pid: int) -> list[str]:
    """Return the program of a process as it was called, and its arguments; nothing without `/proc`."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read()).split("\0")[:-1]
    except OSError:
        return []


def processes_above() -> list[int]:
    """Return the processes that have started this one, the nearest first; none without `/proc`."""
    return list(_ancestors(os.getppid())) if os.path.exists("/proc/self/stat") else []


def began_with(pid: int, variables: Collection[str]) -> bool:
    """Return whether a process was started with one of these variables in its environment; False without `/proc`."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            settings = os.fsdecode(file.read()).split("\0")
    except OSError:
        return False
    return any(name in variables and text for name, _, text in (each.partition("=") for each in settings))


def marks_shell(environ: Mapping[str, str]) -> bool:
    """Return whether an environment is that of the shell of some agent's model."""
    mark = environ.get(ANY_AGENT, "")
    return mark != "" and not mark.endswith(_OF_SERVANTS)


def start_time(pid: int) -> int:
    """Return when a process started, in clock ticks since boot; 0 if that cannot be determined."""
    fields = process_stat(pid)[1] if pid else []
    return int(fields[START_TIME]) if len(fields) > START_TIME else 0


def is_running(pid: int) -> bool:
    """Return whether a process with this id exists. Not for Windows, where signal 0 would interrupt the process."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        # It exists and belongs to another user.
        return True
    return True


def has_ended(pid: int, started: int) -> bool:
    """Return whether a process of this machine has certainly ended; `started` is its start time, 0 if unknown.

    A process that has ended keeps its id until its parent asks for its exit code, which some never do.
    """
    if sys.platform == "win32":
        return False
    is_zombie = process_stat(pid)[1][STATE : STATE + 1] == [b"Z"]
    return is_zombie or not is_running(pid) or bool(started and start_time(pid) != started)


def runs_program(pid: int, names: Collection[str]) -> bool:
    """Return whether a process runs one of these programs or packages, itself or in an interpreter. Not for Windows."""
    if os.path.exists("/proc/self/stat"):
        return _is_host(pid, names)
    # Late, because it is slow to import and needed only without `/proc`.
    import subprocess

    command = ["ps", "-o", "args=", "-p", str(pid)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  a number is its input
    words = [word for word in listed.stdout.split() if not word.startswith("-")]
    return not {os.path.splitext(os.path.basename(word))[0] for word in words[:2]}.isdisjoint(names)


def process_stat(pid: int) -> tuple[str, list[bytes]]:
    """Return the command name and the fields after it from `/proc/PID/stat`; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            command, _, rest = file.read().partition(b"(")[2].rpartition(b")")
    except OSError:
        return "", []
    return command.decode("utf-8", "replace"), rest.split()


def machine_name() -> str:
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def _ancestors(pid: int) -> Iterator[int]:
    """The process and the processes above it, except for the first of the system."""
    while pid > 1:
        yield pid
        fields = process_stat(pid)[1]
        pid = int(fields[PARENT]) if len(fields) > PARENT else 0


def _host_behind_relays(relay: int, hosts: Collection[str]) -> int:
    """Return the process of a known host above relays and wrappers; 0 if there is none."""
    relays = 0
    for pid in _ancestors(relay):
        if _is_host(pid, hosts):
            return pid
        if _is_wrapper(pid):
            continue
        relays += 1
        if relays > MAX_RELAYS or not _pipes(pid):
            return 0
    return 0


def _is_wrapper(pid: int) -> bool:
    return (_program(pid) or process_stat(pid)[0]) in WRAPPERS


def _is_host(pid: int, hosts: Collection[str]) -> bool:
    if _program(pid) in hosts or process_stat(pid)[0] in hosts:
        return True
    paths = _program_arguments(pid)
    names = {os.path.splitext(os.path.basename(path))[0] for path in paths}
    # A package is named by the folder that its script is in.
    return not names.isdisjoint(hosts) or any(f"/{host}/" in path for host in hosts if host for path in paths)


def _pipes(pid: int | str) -> tuple[str, ...]:
    """The standard input and output of a process, if both are pipes or sockets; else nothing."""
    targets = tuple(_link(f"/proc/{pid}/fd/{stream}") for stream in _STANDARD_STREAMS)
    return targets if all(target.startswith(("pipe:", "socket:")) for target in targets) else ()


def _program(pid: int) -> str:
    """The name of the file that a process executes: the interpreter of a script. Empty if it cannot be read."""
    return os.path.basename(_link(f"/proc/{pid}/exe")).removesuffix(" (deleted)")


def _program_arguments(pid: int) -> list[str]:
    """The program as it was called, and its first argument that is no option."""
    words = command_line(pid)
    return [*words[:1], *[word for word in words[1:] if not word.startswith("-")][:1]]


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


FRESH_FOR_MS = 3_600_000
"""How long a record is valid without renewal, and how long an agent without a known process counts as active."""

ACTIVE_FOR_MS = 7 * 24 * 3_600_000
"""How long an agent counts as active after its last renewal while its process runs."""

REMOVED_AFTER_MS = 30 * 24 * 3_600_000
EXPIRY_EVERY_MS = 24 * 3_600_000

CALLER_NOTE = "caller"
"""Name of a note about a process: when it started, and the id of the agent in it that is at work."""

MODEL_NOTE = "model"
"""Name of a note: the agent's model, which many agents report in some of their events only."""

USAGE_NOTE = "usage"
"""Name of a note: what the agent's conversation has used so far, as JSON (`tildone.plan.events`)."""

LIST_NOTE = "list"
"""Name of a note: the todo list that the model keeps with a tool of its coding agent. It outlives the record."""

FORMER_NOTE = "former"
"""Name of a note: the ids that the agent's conversation had before, one per line. It outlives the record."""

CLAIM_NOTE = "claim"
"""Name of a note: when the agent's claims have to be renewed, in milliseconds since 1970; empty if it has none."""

TRANSCRIPT_NOTE = "transcript"
"""Name of a note: the file with the transcript of the agent's conversation. It outlives the record."""

CONTINUED_NOTE = "continued"
"""Name of a note: a stroke for each stop since the agent began to count how often in a row it goes on."""

_LASTING_NOTES = (LIST_NOTE, FORMER_NOTE, TRANSCRIPT_NOTE)

SUBAGENT_MARK = "#sub:"
"""Separates the session of an agent from the id of its subagent in the name of the subagent's session."""

_RECORD = ".json"
_FIELD_TYPES = (str, str, int, int, int)


@value
class Agent:
    """An agent and its session: the plan it works on.

    `reader` is the name under which the store records which head of the session its model has seen. The agent keeps it
    under another identity, and gets a new one when its model loses its context. `last_active` is in milliseconds since
    1970. `started` is the start time of its process, which distinguishes it from a later process with the same id; 0 if
    unknown.
    """

    id: AgentId
    session: str
    reader: str = ""
    pid: int = 0
    last_active: int = 0
    started: int = 0

    @property
    def is_subagent(self) -> bool:
        """Whether it is a subagent, whose list is below the plan of another agent (`tildone.stores.assignment`)."""
        return SUBAGENT_MARK in self.session

    def is_fresh(self, pid: int, now: int) -> bool:
        """Return whether the record is recent and belongs to process `pid` (0: unknown): it needs no renewal."""
        return pid in (0, self.pid) and now - self.last_active < FRESH_FOR_MS

    def is_gone(self, now: int) -> bool:
        """Return whether it is certainly not active, and will not be again before its record is renewed."""
        if now - self.last_active >= ACTIVE_FOR_MS:
            return True
        return not self.is_active(now) and (not self.pid or sys.platform != "win32")

    def is_active(self, now: int) -> bool:
        """Return whether its process runs; if that cannot be determined, whether the record is recent."""
        if not self.pid or sys.platform == "win32":
            return now - self.last_active < FRESH_FOR_MS
        if now - self.last_active >= ACTIVE_FOR_MS or (self.started and start_time(self.pid) != self.started):
            return False
        return is_running(self.pid)


def new_reader(agent_id: AgentId, now: int) -> str:
    """Return the name of a reader that has seen nothing: of a new agent, or of one whose model lost its context."""
    return f"{agent_id}@{now}"


def is_due(note: str, now: int) -> bool:
    """Return whether the claims of an agent have to be renewed, according to the note about it."""
    return note != "" and (not note.isdecimal() or now >= int(note))


class AgentRegistry:
    """The agents of one project, in a folder that all projects share."""

    def __init__(self, folder: str, project: str) -> None:
        self.folder = os.path.join(folder, digest(project))
        self.project = project

    def get(self, agent_id: AgentId) -> Agent | None:
        return _load(self._path(agent_id))

    def all(self) -> Iterator[Agent]:
        """Yield every registered agent, with subagents."""
        for name in self._names():
            agent = _load(os.path.join(self.folder, name)) if name.endswith(_RECORD) else None
            if agent is not None:
                yield agent

    def is_empty(self) -> bool:
        try:
            with os.scandir(self.folder) as entries:
                return not any(entry.name.endswith(_RECORD) for entry in entries)
        except OSError:
            return True

    @property
    def has_markers(self) -> bool:
        """Whether the folder has markers of live agents, as every registry of this version has."""
        return self._live.exists

    def live(self, now: int) -> Iterator[Agent]:
        """Yield the agents that may be at work: all but those whose process or time has certainly ended."""
        markers = self._live
        for name in markers.names(self._all_names):
            path = os.path.join(self.folder, name + _RECORD)
            agent = _load(path)
            if agent is not None and not agent.is_gone(now):
                yield agent
                continue
            markers.remove(name)
            # Its own process may have renewed the record since it was read.
            renewed = _load(path)
            if renewed is not None and renewed != agent and not renewed.is_gone(now):
                markers.add(name)
                yield renewed

    def active(self, now: int) -> Iterator[Agent]:
        """Yield the agents that are active, as far as that can be determined, without subagents."""
        return (agent for agent in self.live(now) if not agent.is_subagent and agent.is_active(now))

    def save(self, agent: Agent) -> None:
        """Write an agent's record, replacing the one it had. Raises StoreError if it cannot be written."""
        self._write(self._path(agent.id), _encode(agent))
        # After the record: whoever removes the marker of an agent looks at its record once more.
        try:
            markers = self._live
            markers.names(self._all_names)
            markers.add(digest(str(agent.id)))
        except OSError as error:
            raise StoreError(f"cannot write in {self.folder}: {error.strerror}") from error

    def remove(self, agent_id: AgentId) -> None:
        """Remove an agent's record and notes, but neither its plan nor what a resumed conversation still needs."""
        own = digest(str(agent_id))
        for name in self._names():
            if name.partition(".")[0] == own and name.partition(".")[2] not in _LASTING_NOTES:
                _remove_file(os.path.join(self.folder, name))

    def release(self, agent: Agent) -> None:
        """Record that an agent has ended. If it has a session of its own, its record stays for a later resume."""
        if agent.session == self.project:
            self.remove(agent.id)
        else:
            self.save(replace(agent, pid=0, last_active=0, started=0))

    def note(self, agent_id: AgentId, name: str) -> str:
        try:
            with open(self._path(agent_id, f".{name}"), encoding="utf-8") as file:
                return file.read()
        except (OSError, ValueError):
            return ""

    def cost(self, agent_id: AgentId) -> float:
        """Return what an agent's conversation has cost so far, in dollars; 0 if that is unknown."""
        usage = self.usage(agent_id)
        return (usage.cost if usage else None) or 0.0

    def usage(self, agent_id: AgentId) -> AgentUsage | None:
        text = self.note(agent_id, USAGE_NOTE)
        if not text:
            return None
        from tildone.plan.events import usage_of_text

        return usage_of_text(text)

    def set_note(self, agent_id: AgentId, name: str, text: str) -> None:
        """Write a note about an agent, in a separate file. Raises StoreError if it cannot be written."""
        if text != self.note(agent_id, name):
            self._write(self._path(agent_id, f".{name}"), text)

    def tally(self, agent_id: AgentId, name: str, *, anew: bool = False) -> int:
        """Add a stroke to a note about an agent, and return how many it had. Raises StoreError if it can't be written.

        This loads less than `set_note`, as it replaces no file. A tally that begins `anew` has lost its strokes.
        """
        path = self._path(agent_id, f".{name}")
        try:
            file = self._open_tally(path, os.O_WRONLY | os.O_APPEND | (os.O_TRUNC if anew else 0))
            try:
                strokes = os.fstat(file).st_size
                os.write(file, b"|")
            finally:
                os.close(file)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from error
        return strokes

    def note_caller(self, agent_id: AgentId, pid: int) -> None:
        """Note the agent that is at work in a process. Raises StoreError if the note cannot be written."""
        self.set_note(AgentId(pid=pid), CALLER_NOTE, f"{start_time(pid)} {agent_id}")

    def caller_in(self, pid: int) -> AgentId | None:
        """Return the agent that was noted for a process; None if there is none, or the note is about an earlier one."""
        started, _, noted = self.note(AgentId(pid=pid), CALLER_NOTE).partition(" ") if pid else ("", "", "")
        try:
            return AgentId.parse(noted) if noted and started == str(start_time(pid)) else None
        except ValueError:
            return None

    def _open_tally(self, path: str, flags: int) -> int:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            from tildone.base.private import make_private_folder, open_private

            make_private_folder(self.folder)
            return open_private(path, flags | os.O_CREAT)

    def take_note(self, agent_id: AgentId, name: str) -> str:
        """Return a note about an agent, and remove it; empty if there is none."""
        text = self.note(agent_id, name)
        if text:
            _remove_file(self._path(agent_id, f".{name}"))
        return text

    def remove_expired(self, now: int) -> None:
        """Remove records and notes that are older than `REMOVED_AFTER_MS`; at most once a day, as it reads them all."""
        if not self._live.is_due(EXPIRY_EVERY_MS, now):
            return
        for name in self._names():
            path = os.path.join(self.folder, name)
            try:
                expired = os.stat(path).st_mtime * 1000 < now - REMOVED_AFTER_MS
            except OSError:
                continue
            if expired and not name.startswith("."):
                _remove_file(path)

    @property
    def _live(self) -> LiveMarkers:
        # Late, because a hook with nothing to say needs to know of no other agent.
        return LiveMarkers(self.folder)

    def _all_names(self) -> list[str]:
        return [name.removesuffix(_RECORD) for name in self._names() if name.endswith(_RECORD)]

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.folder))
        except OSError:
            return []

    def _path(self, agent_id: AgentId, suffix: str = _RECORD) -> str:
        return os.path.join(self.folder, digest(str(agent_id)) + suffix)

    def _write(self, path: str, text: str) -> None:
        # Late, because most hooks write nothing.
        from tildone.base.files import replace_file
        from tildone.base.private import PRIVATE_FILE, make_private_folder

        try:
            make_private_folder(self.folder)
            # Not durable: after a power failure, no agent is running, and an fsync would delay every hook.
            replace_file(path, text.encode(), mode=PRIVATE_FILE, durable=False)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from error


def active_everywhere(folder: str, now: int, *, marked_only: bool = False) -> Iterator[Agent]:
    """Yield the agents that are active, with subagents, from the folder that the registries of all projects share.

    With `marked_only`, what is no registry of this version is left alone: the folder may be somebody else's.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        # A registry's folder is named after a digest of its project, and the project is not needed to read it.
        registry = AgentRegistry(folder, "")
        registry.folder = os.path.join(folder, name)
        if registry.has_markers or not marked_only:
            yield from (agent for agent in registry.live(now) if agent.is_active(now))


def noted_everywhere(folder: str, agent_id: AgentId, name: str) -> str:
    """Return a note about an agent of any project, from the folder that the registries of all projects share."""
    try:
        registries = sorted(os.listdir(folder))
    except OSError:
        return ""
    file = f"{digest(str(agent_id))}.{name}"
    for registry in registries:
        try:
            with open(os.path.join(folder, registry, file), encoding="utf-8") as note:
                return note.read()
        except (OSError, ValueError):
            continue
    return ""


def _encode(agent: Agent) -> str:
    return (
        f'{{"key":{quoted(str(agent.id))},"session":{quoted(agent.session)},"reader":{quoted(agent.reader)},'
        f'"pid":{agent.pid},"at":{agent.last_active},"born":{agent.started}}}'
    )


def _load(path: str) -> Agent | None:
    try:
        with open(path, encoding="utf-8") as file:
            record = parse(file.read())
        # Records of earlier versions have no reader.
        reader = record.get("reader", record["key"])
        fields = (record["session"], reader, record["pid"], record["at"], record.get("born", 0))
        agent = Agent(AgentId.parse(record["key"]), *fields)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    valid = all(isinstance(field, expected) for field, expected in zip(fields, _FIELD_TYPES, strict=True))
    return agent if valid else None


def _remove_file(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"cannot remove {path}: {error.strerror}") from error
