"""The one road from a request to the log: every tool call, every person's edit, every end of a turn."""

from __future__ import annotations

from itertools import islice

from tildone.core.reduce import Outcome, Step, reduce
from tildone.dialects.arguments import read_arguments
from tildone.dialects.base import Done, Reply
from tildone.errors import HeadMoved, UnknownEvent
from tildone.log import codec
from tildone.log.events import Actor, Call, Directive, DirectiveSet, Event, Labelled, Nudged, PlanChanged, Tripped
from tildone.log.state import State, apply_event, latest_state
from tildone.log.tree import SessionHead
from tildone.log.undo import redone, undone
from tildone.loop.decision import Decision, GiveUp, GoOn, Patience, Rest, Turn, decide, progressed
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Protocol

    from tildone.core.plan import Plan
    from tildone.core.rules import Rules
    from tildone.dialects.base import Dialect, Tool
    from tildone.log.events import Fact
    from tildone.log.store import Store

    class Completions(Protocol):
        """A log for people of the plans that were finished."""

        def add(self, entry: Callable[[int, str], str]) -> str | None:
            """Write an entry, given its number and a time stamp; where it went, or None if nowhere."""


RECENT = 200


@value
class Verdict:
    """What was decided at the end of a turn, and what to tell the agent, if anything."""

    decision: Decision
    prompt: str | None = None


class Session:
    """One agent's plan and its history, in one dialect. Safe beside other processes on the same store."""

    def __init__(  # noqa: PLR0913  everything a session stands on comes in by name
        self,
        store: Store,
        name: str,
        dialect: Dialect,
        *,
        now: Callable[[], int],
        new_id: Callable[[], str],
        patience: Patience = Patience(),  # noqa: B008  frozen
        completions: Completions | None = None,
    ) -> None:
        self.store = store
        self.name = name
        self.dialect = dialect
        self.patience = patience
        self._now = now
        self._new_id = new_id
        self.completions = completions
        self._known = State()
        self._seen: tuple[str | None, Plan | None] = (None, None)

    @property
    def state(self) -> State:
        """What is true now."""
        head = self.store.session_head(self.name).head
        if head != self._known.head:
            self._known = latest_state(self.store.history(self.name, head)) if head else State()
        return self._known

    @property
    def plan(self) -> Plan:
        """The plan as it is now."""
        return self.state.plan

    def recently_had(self, plan: Plan) -> bool:
        """Whether the plan has been this on its way here, not long ago."""
        recent = islice(self.store.history(self.name), RECENT)
        return any(isinstance(event.fact, PlanChanged) and event.fact.plan == plan for event in recent)

    def call(self, tool_name: str, arguments: str | Mapping[str, Any]) -> Reply:
        """Carry out a model's tool call. Whatever is wrong with it comes back as a reply; nothing changes."""
        tool = self.dialect.tool(tool_name)
        if tool is None:
            known = ", ".join(tool.name for tool in self.dialect.tools)
            return Reply(f"Error: unknown tool {tool_name!r}; known are {known}", {}, is_error=True)
        params, wrong = read_arguments(tool, arguments)
        if wrong:
            return self.dialect.refuse(tool, wrong, params)
        return self.execute(tool, params)

    def execute(self, tool: Tool, params: Mapping[str, Any]) -> Reply:
        """Carry out a call whose arguments have passed the door."""
        started = self._now()
        steps = tool.steps(params)
        call = Call(tool.name, codec.dump(params)) if steps else None
        outcome = self._think(steps, Actor.AGENT, call)
        done = Done(params, outcome, self.store.durable, took_ms=self._now() - started, known=self._seen[1])
        self._seen = self._known.head, outcome.after
        return tool.reply(self._logged(done))

    @property
    def seen_head(self) -> str | None:
        """The head as the model last saw it; None when it knows nothing."""
        return self._seen[0]

    def set_seen_head(self, head: str | None) -> None:
        """Take it that the model has seen the session as it was at `head`, or that it knows nothing any more."""
        if head != self.seen_head:
            self._seen = head, self.plan_at(head)

    def plan_at(self, event_id: str | None) -> Plan | None:
        """The plan as it was at an event; None if there is no such event."""
        if event_id is None:
            return None
        if event_id == self._known.head:
            return self._known.plan
        try:
            return latest_state(self.store.history(self.name, event_id)).plan
        except UnknownEvent:
            return None

    def change(
        self,
        steps: Iterable[Step] | Callable[[Plan], Sequence[Step]],
        actor: Actor = Actor.USER,
        rules: Rules | None = None,
        call: Call | None = None,
    ) -> Outcome:
        """Make a person's (or a timer's, or an import's) edit, under the same rules as a model's unless told otherwise.

        Where the steps depend on the plan, a function gives them for the plan as it is when they are taken. `call` is
        what a model called that was not a tool of ours, where that is what is followed here.
        """
        return self._think(steps if callable(steps) else tuple(steps), actor, call, rules)

    def turn_ended(self, turn: Turn = Turn()) -> Verdict:  # noqa: B008  frozen
        """Decide whether the agent goes on, and remember that it was told to."""
        turn = replace(turn, at=self._now())
        while True:
            state = self.state
            decision = decide(state, self.patience, turn)
            try:
                match decision:
                    case GoOn(_, _, count, same):
                        self._append(state, Actor.TIMER, Nudged(count, state.drift + 1, turn.fingerprint, same))
                        return Verdict(decision, self.dialect.carry_on(state.plan))
                    case GiveUp(bound, limit):
                        if not state.tripped:
                            self._append(state, Actor.TIMER, Tripped(bound, limit))
                        return Verdict(decision)
                    case Rest():
                        return Verdict(decision)
            except HeadMoved:
                continue

    def set_directive(self, course: Directive) -> bool:
        """Set a course for the agent, which takes effect when it next comes to a stop; whether anything is new.

        Going on, after a bound was reached or not, begins every count anew.
        """
        while True:
            state = self.state
            if state.directive is course and not (course is Directive.GO and (state.drift or state.tripped)):
                return False
            try:
                self._append(state, Actor.USER, DirectiveSet(course))
            except HeadMoved:
                continue
            return True

    def context(self) -> str | None:
        """What to put before the model at the start of its turn; None when there is nothing to say."""
        return self.dialect.context(self.plan)

    def checkout(self, event_id: str | None) -> Plan:
        """Go to another event of this session, or to before the first; what follows hangs under it.

        Raises:
            UnknownEvent: there is no such event.
        """
        self._move(lambda _: SessionHead(event_id))
        return self.plan

    def undo(self, changes: int = 1) -> Outcome:
        """Go back to before the newest change of the plan, or the newest few.

        Raises:
            Refused: fewer were made on this branch; nothing is taken back then.
        """
        before = self.plan
        self._move(lambda place: self._before(place, changes))
        return Outcome(before, self.plan)

    def redo(self, changes: int = 1) -> Outcome:
        """Take back the newest `undo`, or the newest few.

        Raises:
            Refused: fewer were undone since the plan last changed; nothing is made again then.
        """
        before = self.plan
        self._move(lambda place: redone(place, changes))
        return Outcome(before, self.plan)

    def label(self, event_id: str, name: str) -> None:
        """Give an event a name; an empty name takes it away.

        Raises:
            UnknownEvent: there is no such event.
        """
        named = next(self.store.history(self.name, event_id))
        while True:
            try:
                self._append(self.state, Actor.USER, Labelled(named.id, name))
            except HeadMoved:
                continue
            return

    def _think(
        self,
        steps: Sequence[Step] | Callable[[Plan], Sequence[Step]],
        actor: Actor,
        call: Call | None,
        rules: Rules | None = None,
    ) -> Outcome:
        if not steps:
            plan = self.plan
            return Outcome(plan, plan)
        # What was true at the last look will do to begin with: `append` finds out if it is so no more.
        state = self._known if self._known.head else self.state
        while True:
            taken = steps(state.plan) if callable(steps) else steps
            outcome = reduce(state.plan, taken, rules or self.dialect.rules)
            if outcome.changed:
                drift, since = (0, 0) if progressed(outcome.before, outcome.after) else (state.drift, state.since)
                try:
                    self._append(state, actor, PlanChanged(outcome.after, call, drift, since, state.directive))
                except HeadMoved:
                    state = self.state
                else:
                    return outcome
            elif self.state is state:
                return outcome
            else:
                state = self.state

    def _append(self, state: State, actor: Actor, fact: Fact) -> None:
        """Write down a fact. Only a change of the plan closes the way forward that undoing left open."""
        place = SessionHead() if isinstance(fact, PlanChanged) else self.store.session_head(self.name)
        event = Event(self._new_id(), state.head, self._now(), actor, fact)
        self.store.append(self.name, event)
        self._known = apply_event(state, event)
        if place.redo and place.head == state.head:
            try:
                self.store.move_head(self.name, replace(place, head=event.id), expected=event.id)
            except HeadMoved:
                return

    def _move(self, choose: Callable[[SessionHead], SessionHead]) -> None:
        while True:
            course = self.state.directive
            place = self.store.session_head(self.name)
            to = choose(place)
            try:
                self.store.move_head(self.name, to, expected=place.head)
            except HeadMoved:
                continue
            if self.state.directive is not course:
                # What the person wants of the agent does not go back with the plan.
                self.set_directive(course)
            return

    def _before(self, place: SessionHead, changes: int) -> SessionHead:
        back = self.store.history(self.name, place.head) if place.head is not None else ()
        return undone(place, back, changes)

    def _logged(self, done: Done) -> Done:
        """The call, with the place where the completion of a plan was written down for people."""
        entry = self.dialect.completion
        if self.completions is None or entry is None or not self.dialect.completes(done):
            return done
        return replace(done, saved_to=self.completions.add(lambda number, stamp: entry(done, number, stamp)))
