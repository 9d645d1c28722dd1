"""Starts the commands that coding agents are configured to run, as they do, and asks each whether it works.

An MCP server is asked to initialize and to list its tools; a hook gets one event, marked as a probe. A server gets a
scratch store; a hook opens the real one for reading. So nothing of the person's is changed, whatever the answer.

Every process has a process group of its own and a time limit, after which the group is killed. Its standard error goes
to a temporary file, because a pipe that nobody reads would block it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Timer
from typing import IO, Any

from tildone.agents.install import files, jsonc
from tildone.agents.install.jsonc import InvalidJson
from tildone.agents.integrations import PROBE, PROBE_CLIENT
from tildone.base import Refused, value

TOOLS, HOOKS, STATUS_LINE = "tools", "hooks", "status line"
"""The parts of an installation."""

STATUS_EVENT = "StatusLine"
_SHIM_CONSTANT = re.compile(
    r'^const (PROGRAM|ARGUMENTS|PARTS|AGENT)(?:: \w+)? = ("(?:[^"\\]|\\.)*"|[\[{].*[\]}]);?', re.MULTILINE
)
_SHIM_AGENT = re.compile(r"`tildone hook (\w+)`")
"""Where the shims of earlier versions name their agent."""

_SHIM_EVENTS = {"opencode": "session.idle", "kilo": "session.idle", "pi": "agent_before_settle"}
_OFFER_TOOLS = "tools"


@value
class Launch:
    """A command (a vector, or a line for the shell), a hook's `event`, and what the settings add to its environment."""

    part: str
    command: tuple[str, ...] | str
    event: str = ""
    environ: tuple[tuple[str, str], ...] = ()
    folder: str = ""

    @property
    def text(self) -> str:
        return self.command if isinstance(self.command, str) else " ".join(self.command)


def expected_launches(edits: Iterable[files.Edit]) -> list[Launch]:
    found: list[Launch] = []
    for edit in edits:
        match edit:
            case files.ObjectMember():
                found += _launches(edit, edit.entry)
            case files.ArrayItem():
                found += _launches(edit, [edit.entry])
            case files.WholeFile():  # exhaustive
                found += _launches(edit, edit.text)
    return found


def configured_launches(edits: Iterable[files.Edit]) -> list[Launch]:
    """Return our commands that the settings files contain, in the places where these edits put them."""
    found: list[Launch] = []
    texts: dict[str, str | None] = {}
    for edit in edits:
        if edit.file not in texts:
            texts[edit.file] = files.read(edit.file)
        text = texts[edit.file]
        if text is not None and text.strip("\ufeff \t\r\n"):
            found += _launches(edit, text if isinstance(edit, files.WholeFile) else files.get(edit, text))
    return found


def _launches(edit: files.Edit, content: Any) -> Iterator[Launch]:
    """Yield our commands in a value at the place of an edit, or in the text of a file that is ours alone."""
    if isinstance(edit, files.WholeFile):
        try:
            yield from _whole_file(edit.file, content)
        except InvalidJson as error:
            raise Refused(f"{edit.file} cannot be parsed: {error}") from error
    elif isinstance(edit, files.ArrayItem):
        event = edit.entry.get("event") if isinstance(edit.entry, dict) else None
        found = [each for each in _items(content) if event is None or event == each.get("event")]
        yield from _hooks({event or edit.path[-1]: found})
    elif edit.path[-1] == "statusLine" and files.is_our_hook(content):
        yield Launch(STATUS_LINE, str(content.get("command", "")), STATUS_EVENT)
    elif files.is_our_server(content):
        yield from _server(content)


def _server(entry: Mapping[str, Any]) -> Iterator[Launch]:
    command = entry.get("command")
    words = command if isinstance(command, list) else [command, *_items(entry.get("args"))]
    if all(isinstance(word, str) for word in words) and words:
        added = entry.get("env") or entry.get("environment")
        environ = tuple((str(key), str(text)) for key, text in added.items()) if isinstance(added, dict) else ()
        folder = entry.get("cwd")
        yield Launch(TOOLS, tuple(words), "", environ, folder if isinstance(folder, str) else "")


def _hooks(by_event: Any) -> Iterator[Launch]:
    """Yield the commands of hooks. Coding agents list them by event, most of them in groups with a matcher."""
    for event, entries in by_event.items() if isinstance(by_event, dict) else ():
        for entry in _items(entries):
            for hook in filter(files.is_our_hook, files.hooks_of(entry) or [entry]):
                line = hook.get("command") or hook.get("bash")
                if isinstance(line, str):
                    yield Launch(HOOKS, line, event)


def _whole_file(file: str, text: str) -> Iterator[Launch]:
    if file.endswith(".json"):
        settings = jsonc.get(text, ())
        yield from _hooks(settings.get("hooks") if isinstance(settings, dict) else None)
    elif file.endswith((".js", ".ts")):
        yield from _shim(text)


def _shim(text: str) -> Iterator[Launch]:
    constants = {name: _parsed(literal) for name, literal in _SHIM_CONSTANT.findall(text)}
    agent = constants.get("AGENT") or next(iter(_SHIM_AGENT.findall(text)), None)
    program, arguments = constants.get("PROGRAM"), _items(constants.get("ARGUMENTS"))
    if agent not in _SHIM_EVENTS or not isinstance(program, str):
        return
    parts = constants.get("PARTS")
    wanted = parts if isinstance(parts, dict) else {"mcp": False, "hooks": True}
    events = {
        TOOLS: _OFFER_TOOLS if wanted.get("mcp") else "",
        HOOKS: _SHIM_EVENTS[agent] if wanted["hooks"] else "",
    }
    for part, event in events.items():
        if event:
            yield Launch(part, (program, "hook", agent, event, *map(str, arguments[1:])), event)


def shim_without_constants(text: str) -> str:
    """Return the text of one of our shims without what an installation fills in, and with plain line ends."""
    return _SHIM_CONSTANT.sub(r"const \1", text.removeprefix("\ufeff").replace("\r\n", "\n"))


def _items(data: Any) -> list[Any]:
    return data if isinstance(data, list) else []


TIMEOUT_SECONDS = 30.0
"""Longer than coding agents wait: a first start compiles every module, perhaps on a busy machine."""

PROGRESS_SECONDS = 0.5
MAX_PROCESSES = 8
MAX_ANSWER_BYTES = 1_000_000
MAX_REASON_LENGTH = 300
PROTOCOL = "2025-06-18"
SERVER = "tildone"
NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""The exit codes of a shell for a command that does not exist or cannot be run."""


@value
class ProbeResult:
    """The answer of a command: the version of tildone that it runs; or why there was none."""

    version: str = ""
    reason: str = ""

    @property
    def alive(self) -> bool:
        return not self.reason


def probe_all(
    launches: Iterable[Launch],
    project: str,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    timeout: float = TIMEOUT_SECONDS,
) -> dict[Launch, ProbeResult]:
    """Start all commands, several at a time, for up to `timeout` seconds each. Equal commands are started once."""
    groups: dict[tuple[object, ...], list[Launch]] = {}
    for launch in launches:
        groups.setdefault((launch.command, launch.environ, launch.folder), []).append(launch)
    results: dict[Launch, ProbeResult] = {}
    exchanges: list[ProbeExchange] = []
    with TemporaryDirectory(prefix="tildone-probe-") as scratch, ThreadPoolExecutor(MAX_PROCESSES) as pool:

        def ask(number: int, launch: Launch) -> ProbeResult:
            return probe(launch, project, os.path.join(scratch, f"{number}.db"), timeout, exchanges)

        running = {pool.submit(ask, number, same[0]): same for number, same in enumerate(groups.values())}
        try:
            pending = set(running)
            while pending:
                done, pending = wait(pending, PROGRESS_SECONDS, FIRST_COMPLETED)
                for each in done:
                    results |= dict.fromkeys(running[each], each.result())
                progress(len(running) - len(pending), len(running))
        finally:
            # After Ctrl-C, what is still running would be waited for until its time limit.
            pool.shutdown(wait=False, cancel_futures=True)
            for exchange in exchanges:
                exchange.expire()
    return results


LISTING_SECONDS = 20.0
"""How long a coding agent may take to list its servers, each of which it starts."""

_ESCAPES = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")


def what_agent_lists(words: Sequence[str], project: str) -> tuple[str, str]:
    """Run the command with which a coding agent lists its MCP servers.

    Return the line about ours, empty if there is none, and why the command failed, empty if it did not.
    """
    with TemporaryFile() as output:
        try:
            process = subprocess.Popen(  # noqa: S603  the coding agent of the person
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=project, start_new_session=True
            )
        except OSError as error:
            return "", f"it cannot be started: {error.strerror}"
        try:
            code = process.wait(LISTING_SECONDS)
        except subprocess.TimeoutExpired:
            return "", f"no answer within {LISTING_SECONDS:.0f} seconds"
        finally:
            _kill_group(process)
            process.wait()
        output.seek(0)
        text = _ESCAPES.sub("", output.read(MAX_ANSWER_BYTES).decode("utf-8", "replace"))
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    ours = next((line for line in lines if _OUR_LINE.match(line)), "")
    return ours, f"exit code {code}: {lines[-1] if lines else 'no output'}" if code and not ours else ""


_OUR_LINE = re.compile(rf"^\W*{SERVER}\b")


def probe(launch: Launch, project: str, store: str, timeout: float, exchanges: list[ProbeExchange]) -> ProbeResult:
    """Start a command as its coding agent does and return its answer. An MCP server gets `store`, not the person's."""
    environ = {**os.environ, **{name: os.path.expandvars(text) for name, text in launch.environ}}
    if not launch.event:
        # A server also notes in its data that it runs, which is no concern of the person's agents.
        environ |= {"TILDONE_STORE": store, "XDG_DATA_HOME": os.path.dirname(store)}
    folder = os.path.join(project, os.path.expanduser(launch.folder)) if launch.folder else project
    with TemporaryFile() as errors:
        try:
            process = _start(launch, environ, folder, errors)
        except (OSError, ValueError) as error:
            return ProbeResult(reason=_cannot_start(launch, error))
        exchange = ProbeExchange(process, errors, timeout)
        exchanges.append(exchange)
        talk = exchange.ask_hook if launch.event else exchange.ask_server
        try:
            return talk(launch, project)
        finally:
            exchange.close()


def _start(launch: Launch, environ: Mapping[str, str], folder: str, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  a coding agent runs this command, too, or passes it to the shell
        launch.command,
        shell=isinstance(launch.command, str),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=dict(environ),
        cwd=folder if os.path.isdir(folder) else None,
        start_new_session=True,
    )


def _cannot_start(launch: Launch, error: OSError | ValueError) -> str:
    """Return why a program cannot be started; a missing interpreter would otherwise look like a missing program."""
    program = launch.command if isinstance(launch.command, str) else launch.command[0]
    if isinstance(error, FileNotFoundError) and os.path.exists(program):
        return f"{program} cannot run: its interpreter {_interpreter(program)} does not exist"
    if isinstance(error, FileNotFoundError):
        return f"{program} does not exist" if os.path.dirname(program) else f"{program} is not on the PATH"
    if isinstance(error, PermissionError):
        return f"{program} is not executable"
    return f"{program} cannot be started: {getattr(error, 'strerror', None) or error}"


def _interpreter(program: str) -> str:
    try:
        with open(program, "rb") as file:
            first = file.readline(1000)
    except OSError:
        return ""
    return first.removeprefix(b"#!").strip().decode("utf-8", "replace") if first.startswith(b"#!") else ""


class ProbeExchange:
    """The exchange with one process, which ends when the process does or at the time limit."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes], timeout: float) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process has no pipes")
        self._process = process
        self._input, self._output = process.stdin, process.stdout
        self._errors = errors
        self._late = self._closed = False
        self._timeout = timeout
        self._timer = Timer(timeout, self.expire)
        self._timer.daemon = True
        self._timer.start()

    def ask_hook(self, launch: Launch, project: str) -> ProbeResult:
        """Send a hook one event, under all names that coding agents have for its parts."""
        event = {"hook_event_name": launch.event, "event": launch.event, "cwd": project, "directory": project}
        self._send(event | {"session_id": PROBE, "sessionID": PROBE, PROBE: True}, last=True)
        output = self._output.read(MAX_ANSWER_BYTES)
        if len(output) == MAX_ANSWER_BYTES:
            self._kill()
        # Its errors are complete when it has ended; the timer bounds that.
        self._process.wait()
        reply = _parsed(output)
        if isinstance(reply, dict) and isinstance(reply.get(SERVER), str):
            return ProbeResult(reply[SERVER])
        return ProbeResult(reason=self._reason(launch, output))

    def ask_server(self, launch: Launch, _project: str) -> ProbeResult:
        client = {"name": PROBE_CLIENT, "version": "1"}
        start = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        self._send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start})
        answer = self._receive(1)
        server = answer.get("result", {}).get("serverInfo", {}) if isinstance(answer, dict) else {}
        if not server:
            return ProbeResult(reason=self._reason(launch, answer))
        if server.get("name") != SERVER:
            return ProbeResult(reason=f"another MCP server answers: {server.get('name')}")
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        answer = self._receive(2)
        if not isinstance(answer, dict) or not answer.get("result", {}).get("tools"):
            return ProbeResult(reason=self._reason(launch, answer))
        return ProbeResult(str(server.get("version", "")))

    def expire(self) -> None:
        """End the process before it has answered; do nothing if it has ended."""
        if not self._closed:
            self._late = True
            self._kill()

    def close(self) -> None:
        self._timer.cancel()
        for stream in (self._input, self._output):
            # What could not be written is still in the buffer.
            with suppress(OSError):
                stream.close()
        self._kill()
        self._process.wait()
        self._closed = True

    def _send(self, message: Mapping[str, Any], *, last: bool = False) -> None:
        try:
            self._input.write(json.dumps(message).encode() + b"\n")
            self._input.flush()
            if last:
                self._input.close()
        except OSError:
            # The process has ended; what it wrote before tells why.
            return

    def _receive(self, number: int) -> dict[str, Any] | bytes:
        """Return the response with that id; or what came instead, as bytes."""
        received = 0
        while received < MAX_ANSWER_BYTES:
            line = self._output.readline(MAX_ANSWER_BYTES)
            received += len(line)
            message = _parsed(line)
            if not isinstance(message, dict):
                return line
            if message.get("id") == number:
                return message
        return b""

    def _reason(self, launch: Launch, output: object) -> str:
        """Return why there was no answer: the last line of standard error, if the process wrote one."""
        if self._late:
            return f"no answer within {self._timeout:g} seconds"
        if not output:
            self._process.wait()
        last = self._last_error()
        code = self._process.poll()
        if code in (NOT_FOUND, NOT_EXECUTABLE) and isinstance(launch.command, str):
            return last or f"{launch.command} cannot be run"
        if output:
            text = output.decode("utf-8", "replace") if isinstance(output, bytes) else json.dumps(output)
            return f"unexpected output: {_clipped(text.strip().splitlines()[0] if text.strip() else text)}"
        ended = "it ends without an answer" if code in (0, None) else f"it ends with exit code {code}"
        return last or ended

    def _last_error(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read()[-MAX_ANSWER_BYTES:].decode("utf-8", "replace").strip().splitlines()
        return _clipped(lines[-1].removeprefix("tildone: ").removesuffix("; the agent goes on")) if lines else ""

    def _kill(self) -> None:
        _kill_group(self._process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was started with a group of its own, and that group."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_REASON_LENGTH else f"{text[:MAX_REASON_LENGTH]}…"
