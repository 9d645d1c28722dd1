"""A hook's reply, rendered as the JSON that the coding agent expects."""

from __future__ import annotations

from tildone.integrations.record import EVENT, TEXT, ReplyKind
from tildone.log import codec
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.limits import MAX_HOOK_REPLY, clipped
from tildone.views.sanitize import safe_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tildone.hooks.event import HookEvent
    from tildone.integrations.record import Template


@value
class HookReply:
    """A text, and what the agent is to do with it."""

    kind: ReplyKind
    text: str


def can_reply(event: HookEvent, kind: ReplyKind) -> bool:
    """Return whether the agent accepts a reply of this kind to this event."""
    return _template(event, kind) is not None


def rendered(event: HookEvent, reply: HookReply) -> str:
    """Return the reply as JSON; empty if the agent accepts no reply of this kind."""
    template = _template(event, reply.kind)
    return "" if template is None else f"{codec.dump(_filled(template, sanitized(reply.text), event.name))}\n"


def rendered_together(event: HookEvent, texts: Mapping[ReplyKind, str]) -> str:
    """Return replies of several kinds as one JSON; those that the agent does not accept are left out."""
    merged: dict[str, Any] = {}
    for kind, text in texts.items():
        template = _template(event, kind)
        if template is not None:
            merged |= _filled(template, sanitized(text), event.name)
    return f"{codec.dump(merged)}\n" if merged else ""


def sanitized(text: str) -> str:
    """Return the text in the form in which a model or a person may read it: harmless, and not too long."""
    return clipped(safe_text(text), MAX_HOOK_REPLY)


def _template(event: HookEvent, kind: ReplyKind) -> Template | None:
    match kind:
        case ReplyKind.CONTINUE:
            return event.hooks.continue_reply
        case ReplyKind.ADD_CONTEXT:
            return event.hooks.context_replies.get(event.point)
        case ReplyKind.HALT:
            return event.hooks.halt_replies.get(event.point)
        case ReplyKind.NOTIFY:  # exhaustive
            return event.hooks.notice_reply


def _filled(template: object, text: str, event: str) -> Any:
    """Return the template with its placeholders replaced."""
    if isinstance(template, dict):
        return {name: _filled(item, text, event) for name, item in template.items()}
    return {TEXT: text, EVENT: event}.get(template, template) if isinstance(template, str) else template
