"""What a client may ask for, each command a function of the same name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tildone.errors import UsageError
from tildone.host import messages
from tildone.host.conversations import Conversations
from tildone.host.host import Host
from tildone.host.port import Delivery
from tildone.host.transcript import Transcript

Record = dict[str, Any]
Answer = Awaitable[Record | None]
BEHAVIORS: dict[str, Delivery] = {"steer": "steer", "followUp": "follow_up"}


class Commands:
    """One client's commands on one host."""

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

    async def carry_out(self, record: Record) -> Record | None:
        """The data of the command's response, if it has any.

        Raises:
            UsageError: there is no such command, or it lacks a field.
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
        await self.host.prompt(_text(record, "message"), record.get("images") or (), behavior)

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
            "pendingMessageCount": len(host.steering) + len(host.following),
        }
        return {key: item for key, item in state.items() if item is not None}

    async def get_messages(self, _record: Record) -> Record:
        return {"messages": self.host.transcript.messages()}

    async def get_last_assistant_text(self, _record: Record) -> Record:
        said = [said for said in self.host.transcript.messages() if said["role"] == "assistant" and said["content"]]
        return {"text": messages.text_of(said[-1]) if said else None}

    async def get_commands(self, _record: Record) -> Record:
        listed = [{"name": one.name, "description": one.description} for one in self.host.commands.values()]
        return {"commands": [{**one, "source": "extension"} for one in listed]}

    async def get_session_stats(self, _record: Record) -> Record:
        transcript = self.host.transcript
        told = [entry["message"] for entry in transcript.entries if entry["type"] == "message"]
        by_role = {role: [m for m in told if m["role"] == role] for role in ("user", "assistant", "toolResult")}
        usage = messages.empty_usage()
        for message in by_role["assistant"]:
            usage = messages.add_usage(usage, message["usage"])
        return {
            "sessionFile": transcript.file,
            "sessionId": transcript.id,
            "userMessages": len(by_role["user"]),
            "assistantMessages": len(by_role["assistant"]),
            "toolCalls": sum(len(messages.tool_calls(message)) for message in by_role["assistant"]),
            "toolResults": len(by_role["toolResult"]),
            "totalMessages": len(told),
            "tokens": {key: usage[key] for key in ("input", "output", "cacheRead", "cacheWrite")}
            | {"total": usage["totalTokens"]},
            "cost": usage["cost"]["total"],
        }

    async def new_session(self, record: Record) -> Record:
        return await self._go_to(self.conversations.new(record.get("parentSession")), "new")

    async def switch_session(self, record: Record) -> Record:
        return await self._go_to(self.conversations.load(_text(record, "sessionPath")), "resume")

    async def fork(self, record: Record) -> Record:
        made, text = self.conversations.fork(self.host.transcript, _text(record, "entryId"))
        return {"text": text, **await self._go_to(made, "fork")}

    async def set_session_name(self, record: Record) -> None:
        name = _text(record, "name").strip()
        self.host.transcript.append("session_info", name=name)
        self.host.tell({"type": "session_info_changed", "name": name})

    async def _go_to(self, transcript: Transcript, reason: str) -> Record:
        self.host.request_abort("another session is opened")
        await self.host.settled()
        self.host.use(transcript)
        await self.host.start(reason)
        return {"cancelled": False}


def _text(record: Record, field: str) -> str:
    given = record.get(field)
    if not isinstance(given, str):
        raise UsageError(f"{field}: expected a string, got {type(given).__name__}")
    return given
