"""The identity of an agent: the type `AgentId`, and its text form.

Theory of operation. Several short-lived processes serve one running agent: a hook at each of its events, and one or
more MCP servers. None of them is told everything, and they must still agree on which agent they serve. An agent is
therefore identified by the best fact its coding agent reveals:

1. the conversation id that the coding agent assigned, scoped by the integration that reported it: `claude:5f0c…`;
2. else the process that hook and server were both started from: `gemini:pid:4711`, or `pid:4711` where not even
   the product is known. Such an identity is *anonymous*. It stands for whichever agent next reveals a conversation
   id from the same process (`tildone.agents.assignment` merges the two).

What can go wrong: a process id is reused after its process ends, so a record that holds one also holds the start time
of the process. A conversation id has any length, so a long one is replaced by a digest, in one place, here:
otherwise hook and server would disagree.

The text form is stored in records, session names and notes; its format is fixed. `AgentId.parse(str(x)) == x` holds for
every identity that `agent_id` makes.
"""

from __future__ import annotations

from tildone.value import value

try:
    # The C module behind `hashlib`, whose own import takes longer than a hook takes to run.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

MAX_CONVERSATION_ID_CHARS = 200
_PID = "pid:"


@value
class AgentId:
    """An agent, by the integration that reported it and its conversation, or by its process where none is known.

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
        """Whether neither a conversation nor a process is known: nothing can be recorded under such an identity."""
        return not self.conversation and not self.pid

    def is_process(self, pid: int) -> bool:
        """Whether this is the anonymous identity of that process."""
        return self.is_anonymous and self.pid == pid

    @staticmethod
    def parse(text: str) -> AgentId:
        """The identity that `str` gave this text for.

        Raises:
            ValueError: it is not the text of an identity.
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
    """The identity of an agent: its conversation if that is known, else its process."""
    if not conversation:
        return AgentId(integration, pid=pid)
    if len(conversation) > MAX_CONVERSATION_ID_CHARS:
        conversation = digest(conversation)
    return AgentId(integration, conversation)


def digest(text: str) -> str:
    """A short hash of a text, safe as a file name."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _is_pid(text: str) -> bool:
    digits = text.removeprefix(_PID)
    return digits != text and digits.isdecimal() and str(int(digits)) == digits
