"""`Session`: applies tool calls, edits and ends of turns to a plan, and records them in its log.

What only some of its methods need is imported there: most hooks open a session and change no plan.
"""

from __future__ import annotations

from tildone.core.plan import Plan
from tildone.dialects.base import CompletedCall
from tildone.errors import UnknownEvent
from tildone.log import codec
from tildone.log.events import Actor, Author, Call, Directive, DirectiveSet, Labelled, Nudged, Tripped
from tildone.log.state import State, latest_state
from tildone.log.tree import SessionHead
from tildone.log.writer import SessionWriter
from tildone.loop.decision import GoOn, Patience, Turn, Verdict, judge
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from tildone.core.reduce import Outcome, Step
    from tildone.core.rules import Rules
    from tildone.dialects.base import Completions, Dialect, Reply, Tool
    from tildone.log.events import Bound, Fact
    from tildone.log.store import Store

    Steps = Sequence[Step] | Callable[[Plan], Sequence[Step]]


class Session:
    """One agent's plan and its history, in one dialect. Other processes may use the same session at the same time.

    `author` returns the author of an event of an actor. It is called only when an event is written. `reader` is the
    name under which the store records which head the model has seen; if it is empty, only this object remembers it.
    `taken` returns the numbers of the tasks that other agents work on: the agent neither does them nor waits for them.
    A subagent's session has a `parent`, with which it shares the bounds since a person last spoke. `files` returns a
    fingerprint of the agent's files, if it is known. `source` is that of new tasks, in a store that others use, too.
    """

    def __init__(  # noqa: PLR0913  all dependencies are passed by name
        self,
        store: Store,
        name: str,
        dialect: Dialect,
        *,
        now: Callable[[], int],
        new_id: Callable[[], str],
        patience: Patience = Patience(),  # noqa: B008  frozen
        completions: Completions | None = None,
        author: Callable[[Actor], Author] = lambda _: Author(),
        reader: str = "",
    ) -> None:
        self.store = store
        self.name = name
        self.dialect = dialect
        self.patience = patience
        self.completions = completions
        self.reader = reader
        self._now = now
        self.author_of = author
        self._writer = SessionWriter(store, name, now, new_id, author)
        self.taken: Callable[[], frozenset[int]] = frozenset
        self.source = ""
        self.parent: Session | None = None
        self.files: Callable[[], str] = str
        self._seen: tuple[str | None, Plan | None] = (None, None)

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
    def held_state(self) -> State:
        """The state with the plan that the agent is held to: tasks that are `taken` by other agents count as closed."""
        return self._held(self.state)

    def call(self, tool_name: str, arguments: str | Mapping[str, Any]) -> Reply:
        """Execute a model's tool call. An invalid call gets an error reply and changes nothing."""
        from tildone.dialects.arguments import read_arguments, unknown_tool  # noqa: PLC0415  see the module's docstring

        tool = self.dialect.tool(tool_name)
        if tool is None:
            return unknown_tool(self.dialect, tool_name)
        params, problems = read_arguments(tool, arguments)
        if problems:
            return self.dialect.refuse(tool, problems, params)
        return self.execute(tool, params)

    def execute(self, tool: Tool, params: Mapping[str, Any]) -> Reply:
        """Execute a call whose arguments have been validated."""
        started = self._now()
        known_head = self.seen_head
        known = self._seen[1] if known_head == self._seen[0] else self.plan_at(known_head)
        steps = tool.steps(params)
        if tool.whole_list and callable(steps) and known is not None:
            from tildone.core.arrange import keep_unseen  # noqa: PLC0415  see the module's docstring

            steps = keep_unseen(steps, self.dialect.shown_part(known))
        call = Call(tool.name, codec.dump(params)) if steps else None
        outcome = self._apply(steps, Actor.AGENT, call, seen_by=self.reader)
        done = CompletedCall(params, outcome, self.store.durable, elapsed_ms=self._now() - started, known=known)
        self._seen = self._writer.last_state.head, outcome.after
        # A change recorded it with the event.
        if not outcome.changed and self._seen[0] != known_head:
            self._writer.set_seen(self.reader, self._seen[0])
        return tool.reply(self._logged(done))

    @property
    def seen_head(self) -> str | None:
        """The head at which the model last saw the plan; None if it never saw it or its context was lost."""
        return self.store.seen(self.name, self.reader) if self.reader else self._seen[0]

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

    def change(
        self,
        steps: Iterable[Step] | Callable[[Plan], Sequence[Step]],
        actor: Actor = Actor.USER,
        rules: Rules | None = None,
        call: Call | None = None,
    ) -> Outcome:
        """Apply an edit by a person, a timer or an import, under `rules` or else the dialect's rules.

        Steps that depend on the plan are passed as a function of the plan, which may be called more than once. `call`
        is the call of a tool of the coding agent that this edit mirrors, if any.
        """
        return self._apply(steps if callable(steps) else tuple(steps), actor, call, rules)

    def turn_ended(self, turn: Turn = Turn()) -> Verdict:  # noqa: B008  frozen
        """Decide whether the agent continues, and record the nudge, or the bound that was reached."""
        turn = replace(turn, at=self._now())
        verdict = self._writer.record(Actor.TIMER, lambda state: self._verdict(state, turn), self._seen_by())
        if self.parent and isinstance(verdict.decision, GoOn):
            self.parent.count_subagent_nudge()
        return verdict

    def count_subagent_nudge(self) -> None:
        """Record that a subagent was told to continue, unless there is no plan, to which the agent could be held."""
        from tildone.loop.holding import subagent_nudge  # noqa: PLC0415  see the module's docstring

        self._writer.record(Actor.TIMER, lambda state: (None, subagent_nudge(state)), self._seen_by())

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
        self._writer.record(actor, lambda state: (None, fact_of_reset(state, by_person=by_person)))

    def let_go(self, bound: Bound, limit: int) -> None:
        """Record that the agent was ended at a bound, unless that is recorded already."""
        self._writer.record(Actor.TIMER, lambda state: (None, None if state.tripped else Tripped(bound, limit)))

    def context(self) -> str | None:
        """Return the text to add to the model's context at the start of its turn; None if there is none."""
        plan = self.held_state.plan
        return (text := self.dialect.context(plan)) and self._told(text, plan)

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
        """Move the head where `choose` says, given the current one. What the person wants of the agent stays."""
        from tildone.core.reduce import Outcome  # noqa: PLC0415  see the module's docstring
        from tildone.loop.changing import fact_after_move  # noqa: PLC0415  the same

        before, by_agent = self.state, self.author_of(Actor.USER).agent != ""
        self._writer.move(choose)
        self._writer.record(Actor.USER, lambda state: (None, fact_after_move(before, state, by_agent=by_agent)))
        return Outcome(before.plan, self.plan)

    def label(self, event_id: str, name: str) -> None:
        """Label an event; an empty name removes its label.

        Raises:
            UnknownEvent: there is no such event.
        """
        target = next(self.store.history(self.name, event_id)).id
        self._writer.record(Actor.USER, lambda _: (None, Labelled(target, name)))

    def _apply(
        self, steps: Steps, actor: Actor, call: Call | None, rules: Rules | None = None, seen_by: str = ""
    ) -> Outcome:
        """Apply steps to the plan. If that changes it, record the change, and that the reader `seen_by` has seen it."""
        from tildone.core.origins import Origin  # noqa: PLC0415  the same
        from tildone.core.reduce import Outcome  # noqa: PLC0415  see the module's docstring
        from tildone.loop.changing import change_plan  # noqa: PLC0415  the same

        if not steps:
            plan = self.plan
            return Outcome(plan, plan)

        def choose_fact(state: State) -> tuple[Outcome, Fact | None]:
            resolved = steps(state.plan) if callable(steps) else steps
            # An import by an agent's process restores a plan of the agent.
            by_user = actor is Actor.USER or (actor is Actor.IMPORT and not self.author_of(actor).agent)
            origin = Origin(by_user, self.source)
            return change_plan(state, resolved, rules or self.dialect.rules, call, origin, self.taken)

        return self._writer.record(actor, choose_fact, lambda _: seen_by)

    def _seen_by(self) -> Callable[[State], str]:
        """Return who has seen the plan after an event that leaves it as it is: a model that knew it before."""
        seen_head = self.seen_head
        return lambda state: self.reader if state.head == seen_head else ""

    def _held(self, state: State) -> State:
        taken = self.taken()
        if not taken and not self.parent:
            return state
        from tildone.loop.holding import with_counts_of, without_taken  # noqa: PLC0415  see the module's docstring

        held = without_taken(state, taken, sends_whole_list=any(tool.whole_list for tool in self.dialect.tools))
        return with_counts_of(held, self.parent.state) if self.parent else held

    def _verdict(self, state: State, turn: Turn) -> tuple[Verdict, Fact | None]:
        held = self._held(state)
        return judge(held, self.patience, turn, lambda: self._told(self.dialect.carry_on(held.plan), held.plan))

    def _told(self, text: str, plan: Plan) -> str:
        """Return a text about the plan that says which tasks came from elsewhere."""
        if not any(task.source for task in plan.tasks):
            return text
        from tildone.views.sources import with_sources  # noqa: PLC0415  see the module's docstring

        return with_sources(text, plan, self.source, numbered=self.dialect.numbered)

    def _logged(self, done: CompletedCall) -> CompletedCall:
        """Log the completion of the plan if the call completed it, and add the path of the log to the call."""
        entry = self.dialect.completion
        if self.completions is None or entry is None or not self.dialect.completes(done):
            return done
        return replace(done, saved_to=self.completions.add(lambda number, stamp: entry(done, number, stamp)))
