"""The one road from a request to the log: every tool call, every person's edit, every end of a turn."""

from itertools import islice

from tildone.core.reduce import Outcome, Step, reduce
from tildone.dialects.base import Done, Reply
from tildone.errors import HeadMoved, Refused
from tildone.kit.schema import Problem, fitted, problems
from tildone.log import codec
from tildone.log.events import Actor, Call, Event, Labelled, Nudged, PlanChanged, Tripped
from tildone.log.state import State, advance, recall
from tildone.log.tree import Place
from tildone.loop.machine import Decision, GiveUp, GoOn, Manner, Patience, Rest, decide, progressed
from tildone.value import but, value

TYPE_CHECKING = False
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


MAX_ARGUMENTS = 1_000_000
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
        store: "Store",
        name: str,
        dialect: "Dialect",
        *,
        now: "Callable[[], int]",
        new_id: "Callable[[], str]",
        patience: Patience = Patience(),  # noqa: B008  frozen
        completions: "Completions | None" = None,
    ) -> None:
        self.store = store
        self.name = name
        self.dialect = dialect
        self.patience = patience
        self._now = now
        self._new_id = new_id
        self.completions = completions
        self._known = State()

    @property
    def state(self) -> State:
        """What is true now."""
        head = self.store.place(self.name).head
        if head != self._known.head:
            self._known = recall(self.store.history(self.name, head)) if head else State()
        return self._known

    @property
    def plan(self) -> "Plan":
        """The plan as it is now."""
        return self.state.plan

    def was(self, plan: "Plan") -> bool:
        """Whether the plan has been this on its way here, not long ago."""
        recent = islice(self.store.history(self.name), RECENT)
        return any(isinstance(event.fact, PlanChanged) and event.fact.plan == plan for event in recent)

    def call(self, tool_name: str, arguments: "str | Mapping[str, Any]") -> Reply:
        """Carry out a model's tool call. Whatever is wrong with it comes back as a reply; nothing changes."""
        tool = self.dialect.tool(tool_name)
        if tool is None:
            known = ", ".join(tool.name for tool in self.dialect.tools)
            return Reply(f"Error: unknown tool {tool_name!r}; known are {known}", {}, is_error=True)
        params, wrong = _read(tool, arguments)
        if wrong:
            return self.dialect.refuse(tool, wrong, params)
        return self.execute(tool, params)

    def execute(self, tool: "Tool", params: "Mapping[str, Any]") -> Reply:
        """Carry out a call whose arguments have passed the door."""
        started = self._now()
        steps = tool.steps(params)
        call = Call(tool.name, codec.dump(params)) if steps else None
        outcome = self._think(steps, Actor.AGENT, call)
        done = Done(params, outcome, self.store.durable, took_ms=self._now() - started)
        return tool.reply(self._logged(done))

    def change(
        self,
        steps: "Iterable[Step] | Callable[[Plan], Sequence[Step]]",
        actor: Actor = Actor.USER,
        rules: "Rules | None" = None,
    ) -> Outcome:
        """Make a person's (or a timer's, or an import's) edit, under the same rules as a model's unless told otherwise.

        Where the steps depend on the plan, a function gives them for the plan as it is when they are taken.
        """
        return self._think(steps if callable(steps) else tuple(steps), actor, None, rules)

    def turn_ended(self, *, aborted: bool = False, errored: bool = False) -> Verdict:
        """Decide whether the agent goes on, and remember that it was told to."""
        while True:
            state = self.state
            decision = decide(state, self.patience, aborted=aborted, errored=errored)
            try:
                match decision:
                    case GoOn():
                        self._append(state, Actor.TIMER, Nudged(state.nudges + 1, state.drift + 1))
                        return Verdict(decision, self.dialect.carry_on(state.plan))
                    case GiveUp(bound, limit):
                        if not state.tripped:
                            self._append(state, Actor.TIMER, Tripped(bound, limit))
                        return Verdict(decision)
                    case Rest():
                        return Verdict(decision)
            except HeadMoved:
                continue

    def context(self) -> str | None:
        """What to put before the model at the start of its turn; None when there is nothing to say."""
        return self.dialect.context(self.plan)

    def checkout(self, event_id: str) -> "Plan":
        """Go to another event of this session; what follows hangs under it.

        Raises:
            UnknownEvent: there is no such event.
        """
        self._move(lambda _: Place(event_id))
        return self.plan

    def undo(self) -> Outcome:
        """Go back to before the newest change of the plan.

        Raises:
            Refused: nothing was changed on this branch.
        """
        before = self.plan
        self._move(self._before_last_change)
        return Outcome(before, self.plan)

    def redo(self) -> Outcome:
        """Take back the newest `undo`.

        Raises:
            Refused: nothing was undone since the plan last changed.
        """
        before = self.plan
        self._move(_forward)
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
        steps: "Sequence[Step] | Callable[[Plan], Sequence[Step]]",
        actor: Actor,
        call: Call | None,
        rules: "Rules | None" = None,
    ) -> Outcome:
        if not steps:
            plan = self.plan
            return Outcome(plan, plan)
        # What was true at the last look will do to begin with: `append` finds out if it is so no more.
        state = self._known if self._known.head else self.state
        while True:
            taken = steps(state.plan) if callable(steps) else steps
            outcome = reduce(state.plan, taken, rules or self.dialect.rules)
            if outcome.changed or (self.patience.manner is Manner.RECORDED and not outcome.faults):
                drift = 0 if progressed(outcome.before, outcome.after) else state.drift
                try:
                    self._append(state, actor, PlanChanged(outcome.after, call, drift))
                except HeadMoved:
                    state = self.state
                else:
                    return outcome
            elif self.state is state:
                return outcome
            else:
                state = self.state

    def _append(self, state: State, actor: Actor, fact: "Fact") -> None:
        event = Event(self._new_id(), state.head, self._now(), actor, fact)
        self.store.append(self.name, event)
        self._known = advance(state, event)

    def _move(self, choose: "Callable[[Place], Place]") -> None:
        while True:
            place = self.store.place(self.name)
            try:
                self.store.move(self.name, choose(place), expected=place.head)
            except HeadMoved:
                continue
            return

    def _before_last_change(self, place: Place) -> Place:
        if place.head is not None:
            for event in self.store.history(self.name, place.head):
                if isinstance(event.fact, PlanChanged):
                    return Place(event.parent, (place.head, *place.ahead))
        message = "nothing to undo"
        raise Refused(message)

    def _logged(self, done: Done) -> Done:
        """The call, with the place where the completion of a plan was written down for people."""
        if self.completions is None or not self.dialect.completes(done):
            return done
        entry = self.dialect.completion
        return but(done, saved_to=self.completions.add(lambda number, stamp: entry(done, number, stamp)))


def _forward(place: Place) -> Place:
    if place.ahead:
        return Place(place.ahead[0], place.ahead[1:])
    message = "nothing to redo"
    raise Refused(message)


def _read(tool: "Tool", arguments: "str | Mapping[str, Any]") -> "tuple[Any, Sequence[Problem]]":
    """The arguments as data, and what is wrong with them."""
    params: Any = arguments
    if isinstance(arguments, str):
        if len(arguments) > MAX_ARGUMENTS:
            return {}, [Problem("", f"expected at most {MAX_ARGUMENTS} characters of JSON, got {len(arguments)}")]
        try:
            params = codec.parse(arguments)
        except ValueError as error:
            return {}, [Problem("", f"expected JSON: {error}")]
    wrong = problems(tool.parameters, params)
    if wrong and not tool.strict:
        params = fitted(tool.parameters, params)
        wrong = problems(tool.parameters, params)
    return params, wrong or tool.demands(params)
