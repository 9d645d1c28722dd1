"""What is known of the coding agents that are MCP clients: their names, and where they put their conversation id."""

from __future__ import annotations

from tildone.value import value


@value
class McpClient:
    """One coding agent as an MCP client. Names are prefixes of `clientInfo.name`, in lower case.

    A coding agent reveals which conversation a call belongs to in the request (`conversation_meta`, keys of `_meta`),
    or in the environment of the server it starts: the conversation id (`conversation_variable`), or the id of its
    process (`process_variable`), in which several conversations may run. Most reveal nothing.

    `text_only` names the clients that show a model the structured content of a result in place of its text, or in
    addition to it: the model would miss what the dialect says, or read everything twice. They are sent text alone.
    """

    integration: str
    names: tuple[str, ...] = ()
    conversation_meta: tuple[str, ...] = ()
    conversation_variable: str = ""
    process_variable: str = ""
    text_only: tuple[str, ...] = ()


CLIENTS = (
    McpClient("codex", ("codex",), conversation_meta=("sessionId", "threadId"), text_only=("codex",)),
    McpClient("claude", ("claude",), conversation_variable="CLAUDE_CODE_SESSION_ID", text_only=("claude-code",)),
    McpClient("opencode", ("opencode",), process_variable="OPENCODE_PID"),
    McpClient("gemini", ("gemini",), text_only=("gemini",)),
    McpClient("qwen", text_only=("qwen",)),
    McpClient("vscode", text_only=("visual studio code",)),
)

TEXT_ONLY = tuple(name for client in CLIENTS for name in client.text_only)
