"""The events that only extensions receive, and the replies that change what the host does next.

A handler returns None to leave everything as it is. Replies that do not belong to the event are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from tildone.base import replace, value
from tildone.plan.shell.danger import caution
from tildone.plan.text.amounts import format_count
from tildone.run.events import AgentEvent
from tildone.run.kit.definition import ToolResult
from tildone.run.messages import CustomMessage, DeveloperMessage, JsonValue, Message


@value
class ConversationStart:
    """A conversation is opened: extensions read their state from it."""

    type = "session_start"
    reason: str


@value
class BranchChange:
    """The conversation continues from another entry: extensions read their state again."""

    type = "session_tree"
    leaf: str | None


@value
class ConversationEnd:
    """The host is closing."""

    type = "session_shutdown"


@value
class Interruption:
    """The person has sent something, or aborted the turn that ends: extensions cancel what they are about to start."""

    type = "interrupted"


@value
class PersonSpoke:
    """The person has sent a message, which is about to be delivered; an extension may have sent any other."""

    type = "person_spoke"


@value
class BeforeAgentStart:
    """A message starts a turn. Reply with an `AgentStartReply`."""

    type = "before_agent_start"
    prompt: str
    system_prompt: str


@value
class ContextRequest:
    """A request to the model is being built from these messages. Reply with a `ContextReply`."""

    type = "context"
    messages: Sequence[Message]


@value
class ToolCallRequest:
    """A tool is about to run. Reply with `BlockCall` or `ChangeArguments`."""

    type = "tool_call"
    call_id: str
    tool_name: str
    arguments: JsonValue


@value
class ToolResultReady:
    """A tool has run. Reply with `ReplaceResult`."""

    type = "tool_result"
    call_id: str
    tool_name: str
    result: ToolResult
    is_error: bool


@value
class SubagentTurn:
    """A subagent is about to make a request to the model. The id is that of the call that started it."""

    type = "subagent_turn"
    call_id: str


@value
class BeforeSettle:
    """The run is about to settle. Reply with `KeepGoing`."""

    type = "agent_before_settle"
    messages: Sequence[Message]
    stop_reason: str | None


Inquiry = (
    ConversationStart
    | BranchChange
    | ConversationEnd
    | Interruption
    | PersonSpoke
    | BeforeAgentStart
    | ContextRequest
    | ToolCallRequest
    | ToolResultReady
    | SubagentTurn
    | BeforeSettle
)
ExtensionEvent = AgentEvent | Inquiry


@value
class AgentStartReply:
    """Add a message to the prompt, or use another system prompt."""

    message: CustomMessage | None = None
    system_prompt: str | None = None


@value
class ContextReply:
    """Send these messages with this request instead."""

    messages: Sequence[Message]


@value
class BlockCall:
    """Do not run the tool; the model reads the reason."""

    reason: str = "Error: this call was blocked"


@value
class ChangeArguments:
    arguments: JsonValue


@value
class ReplaceResult:
    """Give the model another result; None leaves the error flag as it is."""

    result: ToolResult
    is_error: bool | None = None


@value
class KeepGoing:
    """Continue the agent with these messages."""

    messages: Sequence[CustomMessage | DeveloperMessage]


Reply = AgentStartReply | ContextReply | BlockCall | ChangeArguments | ReplaceResult | KeepGoing


class PermissionAnswer(Enum):
    ONCE = "once"
    ALWAYS = "always"
    PLAN = "plan"
    NO = "no"


@value
class PermissionRequest:
    """One question.

    `question` is a single line, and `details` are the lines of the whole command or diff; both are sanitized.
    `always` names what `PermissionAnswer.ALWAYS` covers, and `scope` where it does. `plan` lists the commands
    that `PermissionAnswer.PLAN` covers; if it is empty, that answer is not offered.
    """

    question: str
    details: tuple[str, ...] = ()
    always: str = ""
    plan: tuple[str, ...] = ()
    is_diff: bool = False
    scope: str = "in this conversation"

    @property
    def caution(self) -> str:
        """What the person is told before they permit it; empty unless it is a dangerous command."""
        return "" if self.is_diff else caution("\n".join(self.details))


@value
class PermissionReply:
    """The answer, and the reason that the person gives the model with a no."""

    answer: PermissionAnswer
    reason: str = ""


def answer_labels(request: PermissionRequest) -> dict[str, PermissionAnswer]:
    """Return the answers that a request offers, by the words for each, in the order in which they are shown."""
    labels = {
        "Allow once": PermissionAnswer.ONCE,
        f"Always allow {request.scope}: {request.always}": PermissionAnswer.ALWAYS,
    }
    if request.plan:
        count = format_count(len(request.plan), "command")
        labels[f"Allow {count} of the plan: {'; '.join(request.plan)}"] = PermissionAnswer.PLAN
    return labels | {"Deny": PermissionAnswer.NO}


class UI(Protocol):
    """A screen, or a client program that displays one. Unless a method is overridden, a question is declined."""

    has_ui: bool

    def set_status(self, key: str, text: str | None) -> None:  # noqa: ARG002  by default
        """Show a short text under a key; None removes it."""
        return

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:  # noqa: ARG002  by default
        """Show lines above (or below) the input line; None removes them."""
        return

    def notify(self, message: str, kind: str = "info") -> None:  # noqa: ARG002  by default
        """Show the person a message. `kind` is info, warning or error."""
        return

    async def page(self, text: str) -> None:
        """Show the person a long text, to scroll in."""
        self.notify(text)

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ARG002, ASYNC109  pi's record has the field
        """Let the person choose; return None if they decline."""
        return None

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ARG002, ASYNC109  pi's record has the field
        return False

    async def input(self, title: str, placeholder: str = "") -> str | None:  # noqa: ARG002  by default
        return None

    async def editor(self, title: str, prefill: str = "") -> str | None:  # noqa: ARG002  by default
        return None

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:  # noqa: ARG002  by default
        """Ask whether a tool may do something; return None if they decline to answer."""
        return None


class NoUI(UI):
    """No UI: nothing is shown, and every question is declined."""

    has_ui = False


class OtherUI(UI):
    """Passes everything on to the UI `ui`, with a prefix before what the person reads."""

    def __init__(self, ui: UI, prefix: str = "") -> None:
        self.has_ui = ui.has_ui
        self._ui = ui
        self._prefix = prefix

    def set_status(self, key: str, text: str | None) -> None:
        self._ui.set_status(key, text)

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        self._ui.set_widget(key, lines, placement)

    def notify(self, message: str, kind: str = "info") -> None:
        self._ui.notify(f"{self._prefix}{message}", kind)

    async def page(self, text: str) -> None:
        await self._ui.page(text)

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        return await self._ui.select(f"{self._prefix}{title}", options, timeout)

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        return await self._ui.confirm(f"{self._prefix}{title}", message, timeout)

    async def input(self, title: str, placeholder: str = "") -> str | None:
        return await self._ui.input(f"{self._prefix}{title}", placeholder)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return await self._ui.editor(f"{self._prefix}{title}", prefill)

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        return await self._ui.ask_permission(replace(request, question=f"{self._prefix}{request.question}"))
