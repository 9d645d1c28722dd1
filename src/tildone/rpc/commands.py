"""The commands of pi's RPC protocol, each a method of the same name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tildone.errors import UsageError
from tildone.host.content import ImageBlock, Usage, add_usage
from tildone.host.content_codec import decode_blocks
from tildone.host.conversations import Conversations
from tildone.host.entries import ConversationInfoEntry, MessageEntry
from tildone.host.events import ConversationRenamed
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
from tildone.host.runtime import Delivery
from tildone.host.subagents import usage_of_subagents
from tildone.host.transcript import Transcript

Record = dict[str, Any]
Answer = Awaitable[Record | None]
BEHAVIORS: dict[str, Delivery] = {"steer": Delivery.STEER, "followUp": Delivery.FOLLOW_UP}


class Commands:
    """The commands of one client on one host."""

    def __init__(self, host: Host, conversations: Conversations) -> None:
        self.host = host
        self.conversations = conversations
        self.known: dict[str, Callable[[Record], Answer]] = {
            "prompt": self.prompt,
            "steer": self.steer,
            "follow_up": self.follow_up,
            "abort": self.abort,
            "clear_queue": self.clear_queue,
            "get_state": self.get_state,
            "get_messages": self.get_messages,
            "get_last_assistant_text": self.get_last_assistant_text,
            "get_commands": self.get_commands,
            "get_session_stats": self.get_session_stats,
            "new_session": self.new_session,
            "switch_session": self.switch_session,
            "fork": self.fork,
            "set_session_name": self.set_session_name,
        }

    async def execute(self, record: Record) -> Record | None:
        """Execute a command, and return the data of its response, if it has any.

        Raises:
            UsageError: the command is unknown, or a field is missing.
        """
        command = self.known.get(str(record.get("type")))
        if command is None:
            raise UsageError(f"unknown command {record.get('type')!r}; known are {', '.join(self.known)}")
        return await command(record)

    async def prompt(self, record: Record) -> None:
        wanted = record.get("streamingBehavior")
        if wanted is not None and wanted not in BEHAVIORS:
            raise UsageError(f"streamingBehavior: expected one of {', '.join(BEHAVIORS)}, got {wanted!r}")
        behavior = BEHAVIORS.get(str(wanted))
        images = [block for block in decode_blocks(record.get("images")) if isinstance(block, ImageBlock)]
        await self.host.prompt(_text(record, "message"), images, behavior)

    async def steer(self, record: Record) -> None:
        self.host.steer(_text(record, "message"))

    async def follow_up(self, record: Record) -> None:
        self.host.follow_up(_text(record, "message"))

    async def abort(self, _record: Record) -> None:
        self.host.request_abort("the person asked for it")
        await self.host.settled()

    async def clear_queue(self, _record: Record) -> Record:
        steering, following = self.host.clear_queues()
        return {"steering": steering, "followUp": following}

    async def get_state(self, _record: Record) -> Record:
        host, transcript = self.host, self.host.transcript
        state = {
            "model": {"id": host.model.id, "provider": host.model.provider, "api": host.model.api},
            "thinkingLevel": "off",
            "isStreaming": host.is_running,
            "isCompacting": False,
            "steeringMode": "one-at-a-time",
            "followUpMode": "one-at-a-time",
            "sessionFile": transcript.file,
            "sessionId": transcript.id,
            "sessionName": transcript.name,
            "autoCompactionEnabled": False,
            "messageCount": len(transcript.messages()),
            "pendingMessageCount": sum(map(len, host.runtime.queues.texts())),
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
        return await self._open(self.conversations.new(record.get("parentSession")), "new")

    async def switch_session(self, record: Record) -> Record:
        return await self._open(self.conversations.load(_text(record, "sessionPath")), "resume")

    async def fork(self, record: Record) -> Record:
        transcript, text = self.conversations.fork(self.host.transcript, _text(record, "entryId"))
        return {"text": text, **await self._open(transcript, "fork")}

    async def set_session_name(self, record: Record) -> None:
        name = _text(record, "name").strip()
        self.host.transcript.append(ConversationInfoEntry(name))
        self.host.publish(ConversationRenamed(name))

    async def _open(self, transcript: Transcript, reason: str) -> Record:
        self.host.request_abort("another conversation is opened")
        await self.host.settled()
        self.host.use(transcript)
        await self.host.start(reason)
        return {"cancelled": False}


def _text(record: Record, field: str) -> str:
    given = record.get(field)
    if not isinstance(given, str):
        raise UsageError(f"{field}: expected a string, got {type(given).__name__}")
    return given
