"""Time to read the plan from a long pi session file, against parsing the file, and time to change the plan."""

import json
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

from bench.measure import Row, medians
from bench.plans import PLAN, Toggle, filled_session, session_on
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import Actor, Call, Event, PlanChanged, SessionHead
from tildone.plan.model import Plan
from tildone.stores.pi.history import write_history
from tildone.stores.pi.store import JsonlStore

AIM = 1.5
SHORT = 10
MESSAGE_BYTES = 425
"""Bytes of a message's variable part: 100,000 entries make 62 MB."""


def rows(folder: Path, rounds: int, length: int) -> Iterator[Row]:
    """One row for each kind of file, and one for a change of the plan in it."""
    talk, plans = conversation(folder / "talk", length), history(folder / "plans", length)
    for writer, path in (("pi's", talk), ("tildone's", plans)):
        took, parsing = medians([opening(path.parent), parsed(path)], rounds)
        yield Row(f"the plan in {length:,} entries of {writer}", "json.loads of its lines", AIM, took, parsing)
    stores = [JsonlStore(path.parent, plan_in_entry) for path in (conversation(folder / "short", SHORT), talk)]
    short, long = medians([Toggle(filled_session(store, "bench")) for store in stores], 10 * rounds)
    yield Row(f"a change after {length:,} entries", f"after {SHORT} entries", AIM, long, short)


def opening(folder: Path) -> Callable[[], Plan]:
    """Open the store and read the plan, as a command does."""

    def read() -> Plan:
        plan = session_on(JsonlStore(folder, plan_in_entry), "bench").plan
        assert plan.tasks
        return plan

    return read


def parsed(path: Path) -> Callable[[], None]:
    def parse() -> None:
        with path.open("rb") as file:
            for line in file:
                json.loads(line)

    return parse


def conversation(folder: Path, length: int) -> Path:
    """A file as pi writes it: user and assistant messages, tool results, and some plans."""
    path = folder / "2026-01-01T00-00-00-000Z_bench.jsonl"
    folder.mkdir()
    bodies = [
        message("user"),
        tool_call("bash"),
        result("bash"),
        tool_call("edit_todos"),
        result("edit_todos", todos=TODOS),
    ]
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"type": "session", "version": 3, "id": "bench", "cwd": "/p"}) + "\n")
        for number, body in zip(range(length), cycle(bodies), strict=False):
            entry = {"type": "message", "id": f"{number:08x}", "parentId": f"{number - 1:08x}" if number else None}
            line = entry | {"timestamp": "2026-01-01T00:00:00.000Z", "message": body}
            file.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n")
    return path


def history(folder: Path, length: int) -> Path:
    """A file that tildone wrote: only changes of the plan."""
    path = folder / "2026-01-01T00-00-00-000Z_bench.jsonl"
    fact = PlanChanged(Plan((PLAN.phases[0],)), Call("edit_todos", '{"action":"start","indices":[3]}'))
    ids = [f"{number:020}" for number in range(length)]
    events = [Event(new, old, 1, Actor.AGENT, fact) for old, new in zip([None, *ids], ids, strict=False)]
    write_history(str(path), "bench", "/p", events, SessionHead(ids[-1]))
    return path


TODOS = [{"text": task.text, "status": "not_started"} for task in PLAN.tasks[:4]]


def message(role: str, **more: Any) -> dict[str, Any]:
    """Return a message of a typical length."""
    short = {"role": role, **more, "content": [{"type": "text", "text": ""}], "timestamp": 1}
    left = MESSAGE_BYTES - len(json.dumps(short, separators=(",", ":")))
    return short | {"content": [{"type": "text", "text": ("naïve \\ text\n" * 60)[: max(left, 1)]}]}


def tool_call(tool: str) -> dict[str, Any]:
    call = {"type": "toolCall", "id": "call_1", "name": tool, "arguments": {"command": "ls"}}
    answer = message("assistant", api="openai-responses", provider="openai", model="gpt-5", stopReason="toolUse")
    return answer | {"content": [*answer["content"], call]}


def result(tool: str, **details: Any) -> dict[str, Any]:
    role = {"toolCallId": "call_1", "toolName": tool, "details": {"action": "edit"} | details, "isError": False}
    entry = message("toolResult", **role)
    return {
        "role": entry.pop("role"),
        **{key: entry.pop(key) for key in ("toolCallId", "toolName", "content")},
        **entry,
    }
