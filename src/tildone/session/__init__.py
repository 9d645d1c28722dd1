"""`Session`: applies tool calls, edits and ends of turns to a plan, and records them in its log.

What only some of its methods need is imported there: most hooks open a session and change no plan.
"""

from __future__ import annotations

from tildone.core.plan import Plan, Status
from tildone.core.query import has_checks, next_task
from tildone.dialects.base import CompletedCall
from tildone.log import codec
from tildone.log.events import Actor, Author, Call
from tildone.log.writer import SessionWriter
from tildone.loop.decision import GoOn, Patience, Turn, Verdict, budget_reached, judge
from tildone.session.log import SessionLog
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from tildone.core.check import Proof
    from tildone.core.origins import Origin
    from tildone.core.reduce import Outcome, Step
    from tildone.core.rules import Rules
    from tildone.dialects.base import Completions, Dialect, Reply, Tool
    from tildone.log.events import Event, Fact
    from tildone.log.state import State
    from tildone.log.store import Store
    from tildone.loop.decision import Decision, GiveUp
    from tildone.session.claiming import ClaimedChange, Settle

    Steps = Sequence[Step] | Callable[[Plan], Sequence[Step]]


class Session(SessionLog):
    """One agent's plan and its history, in one dialect. Other processes may use the same session at the same time.

    `author` returns the author of an event of an actor. It is called only when an event is written. `reader` is the
    name under which the store records which head the model has seen; if it is empty, only this object remembers it.
    `taken` returns the numbers of the tasks that other agents work on: the agent neither does them nor waits for them.
    A subagent's session has a `parent`, with which it shares the bounds since a person last spoke. `files` returns a
    fingerprint of the agent's files, if it is known. `source` is that of new tasks, in a store that others use, too.
    `prover` returns what runs the checks of tasks; it is called only if the plan has checks. Without one, a task with a
    check is not completed here. `usage` returns what an agent has used so far, which is recorded with its events. With
    `claims`, an agent claims what it starts, and `news_of_claims` is what it is told after a change of the tasks that
    other agents have; without, it claims nothing.
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
        super().__init__(SessionWriter(store, name, now, new_id, author), author, reader)
        self.dialect = dialect
        self.patience = patience
        self.completions = completions
        self._now = now
        self.taken: Callable[[], frozenset[int]] = frozenset
        self.source = ""
        self.parent: Session | None = None
        self.files: Callable[[], str] = str
        self.news_of_claims = ""

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
        outcome = self._apply(steps, Actor.AGENT, call, seen_by=self.reader, known=known)
        done = CompletedCall(params, outcome, self.store.durable, elapsed_ms=self._now() - started, known=known)
        self._seen = self._writer.last_state.head, outcome.after
        # A change recorded it with the event.
        if not outcome.changed and self._seen[0] != known_head:
            self._writer.set_seen(self.reader, self._seen[0])
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

    def turn_ended(self, turn: Turn = Turn()) -> Verdict:  # noqa: B008  frozen
        """Decide whether the agent continues, and record the nudge, or the bound that was reached."""
        turn = replace(turn, at=self._now())
        verdict = self._writer.record(Actor.TIMER, lambda state: self._verdict(state, turn), self._seen_by())
        if self.parent and isinstance(verdict.decision, GoOn):
            self.parent.count_subagent_nudge()
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

    def _apply(  # noqa: PLR0913, PLR0917  of callers in this class only
        self,
        steps: Steps,
        actor: Actor,
        call: Call | None,
        rules: Rules | None = None,
        seen_by: str = "",
        proofs: Mapping[int, Proof] | None = None,
        known: Plan | None = None,
    ) -> Outcome:
        """Apply steps to the plan. If that changes it, record the change, and that the reader `seen_by` has seen it.

        `known` is the plan that the model knows, if it called a tool: it gets the next task in place of one that it
        cannot have.
        """
        from tildone.core.guard import sets_checks  # noqa: PLC0415  the same
        from tildone.core.reduce import Outcome  # noqa: PLC0415  see the module's docstring
        from tildone.loop.changing import change_plan  # noqa: PLC0415  the same

        self.news_of_claims = ""
        if not steps:
            plan = self.plan
            return Outcome(plan, plan)

        def change(
            state: State, proofs: Mapping[int, Proof], settle: Settle = lambda _, after: after
        ) -> tuple[Outcome, Fact | None]:
            resolved = steps(state.plan) if callable(steps) else steps
            used, origin = rules or self.dialect.rules, self._origin(actor)
            model = self.model_of(actor) if has_checks(state.plan) or any(map(sets_checks, resolved)) else None
            return change_plan(state, resolved, used, call, origin, self.taken, proofs, settle, model)

        if proofs is None:
            proofs = {} if actor is Actor.IMPORT else self._proofs(change, actor)
        run = proofs
        claimed = self._claimed_change(actor, known)
        if claimed is None:
            return self._writer.record(actor, lambda state: change(state, run), lambda _: seen_by)
        claimed.start_again(lambda: self.plan, steps)

        def write(settle: Settle, append: Callable[[str, Event, str], object]) -> Outcome:
            return self._writer.record(actor, lambda state: change(state, run, settle), lambda _: seen_by, append)

        return self._claimed(claimed, write, offers=call is not None and actor is Actor.AGENT and rules is None)

    def _origin(self, actor: Actor) -> Origin:
        """Return where the tasks that an actor adds come from."""
        from tildone.core.origins import Origin  # noqa: PLC0415  see the module's docstring

        # What is typed in the shell of an agent is the agent's doing; an import by its process restores its plan.
        by_user = actor in (Actor.USER, Actor.IMPORT) and not self.author_of(actor).agent
        return Origin(by_user, self.source)

    def _claimed_change(self, actor: Actor, known: Plan | None) -> ClaimedChange | None:
        """Return a change that claims tasks for the agent that makes it; None if it is not an agent's."""
        claims = self.claims if actor in (Actor.AGENT, Actor.USER) else None
        agent = self.author_of(actor).agent if claims is not None else ""
        if claims is None or not agent:
            return None
        from tildone.session.claiming import ClaimedChange  # noqa: PLC0415  see the module's docstring

        return ClaimedChange(self.store, self.name, agent, claims(), self.taken, known)

    def _claimed(self, claimed: ClaimedChange, write: Callable[..., Outcome], *, offers: bool) -> Outcome:
        """Make a change of an agent that claims tasks, and note what it is told of those of others."""
        outcome = claimed.record(write, offers=offers)
        self.news_of_claims = "\n".join(claimed.lines(outcome.after, with_numbers=self.dialect.numbered))
        return outcome

    def _proofs(
        self, change: Callable[[State, Mapping[int, Proof]], tuple[Outcome, Fact | None]], actor: Actor
    ) -> Mapping[int, Proof]:
        """Run the checks of the tasks that a change completes, before it is made."""
        if self.prover is None:
            return {}
        state = self._writer.last_state if self._writer.last_state.head else self.state
        if not has_checks(state.plan):
            return {}
        from tildone.loop.proving import proofs_for  # noqa: PLC0415  see the module's docstring

        whole_list = actor is Actor.AGENT and any(tool.whole_list for tool in self.dialect.tools)
        return proofs_for(self.state, change, self.prover(), whole_list=whole_list)

    def _held(self, state: State) -> State:
        if has_checks(state.plan):
            from tildone.loop.proving import held_to_proofs, stale_numbers  # noqa: PLC0415  see the module's docstring

            state = held_to_proofs(state, stale_numbers(state.plan, self.prover))
        taken = self.taken()
        if not taken and not self.parent:
            return state
        from tildone.loop.holding import with_counts_of, without_taken  # noqa: PLC0415  see the module's docstring

        held = without_taken(state, taken, sends_whole_list=any(tool.whole_list for tool in self.dialect.tools))
        return with_counts_of(held, self.parent.state) if self.parent else held

    def _verdict(self, state: State, turn: Turn) -> tuple[Verdict, Fact | None]:
        held = self._held(state)
        turn = self._with_spending(held, turn)
        return judge(
            held, self.patience, turn, lambda: self._told(self.dialect.carry_on(held.plan), held.plan, state.plan)
        )

    def _with_spending(self, state: State, turn: Turn) -> Turn:
        if not self.patience.has_budget:
            return turn
        from tildone.log.usage import UNKNOWN  # noqa: PLC0415  see the module's docstring
        from tildone.session.spending import with_spending  # noqa: PLC0415  see the module's docstring

        agent = self.author_of(Actor.AGENT).agent
        used = (self.usage(agent) if agent else None) or UNKNOWN
        return with_spending(state, self.patience, turn, agent, used, lambda: self.store.history(self.name, state.head))

    def _restarts_budget(self, state: State) -> bool:
        running = any(task.status is Status.IN_PROGRESS for task in state.plan.tasks)
        return running and self.patience.has_task_budget

    def _told(self, text: str, plan: Plan, recorded: Plan) -> str:
        """Return a text about the plan that says which proofs are missing and which tasks came from elsewhere."""
        if has_checks(recorded) or any(task.after for task in recorded.tasks):
            from tildone.views.proofs import with_unproved  # noqa: PLC0415  see the module's docstring

            text = with_unproved(text, plan, recorded, numbered=self.dialect.numbered)
        if not any(task.source for task in plan.tasks):
            return text
        from tildone.views.sources import with_sources  # noqa: PLC0415  see the module's docstring

        return with_sources(text, plan, self.source, numbered=self.dialect.numbered)

    def _with_results(self, reply: Reply, outcome: Outcome) -> Reply:
        """Return the reply with the results of the checks that did not pass, and news of the tasks of other agents."""
        if self.news_of_claims:
            reply = replace(reply, text=f"{reply.text}\n{self.news_of_claims}")
        if not has_checks(outcome.after):
            return reply
        from tildone.views.proofs import results  # noqa: PLC0415  see the module's docstring

        refusals = tuple(results(outcome, numbered=self.dialect.numbered))
        told = () if self.dialect.tells_results else refusals
        return replace(reply, text="\n".join([reply.text, *told]), refusals=refusals)

    def _logged(self, done: CompletedCall) -> CompletedCall:
        """Log the completion of the plan if the call completed it, and add the path of the log to the call."""
        entry = self.dialect.completion
        if self.completions is None or entry is None or not self.dialect.completes(done):
            return done
        return replace(done, saved_to=self.completions.add(lambda number, stamp: entry(done, number, stamp)))
