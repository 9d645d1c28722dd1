"""`Session`: the one way from a request to the log, for tool calls, people's edits and the ends of turns."""

from __future__ import annotations

from itertools import islice

from tildone.core.reduce import Outcome, Step, reduce
from tildone.dialects.arguments import read_arguments
from tildone.dialects.base import CompletedCall, Reply
from tildone.errors import UnknownEvent
from tildone.log import codec
from tildone.log.events import Actor, Call, Directive, DirectiveSet, Labelled, Nudged, PlanChanged, Tripped
from tildone.log.state import State, latest_state
from tildone.log.tree import SessionHead
from tildone.log.undo import head_after_redo, head_after_undo
from tildone.log.writer import SessionWriter
from tildone.loop.decision import Decision, GiveUp, GoOn, Patience, Turn, decide, progressed
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

    Steps = Sequence[Step] | Callable[[Plan], Sequence[Step]]

    class Completions(Protocol):
        """A log for people of the plans that were finished."""

        def add(self, entry: Callable[[int, str], str]) -> str | None:
            """Write an entry, given its number and a time stamp; the path written to, or None if nothing was."""


MAX_RECENT_EVENTS = 200
"""How far back `recently_had` looks."""


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
        self.completions = completions
        self._now = now
        self._writer = SessionWriter(store, name, now, new_id)
        self._seen: tuple[str | None, Plan | None] = (None, None)

    @property
    def state(self) -> State:
        """The state at the session's head."""
        return self._writer.state

    @property
    def plan(self) -> Plan:
        """The plan at the session's head."""
        return self.state.plan

    def recently_had(self, plan: Plan) -> bool:
        """Whether one of the newest events on this branch left the plan as `plan`."""
        recent = islice(self.store.history(self.name), MAX_RECENT_EVENTS)
        return any(isinstance(event.fact, PlanChanged) and event.fact.plan == plan for event in recent)

    def call(self, tool_name: str, arguments: str | Mapping[str, Any]) -> Reply:
        """Carry out a model's tool call. An invalid call gets an error reply and changes nothing."""
        tool = self.dialect.tool(tool_name)
        if tool is None:
            known = ", ".join(tool.name for tool in self.dialect.tools)
            return Reply(f"Error: unknown tool {tool_name!r}; known are {known}", {}, is_error=True)
        params, wrong = read_arguments(tool, arguments)
        if wrong:
            return self.dialect.refuse(tool, wrong, params)
        return self.execute(tool, params)

    def execute(self, tool: Tool, params: Mapping[str, Any]) -> Reply:
        """Carry out a call whose arguments were validated."""
        started = self._now()
        steps = tool.steps(params)
        call = Call(tool.name, codec.dump(params)) if steps else None
        outcome = self._apply(steps, Actor.AGENT, call)
        done = CompletedCall(params, outcome, self.store.durable, elapsed_ms=self._now() - started, known=self._seen[1])
        self._seen = self._writer.last_state.head, outcome.after
        return tool.reply(self._logged(done))

    @property
    def seen_head(self) -> str | None:
        """The head at which the model last saw the plan; None if it never did or no longer remembers."""
        return self._seen[0]

    def set_seen_head(self, head: str | None) -> None:
        """Assume that the model last saw the plan at `head`; None means that it remembers nothing."""
        if head != self.seen_head:
            self._seen = head, self.plan_at(head)

    def plan_at(self, event_id: str | None) -> Plan | None:
        """The plan as it was at an event; None if there is no such event."""
        if event_id is None:
            return None
        last = self._writer.last_state
        if event_id == last.head:
            return last.plan
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
        """Apply an edit by a person, a timer or an import, under the dialect's rules unless others are given.

        Steps that depend on the plan are given as a function of it; it may be called more than once. `call` is the
        model's call of a tool that is not ours, if this edit follows one.
        """
        return self._apply(steps if callable(steps) else tuple(steps), actor, call, rules)

    def turn_ended(self, turn: Turn = Turn()) -> Verdict:  # noqa: B008  frozen
        """Decide whether the agent continues, and record the nudge or the bound that was reached."""
        turn = replace(turn, at=self._now())
        return self._writer.record(Actor.TIMER, lambda state: self._verdict(state, turn))

    def set_directive(self, directive: Directive) -> bool:
        """Set what the person wants of the agent, which takes effect at its next stop; False if nothing changed.

        `Directive.GO` also resets every count, whether or not a bound was reached.
        """

        def decided(state: State) -> tuple[bool, Fact | None]:
            resets = directive is Directive.GO and (state.drift > 0 or state.tripped)
            is_new = state.directive is not directive or resets
            return is_new, DirectiveSet(directive) if is_new else None

        return self._writer.record(Actor.USER, decided)

    def reset_counts(self) -> None:
        """Count nudges from 0 again, under the same directive: a person chose where the agent continues."""

        def decided(state: State) -> tuple[None, Fact | None]:
            return None, DirectiveSet(state.directive) if state.drift or state.tripped else None

        self._writer.record(Actor.USER, decided)

    def context(self) -> str | None:
        """The text to put before the model at the start of its turn; None if there is nothing to say."""
        return self.dialect.context(self.plan)

    def checkout(self, event_id: str | None) -> Plan:
        """Move the head to another event of this session, or before the first; later events follow that one.

        Raises:
            UnknownEvent: there is no such event.
        """
        self._move(lambda _: SessionHead(event_id))
        return self.plan

    def undo(self, changes: int = 1) -> Outcome:
        """Move the head before the newest `changes` changes of the plan.

        Raises:
            Refused: this branch has fewer; nothing is undone.
        """
        before = self.plan
        self._move(lambda current: self._before(current, changes))
        return Outcome(before, self.plan)

    def redo(self, changes: int = 1) -> Outcome:
        """Move the head after the newest `changes` changes that were undone.

        Raises:
            Refused: fewer were undone since the plan last changed; nothing is redone.
        """
        before = self.plan
        self._move(lambda current: head_after_redo(current, changes))
        return Outcome(before, self.plan)

    def label(self, event_id: str, name: str) -> None:
        """Give an event a name; an empty name removes it.

        Raises:
            UnknownEvent: there is no such event.
        """
        target = next(self.store.history(self.name, event_id)).id
        self._writer.record(Actor.USER, lambda _: (None, Labelled(target, name)))

    def _apply(self, steps: Steps, actor: Actor, call: Call | None, rules: Rules | None = None) -> Outcome:
        """Apply steps to the plan, and record the change if there is one."""
        if not steps:
            plan = self.plan
            return Outcome(plan, plan)

        def decided(state: State) -> tuple[Outcome, Fact | None]:
            taken = steps(state.plan) if callable(steps) else steps
            outcome = reduce(state.plan, taken, rules or self.dialect.rules)
            return outcome, _fact(state, outcome, call) if outcome.changed else None

        return self._writer.record(actor, decided)

    def _verdict(self, state: State, turn: Turn) -> tuple[Verdict, Fact | None]:
        decision = decide(state, self.patience, turn)
        match decision:
            case GoOn(_, _, count, repeats):
                fact = Nudged(count, state.drift + 1, turn.fingerprint, repeats)
                return Verdict(decision, self.dialect.carry_on(state.plan)), fact
            case GiveUp(bound, limit) if not state.tripped:
                return Verdict(decision), Tripped(bound, limit)
            case _:
                return Verdict(decision), None

    def _move(self, choose: Callable[[SessionHead], SessionHead]) -> None:
        """Move the head. The person's directive is not part of what is undone, so it is set again if it changed."""
        directive = self.state.directive
        self._writer.move(choose)
        if self.state.directive is not directive:
            self.set_directive(directive)

    def _before(self, current: SessionHead, changes: int) -> SessionHead:
        newest_first = self.store.history(self.name, current.head) if current.head is not None else ()
        return head_after_undo(current, newest_first, changes)

    def _logged(self, done: CompletedCall) -> CompletedCall:
        """The call, with the path to which the completion of its plan was logged, if it completed one."""
        entry = self.dialect.completion
        if self.completions is None or entry is None or not self.dialect.completes(done):
            return done
        return replace(done, saved_to=self.completions.add(lambda number, stamp: entry(done, number, stamp)))


def _fact(state: State, outcome: Outcome, call: Call | None) -> PlanChanged:
    """The change as an event holds it: with the counts and the directive, which progress resets or which go on."""
    drift, since = (0, 0) if progressed(outcome.before, outcome.after) else (state.drift, state.since)
    return PlanChanged(outcome.after, call, drift, since, state.directive)
