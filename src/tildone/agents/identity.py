"""Agent ids: the identity of an agent, and its text form.

Theory of operation. Several short-lived processes serve one running agent: a hook at each of its events, and one or
more MCP servers. None of them has all the facts, but they must agree on which agent they serve. An agent is therefore
identified by the most specific fact that its coding agent reveals:

1. the conversation id that the coding agent assigned, scoped by the integration that reported it: `claude:5f0c…`;
2. else the process that started both hook and server: `gemini:pid:4711`, or `pid:4711` if not even the product is
   known. Such an identity is *anonymous*. It belongs to the agent that next reveals a conversation id from the same
   process (`tildone.agents.assignment` merges the two).

What can go wrong: the operating system reuses process ids, so a record with a process id also holds the start time of
the process. Conversation ids may have any length, so long ones are replaced by a digest. Only `agent_id` does that;
otherwise, hook and server could disagree.

The text form is stored in records, session names and notes; its format is fixed. `AgentId.parse(str(x)) == x` holds for
every identity that `agent_id` returns.
"""

from __future__ import annotations

from tildone.value import value

try:
    # The C implementation of `hashlib`: importing `hashlib` takes longer than a hook takes to run.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

ANY_AGENT = "AI_AGENT"
"""The variable by which coding agents, also those that tildone does not know, mark the shells of their models."""

MAX_CONVERSATION_ID_CHARS = 200
_PID = "pid:"


@value
class McpClient:
    """How a coding agent behaves as an MCP client.

    `names` are prefixes, in lower case, of the name it gives in `initialize`. The id of its conversation is in the
    server's environment (`conversation_variable`) or in the `_meta` of every call (`conversation_meta`, first key
    present); if it is in neither, `process_variable` may contain the agent's PID. `text_only` clients hide the text of
    a result from the model if the result has structured content, so they are sent none. Clients with `resource_tools`
    give their model tools of their own if any server has resources. These cost two to four times as much as our tool in
    every request, and a model needs none of them, so such a client is not told of our resources.

    A subagent's call is recognised in `_meta`: by `call_meta`, the key of an id that the hook before the call has, too;
    or by `subagent_meta`, the keys of the subagent's id and of a fact that only a subagent's call has. A space in a key
    separates it from a key in its object.
    """

    names: tuple[str, ...] = ()
    conversation_variable: str = ""
    conversation_meta: tuple[str, ...] = ()
    process_variable: str = ""
    text_only: bool = False
    resource_tools: bool = False
    call_meta: str = ""
    subagent_meta: tuple[str, str] | None = None


@value
class Known:
    """What is known of a coding agent without importing its integration.

    `executable` is its command, and `package` the npm package that it comes in. `conversation` is the variable with the
    id of the conversation in the shells that its model uses, and `marks` are others that are set there and nowhere
    else. `unmarked` says why there is none. `mcp` is how it behaves as an MCP client.
    """

    executable: str = ""
    package: str = ""
    conversation: str = ""
    marks: tuple[str, ...] = ()
    unmarked: str = ""
    calls_hooks: bool = True
    mcp: McpClient | None = None


_LIKE_THE_PERSONS = "its model's terminals are like those of the person"

KNOWN = {
    "claude": Known(
        "claude",
        "@anthropic-ai/claude-code",
        "CLAUDE_CODE_SESSION_ID",
        ("CLAUDECODE",),
        mcp=McpClient(
            names=("claude-code",),
            conversation_variable="CLAUDE_CODE_SESSION_ID",
            text_only=True,
            resource_tools=True,
            call_meta="claudecode/toolUseId",
        ),
    ),
    "codex": Known(
        "codex",
        "@openai/codex",
        "CODEX_SESSION_ID",
        ("CODEX_THREAD_ID", "CODEX_SANDBOX"),
        mcp=McpClient(
            names=("codex",),
            conversation_meta=("sessionId", "threadId"),
            text_only=True,
            subagent_meta=("threadId", "x-codex-turn-metadata parent_thread_id"),
        ),
    ),
    "gemini": Known(
        "gemini",
        "@google/gemini-cli",
        "",
        ("GEMINI_CLI",),
        mcp=McpClient(names=("gemini",), text_only=True, resource_tools=True),
    ),
    "cursor": Known("cursor", "", "", ("CURSOR_AGENT",), mcp=McpClient(names=("cursor",))),
    "copilot": Known("copilot", "", "COPILOT_AGENT_SESSION_ID", ("COPILOT_CLI",), mcp=McpClient()),
    "qwen": Known("qwen", "", "QWEN_CODE_SESSION_ID", ("QWEN_CODE",), mcp=McpClient(names=("qwen",), text_only=True)),
    "opencode": Known(
        "opencode",
        "opencode-ai",
        "OPENCODE_SESSION_ID",
        ("OPENCODE",),
        mcp=McpClient(names=("opencode",), process_variable="OPENCODE_PID", resource_tools=True),
    ),
    "pi": Known("pi", "@earendil-works/pi-coding-agent", "PI_SESSION_ID", ("PI_CODING_AGENT",)),
    "zed": Known("zed", calls_hooks=False, unmarked=_LIKE_THE_PERSONS, mcp=McpClient(names=("zed",))),
    "vscode": Known(
        "code",
        calls_hooks=False,
        unmarked=_LIKE_THE_PERSONS,
        mcp=McpClient(names=("visual studio code",), text_only=True),
    ),
    "claude-desktop": Known(calls_hooks=False, unmarked="its model has no shell", mcp=McpClient(names=("claude-ai",))),
}
"""The coding agents with an integration, by the names of their modules."""


@value
class AgentId:
    """The identity of an agent: the integration that reported it, and its conversation or, if unknown, its process.

    An empty `integration` means that the coding agent is not known.
    """

    integration: str = ""
    conversation: str = ""
    pid: int = 0

    def __str__(self) -> str:
        return f"{self.integration}:{self.own}" if self.integration else self.own

    @property
    def own(self) -> str:
        """The text without the integration: the conversation id, or `pid:N`."""
        return self.conversation or f"{_PID}{self.pid}"

    @property
    def is_anonymous(self) -> bool:
        """Whether only the process is known."""
        return not self.conversation

    @property
    def is_unknown(self) -> bool:
        """Whether neither a conversation nor a process is known: nothing can be recorded under this identity."""
        return not self.conversation and not self.pid

    def is_process(self, pid: int) -> bool:
        """Whether this is the anonymous identity of that process."""
        return self.is_anonymous and self.pid == pid

    @staticmethod
    def parse(text: str) -> AgentId:
        """Parse the text form of an identity.

        Raises:
            ValueError: the text is not an identity.
        """
        integration, colon, own = text.partition(":")
        if _is_pid(text):
            parsed = AgentId(pid=int(own))
        elif not colon:
            parsed = AgentId(conversation=text)
        elif _is_pid(own):
            parsed = AgentId(integration, pid=int(own.removeprefix(_PID)))
        else:
            parsed = AgentId(integration, own)
        if str(parsed) != text:
            raise ValueError(f"not an agent id: {text!r}")
        return parsed


def agent_id(integration: str, conversation: str, pid: int) -> AgentId:
    """Return the identity of an agent: its conversation if that is known, else its process."""
    if not conversation:
        return AgentId(integration, pid=pid)
    if len(conversation) > MAX_CONVERSATION_ID_CHARS:
        conversation = digest(conversation)
    return AgentId(integration, conversation)


def digest(text: str) -> str:
    """Return a short hash of a text, safe as a file name."""
    return digest_of_bytes(text.encode("utf-8", "surrogatepass"))


def digest_of_bytes(content: bytes) -> str:
    """Return a short digest of bytes."""
    return blake2b(content, digest_size=12).hexdigest()


def _is_pid(text: str) -> bool:
    digits = text.removeprefix(_PID)
    return digits != text and digits.isdecimal() and str(int(digits)) == digits
