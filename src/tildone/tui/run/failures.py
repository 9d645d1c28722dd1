"""Failures of a model in a person's words, with what can be done about them."""

from __future__ import annotations

import re

from tildone.host.messages import AssistantMessage
from tildone.tui.transcript.blocks import NoticeBlock, Offer

AGAIN, MODEL, DETAILS = "r", "m", "d"
KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "google": "GOOGLE_API_KEY",
}
_STATUS = re.compile(r"\b([45]\d\d)\b")
_REFUSED_KEY = ("401", "403")
_UNREACHABLE = re.compile(r"connect|refused|unreachable|resolve|timed? ?out", re.IGNORECASE)


def failure_notice(message: AssistantMessage, *, live: bool) -> NoticeBlock:
    """Return what happened, what is safe, and the keys that help; an old failure has no keys."""
    error = message.error_message or "The model failed."
    status = _STATUS.search(error)
    provider = message.provider or ""
    aside = " · ".join(text for text in (status[1] if status else "", provider) if text)
    offers = (Offer(AGAIN, "try again"), Offer(MODEL, "another model"), Offer(DETAILS, "what was sent")) if live else ()
    first, *more = error.strip().split("\n")
    if status and status[1] in _REFUSED_KEY:
        variable = KEY_VARIABLES.get(provider)
        hint = (f"Is {variable} right? Its value is not shown.",) if variable else ()
        return NoticeBlock("The provider refused the key.", aside, (*hint, first, *more), offers)
    if _UNREACHABLE.search(first) and not status:
        return NoticeBlock("Nothing answers at the provider's address.", aside, (first, *more), offers)
    return NoticeBlock(first, aside, tuple(more), offers)
