"""Replays the vectors of pi-til-done: its tools, its context and its state, on an indexed session."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from tildone.core.ops import Write
from tildone.core.plan import Plan, Task, flat
from tildone.dialects.base import Problem, Reply, Tool
from tildone.dialects.indexed import INDEXED
from tildone.dialects.indexed.entries import STATUSES, is_item
from tildone.dialects.indexed.words import WORDS
from tildone.dialects.schema import fitted, problems
from tildone.log.events import Actor
from tildone.loop.countdown import COUNTDOWN, SILENT
from tildone.loop.machine import GiveUp, GoOn, Patience, Rest, Why
from tildone.session import Session
from tildone.stores.memory import MemoryStore
from tildone.views import board, plain

Json = dict[str, Any]

SKIPS = {Why.NO_PLAN: "skip:no_todos", Why.ABORTED: "skip:aborted", Why.ALL_DONE: "skip:all_done"}
AS_RECORDED = Patience(after_error=True)


class TilDone:
    """One agent's session in a host that records what reaches it."""

    def __init__(self, setup: Json) -> None:
        self.has_ui: bool = setup.get("hasUI", True)
        self.session = open_session(Plan())

    def step(self, call: Json, _vector: Json) -> Json:
        """What the recorded call gives here."""
        answer: Json = getattr(self, call["op"])(call)
        return answer

    def tool(self, call: Json) -> Json:
        return self._executed(call, self.session.execute(known_tool(call), call["arguments"]))

    def call(self, call: Json) -> Json:
        if wrong(call):
            reply = self.session.call(call["name"], call["arguments"])
            return {"rejected": reply.is_error, "todos_after": todos(self.session.plan), "effects": []}
        return {"rejected": False, **self.tool(call)}

    def validate(self, call: Json) -> Json:
        return {"ok": not wrong(call)}

    def definition(self, call: Json) -> Json:
        tool = known_tool(call)
        return {
            "name": tool.name,
            "label": tool.label,
            "description": tool.description,
            "parameters": tool.parameters,
            "promptSnippet": tool.snippet,
            "promptGuidelines": list(tool.guidelines) or None,
        }

    def reconstruct(self, call: Json) -> Json:
        return {"todos": todos(recovered(call["branch"]))}

    def session_start(self, call: Json) -> Json:
        self.session = open_session(recovered(call["branch"]))
        hidden = [effect("widget", "til-done-countdown", None)] if self.has_ui else []
        return {"todos": todos(self.session.plan), "effects": hidden + self._status()}

    session_tree = session_start

    def before_agent_start(self, _call: Json) -> Json:
        content = self.session.context()
        hidden = {"customType": "til-done-context", "content": content, "display": False}
        return {"message": hidden if content else None}

    def agent_end(self, call: Json) -> Json:
        last: Json = next((said for said in reversed(call["messages"]) if said["role"] == "assistant"), {})
        match self.session.turn_ended(aborted=last.get("stopReason") == "aborted").decision:
            case Rest(why):
                return {"decision": SKIPS[why], "effects": []}
            case GiveUp():
                return {"decision": "breaker"}
            case GoOn():
                first = (COUNTDOWN if self.has_ui else SILENT)[0]
                shown = [] if first.fires else [counting(first.left)]
                return {"decision": "continue", "effects": shown}

    def valid_item(self, call: Json) -> Json:
        return {"valid": is_item(call["item"])}

    def list_text(self, call: Json) -> Json:
        return {"text": plain.numbered(plan_of(call["todos"]))}

    def remaining_text(self, call: Json) -> Json:
        chosen = [item for item in enumerate(plan_of(call["todos"]).tasks) if item[0] in call["indices"]]
        return {"text": plain.numbered_tasks(chosen)}

    def set_ui(self, call: Json) -> Json:
        self.has_ui = call["hasUI"]
        return {}

    def _executed(self, call: Json, reply: Reply) -> Json:
        refused = "error" in reply.details or call["name"] == "list_todos"
        return {
            "content": [{"type": "text", "text": reply.text}],
            "details": reply.details,
            "isError": reply.is_error,
            "todos_after": todos(self.session.plan),
            "effects": [] if refused else self._status(),
        }

    def _status(self) -> list[Json]:
        if not self.has_ui:
            return []
        plan = self.session.plan
        return [
            effect("status", "til-done", board.summary(plan)),
            effect("status", "til-done-active", board.active(plan)),
        ]


def open_session(plan: Plan) -> Session:
    ids = itertools.count()
    session = Session(
        MemoryStore(),
        "vector",
        INDEXED,
        now=lambda: 0,
        new_id=lambda: str(next(ids)),
        patience=AS_RECORDED,
    )
    session.change([Write(plan.phases)], Actor.IMPORT)
    return session


def known_tool(call: Json) -> Tool:
    tool = INDEXED.tool(call["name"])
    assert tool
    return tool


def wrong(call: Json) -> list[Problem]:
    schema = known_tool(call).parameters
    return problems(schema, fitted(schema, call["arguments"]))


def recovered(branch: Sequence[Mapping[str, Any]]) -> Plan:
    return INDEXED.recover(branch) or Plan()


def plan_of(items: list[Json]) -> Plan:
    return flat(*(Task(item["text"], STATUSES[item["status"]]) for item in items))


def todos(plan: Plan) -> list[Json]:
    return [{"text": task.text, "status": WORDS[task.status]} for task in plan.tasks]


def effect(kind: str, key: str, value: object) -> Json:
    return {"at": 0, "type": kind, "key": key, "value": value}


def counting(seconds: int) -> Json:
    shown = effect("widget", "til-done-countdown", [board.counting_down(seconds)])
    return shown | {"options": {"placement": "aboveEditor"}}
