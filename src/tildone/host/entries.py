"""The entries of a conversation file as typed records.

An `Entry` is one line below the header: its position in the tree, a typed `body`, and `record`, the JSON object in
the file. Copying an entry to another file writes its record, so unknown fields and entry types are preserved.
"""

from __future__ import annotations

from tildone.host.messages import CustomMessage, Message
from tildone.host.wire import JsonObject, JsonValue
from tildone.value import value


@value
class MessageEntry:
    """A message of the conversation."""

    message: Message


@value
class CustomEntry:
    """Data of an extension that the model does not see."""

    custom_type: str
    data: JsonValue = None


@value
class CustomMessageEntry:
    """An extension's message; the timestamp is the entry's."""

    message: CustomMessage


@value
class LabelEntry:
    """A bookmark on another entry; None removes it."""

    target_id: str
    label: str | None = None


@value
class ConversationInfoEntry:
    """The name that a person gave the conversation."""

    name: str


@value
class ModelChangeEntry:
    """Another model answers from this entry on."""

    provider: str
    model_id: str


@value
class CompactionEntry:
    """A summary of everything before `first_kept_id`."""

    summary: str
    first_kept_id: str | None = None
    tokens_before: int | None = None


@value
class BranchSummaryEntry:
    """A summary of a branch that the conversation has left at `from_id`."""

    summary: str
    from_id: str | None = None


@value
class ContextEditEntry:
    """Replaces the content of another entry's message in requests to models; None leaves the message out."""

    target_id: str
    replacement: JsonValue = None


@value
class UnknownEntry:
    """An entry of an unknown type; `fields` are those that not every entry has."""

    type: str
    fields: JsonObject


EntryBody = (
    MessageEntry
    | CustomEntry
    | CustomMessageEntry
    | LabelEntry
    | ConversationInfoEntry
    | ModelChangeEntry
    | CompactionEntry
    | BranchSummaryEntry
    | ContextEditEntry
    | UnknownEntry
)


@value
class Entry:
    """One entry of the tree. `timestamp` is in milliseconds since 1970, or None if the record has no valid one."""

    id: str
    parent_id: str | None
    timestamp: int | None
    body: EntryBody
    record: JsonObject
