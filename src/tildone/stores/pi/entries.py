"""Events as entries of a session file, and entries as events.

What tildone writes is an entry that pi and oh-my-pi understand as far as they can, with the exact event beside it.
What they write is an event where a plan can be recovered from it, or where it gives an entry a name.
"""

from __future__ import annotations

import re

from tildone.core.plan import Status
from tildone.log import codec
from tildone.log.events import Actor, Call, Event, Labelled, PlanChanged
from tildone.stores.pi.session_file import format_timestamp, parse_timestamp
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tildone.core.plan import Plan
    from tildone.log.events import Fact
    from tildone.log.tree import SessionHead

    Entry = dict[str, Any]
    PlanInEntry = Callable[[Mapping[str, Any]], Plan | None]

OWN = "tildone"
"""The custom entry of what only tildone understands, and the key of the exact event in any entry."""

EDIT = "user_todo_edit"
"""The custom entry that oh-my-pi restores a list from."""

WHOLE = ',"whole":true}}'
"""How the custom entry of an event ends. No part of one does: within a text, the marks would be written otherwise."""

# Words that oh-my-pi knows; a task that waits for somebody else is not begun, to it.
_WORDS = {status: status.basic.value for status in Status}

# A tool or a custom entry whose name speaks of neither is not looked into.
_OF_PLANS = re.compile(rb"(?i)todo|tildone")


def event_line(event: Event, entry_id: str, parent: str | None, target: str = "", batch: str = "") -> bytes:
    """The entry of an event. A label's `target` is the entry it names; a `batch` is believed once it is whole."""
    exact = codec.encode(event)
    belongs = f'"batch":"{batch}",' if batch else ""
    match event.fact:
        case PlanChanged(plan):
            data = f'{{{belongs}"{OWN}":{exact},"phases":{codec.dump(_phases(plan))}'
            text = f'{_opening("custom", entry_id, parent, event.at)},"customType":"{EDIT}","data":{data}{WHOLE}'
        case Labelled(_, label):
            # A label without a name takes the name away.
            name = f',"label":{codec.dump(label)}' if label else ""
            opening = f'{_opening("label", entry_id, parent, event.at)},"targetId":{codec.dump(target)}{name}'
            text = f'{opening},{belongs}"{OWN}":{exact}}}'
        case _:
            data = f'{{{belongs}"{OWN}":{exact}'
            text = f'{_opening("custom", entry_id, parent, event.at)},"customType":"{OWN}","data":{data}{WHOLE}'
    return text.encode() + b"\n"


def head_line(place: SessionHead, entry_id: str, parent: str | None, at: int, batch: str = "") -> bytes:
    """The entry that moves the head: pi takes the last entry for where the session stands. It closes its `batch`."""
    belongs = f'"batch":"{batch}",' if batch else ""
    stands = codec.dump({"head": place.head, "ahead": place.redo})
    opening = _opening("custom", entry_id, parent, at)
    return f'{opening},"customType":"{OWN}","data":{{{belongs}"place":{stands}}}}}\n'.encode()


def deletion_line(entry_id: str, parent: str | None, at: int) -> bytes:
    """The entry after which no plan was ever here, to oh-my-pi an empty one."""
    opening = _opening("custom", entry_id, parent, at)
    return f'{opening},"customType":"{EDIT}","data":{{"phases":[],"forgotten":true}}}}\n'.encode()


def may_name_plan(name: bytes) -> bool:
    """Whether what a tool or a custom entry of that name has written is worth a look."""
    return _OF_PLANS.search(name) is not None


def may_be_event(entry: Entry) -> bool:
    """Whether an entry is worth a look."""
    match entry:
        case {"type": "label"}:
            return True
        case {"type": "custom", "customType": str(name)}:
            return may_name_plan(name.encode("utf-8", "replace"))
        case {"type": "message", "message": {"role": "toolResult", "toolName": str(name)}}:
            return may_name_plan(name.encode("utf-8", "replace"))
        case _:
            return False


def exact_event(entry: Entry) -> Entry | None:
    """The event as tildone wrote it, as data, if this is such an entry."""
    match entry:
        case {"type": "custom", "customType": "tildone" | "user_todo_edit", "data": {"tildone": {"id": str()}}}:
            return dict(entry["data"][OWN])
        case {"type": "label", "tildone": {"id": str()}}:
            return dict(entry[OWN])
        case _:
            return None


def redo_in(entry: Entry) -> tuple[str, ...] | None:
    """The way forward that an entry which moved the head has left open; None if it is no such entry."""
    match entry:
        case {"type": "custom", "customType": "tildone", "data": {"place": {"ahead": [*ahead]}}}:
            return tuple(map(str, ahead))
        case _:
            return None


def is_deletion(entry: Entry) -> bool:
    """Whether the plan was forgotten here."""
    match entry:
        case {"type": "custom", "customType": "user_todo_edit", "data": {"forgotten": True}}:
            return True
        case _:
            return False


def batch_of(entry: Entry) -> str | None:
    """The batch that an entry is a part of."""
    match entry:
        case {"type": "custom", "customType": "tildone" | "user_todo_edit", "data": {"batch": str(batch)}}:
            return batch
        case {"type": "label", "batch": str(batch)}:
            return batch
        case _:
            return None


def foreign_fact(entry: Entry, recover: PlanInEntry) -> Fact | None:
    """What an entry that tildone did not write says of the plan; the call that it answers is left to be found.

    A label's target is the entry that it names.
    """
    match entry:
        case {"type": "label", "targetId": str(target)}:
            label = entry.get("label")
            return Labelled(target, label if isinstance(label, str) else "")
        case {"type": "message", "message": {"isError": True}}:
            return None
        case {"type": "message" | "custom"}:
            plan = recover(entry)
            return None if plan is None else PlanChanged(plan)
        case _:
            return None


def foreign_event(entry: Entry, fact: Fact, parent: str | None) -> Event:
    """The event of such an entry: by whom and when."""
    edited = entry["type"] == "label" or entry.get("customType") == EDIT
    return Event(entry["id"], parent, _when(entry), Actor.USER if edited else Actor.AGENT, fact)


def call_in(entry: Entry, call_id: object) -> Call | None:
    """The call of that id in an entry, if that is what an assistant said."""
    for part in assistant_parts(entry) or ():
        match part:
            case {"type": "toolCall", "name": str(name)} if part.get("id") == call_id:
                return Call(name, codec.dump(part.get("arguments", {})))
            case _:
                continue
    return None


def assistant_parts(entry: Entry) -> list[Any] | None:
    """The parts of what an assistant said, if this entry holds that."""
    match entry:
        case {"type": "message", "message": {"role": "assistant", "content": [*parts]}}:
            return parts
        case _:
            return None


def _opening(kind: str, entry_id: str, parent: str | None, at: int) -> str:
    """How every entry begins. A reader that is in a hurry relies on it: it looks no further than it has to."""
    above = "null" if parent is None else codec.dump(parent)
    return f'{{"type":"{kind}","id":{codec.dump(entry_id)},"parentId":{above},"timestamp":"{format_timestamp(at)}"'


def _phases(plan: Plan) -> list[Entry]:
    """A plan in oh-my-pi's words."""
    return [
        {
            "name": phase.name,
            "tasks": [
                {"content": task.text, "status": _WORDS[task.status], **({"notes": task.notes} if task.notes else {})}
                for task in phase.tasks
            ],
        }
        for phase in plan.phases
    ]


def _when(entry: Entry) -> int:
    """When an entry came about, as it says itself; 0 if it does not."""
    written = parse_timestamp(entry.get("timestamp"))
    if written is not None:
        return written
    message = entry.get("message")
    said = message.get("timestamp") if isinstance(message, dict) else None
    return said if isinstance(said, int) else 0
