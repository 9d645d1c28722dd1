"""A hook's reply, rendered as the JSON that the coding agent expects."""

from __future__ import annotations

from tildone.integrations.record import EVENT, TEXT, ReplyKind
from tildone.log import codec
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import escape_reminder_tags, printable_lines

if TYPE_CHECKING:
    from typing import Any

    from tildone.hooks.event import HookEvent
    from tildone.integrations.record import Template


@value
class HookReply:
    """Text, and what it asks of the agent."""

    kind: ReplyKind
    text: str


def can_reply(event: HookEvent, kind: ReplyKind) -> bool:
    """Whether the agent accepts such a reply to this event."""
    return _template(event, kind) is not None


def rendered(event: HookEvent, reply: HookReply) -> str:
    """The reply as JSON; empty where the agent accepts no such reply."""
    template = _template(event, reply.kind)
    return "" if template is None else f"{codec.dump(_filled(template, sanitized(reply.text), event.name))}\n"


def sanitized(text: str) -> str:
    """Text for models and people that can neither control a terminal nor imitate the agent's own reminders."""
    shown = "\n".join(printable_lines(text))
    # The test spares most replies the compilation of a pattern.
    return escape_reminder_tags(shown) if "<" in shown else shown


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
    """The template with its placeholders replaced."""
    if isinstance(template, dict):
        return {name: _filled(held, text, event) for name, held in template.items()}
    return {TEXT: text, EVENT: event}.get(template, template) if isinstance(template, str) else template
