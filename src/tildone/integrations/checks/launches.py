"""The commands that a coding agent runs for us, read back from its settings files as the agent parses them."""

from __future__ import annotations

import json
import re

from tildone.errors import Refused
from tildone.integrations.settings import jsonc
from tildone.integrations.settings.edits import ArrayItem, Edit, ObjectMember, WholeFile, get
from tildone.integrations.settings.files import read
from tildone.integrations.settings.jsonc_scanner import InvalidJson
from tildone.integrations.settings.ours import hooks_of, is_our_hook, is_our_server
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

TOOLS, HOOKS, STATUS_LINE = "tools", "hooks", "status line"
"""The parts of an installation."""

STATUS_EVENT = "StatusLine"
_SHIM_CONSTANT = re.compile(
    r'^const (PROGRAM|ARGUMENTS|PARTS)(?:: \w+)? = ("(?:[^"\\]|\\.)*"|[\[{].*[\]}]);?', re.MULTILINE
)
_SHIM_AGENT = re.compile(r"`tildone hook (\w+)`")
_SHIM_EVENTS = {"opencode": "session.idle", "pi": "agent_before_settle"}
_OFFER_TOOLS = "tools"


@value
class Launch:
    """A command as a coding agent starts it: an argument vector, or a line for the shell.

    `event` is the event of a hook, empty for an MCP server. `environ` and `folder` are what the settings add to the
    environment, and where they start the command, if they say so.
    """

    part: str
    command: tuple[str, ...] | str
    event: str = ""
    environ: tuple[tuple[str, str], ...] = ()
    folder: str = ""

    @property
    def text(self) -> str:
        """The command as a person reads it."""
        return self.command if isinstance(self.command, str) else " ".join(self.command)


def expected_launches(edits: Iterable[Edit]) -> list[Launch]:
    """Return the commands that these edits add to the settings files."""
    return [launch for edit in edits for launch in _added_by(edit)]


def configured_launches(edits: Iterable[Edit]) -> list[Launch]:
    """Return our commands that the settings files contain, in the places where these edits put them.

    Raises:
        Refused: a file cannot be read or parsed.
    """
    found: list[Launch] = []
    texts: dict[str, str | None] = {}
    for edit in edits:
        if edit.file not in texts:
            texts[edit.file] = read(edit.file)
        text = texts[edit.file]
        if text is not None and text.strip("\ufeff \t\r\n"):
            found += _found_in(edit, text)
    return found


def _added_by(edit: Edit) -> Iterator[Launch]:
    match edit:
        case ObjectMember(_, path, entry, _):
            yield from _member(path, entry)
        case ArrayItem(_, path, entry):
            yield from _hooks({path[-1]: [entry]})
        case WholeFile(file, text):  # exhaustive
            yield from _whole_file(file, text)


def _found_in(edit: Edit, text: str) -> Iterator[Launch]:
    match edit:
        case ObjectMember(_, path):
            yield from _member(path, get(edit, text))
        case ArrayItem(_, path):
            yield from _hooks({path[-1]: get(edit, text)})
        case WholeFile(file):  # exhaustive
            try:
                yield from _whole_file(file, text)
            except InvalidJson as error:
                raise Refused(f"{file} cannot be parsed: {error}") from error


def _member(path: tuple[str, ...], entry: Any) -> Iterator[Launch]:
    if path == ("statusLine",) and is_our_hook(entry):
        yield Launch(STATUS_LINE, str(entry.get("command", "")), STATUS_EVENT)
    elif is_our_server(entry):
        yield from _server(entry)


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
            for hook in filter(is_our_hook, hooks_of(entry) or [entry]):
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
    """Yield the commands that one of our shims runs."""
    constants = {name: _literal(literal) for name, literal in _SHIM_CONSTANT.findall(text)}
    agent = _SHIM_AGENT.search(text)
    program, arguments = constants.get("PROGRAM"), _items(constants.get("ARGUMENTS"))
    if agent is None or not isinstance(program, str):
        return
    parts = constants.get("PARTS")
    wanted = parts if isinstance(parts, dict) else {"mcp": False, "hooks": True}
    events = {
        TOOLS: _OFFER_TOOLS if wanted.get("mcp") else "",
        HOOKS: _SHIM_EVENTS[agent[1]] if wanted["hooks"] else "",
    }
    for part, event in events.items():
        if event:
            yield Launch(part, (program, "hook", agent[1], event, *map(str, arguments[1:])), event)


def shim_without_constants(text: str) -> str:
    """Return the text of one of our shims without what an installation fills in, and with plain line ends."""
    return _SHIM_CONSTANT.sub(r"const \1", text.removeprefix("\ufeff").replace("\r\n", "\n"))


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _items(data: Any) -> list[Any]:
    return data if isinstance(data, list) else []
