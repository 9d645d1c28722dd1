"""The messages of a conversation, as pi's records: plain data that goes to session files and event streams as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from tildone.log import codec

Message = dict[str, Any]
Block = dict[str, Any]
Usage = dict[str, Any]

NO_RESULT = "No result: the call was interrupted."


class ModelIdentity(Protocol):
    """Which model speaks: the protocol it is reached by, who runs it, its name."""

    @property
    def api(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def id(self) -> str: ...


def user(content: str | Sequence[Block], at: int, images: Sequence[Block] = ()) -> Message:
    """What a person says, or somebody in their place."""
    return {"role": "user", "content": [*blocks(content), *images], "timestamp": at}


def assistant(  # noqa: PLR0913  a record has as many fields as it has
    content: Sequence[Block],
    speaker: ModelIdentity,
    usage: Usage,
    stop_reason: str,
    at: int,
    *,
    error: str | None = None,
    response_id: str | None = None,
    **details: Any,
) -> Message:
    """What a model answers. `details` are the rarer fields, under their own names; None leaves one out."""
    told = {"errorMessage": error, "responseId": response_id, **details}
    return {
        "role": "assistant",
        "content": list(content),
        "api": speaker.api,
        "provider": speaker.provider,
        "model": speaker.id,
        "usage": usage,
        "stopReason": stop_reason,
        "timestamp": at,
        **{name: fact for name, fact in told.items() if fact is not None},
    }


def tool_result(
    call_id: str, name: str, content: str | Sequence[Block], details: Any = None, *, is_error: bool, at: int
) -> Message:
    """What came of a tool call."""
    return {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": name,
        "content": blocks(content),
        **({} if details is None else {"details": details}),
        "isError": is_error,
        "timestamp": at,
    }


def text(words: str) -> Block:
    """A block of text."""
    return {"type": "text", "text": words}


def tool_call(call_id: str, name: str, arguments: str | Mapping[str, Any]) -> Block:
    """A model's call of a tool. Arguments that are no JSON object are kept as they came, beside an empty object."""
    block: Block = {"type": "toolCall", "id": call_id, "name": name, "arguments": {}}
    if not isinstance(arguments, str):
        return block | {"arguments": dict(arguments)}
    if not arguments.strip():
        return block
    try:
        parsed = codec.parse(arguments)
    except ValueError:
        parsed = None
    return block | ({"arguments": parsed} if isinstance(parsed, dict) else {"rawArguments": arguments})


def arguments_of(call: Block) -> Any:
    """What a tool was called with; text, which fits no tool's schema, where the model wrote no JSON object."""
    return call.get("rawArguments", call["arguments"])


def blocks(content: str | Sequence[Block]) -> list[Block]:
    """Content as a list of blocks."""
    return [text(content)] if isinstance(content, str) else list(content)


def text_of(message: Message) -> str:
    """The words of a message, without thinking, calls and images."""
    content: str | Sequence[Block] = message["content"] if "content" in message else message.get("summary", "")
    return "\n".join(block["text"] for block in blocks(content) if block["type"] == "text")


def tool_calls(message: Message) -> list[Block]:
    """The tools that a message calls, in order."""
    if message["role"] != "assistant":
        return []
    return [block for block in message["content"] if block["type"] == "toolCall"]


def empty_usage() -> Usage:
    """The usage of a request that used nothing."""
    return {
        "input": 0,
        "output": 0,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 0,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
    }


def add_usage(one: Usage, other: Usage) -> Usage:
    """What two requests used together."""
    total = dict(one)
    for name, amount in other.items():
        if isinstance(amount, dict):
            total[name] = add_usage(one.get(name, {}), amount)
        else:
            total[name] = one.get(name, 0) + amount
    return total


def for_model(messages: Sequence[Message]) -> list[Message]:
    """The conversation as a model sees it: only user, assistant and toolResult messages.

    Every tool call is followed by its result, before anything else is said: providers refuse a conversation in
    which one has none, or stands elsewhere.
    """
    return list(_told(messages))


def _told(messages: Sequence[Message]) -> Iterator[Message]:
    for position, message in enumerate(messages):
        match message["role"]:
            case "user" | "custom" | "developer":
                yield from _as_user(message, message["content"])
            case "assistant" if message["content"]:
                yield message
                yield from _results(message, messages[position + 1 :])
            case "bashExecution" if not message.get("excludeFromContext"):
                yield from _as_user(message, _shell_words(message))
            case "branchSummary":
                yield from _as_user(message, _summary_words("another branch of this conversation", message))
            case "compactionSummary":
                yield from _as_user(message, _summary_words("the conversation before this point", message))
            case _:  # the system prompt goes its own way, results go with their calls, other roles are not for models
                pass


def _as_user(message: Message, content: str | Sequence[Block]) -> Iterator[Message]:
    said = [block for block in blocks(content) if block["type"] != "text" or block["text"]]
    if said:
        as_it_is = message["role"] == "user" and said == message["content"]
        yield message if as_it_is else user(said, message.get("timestamp", 0))


def _results(message: Message, after: Sequence[Message]) -> Iterator[Message]:
    """The results of a message's calls in their order, wherever before the next answer they were written down."""
    found: dict[str, Message] = {}
    for later in after:
        if later["role"] == "assistant" and later["content"]:
            break
        if later["role"] == "toolResult":
            found.setdefault(later["toolCallId"], later)
    for call in tool_calls(message):
        missing = tool_result(call["id"], call["name"], NO_RESULT, is_error=True, at=message["timestamp"])
        yield found.get(call["id"], missing)


def _shell_words(message: Message) -> str:
    output = message["output"]
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", output)), default=0))
    lines = [f"I ran a command in the shell: {message['command']}"]
    lines.append(f"{fence}\n{output}\n{fence}" if output else "It printed nothing.")
    if message.get("cancelled"):
        lines.append("It was cancelled.")
    elif message.get("exitCode"):
        lines.append(f"It ended with exit code {message['exitCode']}.")
    if message.get("truncated"):
        kept = message.get("fullOutputPath")
        lines.append(f"Its output was cut; all of it is in {kept}." if kept else "Its output was cut.")
    return "\n".join(lines)


def _summary_words(of: str, message: Message) -> str:
    return f"Summary of {of}:\n\n<summary>\n{message['summary']}\n</summary>"
