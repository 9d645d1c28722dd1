"""A task at a glance: what a person wants to know of one task, for a panel beside a plan.

The history is read as far back as can be done in little time. The last lines of an agent are in files of the machine
that it works on: elsewhere, there are none. All texts are printable, each of one line, except the text of the task and
its notes, which are as they are stored.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from tildone.app.check_states import NO_FACTS, CheckFacts, check_state
from tildone.app.opening import check_outputs
from tildone.app.settings import Settings
from tildone.app.transcripts import CALL, TranscriptItem, items_in, last_lines
from tildone.base import replace, value
from tildone.base.json import parse
from tildone.base.secrets import Redactor
from tildone.log.store import Store
from tildone.plan.events import Event, PlanChanged
from tildone.plan.history.authors import of_several_people, who
from tildone.plan.history.blame import step_text, task_histories
from tildone.plan.history.stats import readable
from tildone.plan.history.usage import TaskUsage, plan_usage
from tildone.plan.model import Plan, Proof, Task, numbered
from tildone.plan.text.amounts import usage_text
from tildone.plan.text.proofs import MAX_LINES, check_text, doing
from tildone.plan.text.safe import clipped, printable, printable_lines, short_agent
from tildone.plan.text.state import STATUS_WORDS
from tildone.stores.agents import TRANSCRIPT_NOTE, AgentId, noted_everywhere

MAX_HISTORY = 50
MAX_AGENT_LINES, MAX_LINE_CHARACTERS = 12, 400
NOT_RUN = "not run"


@value
class CheckGlance:
    """The check of a task. `state` is the value of its word, or NOT_RUN; `words` says it with the exit code or why.

    The output is the end of that of a check that did not pass on this machine. `finished` is in milliseconds.
    """

    command: str
    state: str
    words: str
    exit_code: int | None = None
    finished: int | None = None
    output: tuple[str, ...] = ()


@value
class HistoryLine:
    """What somebody changed at once. `at` is in milliseconds."""

    at: int
    who: str
    what: str


@value
class CostGlance:
    """What a task took, as far as it is known: `amount` in dollars, `worked` in milliseconds. `words` says it all."""

    tokens: int | None
    amount: float | None
    worked: int | None
    nudges: int
    words: str


@value
class TaskGlance:
    """A task. `status` is the value of its status, and `word` what a person reads of it.

    `holder` is the short name of the agent that holds it, if it `is_held`, or else of the one that worked on it last;
    `agent` is the whole name. `earlier` is how many older lines the history has; before the time `begins`, it was not
    read.
    """

    number: int
    text: str
    status: str
    word: str
    phase: str = ""
    notes: tuple[str, ...] = ()
    holder: str | None = None
    agent: str | None = None
    is_held: bool = False
    check: CheckGlance | None = None
    history: tuple[HistoryLine, ...] = ()
    earlier: int = 0
    begins: int | None = None
    cost: CostGlance | None = None
    last_lines: tuple[str, ...] = ()


def task_glance(
    settings: Settings, store: Store, session: str, number: int, *, now: int, facts: CheckFacts = NO_FACTS
) -> TaskGlance | None:
    """Return a task of a session as it is `now`; None if there is no such task.

    `facts` are what is known here about its check. Raises StoreError if the store cannot be read.
    """
    events = list(readable(store.history(session)))[::-1]
    newest = next((event.fact.plan for event in reversed(events) if isinstance(event.fact, PlanChanged)), Plan())
    plan = numbered(newest)
    task = next((each for each in plan.tasks if each.number == number), None)
    if task is None:
        return None
    phase = next(phase.name for phase in plan.phases if task in phase.tasks)
    claim = next((each for each in store.records.claims(session) if each.task == number), None)
    agent = claim.agent if claim else task.owner
    lines, begins = _history(events, number)
    return TaskGlance(
        number,
        task.text,
        task.status.value,
        STATUS_WORDS[task.status],
        phase,
        task.notes,
        short_agent(agent) if agent else None,
        agent or None,
        claim is not None and claim.is_held,
        _check(settings, task, facts),
        lines[-MAX_HISTORY:],
        max(0, len(lines) - MAX_HISTORY),
        begins,
        _cost(plan_usage(events, now).tasks.get(number, TaskUsage())),
        agent_lines(settings, agent),
    )


def glance_data(glance: object) -> object:
    """Return a glance, or a part of one, as data for JSON."""
    if isinstance(glance, tuple):
        return [glance_data(each) for each in glance]
    names: tuple[str, ...] = getattr(glance, "__match_args__", ())
    return {name: glance_data(getattr(glance, name)) for name in names} if names else glance


def agent_lines(settings: Settings, agent: str) -> tuple[str, ...]:
    """Return what an agent said and did last, without secrets; nothing if its transcript is not here."""
    try:
        transcript = noted_everywhere(settings.agents_dir, AgentId.parse(agent), TRANSCRIPT_NOTE)
    except ValueError:
        return ()
    said = deque((each for each in items_in(transcript) if each.who in ("assistant", CALL)), MAX_AGENT_LINES)
    redact = Redactor(os.environ).text
    lines = [line for each in said for line in printable_lines(redact(_told(each)).strip())]
    return tuple(clipped(line, MAX_LINE_CHARACTERS) for line in lines if line.strip())[-MAX_AGENT_LINES:]


def _told(said: TranscriptItem) -> str:
    if said.who != CALL:
        return said.text
    arguments = said.arguments
    try:
        return doing(said.text, parse(arguments) if isinstance(arguments, str) else arguments)
    except ValueError:
        return doing(said.text)


def _check(settings: Settings, task: Task, facts: CheckFacts) -> CheckGlance | None:
    check, proof = task.check, task.proof
    if check is None:
        return None
    state = check_state(task.number, check, proof, facts)
    command = printable(check_text(check))
    if proof is None or proof.command != check.command:
        return CheckGlance(command, state.word.value or NOT_RUN, state.text or NOT_RUN)
    return CheckGlance(
        command,
        state.word.value or NOT_RUN,
        state.text or NOT_RUN,
        proof.exit_code,
        proof.at or None,
        _output(settings, proof),
    )


def _output(settings: Settings, proof: Proof) -> tuple[str, ...]:
    """Return the end of a kept output. A log may name any file: only one in the folder of outputs is read."""
    folder = check_outputs(settings)
    if not proof.output or not folder or os.path.dirname(os.path.abspath(proof.output)) != os.path.abspath(folder):
        return ()
    return tuple(map(printable, last_lines(proof.output, MAX_LINES)))


def _history(oldest_first: Sequence[Event], number: int) -> tuple[tuple[HistoryLine, ...], int | None]:
    """Return what happened to a task, and since when it is known; None if that is from the beginning."""
    is_whole = not oldest_first or oldest_first[0].parent is None
    # What came before the first plan that was read is not known, so it says nothing of what changed by it.
    first = None if is_whole else next((each for each in oldest_first if isinstance(each.fact, PlanChanged)), None)
    found = next((each for each in task_histories(_of_task(oldest_first, number)) if each.task.number == number), None)
    steps = [step for step in found.steps if first is None or step.event.id != first.id] if found else []
    with_person = of_several_people(step.event for step in steps)
    lines = [HistoryLine(step.event.at, who(step.event, with_person=with_person), step_text(step)) for step in steps]
    return tuple(lines), first.at if first else None


def _of_task(events: Iterable[Event], number: int) -> Iterator[Event]:
    """Yield the events with plans of this task alone, as far as their tasks have numbers: the others say nothing."""
    for event in events:
        fact = event.fact
        if not isinstance(fact, PlanChanged):
            yield event
            continue
        phases = tuple(
            replace(phase, tasks=tuple(task for task in phase.tasks if task.number in (0, number)))
            for phase in fact.plan.phases
        )
        yield replace(event, fact=replace(fact, plan=replace(fact.plan, phases=phases)))


def _cost(usage: TaskUsage) -> CostGlance | None:
    tokens, amount = usage.usage.tokens, usage.usage.cost
    words = usage_text(usage.worked, tokens, amount, usage.nudges)
    return CostGlance(tokens, amount, usage.worked, usage.nudges, words) if usage.is_known else None
