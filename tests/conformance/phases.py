"""Replays the vectors of oh-my-pi's `todo_write`: its ops, its entries, its documents and its auto-clear."""

import itertools
from typing import Any

from tildone.core.plan import Plan
from tildone.dialects.phased import PHASED
from tildone.dialects.phased.documents import from_markdown
from tildone.dialects.phased.entries import phases_in, phases_out, recover, resumed
from tildone.kit.schema import problems
from tildone.log.events import Actor, Event, PlanChanged
from tildone.loop.clearing import DEFAULT_DELAY_MS, Schedule, cleared, next_moment, schedule
from tildone.session import Session
from tildone.stores.memory import MemoryStore
from tildone.views.markdown import checklist
from tildone.views.phases import roman, title

Json = dict[str, Any]

(TODO_WRITE,) = PHASED.tools


class Phases:
    """One agent's session, and a clock that stands still until it is told to go on."""

    def __init__(self, setup: Json) -> None:
        self.now = 0
        self.waiting = Schedule()
        delay = setup.get("clear_delay")
        self.delay_ms = DEFAULT_DELAY_MS if delay is None else int(delay * 1000)
        self.store = MemoryStore()
        self.store.durable = bool(setup.get("session_file"))
        self.ids = map(str, itertools.count())
        self.session = Session(self.store, "vector", PHASED, now=lambda: self.now, new_id=lambda: next(self.ids))
        if "phases" in setup:
            self._put(phases_in(setup["phases"]))
        else:
            self._put(resumed(recover(setup.get("entries", [])) or Plan()))

    def step(self, call: Json, _vector: Json) -> Json:
        """What the recorded call gives here."""
        answer: Json = getattr(self, call["op"])(call)
        return answer

    def todo_write(self, call: Json) -> Json:
        try:
            reply = self.session.execute(TODO_WRITE, {"ops": call["ops"]})
        except (AssertionError, KeyError):
            return {"throws": True, "phases_after": phases_out(self.session.plan)}
        self._scheduled()
        return self.cached(call) | {"text": reply.text, "isError": reply.is_error, "details": reply.details}

    def validate(self, call: Json) -> Json:
        return {"ok": not problems(TODO_WRITE.parameters, call["arguments"])}

    def latest_from_entries(self, call: Json) -> Json:
        return {"phases": phases_out(recover(call["entries"]) or Plan())}

    def resume(self, call: Json) -> Json:
        plan = recover(call["entries"]) or Plan()
        return {"phases": phases_out(resumed(plan)), "command_phases": phases_out(plan)}

    def to_markdown(self, call: Json) -> Json:
        return {"markdown": checklist(phases_in(call["phases"]))}

    def from_markdown(self, call: Json) -> Json:
        reading = from_markdown(call["markdown"])
        return {"phases": phases_out(reading.plan), "errors": [str(problem) for problem in reading.problems]}

    def round_trip(self, call: Json) -> Json:
        there = self.to_markdown(call)
        back = self.from_markdown(there)
        return there | back | {"lossless": back["phases"] == call["phases"]}

    def roman(self, call: Json) -> Json:
        return {"text": roman(call["n"])}

    def phase_title(self, call: Json) -> Json:
        return {"text": title(call["n"], call["name"])}

    def set_phases(self, call: Json) -> Json:
        self._put(phases_in(call["phases"]))
        self._scheduled()
        return self.cached(call)

    def cached(self, _call: Json) -> Json:
        return {"phases": phases_out(self.session.plan), "events": []}

    def advance(self, call: Json) -> Json:
        until = self.now + call["ms"]
        events: list[Json] = []
        while (moment := next_moment(self.waiting)) is not None and moment <= until:
            self.now = moment
            after = cleared(self.session.plan, self.waiting, moment)
            events += [{"at": moment, "type": "todo_auto_clear"} for _ in after.gone]
            self.waiting = after.waiting
            self._put(after.plan)
        self.now = until
        return self.cached(call) | {"events": events}

    def _put(self, plan: Plan) -> None:
        """Make this the plan as it is: recorded worlds begin with plans that no rule would leave so."""
        event = Event(next(self.ids), self.session.state.head, self.now, Actor.IMPORT, PlanChanged(plan))
        self.store.append("vector", event)

    def _scheduled(self) -> None:
        self.waiting = schedule(self.session.plan, self.waiting, self.now, self.delay_ms)
