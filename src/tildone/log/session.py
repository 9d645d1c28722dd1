"""`Session`: applies tool calls, edits and ends of turns to a plan, and records them in its log (`SessionWriter`).

What only some of its methods need is imported there: most hooks open a session and change no plan.
"""

from __future__ import annotations

from itertools import islice

from tildone.base import TYPE_CHECKING, HeadMoved, Refused, StoreError, UnknownEvent, replace, value
from tildone.plan import codec
from tildone.plan.dialects import CompletedCall
from tildone.plan.events import (
    UNKNOWN,
    Actor,
    AgentUsage,
    Author,
    Call,
    Directive,
    DirectiveSet,
    Event,
    Labelled,
    Nudged,
    PlanChanged,
    SessionHead,
    State,
    Tripped,
    apply_event,
    head_after_redo,
    head_after_undo,
    latest_state,
)
from tildone.plan.gate import Asks, Decision, GiveUp, GoOn, Patience, Spent, Turn, Verdict, budget_reached, judge
from tildone.plan.model import (
    Plan,
    Proof,
    Rules,
    Status,
    completed_in,
    flat,
    has_checks,
    held_back,
    is_passed,
    next_task,
    with_status,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from tildone.log.claiming import ClaimedChange, Claims, Settle
    from tildone.log.store import Store
    from tildone.plan.changing import Prover
    from tildone.plan.dialects import Completions, Dialect, Reply, Tool
    from tildone.plan.events import AgentUsage, Bound, Fact
    from tildone.plan.faults import NotYours
    from tildone.plan.guard import ByModel
    from tildone.plan.ops import Origin
    from tildone.plan.reduce import Outcome, Step

    R = TypeVar("R")

    SeenBy = Callable[[State], str]

    Append = Callable[[str, Event, str], object]

    Steps = Sequence[Step] | Callable[[Plan], Sequence[Step]]


def with_spending(
    state: State, patience: Patience, turn: Turn, agent: str, used: AgentUsage, history: Callable[[], Iterable[Event]]
) -> Turn:
    """Return the facts about a turn with what was used by then, as far as it is known.

    The plan's budget is that of all its agents together: this one, whose usage is `used`, and the others. `history`
    returns the events of the state, the newest first.
    """
    from tildone.plan.history.usage import spent_on, used_by_others

    turn = replace(turn, cost=max(turn.cost, used.cost or 0), tokens=used.tokens or 0)
    if patience.has_plan_budget:
        others = used_by_others(history(), agent)
        turn = replace(turn, cost=turn.cost + (others.cost or 0), tokens=turn.tokens + (others.tokens or 0))
    upcoming = next_task(state.plan)
    if upcoming is None or upcoming[1].status is not Status.IN_PROGRESS or not patience.has_task_budget:
        return turn
    ms, usage = spent_on(upcoming[1].number, history(), agent, used if used.is_known else None, turn.at)
    return replace(turn, task=Spent(usage.cost or 0, usage.tokens or 0, ms))


MAX_OWN_EVENTS = 50
"""How many events are read to find out whether an agent is told of changes of its own."""


def _nobody(_state: State) -> str:
    return ""


class SessionWriter:
    """Reads and appends to the session `name`.

    Theory of operation. A session is a tree of events and a head, the event that the next one follows. Agents, their
    hooks and people at terminals write to one session at the same time, from several processes, and none of them holds
    a lock while it decides what to write. Instead, each event names its parent, and a store appends it only if that
    parent is still the head; otherwise it raises `HeadMoved`. The writer then reads the new state and decides again.

    Guaranteed: every event was decided on the state that its parent leads to, so no writer overwrites another's
    changes. Deciding changes nothing, so it can be repeated; checks that it runs are run once. A writer may lose the
    race repeatedly; each loss means that another writer succeeded, so the session as a whole always makes progress. The
    last state read is cached. It may be stale, which is harmless: an append on a stale state fails, and a decision to
    write nothing is confirmed against the store before it counts.

    `now` returns milliseconds since 1970, `new_id` an unused id, `author` the author of an event of an actor. `usage`
    returns what an agent has used so far, if that is known. `seen` is the head at which the model last saw the plan,
    with that plan, and `news` what it is told of the tasks of others after a change.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        now: Callable[[], int],
        new_id: Callable[[], str],
        author: Callable[[Actor], Author],
        usage: Callable[[str], AgentUsage | None] = lambda _agent: None,
    ) -> None:
        self.store = store
        self.name = name
        self._now = now
        self._new_id = new_id
        self._author = author
        self._usage = usage
        self.last_state = State()
        self.seen: tuple[str | None, Plan | None] = None, None
        self.news = ""

    @property
    def state(self) -> State:
        """The state at the session's head."""
        head = self.store.session_head(self.name).head
        if head != self.last_state.head:
            self.last_state = latest_state(self.store.history(self.name, head)) if head else State()
        return self.last_state

    def record(
        self,
        actor: Actor,
        decide: Callable[[State], tuple[R, Fact | None]],
        seen_by: SeenBy = _nobody,
        append: Append | None = None,
    ) -> R:
        """Append the fact that `decide` returns for the current state, if any. Return the other result of `decide`.

        `decide` is called again, with the new state, whenever another writer was faster. `seen_by` returns the
        reader that has seen the plan after the new event; it is empty if there is none. `append` appends an event in
        place of the store's own method.
        """
        state = self.last_state if self.last_state.head else self.state
        while True:
            result, fact = decide(state)
            if fact is None:
                if self.state is state:
                    return result
            elif self._append(state, actor, fact, seen_by(state), append or self.store.append):
                return result
            state = self.state

    def move(self, choose: Callable[[SessionHead], SessionHead]) -> None:
        """Move the head to the one that `choose` returns for the current head."""
        while True:
            current = self.store.session_head(self.name)
            try:
                self.store.move_head(self.name, choose(current), expected=current.head)
            except HeadMoved:
                continue
            return

    def retract(self, kind: type[Fact]) -> bool:
        """Move the head before the newest event if it records such a fact; return whether it does."""
        newest = next(self.store.history(self.name), None)
        if newest is None or not isinstance(newest.fact, kind):
            return False

        def choose(current: SessionHead) -> SessionHead:
            return SessionHead(newest.parent, current.redo) if current.head == newest.id else current

        self.move(choose)
        return True

    def undoing(self, changes: int) -> Callable[[SessionHead], SessionHead]:
        """Return the choice of the head before the newest `changes` changes of the plan, for `move`.

        It raises Refused if this branch has fewer changes.
        """

        def choose(current: SessionHead) -> SessionHead:
            newest_first = self.store.history(self.name, current.head) if current.head is not None else ()
            return head_after_undo(current, newest_first, changes)

        return choose

    def redoing(self, changes: int) -> Callable[[SessionHead], SessionHead]:
        """Return the choice of the head after the next `changes` changes that were undone, for `move`.

        It raises Refused if fewer were undone.
        """
        return lambda current: head_after_redo(current, changes)

    def set_seen(self, reader: str, head: str | None) -> None:
        """Record the head that a reader has seen; without a name, nothing is recorded.

        Failure is harmless: the reader is told of the same changes once more.
        """
        if reader:
            try:
                self.store.records.set_seen(self.name, reader, head)
            except StoreError:
                return

    def _append(self, state: State, actor: Actor, fact: Fact, seen_by: str, append: Append) -> bool:
        """Append a fact to the head of `state`. Return False if the head has moved since `state` was read.

        Only a change of the plan clears the redo stack.
        """
        before = SessionHead() if isinstance(fact, PlanChanged) else self.store.session_head(self.name)
        author = self._author(actor)
        usage = self._usage(author.agent) if author.agent else None
        event = Event(self._new_id(), state.head, self._now(), actor, fact, author, usage)
        try:
            append(self.name, event, seen_by)
        except HeadMoved:
            return False
        self.last_state = apply_event(state, event)
        if before.redo and before.head == state.head:
            self._restore_redo(replace(before, head=event.id))
        return True

    def _restore_redo(self, to: SessionHead) -> None:
        """Restore the redo stack, which `append` cleared, unless another writer has moved the head since."""
        try:
            self.store.move_head(self.name, to, expected=to.head)
        except HeadMoved:
            return


@value
class SessionParts:
    """What a session works with besides its store and its dialect; by default, nothing.

    `taken` returns the numbers of the tasks that other agents work on: the agent neither does them nor waits for them.
    `prover` returns what runs the checks of tasks; it is called only if the plan has checks. Without one, a task with a
    check is not completed here. `claims` returns what an agent needs to claim what it starts; without, it claims
    nothing. `usage` returns what the agent with an id has used so far, if that is known, which is recorded with its
    events. `files` returns a fingerprint of the agent's files, if it is known. `source` is that of new tasks, in a
    store that others use, too. A subagent's session has a `parent`, with which it shares the bounds since a person last
    spoke. `own` returns the names of the conversation to whose tasks the agent is held, and None if it is held to the
    whole plan. With `in_order`, an agent begins nothing behind a blocked task of the same phase. `completed` is called
    with the event by which tasks were done, before whoever did them goes on.
    """

    taken: Callable[[], frozenset[int]] = frozenset
    prover: Callable[[], Prover] | None = None
    claims: Callable[[], Claims] | None = None
    usage: Callable[[str], AgentUsage | None] = lambda _agent: None
    files: Callable[[], str] = str
    source: str = ""
    parent: Session | None = None
    own: Callable[[], frozenset[str] | None] = lambda: None
    in_order: bool = False
    completed: Callable[[str], object] | None = None


class Session:
    """One agent's plan and its history, in one dialect. Other processes may use the same session at the same time.

    `author` returns the author of an event of an actor. It is called only when an event is written. `reader` is the
    name under which the store records which head the model has seen; if it is empty, only this object remembers it.
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
        parts: SessionParts = SessionParts(),  # noqa: B008  frozen
    ) -> None:
        self._writer = SessionWriter(store, name, now, new_id, author, parts.usage)
        self._now = now
        self.store = store
        self.name = name
        self.dialect = dialect
        self.patience = patience
        self.completions = completions
        self.author_of = author
        self.reader = reader
        self.parts = parts

    def using(
        self,
        *,
        dialect: Dialect | None = None,
        patience: Patience | None = None,
        completions: Completions | None = None,
        reader: str | None = None,
        parts: SessionParts | None = None,
    ) -> Session:
        """Return the same session with other parts, except for `usage`. Both share what was read and what was seen."""
        other = object.__new__(Session)
        changed: dict[str, object] = {"dialect": dialect, "patience": patience, "completions": completions}
        changed |= {"reader": reader, "parts": parts}
        vars(other).update(vars(self) | {name: part for name, part in changed.items() if part is not None})
        return other

    @property
    def news_of_claims(self) -> str:
        """What the agent is told after a change of the tasks that other agents have."""
        return self._writer.news

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
        return self.store.records.seen(self.name, self.reader) if self.reader else self._writer.seen[0]

    def set_seen_head(self, head: str | None) -> None:
        """Record that the model last saw the plan at `head`; None means that it knows nothing of the plan."""
        if head != self.seen_head:
            self._writer.seen = head, self.plan_at(head)
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
        from tildone.plan.changing import stale_numbers

        return stale_numbers(self.state.plan, self.parts.prover)

    @property
    def held_up(self) -> str:
        """Which task with a check an agent has set aside, as a person is told of it; empty if none."""
        plan = self.state.plan
        if not has_checks(plan):
            return ""
        from tildone.plan.history.stats import describe_held_up, held_up_by_agents

        return describe_held_up(held_up_by_agents(plan, lambda: self.store.history(self.name)))

    @property
    def unapproved(self) -> tuple[int, ...]:
        """The numbers of the open tasks whose checks a person has to approve; 0 if it is that of the plan."""
        plan = self.state.plan
        if not has_checks(plan) or self.parts.prover is None:
            return ()
        checks = {task.number: task.check for task in plan.tasks if task.check and task.status.is_open}
        if plan.check and not is_passed(plan.check, plan.proof):
            checks[0] = plan.check
        is_allowed = self.parts.prover().is_allowed
        return tuple(number for number, check in checks.items() if not is_allowed(check))

    @property
    def held_state(self) -> State:
        """The state with the plan that the agent is held to: tasks that are `taken` by other agents count as closed."""
        return self._held(self.state)

    @property
    def left(self) -> Plan:
        """The open tasks that agents of other conversations left, to which this agent is not held."""
        plan = self.state.plan
        left = self.left_in(plan)
        return flat(*(task for task in plan.tasks if task.number in left and task.status.is_open))

    def call(self, tool_name: str, arguments: str | Mapping[str, Any]) -> Reply:
        """Execute a model's tool call. An invalid call gets an error reply and changes nothing."""
        from tildone.plan.dialects.arguments import read_arguments, unknown_tool

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
        known = self._writer.seen[1] if known_head == self._writer.seen[0] else self.plan_at(known_head)
        steps = tool.steps(params)
        if tool.whole_list and callable(steps):
            steps = self._keeping_unseen(steps, known)
        call = Call(tool.name, codec.dump(params)) if steps else None
        outcome = self._apply(steps, Actor.AGENT, call, seen_by=self.reader, known=known, is_list=tool.whole_list)
        if known_head is not None and known != outcome.before and self._is_own_since(known_head):
            # The results of calls at the same time tell the model what they changed.
            known = outcome.before
        elapsed, left = self._now() - started, self.left_in(outcome.after)
        done = CompletedCall(params, outcome, self.store.durable, elapsed_ms=elapsed, known=known, left=left)
        self._writer.seen = self._writer.last_state.head, outcome.after
        # A change recorded it with the event.
        if not outcome.changed and self._writer.seen[0] != known_head:
            self._writer.set_seen(self.reader, self._writer.seen[0])
        return self._with_results(tool.reply(self._logged(done)), outcome)

    def change(
        self,
        steps: Iterable[Step] | Callable[[Plan], Sequence[Step]],
        actor: Actor = Actor.USER,
        rules: Rules | None = None,
        call: Call | None = None,
        proofs: Mapping[int, Proof] | None = None,
    ) -> Outcome:
        """Apply an edit by a person, a timer or an import, under `rules` or else the dialect's rules.

        Steps that depend on the plan are passed as a function of the plan, which may be called more than once. `call`
        is the call of a tool of the coding agent that this edit mirrors, if any. `proofs` are the results of the checks
        that were run for it, by task number; without them, the checks that it needs are run.
        """
        return self._apply(steps if callable(steps) else tuple(steps), actor, call, rules, proofs=proofs)

    def record_proofs(self, proofs: Mapping[int, Proof], actor: Actor = Actor.USER) -> Outcome:
        """Record the results of checks that were run, by task number; 0 stands for the plan itself."""
        return self._apply(lambda _: (), actor, None, proofs=proofs)

    def decide(self, turn: Turn) -> Decision:
        """Return what `turn_ended` would decide now; nothing is recorded."""
        return self._verdict(self.state, replace(turn, at=self._now()))[0].decision

    def turn_ended(
        self,
        turn: Turn = Turn(),  # noqa: B008  frozen
        complete: Callable[[Turn], Turn] = lambda turn: turn,
    ) -> Verdict:
        """Decide whether the agent continues, and record the nudge, or the bound that was reached.

        `complete` returns the turn with the facts that take long to find. It is called once, if the decision depends on
        them.
        """
        turn, completed = replace(turn, at=self._now()), list[Turn]()

        def complete_once(turn: Turn) -> Turn:
            completed[:] = completed or [complete(turn)]
            return completed[0]

        verdict = self._writer.record(
            Actor.TIMER, lambda state: self._verdict(state, turn, complete_once), self._seen_by()
        )
        if self.parts.parent and isinstance(verdict.decision, GoOn):
            self.parts.parent.count_subagent_nudge()
        return verdict

    def budget_reached(self) -> GiveUp | None:
        """Return the budget that the agent has used up before its turn has ended; None if it may go on."""
        state = self.state
        if not self.patience.has_budget or next_task(state.plan) is None:
            return None
        return budget_reached(self.patience, self._with_spending(state, Turn(at=self._now())))

    def context(self) -> str | None:
        """Return the text to add to the model's context at the start of its turn; None if there is none."""
        state = self.state
        plan = self._held(state).plan
        return (text := self.dialect.context(plan)) and self._told(text, plan, state.plan)

    def model_of(self, actor: Actor) -> ByModel | None:
        """Return what keeps a model from taking checks away that a person asked for; None if a person acts.

        What is typed in the shell of an agent is the doing of its model. A timer acts for an agent.
        """
        if actor in (Actor.USER, Actor.IMPORT) and not self.author_of(Actor.USER).agent:
            return None
        from tildone.plan.guard import ByModel

        prover = self.parts.prover
        return ByModel(lambda check: prover is not None and prover().is_allowed(check), lambda: self.stale)

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
        from tildone.plan.holding import fact_of_reset

        actor = Actor.USER if by_person else Actor.TIMER

        def choose_fact(state: State) -> tuple[None, Fact | None]:
            return None, fact_of_reset(state, by_person=by_person, always=self._restarts_budget(state))

        self._writer.record(actor, choose_fact)

    def let_go(self, bound: Bound, limit: float) -> None:
        """Record that the agent was ended at a bound, unless that is recorded already."""
        self._writer.record(Actor.TIMER, lambda state: (None, None if state.tripped else Tripped(bound, limit)))

    def checkout(self, event_id: str | None) -> Plan:
        """Move the head to another event, or before the first one if None. Return the plan there.

        Raises UnknownEvent if there is no such event.
        """
        return self.move(lambda _: SessionHead(event_id)).after

    def undo(self, changes: int = 1) -> Outcome:
        """Move the head before the newest `changes` changes of the plan.

        Raises Refused if this branch has fewer changes; nothing is undone.
        """
        return self.move(self._writer.undoing(changes))

    def redo(self, changes: int = 1) -> Outcome:
        """Redo the next `changes` changes that were undone.

        Raises Refused if fewer changes were undone since the plan last changed; nothing is redone.
        """
        return self.move(self._writer.redoing(changes))

    def move(self, choose: Callable[[SessionHead], SessionHead]) -> Outcome:
        """Move the head where `choose` says, given the current one. What the person wants of the agent stays.

        Raises Refused if a model would take a check away that a person asked for; nothing is moved.
        """
        from tildone.plan.changing import fact_after_move
        from tildone.plan.reduce import Outcome

        before, model = self.state, self.model_of(Actor.USER)
        by_agent = model is not None
        self._writer.move(choose if model is None else lambda current: self._without_shedding(choose(current), model))
        self._writer.record(Actor.USER, lambda state: (None, fact_after_move(before, state, by_agent=by_agent)))
        return Outcome(before.plan, self.plan)

    def begin_with(self, plan: Plan, directive: Directive, label: str) -> None:
        """Begin the session with a plan from elsewhere, as it is, under a label. One that has begun stays."""
        begun, fact = self.state.head, PlanChanged(plan, directive=directive)
        if begun is None:
            self._writer.record(Actor.IMPORT, lambda state: (None, None if state.head else fact))
            self.label(self.last_state.head or "", label, Actor.IMPORT)

    def label(self, event_id: str, name: str, actor: Actor = Actor.USER) -> None:
        """Label an event; an empty name removes its label. Raises UnknownEvent if there is no such event."""
        target = next(self.store.history(self.name, event_id)).id
        self._writer.record(actor, lambda _: (None, Labelled(target, name)))

    def renew_claims(self, agent: str) -> None:
        """Renew the claims of an agent that is at work, if it is time. Failure is harmless: they lapse later."""
        if self.parts.claims is not None and agent:
            self.parts.claims().renew(self.store, self.name, agent)

    def release_claims(self, agent: str) -> None:
        """Give back the tasks of an agent that has ended. Failure is harmless: its claims lapse."""
        if self.parts.claims is not None and agent:
            self.parts.claims().release(self.store, self.name, agent)

    def count_subagent_nudge(self) -> None:
        """Record that a subagent was told to go on, unless there is no plan, to which the agent could be held."""
        from tildone.plan.holding import subagent_nudge

        self._writer.record(Actor.TIMER, lambda state: (None, subagent_nudge(state)), self._seen_by())

    def _apply(  # noqa: PLR0913, PLR0917  of callers in this class only
        self,
        steps: Steps,
        actor: Actor,
        call: Call | None,
        rules: Rules | None = None,
        seen_by: str = "",
        proofs: Mapping[int, Proof] | None = None,
        known: Plan | None = None,
        *,
        is_list: bool | None = None,
    ) -> Outcome:
        """Apply steps to the plan. If that changes it, record the change, and that the reader `seen_by` has seen it.

        `known` is the plan that the model knows, if it called a tool. A model keeps a list as a whole (`is_list`) with
        some tools of ours, and always with that of its coding agent.
        """
        from tildone.plan.changing import change_plan
        from tildone.plan.guard import sets_checks
        from tildone.plan.reduce import Outcome

        self._writer.news = ""
        if not steps:
            plan = self.plan
            return Outcome(plan, plan)

        def change(
            state: State, proofs: Mapping[int, Proof], settle: Settle = lambda _, after: after
        ) -> tuple[Outcome, Fact | None]:
            resolved = steps(state.plan) if callable(steps) else steps
            used, origin = self._limited(rules or self.dialect.rules, actor, state.plan), lambda: self._origin(actor)
            model = self.model_of(actor) if has_checks(state.plan) or any(map(sets_checks, resolved)) else None
            taken, left = self.parts.taken, self.left_in
            order = self._order_kept(used) if self._keeps_order(actor) else None
            return change_plan(state, resolved, used, call, origin, taken, proofs, settle, model, left, order)

        claimed = self._claimed_change(actor, known, rules, is_list=is_list)
        refused = claimed is not None and claimed.look(lambda: self.plan, steps)
        proofs_in = self._proofs_in(change, actor, {} if refused else proofs)
        if claimed is None:
            outcome = self._writer.record(actor, lambda state: change(state, proofs_in(state)), lambda _: seen_by)
            self._tell_completed(outcome)
            return outcome
        if not refused:
            claimed.start_again(lambda: self.plan, steps)

        def write(settle: Settle, append: Callable[[str, Event, str], object]) -> Outcome:
            return self._writer.record(
                actor, lambda state: change(state, proofs_in(state), settle), lambda _: seen_by, append
            )

        outcome, lines = claimed.told(claimed.record(write), with_numbers=self.dialect.numbered)
        self._writer.news = "\n".join(lines)
        self._tell_completed(outcome)
        return outcome

    def _tell_completed(self, outcome: Outcome) -> None:
        completed, head = self.parts.completed, self._writer.last_state.head
        if completed is not None and head and completed_in(outcome.after) - completed_in(outcome.before):
            completed(head)

    def _keeps_order(self, actor: Actor) -> bool:
        """Return whether what waits for a person holds what comes after it, also against this actor."""
        return self.parts.in_order and not self._origin(actor).by_user

    def _order_kept(self, rules: Rules) -> Callable[[Plan, Plan], tuple[Plan, tuple[NotYours, ...]]]:
        from tildone.plan.holding import in_order

        return lambda before, after: in_order(before, after, atomic=rules.atomic, with_numbers=self.dialect.numbered)

    def _limited(self, rules: Rules, actor: Actor, plan: Plan) -> Rules:
        """Return the rules without counting tasks that a person added, if an agent adds some: it plans its own work."""
        theirs = sum(task.from_user for task in plan.tasks)
        if rules.max_tasks is None or not theirs or self._origin(actor).by_user:
            return rules
        return replace(rules, max_tasks=rules.max_tasks + theirs)

    def _origin(self, actor: Actor) -> Origin:
        """Return where the tasks that an actor adds come from."""
        from tildone.plan.ops import Origin

        # What is typed in the shell of an agent is the agent's doing; an import by its process restores its plan.
        by_user = actor in (Actor.USER, Actor.IMPORT) and not self.author_of(actor).agent
        return Origin(by_user, self.parts.source, self.author_of(actor).agent)

    def _claimed_change(
        self, actor: Actor, known: Plan | None, rules: Rules | None, *, is_list: bool | None
    ) -> ClaimedChange | None:
        """Return a change that claims tasks for the agent that makes it; None if it is not an agent's."""
        claims = self.parts.claims if actor in (Actor.AGENT, Actor.USER) else None
        agent = self.author_of(actor).agent if claims is not None else ""
        if claims is None or not agent:
            return None
        from tildone.log.claiming import ClaimedChange

        by_call = actor is Actor.AGENT
        return ClaimedChange(
            self.store,
            self.name,
            agent,
            claims(),
            self.parts.taken,
            known,
            # A change under other rules than the dialect's follows the list of the coding agent.
            is_list=by_call and rules is not None if is_list is None else is_list,
            atomic=self.dialect.rules.atomic or not by_call,
        )

    def _proofs_in(
        self,
        change: Callable[[State, Mapping[int, Proof]], tuple[Outcome, Fact | None]],
        actor: Actor,
        given: Mapping[int, Proof] | None,
    ) -> Callable[[State], Mapping[int, Proof]]:
        """Return what returns the proofs for a change in a state: those `given`, else those of the checks that it runs.

        If the plan is known to have checks, they are run now: on its newest state, and before anything is claimed.
        """
        if given is not None or self.parts.prover is None or actor is Actor.IMPORT:
            return lambda _: given or {}
        from tildone.plan.changing import CheckRuns

        whole_list = actor is Actor.AGENT and any(tool.whole_list for tool in self.dialect.tools)
        runs = CheckRuns(change, self.parts.prover, whole_list=whole_list)
        known = self._writer.last_state if self._writer.last_state.head else self.state
        if has_checks(known.plan):
            runs.proofs_in(self.state)
        return runs.proofs_in

    def _held(self, state: State) -> State:
        if has_checks(state.plan):
            from tildone.plan.changing import held_to_proofs, stale_numbers

            state = held_to_proofs(state, stale_numbers(state.plan, self.parts.prover))
        taken, left = self.parts.taken(), self.left_in(state.plan)
        if self.parts.in_order:
            left |= held_back(state.plan)
        if not taken and not left and not self.parts.parent:
            return state
        from tildone.plan.dialects import names_by_position
        from tildone.plan.holding import with_counts_of, without_left, without_taken

        held = without_taken(state, taken, sends_whole_list=any(tool.whole_list for tool in self.dialect.tools))
        held = without_left(held, left - taken, keeps_positions=names_by_position(self.dialect.name))
        return with_counts_of(held, self.parts.parent.state) if self.parts.parent else held

    def _keeping_unseen(
        self, steps: Callable[[Plan], Sequence[Step]], known: Plan | None
    ) -> Callable[[Plan], Sequence[Step]]:
        """Return the steps of a tool that replaces the plan, without loss of tasks that its model was not told of."""
        from tildone.plan.holding import without_tasks
        from tildone.plan.rare_steps import keep_unseen

        plan = self.plan if known is None else known
        left = self.left_in(plan)
        if known is None and not left:
            return steps
        keep = keep_unseen(steps, without_tasks(self.dialect.shown_part(plan), left))

        # A list may have one task in progress, and nobody works on those that were left.
        def rested(plan: Plan) -> Plan:
            active = {task.number for task in plan.tasks if task.status is Status.IN_PROGRESS}
            return with_status(plan, left & active, Status.PENDING)

        return lambda plan: keep(rested(plan))

    def left_in(self, plan: Plan) -> frozenset[int]:
        """Return the numbers of the tasks that agents of other conversations left."""
        owners = {task.owner for task in plan.tasks} - {""}
        own = self.parts.own() if owners else None
        if own is None or owners <= own:
            return frozenset()
        from tildone.plan.holding import left_over

        return left_over(plan, own)

    def _verdict(
        self, state: State, turn: Turn, complete: Callable[[Turn], Turn] = lambda turn: turn
    ) -> tuple[Verdict, Fact | None]:
        held = self._held(state)
        return judge(
            held,
            self.patience,
            turn,
            lambda: self._told(self._go_on(held.plan, turn), held.plan, state.plan),
            lambda turn: self._with_spending(held, complete(turn)),
        )

    def _go_on(self, plan: Plan, turn: Turn) -> str:
        """Return the prompt that continues the model, and how it says that it waits, if that is in doubt."""
        prompt = self.dialect.carry_on(plan)
        return f"{prompt}\n{self.dialect.if_waiting}" if turn.asked is Asks.DOUBT else prompt

    def _with_spending(self, state: State, turn: Turn) -> Turn:
        if not self.patience.has_budget:
            return turn
        agent = self.author_of(Actor.AGENT).agent
        used = (self.parts.usage(agent) if agent else None) or UNKNOWN
        return with_spending(state, self.patience, turn, agent, used, lambda: self.store.history(self.name, state.head))

    def _restarts_budget(self, state: State) -> bool:
        running = any(task.status is Status.IN_PROGRESS for task in state.plan.tasks)
        return running and self.patience.has_task_budget

    def _told(self, text: str, plan: Plan, recorded: Plan) -> str:
        """Return a text about the plan that says which proofs are missing and which tasks came from elsewhere."""
        if has_checks(recorded) or any(task.after for task in recorded.tasks):
            from tildone.plan.text.proofs import with_unproved

            text = with_unproved(text, plan, recorded, numbered=self.dialect.numbered)
        if not any(task.source for task in plan.tasks):
            return text
        from tildone.plan.text.faults import with_sources

        return with_sources(text, plan, self.parts.source, numbered=self.dialect.numbered)

    def _is_own_since(self, head: str) -> bool:
        """Return whether the agent that calls made all changes of the plan after an event, as far as they are read."""
        own = self.author_of(Actor.AGENT).agent
        for event in islice(self.store.history(self.name), MAX_OWN_EVENTS):
            if event.id == head:
                return own != ""
            if isinstance(event.fact, PlanChanged) and event.author.agent != own:
                return False
        return False

    def _with_results(self, reply: Reply, outcome: Outcome) -> Reply:
        """Return the reply with the results of the checks that did not pass, and news of the tasks of other agents."""
        news = f"\n{self._writer.news}" if self._writer.news else ""
        reply = replace(reply, text=f"{reply.text}{news}", outcome=outcome)
        if not has_checks(outcome.after):
            return reply
        from tildone.plan.text.proofs import results

        refusals = tuple(results(outcome, numbered=self.dialect.numbered))
        told = () if self.dialect.tells_results else refusals
        return replace(reply, text="\n".join([reply.text, *told, *self._proposed(outcome)]), refusals=refusals)

    def _proposed(self, outcome: Outcome) -> list[str]:
        """Say which checks that a change has set have to be approved."""
        before = {task.number: task.check for task in outcome.before.tasks}
        tasks = [task for task in outcome.after.tasks if task.check and task.check != before.get(task.number)]
        if not tasks or self.parts.prover is None:
            return []
        from tildone.plan.text.proofs import proposed_line

        prover = self.parts.prover()
        proposed = [task for task in tasks if task.check and not prover.is_allowed(task.check)]
        return [proposed_line(proposed, numbered=self.dialect.numbered)] if proposed else []

    def _logged(self, done: CompletedCall) -> CompletedCall:
        """Log the completion of the plan if the call completed it, and add the path of the log to the call."""
        entry = self.dialect.completion
        if self.completions is None or entry is None or not self.dialect.completes(done):
            return done
        return replace(done, saved_to=self.completions.add(lambda number, stamp: entry(done, number, stamp)))

    def _without_shedding(self, to: SessionHead, model: ByModel) -> SessionHead:
        """Return the head to which a model may move."""
        plan, there = self.plan, self.plan_at(to.head) or Plan()
        if not has_checks(plan):
            return to
        from tildone.plan.rare_steps import shed
        from tildone.plan.text.faults import describe_fault

        faults = shed(plan, there, model)
        if faults:
            raise Refused("; ".join(map(describe_fault, faults)))
        return to

    def _seen_by(self) -> Callable[[State], str]:
        """Return who has seen the plan after an event that leaves it as it is: a model that knew it before."""
        seen_head = self.seen_head
        return lambda state: self.reader if state.head == seen_head else ""
