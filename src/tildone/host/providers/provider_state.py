"""Opaque data that a provider wants to see again beside its own words, kept in the blocks of messages.

A signature alone goes into the field that pi has for it. Anything more (ids, provider details) goes into a field of our
own, `provider_state`: pi would send it to the provider as a signature of its own making.
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
    """The opaque data of a part."""
    found = {name: getattr(part, name, None) for name in ("id", "signature", "provider_details")}
    held = {name: given for name, given in found.items() if given}
    if held.keys() - {"signature"} and _is_json(held):
        return ProviderState(state=held)
    signature = held.get("signature")
    return ProviderState(signature if isinstance(signature, str) else None)


def part_fields(block: TextBlock | ThinkingBlock | ToolCallBlock, *names: str) -> JsonObject | None:
    """The opaque data of a block as fields of a part; None if another program wrote it in a form of its own."""
    state = block.provider_state
    if state is None:
        if block.signature and block.signature.startswith("{"):
            return None
        state = {"signature": block.signature} if block.signature else {}
    return {name: state[name] for name in names if name in state}


def _is_json(held: JsonObject) -> bool:
    """Whether it can be stored: data that JSON cannot hold cannot be sent back either."""
    try:
        codec.dump(held)
    except (TypeError, ValueError):
        return False
    return True
