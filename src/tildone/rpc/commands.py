"""The commands of pi's RPC protocol, each a method of the same name."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from typing import Any

from tildone.errors import UsageError
from tildone.host.content import ImageBlock, Usage, add_usage
from tildone.host.content_codec import decode_blocks
from tildone.host.conversations import Conversations
from tildone.host.entries import MessageEntry
from tildone.host.host import Host
from tildone.host.message_codec import encode_message
from tildone.host.messages import (
    AssistantMessage,
    Message,
    ToolResultMessage,
    UserMessage,
    last_answer,
    text_of,
    tool_calls,
)
from tildone.host.queues import Delivery
from tildone.host.subagents import usage_of_subagents
from tildone.host.transcript import Transcript

Record = dict[str, Any]
COMMANDS = (
    *("prompt", "steer", "follow_up", "abort", "clear_queue"),
    *("get_state", "get_messages", "get_last_assistant_text", "get_commands", "get_session_stats"),
    *("new_session", "switch_session", "fork", "set_session_name"),
)
BEHAVIORS: dict[str, Delivery] = {"steer": Delivery.STEER, "followUp": Delivery.FOLLOW_UP}


class Commands:
    """The commands of one client on one host."""

    def __init__(self, host: Host, conversations: Conversations) -> None:
        self.host = host
        self.conversations = conversations

    async def execute(self, record: Record) -> Record | None:
        """Execute a command, and return the data of its response, if it has any.

        Raises:
            UsageError: the command is unknown, or a field is missing.
        """
        name = record.get("type")
        if name not in COMMANDS:
            raise UsageError(f"unknown command {name!r}; known are {', '.join(COMMANDS)}")
        command: Callable[[Record], Awaitable[Record | None]] = getattr(self, name)
        return await command(record)

    async def prompt(self, record: Record) -> None:
        wanted = record.get("streamingBehavior")
        if wanted is not None and wanted not in BEHAVIORS:
            raise UsageError(f"streamingBehavior: expected one of {', '.join(BEHAVIORS)}, got {wanted!r}")
        behavior = BEHAVIORS.get(str(wanted))
        await self.host.prompt(_text(record, "message"), _images(record), behavior)

    async def steer(self, record: Record) -> None:
        await self.host.steer(_text(record, "message"))

    async def follow_up(self, record: Record) -> None:
        await self.host.follow_up(_text(record, "message"))

    async def abort(self, _record: Record) -> None:
        await self.host.abort()

    async def clear_queue(self, _record: Record) -> Record:
        steering, following = await self.host.clear_queues()
        return {"steering": steering, "followUp": following}

    async def get_state(self, _record: Record) -> Record:
        host, transcript = self.host, self.host.transcript
        state = {
            "model": {"id": host.model.id, "provider": host.model.provider, "api": host.model.api},
            "thinkingLevel": "off",
            "isStreaming": host.is_running and not host.is_compacting,
            "isCompacting": host.is_compacting,
            "steeringMode": "one-at-a-time",
            "followUpMode": "one-at-a-time",
            "sessionFile": transcript.file,
            "sessionId": transcript.id,
            "sessionName": transcript.name,
            "autoCompactionEnabled": False,
            "messageCount": len(transcript.messages()),
            "pendingMessageCount": sum(map(len, host.queues.texts())),
        }
        return {key: item for key, item in state.items() if item is not None}

    async def get_messages(self, _record: Record) -> Record:
        return {"messages": [encode_message(message) for message in self.host.transcript.messages()]}

    async def get_last_assistant_text(self, _record: Record) -> Record:
        messages = self.host.transcript.messages()
        nonempty = [message for message in messages if not isinstance(message, AssistantMessage) or message.content]
        last = last_answer(nonempty)
        return {"text": None if last is None else text_of(last)}

    async def get_commands(self, _record: Record) -> Record:
        commands = [
            {"name": command.name, "description": command.description, "source": "extension"}
            for command in self.host.commands.values()
        ]
        return {"commands": commands}

    async def get_session_stats(self, _record: Record) -> Record:
        transcript = self.host.transcript
        bodies = [entry.body for entry in transcript.entries]
        messages: list[Message] = [body.message for body in bodies if isinstance(body, MessageEntry)]
        answers = [message for message in messages if isinstance(message, AssistantMessage)]
        usage = Usage()
        for answer in answers:
            usage = add_usage(usage, answer.usage)
        results = [message for message in messages if isinstance(message, ToolResultMessage)]
        for result in results:
            usage = add_usage(usage, usage_of_subagents(result))
        return {
            "sessionFile": transcript.file,
            "sessionId": transcript.id,
            "userMessages": sum(isinstance(message, UserMessage) for message in messages),
            "assistantMessages": len(answers),
            "toolCalls": sum(len(tool_calls(answer)) for answer in answers),
            "toolResults": len(results),
            "totalMessages": len(messages),
            "tokens": {
                "input": usage.input,
                "output": usage.output,
                "cacheRead": usage.cache_read,
                "cacheWrite": usage.cache_write,
                "total": usage.total_tokens,
            },
            "cost": usage.cost.total if usage.cost else 0,
        }

    async def new_session(self, record: Record) -> Record:
        parent = None if record.get("parentSession") is None else _text(record, "parentSession")
        return await self._open(self.conversations.new(parent), "new")

    async def switch_session(self, record: Record) -> Record:
        return await self._open(self.conversations.load(_text(record, "sessionPath")), "resume")

    async def fork(self, record: Record) -> Record:
        transcript, text = self.conversations.fork(self.host.transcript, _text(record, "entryId"))
        return {"text": text, **await self._open(transcript, "fork")}

    async def set_session_name(self, record: Record) -> None:
        await self.host.rename(_text(record, "name").strip())

    async def _open(self, transcript: Transcript, reason: str) -> Record:
        await self.host.open(transcript, reason)
        return {"cancelled": False}


def _images(record: Record) -> list[ImageBlock]:
    """Return the images of a prompt. One that cannot be decoded would make every later request fail."""
    given = [] if record.get("images") is None else record["images"]
    blocks = decode_blocks(given)
    images = [block for block in blocks if isinstance(block, ImageBlock) and _is_base64(block.data)]
    if not isinstance(given, list) or len(images) != len(given):
        raise UsageError("images: expected a list of images, each with mimeType and data in base64")
    return images


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True))
    except ValueError:
        return False


def _text(record: Record, field: str) -> str:
    given = record.get(field)
    if not isinstance(given, str):
        raise UsageError(f"{field}: expected a string, got {type(given).__name__}")
    return given
