"""Replays the vectors of oh-my-pi's `todo_write`: the extension in a host with a scripted model."""

import asyncio
import shutil
import tempfile
import weakref
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from tests.conformance.shipped import load_and_find, shipped
from tests.extensions.stage import Stage
from tests.host import records
from tildone import PHASED
from tildone.app.commands import WriteFile
from tildone.app.slash import FIRST_PHASE, export
from tildone.base.schema import schema_problems
from tildone.plan.dialects.phased import phases_in, phases_out
from tildone.plan.formats.markdown import portable_checklist
from tildone.plan.formats.markdown_reader import read_checklist
from tildone.plan.model import Plan
from tildone.plan.ops import Write
from tildone.plan.reduce import reduce
from tildone.plan.text import phases as phase_tree
from tildone.plan.text.phases import phase_title, roman_numeral
from tildone.run.codec import encode_custom, encode_message
from tildone.run.events import ToolExecutionEnd
from tildone.run.extension import BeforeSettle, ExtensionEvent, KeepGoing, ToolResultReady
from tildone.run.extensions.phased import PANEL, PhasedExtension, plan_in
from tildone.run.kit.components import RenderOptions
from tildone.run.kit.definition import Content, ImageContent, TextContent, ToolDefinition, ToolResult, markup
from tildone.run.messages import CustomMessage, StopReason, ToolCallBlock
from tildone.run.model import assistant_message
from tildone.run.turn_loop import Delivery
from tildone.stores.memory import MemoryStore

Json = dict[str, Any]

(TODO_WRITE,) = PHASED.tools
LEVELS = {"info": "status", "warning": "warning", "error": "error"}


class Phases:
    """One host with the extension loaded, and a manual clock."""

    def __init__(self, setup: Json) -> None:
        session = setup.get("session", {})
        self.settings = settings(setup, session.get("settings", {}))
        self.folder = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.durable = bool(setup.get("session_file"))
        self.clipboard: list[str] = []
        self._open(session.get("entries", setup.get("entries", [])))
        cached = session.get("cached", setup.get("phases"))
        if cached is not None:
            self.extension.conversation_plan.adopt(phases_in(cached))

    def step(self, call: Json, _vector: Json) -> Json:
        """Execute a recorded call and return the answer."""
        self.entries_before = len(self.stage.entries)
        self.stage.events.clear()
        self.stage.screen.notices.clear()
        self.stage.screen.widgets.clear()
        answer: Json = getattr(self, call["op"])(call)
        return answer

    def todo_write(self, call: Json) -> Json:
        result = run(self.tool.execute("call", {"ops": call["ops"]}, None, None, self.stage.host.ctx))
        return self.cached(call) | {"text": result.text, "isError": result.is_error, "details": result.details}

    def validate(self, call: Json) -> Json:
        return {"ok": not schema_problems(TODO_WRITE.parameters, call["arguments"])}

    def latest_from_entries(self, call: Json) -> Json:
        return {"phases": phases_out(PHASED.recover(call["entries"]) or Plan())}

    def resume(self, call: Json) -> Json:
        self._open(call["entries"])
        latest = self.extension.conversation_plan.latest(call["entries"])
        return {"phases": self._phases(), "command_phases": phases_out(latest)}

    def to_markdown(self, call: Json) -> Json:
        """As `/todo` and `/todo copy` write it."""
        return {"markdown": portable_checklist(phases_in(call["phases"]))}

    def from_markdown(self, call: Json) -> Json:
        """As `/todo import` reads it."""
        reading = read_checklist(call["markdown"], FIRST_PHASE)
        plan = reduce(Plan(), [Write(reading.plan.phases)], PHASED.rules).after
        return {"phases": phases_out(plan), "errors": [str(problem) for problem in reading.problems]}

    def round_trip(self, call: Json) -> Json:
        """Through a file, as `/todo export` writes it and `/todo import` reads it."""
        request = export(phases_in(call["phases"]), "").request
        markdown = request.text if isinstance(request, WriteFile) else ""
        back = self.from_markdown({"markdown": markdown})
        return {"markdown": markdown, "lossless": back["phases"] == call["phases"], **back}

    def roman(self, call: Json) -> Json:
        return {"text": roman_numeral(call["n"])}

    def phase_title(self, call: Json) -> Json:
        return {"text": phase_title(call["n"], call["name"])}

    def set_phases(self, call: Json) -> Json:
        self.extension.conversation_plan.adopt(phases_in(call["phases"]))
        self.extension.changed(self.stage.host.ctx)
        return self.cached(call)

    def cache(self, call: Json) -> Json:
        self.extension.conversation_plan.adopt(phases_in(call["phases"]))
        return {}

    def cached(self, _call: Json) -> Json:
        cleared = [event for event in self.stage.events if event["type"] == "todo_auto_clear"]
        return {"phases": self._phases(), "events": [{"at": event["at"], "type": event["type"]} for event in cleared]}

    def advance(self, call: Json) -> Json:
        self.stage.clock.advance(call["ms"])
        return self.cached(call)

    def reopen(self, _call: Json) -> Json:
        before = self._phases()
        self._open(self.stage.entries)
        return {"before": before, "after": self._phases()}

    def render_call(self, call: Json) -> Json:
        assert self.tool.render_call
        component = self.tool.render_call(call["args"])
        assert component
        return {"markup": markup(component)}

    def render_result(self, call: Json) -> Json:
        assert self.tool.render_result
        component = self.tool.render_result(result_of(call["result"]), RenderOptions(expanded=call["expanded"]))
        assert component
        return {"markup": markup(component)}

    def tool_end_ui(self, call: Json) -> Json:
        self._emit(ToolExecutionEnd("call", TODO_WRITE.name, result_of(call["result"]), call["isError"]))
        notices, widgets = self.stage.screen.notices, self.stage.screen.widgets
        plan = plan_in(call["result"].get("details"))
        shown = plan is not None and widgets.get(PANEL) == phase_tree.panel(plan)
        return {"warning": notices[0][1] if notices else None, "panel": phases_out(plan) if plan and shown else None}

    def tool_result(self, call: Json) -> Json:
        name = call.get("toolName", TODO_WRITE.name)
        self._emit(ToolResultReady("call", name, result_of(call), call["isError"]))
        sent = self._custom_messages()
        self.stage.host.queues.of[Delivery.NEXT_TURN].clear()
        return {"custom_messages": sent, "phases": self._phases()}

    def stop(self, call: Json) -> Json:
        reason = StopReason(call.get("stopReason", "stop"))
        content = [ToolCallBlock("call", "bash", {})] if call.get("toolCall") else []
        last = assistant_message(content, self.stage.model, reason, 0)
        replies = self._emit(BeforeSettle([last], reason))
        kept_going = [reply for reply in replies if isinstance(reply, KeepGoing)]
        reminders = [summarized(encode_message(message)) for reply in kept_going for message in reply.messages]
        events = self._reminder_events()
        return {
            "reminder": reminders[0] if reminders else None,
            "event": events[0] if events else None,
            "continued": bool(reminders),
        }

    def user_prompt(self, call: Json) -> Json:
        self.stage.model.requests.clear()
        self.stage.model.script = [scripted(answer) for answer in call["script"]]
        run(self.stage.says(call["text"]))
        return {
            "model_calls": len(self.stage.model.requests),
            "tool_results": [
                {"isError": message["isError"], "text": records.text_of(message), "details": message["details"]}
                for message in self._new_messages("toolResult")
            ],
            "custom_messages": self._custom_messages(),
            "reminders": [summarized(message) for message in self._new_messages("developer")],
            "events": self._reminder_events(),
            "phases": self._phases(),
        }

    def command(self, call: Json) -> Json:
        for name, text in call.get("files", {}).items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8", "surrogatepass"))
        self.clipboard.clear()
        self._prepare_editor(call.get("editor", {"command": "none"}))
        run(self.stage.says(f"/todo {call['args'].replace('{cwd}', str(self.folder))}"))
        notices = self.stage.screen.notices
        return {
            "shown": [{"level": LEVELS[kind], "text": text} for kind, text in notices],
            "committed": self._committed(),
            "cached_phases": self._phases(),
            "files": {name: self._file(name) for name in call.get("read_files", ())},
            "clipboard": self.clipboard[0] if self.clipboard else None,
            "editor_saw": self.stage.screen.edits[-1][1] if self.stage.screen.edits else None,
        }

    def _open(self, entries: list[Json]) -> None:
        store = MemoryStore()
        store.durable = self.durable
        self.stage = Stage(PHASED, entries=entries, store=store, cwd=str(self.folder))
        run(self.stage.start(self._plug_in))

    def _plug_in(self, api: Any) -> None:
        extension = shipped("phased", self.stage.host, self.stage.store, self.settings)
        self.extension: PhasedExtension = load_and_find(extension, api)
        self.extension.command.copy = self._copy

    def _copy(self, text: str) -> bool:
        self.clipboard.append(text)
        return True

    def _prepare_editor(self, editor: Json) -> None:
        """Script the person's editor. It is closed without saving if it fails or is missing."""
        self.stage.screen.edits.clear()
        self.stage.screen.types = [None if editor.keys() & {"command", "exit"} else editor.get("text", str)]

    def _committed(self) -> Json | None:
        edits = [entry for entry in self._new_entries() if entry["type"] == "custom"]
        if not edits:
            return None
        [message] = self._new_messages("developer")
        entry = {key: edits[0][key] for key in ("type", "customType", "data")}
        return {"entry": entry, "message": summarized(message)}

    def _file(self, name: str) -> str | None:
        file = self.folder / name
        return file.read_bytes().decode("utf-8", "surrogatepass") if file.exists() else None

    def _emit(self, event: ExtensionEvent) -> list[Any]:
        replies: list[Any] = run(self.stage.host.dispatcher.emit(event))
        return replies

    def _phases(self) -> list[Json]:
        return phases_out(self.extension.conversation_plan.plan)

    def _new_entries(self) -> list[Json]:
        return self.stage.entries[self.entries_before :]

    def _new_messages(self, role: str) -> list[Json]:
        messages = [entry["message"] for entry in self._new_entries() if entry["type"] == "message"]
        return [message for message in messages if message["role"] == role]

    def _custom_messages(self) -> list[Json]:
        queued = self.stage.host.queues.of[Delivery.NEXT_TURN]
        messages = [encode_custom(message) for message in queued if isinstance(message, CustomMessage)]
        return [message | {"options": {"deliverAs": "nextTurn"}} for message in messages]

    def _reminder_events(self) -> list[Json]:
        reminders = [event for event in self.stage.events if event["type"] == "todo_reminder"]
        return [{key: event[key] for key in ("todos", "attempt", "maxAttempts")} for event in reminders]

    @property
    def tool(self) -> ToolDefinition:
        return self.stage.host.tools[TODO_WRITE.name]


def settings(setup: Json, session_settings: Json) -> Json:
    delay = setup.get("clear_delay")
    return session_settings if delay is None else {**session_settings, "tasks.todoClearDelay": delay}


def result_of(given: Json) -> ToolResult:
    details: Any = given.get("details")
    return ToolResult(tuple(map(block_of, given["content"])), details)


def block_of(block: Json) -> Content:
    return TextContent(block["text"]) if block["type"] == "text" else ImageContent("", "image/png")


def scripted(answer: Json) -> Json:
    return {"call": (TODO_WRITE.name, answer["todo_write"])} if "todo_write" in answer else answer


def summarized(message: Json) -> Json:
    return {"role": message["role"], "attribution": message["attribution"], "text": records.text_of(message)}


def run(work: Awaitable[Any]) -> Any:
    async def waited() -> Any:
        return await work

    return asyncio.run(waited())
