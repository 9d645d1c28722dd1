"""The events that only extensions receive, and the replies that change what the host does next.

A handler returns None to leave everything as it is. Replies that do not belong to the event are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from tildone.host.events import AgentEvent
from tildone.host.messages import CustomMessage, DeveloperMessage, Message
from tildone.host.wire import JsonValue
from tildone.kit.definition import ToolResult
from tildone.value import value


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
    """Run the tool with other arguments."""

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
