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
class Known:
    """What is known of a coding agent without importing its integration.

    `executable` is its command, and `package` the npm package that it comes in. `conversation` is the variable with the
    id of the conversation in the shells that its model uses, and `marks` are others that are set there and nowhere
    else. `unmarked` says why there is none.
    """

    executable: str = ""
    package: str = ""
    conversation: str = ""
    marks: tuple[str, ...] = ()
    unmarked: str = ""
    calls_hooks: bool = True


_LIKE_THE_PERSONS = "its model's terminals are like those of the person"

KNOWN = {
    "claude": Known("claude", "@anthropic-ai/claude-code", "CLAUDE_CODE_SESSION_ID", ("CLAUDECODE",)),
    "codex": Known("codex", "@openai/codex", "CODEX_SESSION_ID", ("CODEX_THREAD_ID", "CODEX_SANDBOX")),
    "gemini": Known("gemini", "@google/gemini-cli", "", ("GEMINI_CLI",)),
    "cursor": Known("cursor", "", "", ("CURSOR_AGENT",)),
    "copilot": Known("copilot", "", "COPILOT_AGENT_SESSION_ID", ("COPILOT_CLI",)),
    "qwen": Known("qwen", "", "QWEN_CODE_SESSION_ID", ("QWEN_CODE",)),
    "opencode": Known("opencode", "opencode-ai", "OPENCODE_SESSION_ID", ("OPENCODE",)),
    "pi": Known("pi", "@earendil-works/pi-coding-agent", "PI_SESSION_ID", ("PI_CODING_AGENT",)),
    "zed": Known("zed", calls_hooks=False, unmarked=_LIKE_THE_PERSONS),
    "vscode": Known("code", calls_hooks=False, unmarked=_LIKE_THE_PERSONS),
    "claude-desktop": Known(calls_hooks=False, unmarked="its model has no shell"),
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
