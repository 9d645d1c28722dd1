"""Opaque data in the blocks of messages that must be sent back to the provider.

A signature alone is stored in pi's field for signatures. Other data (ids, provider details) is stored in a field of our
own, `provider_state`, because pi would send it to the provider as if it were a signature.
"""

from __future__ import annotations

from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

from tildone.host.content import TextBlock, ThinkingBlock, ToolCallBlock
from tildone.host.wire import JsonObject
from tildone.log import codec
from tildone.value import value

REDACTED = "redacted_thinking"
"""The id of a thinking part that the provider has encrypted, in the library's messages."""


@value
class ProviderState:
    """The opaque fields of a block."""

    signature: str | None = None
    state: JsonObject | None = None


def state_of(part: TextPart | ThinkingPart | ToolCallPart) -> ProviderState:
    """Return the opaque data of a part."""
    fields = {name: getattr(part, name, None) for name in ("id", "signature", "provider_details")}
    state = {name: data for name, data in fields.items() if data}
    if state.keys() - {"signature"} and _is_json(state):
        return ProviderState(state=state)
    signature = state.get("signature")
    return ProviderState(signature if isinstance(signature, str) else None)


def part_fields(block: TextBlock | ThinkingBlock | ToolCallBlock, *names: str) -> JsonObject | None:
    """Return the opaque data of a block as fields of a part; None if another program wrote it in its own format."""
    state = block.provider_state
    if state is None:
        if block.signature and block.signature.startswith("{"):
            return None
        state = {"signature": block.signature} if block.signature else {}
    return {name: state[name] for name in names if name in state}


def _is_json(state: JsonObject) -> bool:
    """Return whether the data can be stored as JSON."""
    try:
        codec.dump(state)
    except (TypeError, ValueError):
        return False
    return True
