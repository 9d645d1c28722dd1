"""Events as entries of a session file, and entries as events.

An event is written as an entry that pi or oh-my-pi understands where possible: a change of the plan as oh-my-pi's
`user_todo_edit`, a label as pi's `label`, anything else as a `custom` entry. The key `tildone` has the exact event. An
entry of another program is an event if a plan can be recovered from it, or if it labels an entry.

Several entries that must take effect together (an import) share a `batch`, which the entry that sets the head closes: a
batch without its last entry is ignored.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tildone.plan import codec
from tildone.plan.events import Actor, Call, Event, Fact, Labelled, PlanChanged, SessionHead
from tildone.plan.model import Plan, Status
from tildone.stores.pi.session_file import format_timestamp, parse_timestamp

Entry = dict[str, Any]
PlanInEntry = Callable[[Mapping[str, Any]], Plan | None]

OWN = "tildone"
"""The type of custom entries that only tildone understands, and the key of the exact event in any entry."""

EDIT = "user_todo_edit"
"""The type of custom entries that oh-my-pi restores a list from."""

WHOLE = ',"whole":true}}'
"""How the custom entry of an event ends. A torn line does not: inside a string, quotes are escaped."""

# oh-my-pi knows the basic statuses only.
_WORDS = {status: status.basic.value for status in Status}

# Entries of tools and custom types with other names hold no plan.
_PLAN_NAME = re.compile(rb"(?i)todo|tildone")


def event_line(event: Event, entry_id: str, parent: str | None, target: str = "", batch: str = "") -> bytes:
    """Return the entry of an event, as part of a `batch` if given. The `target` of a label is an entry id."""
    exact = codec.encode(event)
    member = f'"batch":"{batch}",' if batch else ""
    match event.fact:
        case PlanChanged(plan):
            data = f'{{{member}"{OWN}":{exact},"phases":{codec.dump(_phases(plan))}'
            text = f'{_opening("custom", entry_id, parent, event.at)},"customType":"{EDIT}","data":{data}{WHOLE}'
        case Labelled(_, label):
            # An entry without a label removes the label.
            name = f',"label":{codec.dump(label)}' if label else ""
            opening = f'{_opening("label", entry_id, parent, event.at)},"targetId":{codec.dump(target)}{name}'
            text = f'{opening},{member}"{OWN}":{exact}}}'
        case _:
            data = f'{{{member}"{OWN}":{exact}'
            text = f'{_opening("custom", entry_id, parent, event.at)},"customType":"{OWN}","data":{data}{WHOLE}'
    return text.encode() + b"\n"


def prompt_in(entry: Entry) -> str:
    """Return the text of a person's message; empty for any other entry."""
    message = entry.get("message")
    if not isinstance(message, dict) or message.get("role") != "user":
        return ""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return next((text.strip() for text in texts if isinstance(text, str)), "")


def head_line(head: SessionHead, entry_id: str, parent: str | None, at: int, batch: str = "") -> bytes:
    """Return the entry that sets the head, by being the last one, and closes the `batch`."""
    member = f'"batch":"{batch}",' if batch else ""
    place = codec.dump({"head": head.head, "ahead": head.redo})
    opening = _opening("custom", entry_id, parent, at)
    return f'{opening},"customType":"{OWN}","data":{{{member}"place":{place}}}}}\n'.encode()


def deletion_line(entry_id: str, parent: str | None, at: int) -> bytes:
    """Return the entry that deletes the plan; oh-my-pi reads it as an empty plan."""
    opening = _opening("custom", entry_id, parent, at)
    return f'{opening},"customType":"{EDIT}","data":{{"phases":[],"forgotten":true}}}}\n'.encode()


def may_name_plan(name: bytes) -> bool:
    """Return whether entries of a tool or custom type of that name may hold a plan."""
    return _PLAN_NAME.search(name) is not None


def may_be_event(entry: Entry) -> bool:
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
    """Return the JSON of the event that tildone wrote to an entry; None for any other entry."""
    match entry:
        case {"type": "custom", "customType": "tildone" | "user_todo_edit", "data": {"tildone": {"id": str()}}}:
            return dict(entry["data"][OWN])
        case {"type": "label", "tildone": {"id": str()}}:
            return dict(entry[OWN])
        case _:
            return None


def redo_in(entry: Entry) -> tuple[str, ...] | None:
    """Return the redo list in an entry that sets the head; None for any other entry."""
    match entry:
        case {"type": "custom", "customType": "tildone", "data": {"place": {"ahead": [*ahead]}}}:
            return tuple(map(str, ahead))
        case _:
            return None


def is_deletion(entry: Entry) -> bool:
    match entry:
        case {"type": "custom", "customType": "user_todo_edit", "data": {"forgotten": True}}:
            return True
        case _:
            return False


def batch_of(entry: Entry) -> str | None:
    match entry:
        case {"type": "custom", "customType": "tildone" | "user_todo_edit", "data": {"batch": str(batch)}}:
            return batch
        case {"type": "label", "batch": str(batch)}:
            return batch
        case _:
            return None


def foreign_fact(entry: Entry, recover: PlanInEntry) -> Fact | None:
    """Return the fact that an entry of another program states, if any.

    The tool call is not filled in, and the target of a label is an entry id, not an event id.
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
    """Return the event for an entry of another program that states `fact`."""
    edited = entry["type"] == "label" or entry.get("customType") == EDIT
    return Event(entry["id"], parent, _when(entry), Actor.USER if edited else Actor.AGENT, fact)


def call_in(entry: Entry, call_id: object) -> Call | None:
    """Return the tool call of that id in an assistant's message; None if the entry contains none."""
    for part in assistant_parts(entry) or ():
        match part:
            case {"type": "toolCall", "name": str(name)} if part.get("id") == call_id:
                return Call(name, codec.dump(part.get("arguments", {})))
            case _:
                continue
    return None


def assistant_parts(entry: Entry) -> list[Any] | None:
    """Return the content parts of an assistant's message; None for any other entry."""
    match entry:
        case {"type": "message", "message": {"role": "assistant", "content": [*parts]}}:
            return parts
        case _:
            return None


def _opening(kind: str, entry_id: str, parent: str | None, at: int) -> str:
    """Return the beginning of an entry. `outline` relies on the order of these keys to avoid parsing the line."""
    parent_id = "null" if parent is None else codec.dump(parent)
    return f'{{"type":"{kind}","id":{codec.dump(entry_id)},"parentId":{parent_id},"timestamp":"{format_timestamp(at)}"'


def _phases(plan: Plan) -> list[Entry]:
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
    written = parse_timestamp(entry.get("timestamp"))
    if written is not None:
        return written
    message = entry.get("message")
    timestamp = message.get("timestamp") if isinstance(message, dict) else None
    return timestamp if isinstance(timestamp, int) else 0
