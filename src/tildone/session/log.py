"""`SessionLog`: the state and the history of one session, and the events that leave its plan as it is."""

from __future__ import annotations

from tildone.core.plan import Plan
from tildone.core.query import has_checks
from tildone.errors import Refused, UnknownEvent
from tildone.log.events import Actor, Directive, DirectiveSet, Labelled, Nudged, Tripped
from tildone.log.state import State, latest_state
from tildone.log.tree import SessionHead
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.core.guard import ByModel
    from tildone.core.reduce import Outcome
    from tildone.log.events import Author, Bound, Fact
    from tildone.log.usage import AgentUsage
    from tildone.log.writer import SessionWriter
    from tildone.loop.proving import Prover
    from tildone.session.claiming import Claims


class SessionLog:
    """One session in a store. `author` returns the author of an event; `reader` is the name of the model's record."""

    def __init__(self, writer: SessionWriter, author: Callable[[Actor], Author], reader: str) -> None:
        self.store = writer.store
        self.name = writer.name
        self.reader = reader
        self.author_of = author
        self._writer = writer
        self.claims: Callable[[], Claims] | None = None
        self.prover: Callable[[], Prover] | None = None
        self._seen: tuple[str | None, Plan | None] = (None, None)

    @property
    def usage(self) -> Callable[[str], AgentUsage | None]:
        """Returns what the agent with an id has used so far in its conversation, if that is known."""
        return self._writer.usage

    @usage.setter
    def usage(self, usage: Callable[[str], AgentUsage | None]) -> None:
        self._writer.usage = usage

    @property
    def state(self) -> State:
        """The state at the session's head."""
        return self._writer.state

    @property
    def last_state(self) -> State:
        """The state that this object last read or wrote; others may have changed the session since."""
        return self._writer.last_state

    @property
    def plan(self) -> Plan:
        """The plan at the session's head."""
        return self.state.plan

    @property
    def seen_head(self) -> str | None:
        """The head at which the model last saw the plan; None if it never saw it or its context was lost."""
        return self.store.records.seen(self.name, self.reader) if self.reader else self._seen[0]

    def set_seen_head(self, head: str | None) -> None:
        """Record that the model last saw the plan at `head`; None means that it knows nothing of the plan."""
        if head != self.seen_head:
            self._seen = head, self.plan_at(head)
            self._writer.set_seen(self.reader, head)

    def plan_at(self, event_id: str | None) -> Plan | None:
        """Return the plan as it was at an event; None if there is no such event."""
        if event_id is None:
            return None
        last = self._writer.last_state
        if event_id == last.head:
            return last.plan
        try:
            return latest_state(self.store.history(self.name, event_id)).plan
        except UnknownEvent:
            return None

    @property
    def stale(self) -> frozenset[int]:
        """The numbers of the done tasks whose files have changed since their checks passed; 0 for the plan itself."""
        from tildone.loop.proving import stale_numbers  # noqa: PLC0415  see the module's docstring

        return stale_numbers(self.state.plan, self.prover)

    @property
    def held_up(self) -> str:
        """Which task with a check an agent has set aside, as a person is told of it; empty if none."""
        plan = self.state.plan
        if not has_checks(plan):
            return ""
        from tildone.history.held_up import describe_held_up, held_up_by_agents  # noqa: PLC0415  few have checks

        return describe_held_up(held_up_by_agents(plan, lambda: self.store.history(self.name)))

    def model_of(self, actor: Actor) -> ByModel | None:
        """Return what keeps a model from taking checks away that a person asked for; None if a person acts.

        What is typed in the shell of an agent is the doing of its model. A timer acts for an agent.
        """
        if actor in (Actor.USER, Actor.IMPORT) and not self.author_of(Actor.USER).agent:
            return None
        from tildone.core.guard import ByModel  # noqa: PLC0415  see the module's docstring

        return ByModel(lambda check: self.prover is not None and self.prover().is_allowed(check), lambda: self.stale)

    def retract_nudge(self) -> bool:
        """Take back the newest event if it is a nudge, because it did not reach the agent. Return whether it was."""
        return self._writer.retract(Nudged)

    def set_directive(self, directive: Directive) -> bool:
        """Set the directive, which takes effect when the agent next stops. Return False if nothing changed.

        `Directive.GO` also resets every count, whether or not a bound was reached.
        """

        def choose_fact(state: State) -> tuple[bool, Fact | None]:
            is_new = state.directive is not directive or (directive is Directive.GO and state.has_counts)
            return is_new, DirectiveSet(directive) if is_new else None

        return self._writer.record(Actor.USER, choose_fact)

    def reset_counts(self, *, by_person: bool = True) -> None:
        """Reset every count because a person has spoken; else, those of this chain, because it is a new one."""
        from tildone.loop.holding import fact_of_reset  # noqa: PLC0415  see the module's docstring

        actor = Actor.USER if by_person else Actor.TIMER

        def choose_fact(state: State) -> tuple[None, Fact | None]:
            return None, fact_of_reset(state, by_person=by_person, always=self._restarts_budget(state))

        self._writer.record(actor, choose_fact)

    def _restarts_budget(self, _state: State) -> bool:
        """Whether a person who speaks starts the budget of the task in progress again, if nothing else was counted."""
        return False

    def let_go(self, bound: Bound, limit: float) -> None:
        """Record that the agent was ended at a bound, unless that is recorded already."""
        self._writer.record(Actor.TIMER, lambda state: (None, None if state.tripped else Tripped(bound, limit)))

    def checkout(self, event_id: str | None) -> Plan:
        """Move the head to another event, or before the first one if None. Return the plan there.

        Raises:
            UnknownEvent: there is no such event.
        """
        return self.move(lambda _: SessionHead(event_id)).after

    def undo(self, changes: int = 1) -> Outcome:
        """Move the head before the newest `changes` changes of the plan.

        Raises:
            Refused: this branch has fewer changes; nothing is undone.
        """
        return self.move(self._writer.undoing(changes))

    def redo(self, changes: int = 1) -> Outcome:
        """Redo the next `changes` changes that were undone.

        Raises:
            Refused: fewer changes were undone since the plan last changed; nothing is redone.
        """
        return self.move(self._writer.redoing(changes))

    def move(self, choose: Callable[[SessionHead], SessionHead]) -> Outcome:
        """Move the head where `choose` says, given the current one. What the person wants of the agent stays.

        Raises:
            Refused: a model would take a check away that a person asked for; nothing is moved.
        """
        from tildone.core.reduce import Outcome  # noqa: PLC0415  see the module's docstring
        from tildone.loop.changing import fact_after_move  # noqa: PLC0415  the same

        before, model = self.state, self.model_of(Actor.USER)
        by_agent = model is not None
        self._writer.move(choose if model is None else lambda current: self._without_shedding(choose(current), model))
        self._writer.record(Actor.USER, lambda state: (None, fact_after_move(before, state, by_agent=by_agent)))
        return Outcome(before.plan, self.plan)

    def _without_shedding(self, to: SessionHead, model: ByModel) -> SessionHead:
        """Return the head to which a model may move."""
        plan, there = self.plan, self.plan_at(to.head) or Plan()
        if not has_checks(plan):
            return to
        from tildone.core.asked import shed  # noqa: PLC0415  few plans have checks
        from tildone.views.faults import describe_fault  # noqa: PLC0415  the same

        faults = shed(plan, there, model)
        if faults:
            raise Refused("; ".join(map(describe_fault, faults)))
        return to

    def label(self, event_id: str, name: str) -> None:
        """Label an event; an empty name removes its label.

        Raises:
            UnknownEvent: there is no such event.
        """
        target = next(self.store.history(self.name, event_id)).id
        self._writer.record(Actor.USER, lambda _: (None, Labelled(target, name)))

    def renew_claims(self, agent: str) -> None:
        """Renew the claims of an agent that is at work, if it is time. Failure is harmless: they lapse later."""
        if self.claims is not None and agent:
            self.claims().renew(self.store, self.name, agent)

    def release_claims(self, agent: str) -> None:
        """Give back the tasks of an agent that has ended. Failure is harmless: its claims lapse."""
        if self.claims is not None and agent:
            self.claims().release(self.store, self.name, agent)

    def count_subagent_nudge(self) -> None:
        """Record that a subagent was told to continue, unless there is no plan, to which the agent could be held."""
        from tildone.loop.holding import subagent_nudge  # noqa: PLC0415  see the module's docstring

        self._writer.record(Actor.TIMER, lambda state: (None, subagent_nudge(state)), self._seen_by())

    def _seen_by(self) -> Callable[[State], str]:
        """Return who has seen the plan after an event that leaves it as it is: a model that knew it before."""
        seen_head = self.seen_head
        return lambda state: self.reader if state.head == seen_head else ""
