"""Who and what is here beside the plan: the person's name, the agent whose shell this is, and what git says.

A *fingerprint* of a project's files shows whether an agent changed anything between two stops.

Theory of operation. The gate ends a chain of nudges when an agent stops again and again without doing anything. It
cannot see the agent's work, so it compares fingerprints of the files. The fingerprint must change with every edit,
must not change without one, and must take only a few milliseconds. In a git repository, it covers the commit and every
path that `git status` reports, with its size and modification time, because another edit to a modified file does not
change the output of git. Elsewhere, it covers all files except hidden ones and dependencies.

What can go wrong: tildone's own files may be in the project and change at every stop, so the caller excludes them. Git
might take an optional lock, which is disabled, because the agent may be committing.

The project's settings are not trusted, so git runs none of the programs that they name. `git status` would run
`core.fsmonitor`, the filters of files that may have changed, hooks if it wrote the index, and the program that fetches
missing objects of a partial clone. All of them are overridden on the command line, which takes precedence over every
file; the names of the filters are asked for first. In a submodule, git would start itself without these overrides, so
it is told not to, and submodules are looked at one by one in the same way.

A folder that is too large to read in time has no fingerprint (the empty string), because the part that was read could
differ between two stops.
"""

from __future__ import annotations

import os
import sys
from time import monotonic

from tildone.base import TYPE_CHECKING
from tildone.stores.agents import (
    KNOWN,
    Known,
    agent_id,
    agent_process,
    began_with,
    digest,
    marks_shell,
    processes_above,
    runs_program,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tildone.stores.agents import Agent, AgentId


_GIT_FOLDER = "gitdir: "
_BRANCH = "ref: refs/heads/"
_SHORT_COMMIT = 12


def branch_of(folder: str) -> str:
    """Return the branch in a working tree, or the beginning of the commit without one; empty outside of git."""
    head = _first_line(os.path.join(git_folder(folder), "HEAD"))
    return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else head[:_SHORT_COMMIT]


def git_folder(folder: str) -> str:
    """Return the folder that git keeps for a working tree; one that was added has a file that names it."""
    path = os.path.join(folder, ".git")
    named = _first_line(path)
    return os.path.join(folder, named.removeprefix(_GIT_FOLDER)) if named.startswith(_GIT_FOLDER) else path


def _first_line(path: str) -> str:
    return _text(path).partition("\n")[0].strip()


MAX_NAME_CHARS = 60
MAX_FILE_BYTES = 100_000
"""How much of a file is read. Files of git's settings are a few hundred bytes long."""

_ESCAPES = {"n": " ", "t": " ", "b": ""}


def person_name(environ: Mapping[str, str], project: str) -> str:
    """Return the person's name, for the history: git's `user.name` in the project or for the user, else the login name.

    Git's files are read directly, because starting git takes longer than a command of ours. Included files are not
    followed. A name comes from files that others may have written, a project's among them: it is bounded, it is one
    line of printable characters, and nothing that goes wrong with it is an error.
    """
    for path in _git_files(environ, project):
        name = clean_name(_user_name(_text(path)))
        if name:
            return name
    return clean_name(_system_user(environ))


def clean_name(text: str) -> str:
    """Return a name as one line of at most `MAX_NAME_CHARS` printable characters."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text[: MAX_NAME_CHARS * 4].split())[:MAX_NAME_CHARS].strip()


def _git_files(environ: Mapping[str, str], project: str) -> Iterator[str]:
    own = git_folder(project)
    # A worktree shares the settings of its main checkout.
    yield os.path.join(own, _first_line(os.path.join(own, "commondir")), "config")
    yield os.path.expanduser(os.path.join("~", ".gitconfig"))
    home = environ.get("XDG_CONFIG_HOME") or os.path.expanduser(os.path.join("~", ".config"))
    yield os.path.join(home, "git", "config")


def _user_name(config: str) -> str:
    found, in_section = "", False
    for line in config.splitlines():
        words = line.strip()
        if words.startswith("["):
            header, _, words = words[1:].partition("]")
            in_section = header.strip().lower() == "user"
            words = words.strip()
        key, equals, text = words.partition("=")
        if in_section and equals and key.strip().lower() == "name":
            found = _value(text.strip())
    return found


def _value(text: str) -> str:
    """The value of a setting, without quotation marks, escapes and a comment."""
    characters, quoted = list[str](), False
    pending = iter(text)
    for char in pending:
        if char == "\\":
            following = next(pending, "")
            characters.append(_ESCAPES.get(following, following))
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            characters.append(char)
    return "".join(characters)


def _text(path: str) -> str:
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _system_user(environ: Mapping[str, str]) -> str:
    """The login name of this process's user; its number if it has no name."""
    try:
        # Not on Windows, and a user of a container may have no entry.
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        named = environ.get("USER") or environ.get("LOGNAME") or environ.get("USERNAME")
        return named or (f"uid {os.getuid()}" if hasattr(os, "getuid") else "")


TYPED_SOCKET = "TILDONE_TYPED_SOCKET"
"""The variable with the number of the socket that says that a person typed the command."""


def agent_of_shell(
    environ: Mapping[str, str],
    agents: Iterable[Agent] = (),
    known: Mapping[str, Known] = KNOWN,
    noted: Callable[[int], AgentId | None] = lambda _: None,
) -> str:
    """Return the text of the id of the agent whose shell this is; empty if it is nobody's, or not known.

    What its command changes in a plan is the agent's own doing: the model sees the output, and need not be told of it
    again. Nor does an agent speak for a person: it cannot resume itself.

    `known` are the coding agents whose variables count. `agents` are the agents at work. They are looked for among the
    processes above this one, whose environment may be another one. A process of such an agent counts if it runs its
    program, or if one below it was started with the variables of the agent: others may be above this one, too, if an
    agent was registered from a script. `noted` returns the agent that hooks have noted for a process.
    """
    for name, facts in known.items():
        if environ.get(facts.conversation):
            return str(agent_id(name, environ[facts.conversation], 0))
    above = processes_above()
    for agent in agents if above else ():
        own = KNOWN.get(agent.id.integration)
        programs = (own.executable, own.package) if own else (agent.id.integration,)
        is_above = agent.pid in above and (runs_program(agent.pid, programs) or _is_marked(agent, above, known))
        if is_above and not is_typed_in(agent.pid):
            return str(agent.id)
    marked = next((name for name, facts in known.items() if any(map(environ.get, facts.marks))), "")
    if marked or marks_shell(environ):
        process = agent_process()
        return str(noted(process) or agent_id(marked, "", process))
    return ""


def _is_marked(agent: Agent, above: list[int], known: Mapping[str, Known]) -> bool:
    """Return whether a process between this one and that of the agent was started with the agent's variables."""
    facts = known.get(agent.id.integration)
    variables = {facts.conversation, *facts.marks} - {""} if facts else set[str]()
    return any(began_with(pid, variables) for pid in above[: above.index(agent.pid)])


def is_typed_in(pid: int) -> bool:
    """Return whether a person typed this command in the program of an agent, as they type `/todo` in `tildone run`.

    The program has passed on a socket that it made. The kernel tells who made it; the commands of a model are started
    without it.
    """
    number = os.environ.get(TYPED_SOCKET, "")
    if not number.isdecimal():
        return False
    # Late, because few commands are typed there.
    import socket
    import struct

    peer = getattr(socket, "SO_PEERCRED", None)
    if peer is None:
        return False
    form = struct.Struct("3i")
    try:
        with socket.socket(fileno=os.dup(int(number))) as passed:
            made_by, *_ = form.unpack(passed.getsockopt(socket.SOL_SOCKET, peer, form.size))
    except (OSError, OverflowError):
        return False
    return bool(made_by == pid)


GIT_TIMEOUT_SECONDS = 1.5

MAX_INSPECTED_FILES = 2000
"""How many changed files are inspected for size and time; for the others, only the output of git counts."""

MAX_WALKED_FILES = 5000
WALK_TIMEOUT_SECONDS = 0.5

MAX_SUBMODULES = 20

_GIT = ("git", "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=", "-c", f"core.hooksPath={os.devnull}")
_SETTINGS = ("config", "--list", "--name-only", "-z")
STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
_NO_FILTER = {"clean": "", "smudge": "", "process": "", "required": "false"}

_PRESERVED_VARIABLES = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"})
"""Other variables of git's could make it look at another repository or run a program."""

_NO_PROGRAMS = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
"""Without an allowed protocol, nothing is fetched."""

_DEPENDENCIES = frozenset({"node_modules", "__pycache__", "venv"})
FIELDS_BEFORE_PATH = {"1": 8, "2": 9, "u": 10, "?": 1}
"""For each type of record in git's porcelain v2 format. A record of type 2 (a rename) is followed by the old path."""


def fingerprint(folder: str, excluded: Sequence[str] = (), known_status: bytes | None = None) -> str:
    """Return a fingerprint of the files in a project; empty if there are too many to read in time.

    Paths that begin with one of `excluded` are ignored. `known_status` is what `git status` printed a moment ago.
    """
    deadline = monotonic() + GIT_TIMEOUT_SECONDS
    status = _git_status(folder, deadline) if known_status is None else os.fsdecode(known_status)
    if status is None:
        paths = list(walk_files(folder, excluded, MAX_WALKED_FILES, WALK_TIMEOUT_SECONDS))
        return "" if None in paths else digest("\n".join(f"{path} {_size_and_time(path)}" for path in paths if path))
    found = list(_lines_from_git(folder, status, excluded))
    for submodule in _submodules(folder):
        inner = _git_status(submodule, deadline)
        found += [submodule, *_lines_from_git(submodule, inner or "", excluded)]
    return digest("\n".join(found))


def is_repository(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, ".git"))


class SafeGit:
    """Runs git in a working tree, without any program that the project's settings name."""

    def __init__(self, folder: str, deadline: float) -> None:
        self._folder, self._deadline = folder, deadline
        settings = _git_output(folder, _SETTINGS, deadline)
        self._overrides = None if settings is None else _filter_overrides(os.fsdecode(settings))

    def output(self, *arguments: str) -> bytes | None:
        """Return the output of a command of git; None if it fails or takes too long, or there is no git."""
        if self._overrides is None:
            return None
        return _git_output(self._folder, (*self._overrides, *arguments), self._deadline)


def _git_status(folder: str, deadline: float) -> str | None:
    """The output of `git status`; None if there is no repository or no git, or if it takes too long."""
    status = SafeGit(folder, deadline).output(*STATUS) if is_repository(folder) else None
    return None if status is None else os.fsdecode(status)


def _git_output(folder: str, arguments: Sequence[str], deadline: float) -> bytes | None:
    environ = {
        name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name in _PRESERVED_VARIABLES
    }
    try:
        command = [*_GIT, "-C", folder, *arguments]
        return _command_output(command, environ | _NO_PROGRAMS, deadline - monotonic())
    except OSError:
        return None


def _filter_overrides(settings: str) -> list[str] | None:
    """Options that disable every filter in the settings; None if one has a name that no option can contain."""
    keys = [key for key in settings.split("\0") if key.startswith("filter.")]
    names = dict.fromkeys(key.removeprefix("filter.").rpartition(".")[0] for key in keys)
    if any("=" in name for name in names):
        return None
    pairs = [f"filter.{name}.{key}={text}" for name in names for key, text in _NO_FILTER.items()]
    return [option for pair in pairs for option in ("-c", pair)]


def _submodules(folder: str) -> list[str]:
    """The submodules in a folder, including nested ones, that are inside it and not behind a link."""
    found: list[str] = []
    folder = os.path.normpath(folder)
    folders, root = [folder], os.path.realpath(folder)
    while folders:
        outer = folders.pop()
        try:
            with open(os.path.join(outer, ".gitmodules"), encoding="utf-8", errors="replace") as file:
                settings = [line.partition("=") for line in file]
        except OSError:
            continue
        named = [text.strip().strip('"') for key, _, text in settings if key.strip() == "path"]
        for path in (os.path.normpath(os.path.join(outer, each)) for each in named):
            linkless = os.path.realpath(path) == os.path.join(root, os.path.relpath(path, folder))
            inside = path.startswith(os.path.join(folder, "")) and linkless
            if inside and path not in found and len(found) < MAX_SUBMODULES:
                found.append(path)
                folders.append(path)
    return found


def _lines_from_git(folder: str, status: str, excluded: Sequence[str]) -> Iterator[str]:
    """The commit, and each changed path with its status, size and time."""
    records = iter(status.split("\0"))
    inspected = 0
    for record in records:
        if record.startswith("# branch.oid "):
            yield record
        fields = FIELDS_BEFORE_PATH.get(record[:1])
        if fields is None:
            continue
        path = os.path.join(folder, record.split(" ", fields)[-1])
        if record[0] == "2":
            next(records, None)
        if path.startswith(tuple(excluded)):
            continue
        yield record
        inspected += 1
        if inspected <= MAX_INSPECTED_FILES:
            yield _size_and_time(path)


def walk_files(folder: str, excluded: Sequence[str], most: int, seconds: float) -> Iterator[str | None]:
    """Yield the path of every file except hidden ones and dependencies; ends with None if a limit was reached."""
    deadline = monotonic() + seconds
    folders, files = [folder], 0
    while folders:
        if monotonic() > deadline:
            yield None
            return
        for entry in _entries(folders.pop(), excluded):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
                continue
            files += 1
            if files > most:
                yield None
                return
            yield entry.path


def _entries(folder: str, excluded: Sequence[str]) -> Iterator[os.DirEntry[str]]:
    """The relevant entries of a folder, sorted by name; none if it cannot be read."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        hidden = entry.name.startswith(".") or entry.name in _DEPENDENCIES
        if not hidden and not entry.path.startswith(tuple(excluded)):
            yield entry


def _size_and_time(path: str) -> str:
    try:
        info = os.lstat(path)
    except OSError:
        return "gone"
    return f"{info.st_size} {info.st_mtime_ns}"


if sys.platform == "win32":

    def _command_output(command: list[str], environ: dict[str, str], timeout: float) -> bytes | None:
        """Return the standard output of a command; None if it fails or times out.

        Raises OSError if it cannot be started.
        """
        # Late, because it takes longer to import than the command takes to run. Windows has no `posix_spawn`.
        from subprocess import DEVNULL, SubprocessError, run

        try:
            done = run(command, stdin=DEVNULL, capture_output=True, env=environ, timeout=timeout, check=True)  # noqa: S603  the command is not user input
        except SubprocessError:
            return None
        return done.stdout

else:
    import select

    # Not `subprocess`, which takes longer to import than the command takes to run: a hook pays for it at every stop.
    _SIGKILL = 9
    """The value of `signal.SIGKILL`. Importing `signal` would take as long as importing this module."""

    def _command_output(command: list[str], environ: dict[str, str], timeout: float) -> bytes | None:
        """Return the standard output of a command; None if it fails or times out.

        Raises OSError if it cannot be started.
        """
        read_end, write_end = os.pipe()
        try:
            to_null = (
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_RDWR, 0),
            )
            actions = [*to_null, (os.POSIX_SPAWN_DUP2, write_end, 1)]
            child = os.posix_spawnp(command[0], command, environ, file_actions=actions)
            os.close(write_end)
            write_end = -1
            output = _read(read_end, timeout)
            if output is None:
                os.kill(child, _SIGKILL)
            _, status = os.waitpid(child, 0)
            return output if status == 0 else None
        finally:
            os.close(read_end)
            if write_end >= 0:
                os.close(write_end)

    def _read(pipe: int, timeout: float) -> bytes | None:
        """Read a pipe until it is closed. Return None if that takes longer than `timeout` seconds."""
        deadline, output = monotonic() + timeout, bytearray()
        while (left := deadline - monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
            chunk = os.read(pipe, 1 << 16)
            if not chunk:
                return bytes(output)
            output += chunk
        return None
