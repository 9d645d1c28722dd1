"""What a provider wants to see again beside its own words: opaque marks, kept in the blocks of pi's records.

A signature alone stands in the field where pi has one, too. Whatever more there is stands in a field of our own: pi
would send it on to the provider as if it were a mark of its own making.
"""

from __future__ import annotations

from typing import Any

from tildone.log import codec

OURS = "tildone"
REDACTED = "redacted_thinking"
"""The id by which the library tells thinking that came encrypted."""


def state_fields(part: Any, field: str) -> dict[str, Any]:
    """The marks of a part, as fields of its block; `field` is where a signature stands."""
    facts = {name: getattr(part, name, None) for name in ("id", "signature", "provider_details")}
    told = {name: fact for name, fact in facts.items() if fact}
    if told.keys() - {"signature"} and _is_json(told):
        return {OURS: told}
    return {field: told["signature"]} if "signature" in told else {}


def read_state(block: dict[str, Any], field: str, *names: str) -> dict[str, Any] | None:
    """The marks of these names again; None if another program wrote them in a form of its own."""
    told = block.get(OURS)
    if told is None:
        signature = block.get(field)
        if signature and signature.startswith("{"):
            return None
        told = {"signature": signature} if signature else {}
    return {name: told[name] for name in names if name in told} if isinstance(told, dict) else None


def _is_json(told: object) -> bool:
    """Whether it can be kept: details that JSON cannot hold are no marks to be sent back."""
    try:
        codec.dump(told)
    except (TypeError, ValueError):
        return False
    return True
