"""Parsers of JSON: events of hooks, messages of MCP, arguments of tools, session files, events and entries."""

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.faults.fuzz import odd
from tests.faults.fuzz.odd import Target
from tests.hooks.agent import WITH_HOOKS, hooks_of
from tests.hooks.golden import FILES, golden
from tests.plans import session_on
from tildone.agents.hooks.context import arguments
from tildone.agents.hooks.event import HookEvent, field_in, read
from tildone.agents.mcp.json_rpc import InvalidMessage, RequestError, decode, error_line
from tildone.agents.mcp.protocol import HANDSHAKE_METHODS, MODERN_METHODS, check
from tildone.base import TildoneError
from tildone.base import json as json_scanner
from tildone.log.session import Session
from tildone.plan import codec
from tildone.plan.dialects import DIALECTS, dialect_named, plan_in_entry
from tildone.plan.formats.archive import read as read_archive
from tildone.run.codec import decode_entry, encode_body
from tildone.stores.pi.entries import call_in, exact_event, may_be_event, prompt_in, redo_in
from tildone.stores.pi.session_file import load
from tildone.stores.pi.store import JsonlStore

METHODS = sorted(HANDSHAKE_METHODS | MODERN_METHODS)
MAX_CALLS = 40
"""How many calls a session gets before the next one begins, so that its plan stays short."""

ENTRIES = [json.loads(line) for line in Path(__file__).with_name("entries.jsonl").read_text().splitlines()]
EVENT = json.dumps(ENTRIES[-1]["data"])
ARCHIVE = f'{{"tildone":1,"session":"s","head":"b","events":[{EVENT}]}}'
MCP_FIELDS, ENTRY_FIELDS = odd.SAMPLES["mcp_fields"], odd.SAMPLES["entry_fields"]


def targets(folder: Path) -> list[Target]:
    """Return the parsers of JSON; `folder` is for session files."""
    return [
        *(_hook(name) for name in WITH_HOOKS),
        *(_tools(name) for name in DIALECTS),
        Target("lines of MCP", _rpc, _receive, (InvalidMessage, RequestError)),
        Target("events of a session", _near(EVENT), codec.decode, (ValueError,)),
        Target("JSON", _near(EVENT), _scan),
        Target("archives", _near(ARCHIVE), read_archive, (ValueError, RecursionError)),
        Target("entries of pi", lambda luck: odd.varied(luck, luck.choice(ENTRIES), ENTRY_FIELDS), _decode_entry),
        Target("session files of pi", _session_file, lambda content: _load(folder, content), (TildoneError,), weight=1),
    ]


def _hook(name: str) -> Target:
    integration = WITH_HOOKS[name]
    hooks = hooks_of(integration)
    samples = [golden(path).case["stdin"] for path in FILES if path.parent.name == name] or [{}]
    fields = sorted({path.split(".")[0] for paths in hooks.fields.values() for path in paths.split()})
    events = sorted(hooks.points)

    def draw(luck: Random) -> tuple[str, bytes]:
        return luck.choice(events), odd.encoded(luck, odd.varied(luck, luck.choice(samples), fields))[:60_000]

    def feed(given: tuple[str, bytes]) -> None:
        ours, theirs = os.pipe()
        try:
            os.write(theirs, given[1])
            os.close(theirs)
            payload = read(ours)
        finally:
            os.close(ours)
        if payload is not None:
            _ask(HookEvent(integration, hooks, given[0], hooks.points[given[0]], payload, {}))

    return Target(f"hook events of {name}", draw, feed, (ValueError,), weight=4)


def _ask(event: HookEvent) -> None:
    """Ask an event everything that hooks ask one."""
    for field in event.hooks.fields:
        event.get(field)
        event.text(field)
        field_in(event.payload, event.hooks, field)
    arguments(event.get("tool_input"))
    for _ in (event.model, event.folder, event.from_person, event.is_unattended, event.will_wake, event.in_plan_mode):
        event.agent_id(0)


def _tools(name: str) -> Target:
    dialect = dialect_named(name)
    used: list[tuple[Session, int]] = []

    def draw(luck: Random) -> tuple[str, Any]:
        tool = luck.choice(dialect.tools)
        given = odd.of_schema(luck, tool.parameters, ("One", "Two", "Work", "1", "2"))
        return odd.word(luck, (tool.name,)), json.dumps(given) if luck.random() < 0.1 else given

    def feed(given: tuple[str, Any]) -> None:
        session, calls = used.pop() if used else (session_on(dialect=dialect), 0)
        reply = session.call(*given)
        assert isinstance(reply.text, str)
        json.dumps(reply.details)
        session.context()
        session.turn_ended()
        if calls < MAX_CALLS:
            used.append((session, calls + 1))

    return Target(f"tools of {name}", draw, feed, weight=6)


def _rpc(luck: Random) -> bytes:
    params = odd.record(luck, MCP_FIELDS, 3)
    message = {"jsonrpc": "2.0", "id": luck.choice((1, "a", None)), "method": odd.word(luck, METHODS), "params": params}
    return odd.encoded(luck, odd.varied(luck, message, MCP_FIELDS))


def _receive(line: bytes) -> None:
    message = decode(line)
    error_line(message.id, 1, message.method)
    check(message.method, message.params)


def _near(sample: str) -> Callable[[Random], str]:
    parsed = json.loads(sample)

    def draw(luck: Random) -> str:
        return odd.encoded(luck, odd.varied(luck, parsed)).decode("utf-8", "replace")

    return draw


def _scan(text: str) -> None:
    """What one reader of JSON reads, the other reads, too, and finds the same; it may also read more."""
    with contextlib.suppress(ValueError):
        assert repr(codec.parse_strictly(text)) == repr(json_scanner.parse(text))
    with contextlib.suppress(ValueError):
        json_scanner.parse(text)


def _decode_entry(entry: Any) -> None:
    if not isinstance(entry, dict) or not isinstance(entry.get("type"), str) or not isinstance(entry.get("id"), str):
        return
    encode_body(decode_entry(entry).body)
    plan_in_entry(entry)
    for reads in (may_be_event, exact_event, prompt_in, redo_in):
        reads(entry)
    call_in(entry, "c")


def _session_file(luck: Random) -> bytes:
    version, at = luck.choice((1, 2, 3, 3, 3)), "2026-01-02T03:04:05.678Z"
    first = {"type": "session", "version": version, "id": "s", "timestamp": at, "cwd": "/"}
    records = [first, *(odd.varied(luck, luck.choice(ENTRIES), ENTRY_FIELDS) for _ in range(luck.randrange(6)))]
    lines = [json.dumps(record).encode("utf-8", "surrogatepass") for record in records]
    return odd.mutated(luck, b"\n".join(lines)) if luck.random() < 0.5 else b"\n".join(lines)


def _load(folder: Path, content: bytes) -> None:
    path = folder / "2026-01-02T03-04-05-678Z_s.jsonl"
    path.write_bytes(content)
    store = JsonlStore(str(folder), plan_in_entry)
    for name in (info.name for info in store.sessions()):
        list(store.history(name))
    store.check()
    load(str(path))
