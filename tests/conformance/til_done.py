"""Replays the vectors of pi-til-done: the extension in a host that records every call to it."""

import asyncio
import itertools
from collections.abc import Awaitable, Sequence
from typing import Any

from tests.clock import FakeClock
from tests.conformance.shipped import load_and_find, shipped
from tests.host.records import SilentModel
from tildone import INDEXED
from tildone.base.schema import SchemaProblem
from tildone.log.session import Session
from tildone.plan.dialects.indexed import STATUSES, WORDS, is_item
from tildone.plan.gate import Decision, GiveUp, GoOn, Rest, RestReason, Turn
from tildone.plan.model import Plan, Task, flat
from tildone.plan.text import safe as plain_list
from tildone.run.codec import decode_message, encode_blocks, encode_custom
from tildone.run.events import AgentEnd, Entry, UnknownEntry
from tildone.run.extension import BeforeAgentStart, BranchChange, ConversationStart, NoUI
from tildone.run.host import ExtensionAPI, Host
from tildone.run.kit.components import Component, RenderOptions
from tildone.run.kit.definition import TextContent, ToolDefinition, ToolResult, markup
from tildone.run.messages import CustomMessage, DeveloperMessage, result_blocks
from tildone.run.parameters import checked
from tildone.run.transcript import Transcript
from tildone.run.turn_loop import Delivery
from tildone.stores.memory import MemoryStore

Json = dict[str, Any]

RESTS = {RestReason.NO_PLAN: "skip:no_todos", RestReason.ABORTED: "skip:aborted", RestReason.ALL_DONE: "skip:all_done"}
"""The names that the recordings use for the original's reasons."""


class TilDone:
    """One host with the extension loaded, and a manual clock."""

    def __init__(self, setup: Json) -> None:
        self.clock = FakeClock()
        self.effects: list[Json] = []
        self.failing: dict[str, int] = {}
        self.numbers = itertools.count()
        self.host = RecordingHost(self, has_ui=setup.get("hasUI", True))
        self.store = MemoryStore()
        self.host.load([("til-done", self._plug_in)])

    def step(self, call: Json, _vector: Json) -> Json:
        """Execute a recorded call and return the answer, with the calls to the host."""
        before = len(self.effects)
        answer: Json = getattr(self, call["op"])(call)
        return {"effects": self.effects[before:], **answer}

    def tool(self, call: Json) -> Json:
        tool = self.host.tools[call["name"]]
        result: ToolResult = done(tool.execute("call", call["arguments"], None, None, self.host.ctx))
        blocks = encode_blocks(result_blocks(result))
        return {"content": blocks, "details": result.details, "isError": result.is_error, "todos_after": self._todos()}

    def call(self, call: Json) -> Json:
        if wrong(self.host.tools[call["name"]], call["arguments"]):
            return {"rejected": True, "todos_after": self._todos()}
        return {"rejected": False, **self.tool(call)}

    def validate(self, call: Json) -> Json:
        return {"ok": not wrong(self.host.tools[call["name"]], call["arguments"])}

    def definition(self, call: Json) -> Json:
        tool = self.host.tools[call["name"]]
        return {
            "name": tool.name,
            "label": tool.label,
            "description": tool.description,
            "parameters": tool.parameters,
            "promptSnippet": tool.prompt_snippet,
            "promptGuidelines": list(tool.prompt_guidelines) or None,
        }

    def reconstruct(self, call: Json) -> Json:
        return {"todos": todos(INDEXED.recover(call["branch"]) or Plan())}

    def session_start(self, call: Json) -> Json:
        self.host.use(Remembered(call["branch"], f"conversation-{next(self.numbers)}"))
        done(self.host.dispatcher.emit(ConversationStart("startup")))
        return {"todos": self._todos()}

    def session_tree(self, call: Json) -> Json:
        self.host.use(Remembered(call["branch"], self.host.transcript.id))
        done(self.host.dispatcher.emit(BranchChange(None)))
        return {"todos": self._todos()}

    def before_agent_start(self, _call: Json) -> Json:
        replies = done(self.host.dispatcher.emit(BeforeAgentStart("", "")))
        return {"message": encode_custom(replies[0].message) if replies else None}

    def agent_end(self, call: Json) -> Json:
        session, decisions = self.session, list[Decision]()

        def decide(turn: Turn) -> Decision:
            decisions.append(Session.decide(session, turn))
            return decisions[-1]

        session.decide = decide  # type: ignore[method-assign]  # to see the decisions
        done(self.host.dispatcher.emit(AgentEnd([decode_message(message) for message in call["messages"]])))
        return {"decision": decision_word(decisions[-1])}

    def bump_counter(self, call: Json) -> Json:
        for _ in range(call["times"]):
            self.session.turn_ended()
        return {}

    def advance(self, call: Json) -> Json:
        self.clock.advance(call["ms"])
        return {}

    def fail(self, call: Json) -> Json:
        self.failing[call["target"]] = call["times"]
        return {}

    def set_ui(self, call: Json) -> Json:
        self.host.ui.has_ui = call["hasUI"]
        return {}

    def render_call(self, call: Json) -> Json:
        return self._drawn(self.host.tools[call["name"]].render_call, call["arguments"])

    def render_result(self, call: Json) -> Json:
        texts = [block["text"] for block in call["result"]["content"] if block["type"] == "text"]
        result = ToolResult(tuple(map(TextContent, texts)), call["result"].get("details"))
        return self._drawn(self.host.tools[call["name"]].render_result, result, RenderOptions())

    def render_message(self, call: Json) -> Json:
        return self._drawn(self.host.renderers[call["customType"]], CustomMessage(call["customType"], call["content"]))

    def valid_item(self, call: Json) -> Json:
        return {"valid": is_item(call["item"])}

    def list_text(self, call: Json) -> Json:
        return {"text": plain_list.numbered_list(plan_of(call["todos"]))}

    def remaining_text(self, call: Json) -> Json:
        return {"text": plain_list.numbered_at(plan_of(call["todos"]), call["indices"])}

    def _plug_in(self, api: ExtensionAPI) -> None:
        self.extension = load_and_find(shipped("indexed", self.host, self.store), api)

    @property
    def session(self) -> Session:
        session: Session = self.extension.session
        return session

    def _todos(self) -> list[Json]:
        return todos(self.session.plan)

    def _drawn(self, render: Any, *args: Any) -> Json:
        drawn: Component = render(*args)
        return {"markup": markup(drawn)}


class RecordingHost(Host):
    """A host without a model. It records messages and output, and fails when scripted to."""

    def __init__(self, world: TilDone, *, has_ui: bool) -> None:
        self.world = world
        screen = RecordingUI(world, has_ui=has_ui)
        super().__init__(
            model=SilentModel(),
            transcript=Remembered([], "conversation"),
            cwd=".",
            now=world.clock.now,
            ui=screen,
            after=world.clock.after,
        )

    def send_user(self, text: str, *, deliver_as: Delivery | None = None) -> None:
        options = {"deliverAs": "followUp"} if deliver_as else None
        record(self.world, "send_user_message", text=text, options=options)

    def send_custom(
        self, message: CustomMessage | DeveloperMessage, *, trigger_turn: bool, deliver_as: Delivery | None
    ) -> None:
        del deliver_as
        assert isinstance(message, CustomMessage)
        record(self.world, "send_message", message=encode_custom(message), options={"triggerTurn": trigger_turn})


class RecordingUI(NoUI):
    """A screen that records its output."""

    def __init__(self, world: TilDone, *, has_ui: bool) -> None:
        self.world = world
        self.has_ui = has_ui

    def set_status(self, key: str, text: str | None) -> None:
        record(self.world, "status", key=key, value=text)

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        options = {"options": {"placement": placement}} if placement else {}
        record(self.world, "widget", key=key, value=lines, **options)

    def notify(self, message: str, kind: str = "info") -> None:
        raise NotImplementedError

    async def select(self, *_: Any) -> str | None:
        raise NotImplementedError

    async def confirm(self, *_: Any) -> bool:
        raise NotImplementedError

    async def input(self, *_: Any) -> str | None:
        raise NotImplementedError

    async def editor(self, *_: Any) -> str | None:
        raise NotImplementedError


class Remembered(Transcript):
    """A conversation with only a branch."""

    def __init__(self, records: list[Json], own_id: str) -> None:
        super().__init__({"id": own_id}, now=lambda: 0, new_id=str)
        self._branch = [Entry("", None, None, UnknownEntry("", record), record) for record in records]

    def branch(self) -> list[Entry]:
        return self._branch


def record(world: TilDone, kind: str, **facts: Any) -> None:
    effect = {"at": world.clock.at, "type": kind, **facts}
    target = {"widget": "set_widget"}.get(kind, kind)
    if world.failing.get(target) and facts.get("value", "") is not None:
        world.failing[target] -= 1
        world.effects.append({**effect, "failed": True})
        raise OSError("told to fail")
    world.effects.append(effect)


def done(work: Awaitable[Any]) -> Any:
    async def awaited() -> Any:
        return await work

    return asyncio.run(awaited())


def wrong(tool: ToolDefinition, arguments: Any) -> Sequence[SchemaProblem]:
    return checked(tool.schema, arguments, strict=tool.strict)[1]


def decision_word(decision: Decision) -> str:
    """Return the recordings' name for a decision."""
    match decision:
        case GoOn():
            return "continue"
        case GiveUp():
            return "breaker"
        case Rest(reason):
            return RESTS.get(reason, f"skip:{reason.name.lower()}")


def plan_of(items: list[Json]) -> Plan:
    return flat(*(Task(item["text"], STATUSES[item["status"]]) for item in items))


def todos(plan: Plan) -> list[Json]:
    return [{"text": task.text, "status": WORDS[task.status]} for task in plan.tasks]
