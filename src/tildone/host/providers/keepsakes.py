"""What a provider wants to see again beside its own words: opaque marks, in the signature fields of pi's records."""

from typing import Any

from tildone.log import codec

OURS = "tildone"
REDACTED = "redacted_thinking"
"""The id by which the library tells thinking that came encrypted."""


def mark(part: Any) -> str | None:
    """The marks of a part as text. A signature alone stays as it came, which is how pi keeps one, too."""
    facts = {name: getattr(part, name, None) for name in ("id", "signature", "provider_details")}
    told = {name: fact for name, fact in facts.items() if fact}
    if told.keys() <= {"signature"}:
        return told.get("signature")
    try:
        return codec.dump({OURS: told})
    except (TypeError, ValueError):  # details that JSON cannot hold are no marks to be sent back
        return part.signature if "signature" in told else None


def recalled(text: str | None, *names: str) -> dict[str, Any] | None:
    """The marks of these names again; None if another program wrote them in a form of its own."""
    if not text:
        return {}
    told: Any = {"signature": text}
    if text.startswith("{"):
        try:
            told = codec.parse(text).get(OURS)
        except ValueError:
            return None
    return {name: told[name] for name in names if name in told} if isinstance(told, dict) else None
