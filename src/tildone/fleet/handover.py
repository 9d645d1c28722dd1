"""The beginning and the end of an agent of a fleet: what it is told first, and what its end means for the lease.

An agent is told the plan to work through, and a successor where the other left off.

Task texts, questions, answers and reasons were written by people, models and programs. They appear on lines of lists
only, where they cannot look like a part of the prompt.

What the agent before said and did last is the end of its transcript, or else of what it printed. Hooks of several
agents name the file with the transcript of the conversation in the file that `TRANSCRIPT_VARIABLE` names.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

from tildone.app.transcripts import (
    TranscriptItem,
    item_text,
    items_in,
    items_of,
    last_lines,
)
from tildone.base import value
from tildone.fleet.supervision import AgentEnding, How
from tildone.fleet.worktrees import Worktree
from tildone.plan.dialects.prompts import ALONE, ANSWERS, BEGUN, LAST_MESSAGES, TAKEN_OVER, WHY, place, work_prompt
from tildone.plan.events import Actor, Event, State, branch, by_id, latest_state
from tildone.plan.model import Plan, Status, is_passed, open_tasks
from tildone.plan.runs import (
    Answered,
    Asked,
    Lease,
    LeaseRequest,
    RunLost,
    RunQueued,
    RunReleased,
    RunTaken,
    WorkOutcome,
    is_of,
)
from tildone.plan.text.safe import MAX_CONTEXT, bounded_lines, clipped, shown_text

MAX_LINES, MAX_CHARACTERS = 40, 4000
"""How much of the end of an agent's output is recorded with a failure."""

OUT_OF_ORDER = "git failed"
FIRST_DELAY_MS, MAX_DELAY_MS, MAX_TRIES = 10_000, 900_000, 20
"""How an attempt is repeated for which git failed: for about four hours."""


@value
class RunEnding:
    """How the work under a lease ends. Without an outcome, the lease is given back, to be taken after `delay` ms."""

    outcome: WorkOutcome | None
    why: str = ""
    delay: int = 0


def is_done(plan: Plan) -> bool:
    """Return whether all tasks are closed, and the check of the plan itself, if it has one, has passed."""
    return not open_tasks(plan) and (plan.check is None or is_passed(plan.check, plan.proof))


def ending_of(agent: AgentEnding, state: State, lease: Lease, newest_first: Iterable[Event]) -> RunEnding:
    """Return how a run ends whose agent has ended by itself. A failure does not have the agent's output yet."""
    match agent.how:
        case How.FROZEN:
            return RunEnding(None, "the agent was frozen for too long, because its lease could not be renewed")
        case How.SIGNAL:
            return RunEnding(WorkOutcome.RETRY, f"the agent was ended by signal {agent.number}")
        case How.FAILED:
            return RunEnding(WorkOutcome.RETRY, f"the agent could not be started: {agent.reason}")
        case How.EXIT if agent.number:
            return RunEnding(WorkOutcome.RETRY, f"the agent ended with exit code {agent.number}")
        case How.STOPPED | How.WORKER_GONE | How.SUPERVISOR_GONE:
            return RunEnding(WorkOutcome.RETRY, "the process that supervises the agent was killed")
    if is_done(state.plan):
        return RunEnding(WorkOutcome.DONE)
    if lease.questions or _has_new_answer(newest_first, lease):
        return RunEnding(WorkOutcome.WAITING, "the agent has asked a question")
    left, tripped = len(open_tasks(state.plan)), state.tripped
    if not left:
        return RunEnding(WorkOutcome.FAILED, "the agent ended, but the check of the plan has not passed")
    limit = f": it had reached the limit of {tripped.limit:g} ({tripped.bound.value})" if tripped else ""
    return RunEnding(WorkOutcome.FAILED, f"the agent ended with {left} open tasks{limit}")


def out_of_order(why: str, newest_first: Iterable[Event], lease: Lease) -> RunEnding:
    """Return how an attempt ends for which git failed: it is repeated, less and less often, then the run has failed.

    That is not a failure of the agent, and a remote repository may be out of order for hours.
    """
    tries = 0
    for event in newest_first:
        fact = event.fact
        if isinstance(fact, RunQueued | RunReleased) and is_of(fact, lease):
            if not isinstance(fact, RunReleased) or not fact.why.startswith(OUT_OF_ORDER):
                break
            tries += 1
    if tries >= MAX_TRIES:
        return RunEnding(WorkOutcome.FAILED, f"{OUT_OF_ORDER}: {why}")
    return RunEnding(None, f"{OUT_OF_ORDER}: {why}", min(FIRST_DELAY_MS * 2**tries, MAX_DELAY_MS))


def _has_new_answer(newest_first: Iterable[Event], lease: Lease) -> bool:
    """Return whether a question of the run was answered after its agent had last written to the log."""
    for event in newest_first:
        if isinstance(event.fact, Answered) and is_of(event.fact, lease):
            return True
        if event.actor is Actor.AGENT:
            return False
    return False


class RunOrder(IntEnum):
    """What an execution is told. The ones before STOP are obeyed when the next task is done, the others at once."""

    GO = 0
    DRAIN = 1
    PAUSE = 2
    CANCEL = 3
    STOP = 4
    PAUSE_NOW = 5
    CANCEL_NOW = 6
    LOST = 7


ORDERS = {
    LeaseRequest.NOTHING: RunOrder.GO,
    LeaseRequest.DRAIN: RunOrder.DRAIN,
    LeaseRequest.PAUSE: RunOrder.PAUSE,
    LeaseRequest.PAUSE_NOW: RunOrder.PAUSE_NOW,
    LeaseRequest.CANCEL: RunOrder.CANCEL,
    LeaseRequest.CANCEL_NOW: RunOrder.CANCEL_NOW,
}
"""The orders that follow from what a person asks of the holder of a lease."""

CANCELLED = (RunOrder.CANCEL, RunOrder.CANCEL_NOW)
ENDINGS = {
    RunOrder.DRAIN: RunEnding(None, "drained"),
    RunOrder.STOP: RunEnding(None, "its worker was stopped"),
    RunOrder.PAUSE: RunEnding(WorkOutcome.PAUSED, "paused"),
    RunOrder.PAUSE_NOW: RunEnding(WorkOutcome.PAUSED, "paused"),
    **dict.fromkeys(CANCELLED, RunEnding(WorkOutcome.CANCELLED, "cancelled")),
}
"""How a run ends whose agent was ended by an order."""


def prompt_for(lease: Lease, events: Iterable[Event], worktree: Worktree) -> str:
    """Return the first prompt of the agent that has just got the lease.

    `events` are those of the session of its plan, in the order they were written: the newest is the head.
    """
    written = list(events)
    plan = latest_state(reversed(branch(by_id(written), written[-1].id if written else None))).plan
    facts = [event.fact for event in written]
    parts = [work_prompt(plan), place(worktree.branch, worktree.found, shared=worktree.shared)]
    if any(isinstance(fact, RunTaken) and is_of(fact, lease) and fact.epoch < lease.epoch for fact in facts):
        ends = [
            fact.why for fact in facts if isinstance(fact, RunLost | RunReleased) and is_of(fact, lease) and fact.why
        ]
        begun = [task for task in plan.tasks if task.status is Status.IN_PROGRESS]
        notes = [f"#{task.number} {task.text}{''.join(f' ({note})' for note in task.notes[-1:])}" for task in begun]
        parts += [TAKEN_OVER, _listed(WHY, ends[-1:]), _listed(BEGUN, notes), worktree.lost]
    asked = {fact.question: fact.text for fact in facts if isinstance(fact, Asked) and fact.run == lease.run}
    answered = [fact for fact in facts if isinstance(fact, Answered) and fact.run == lease.run]
    answers = [f"{asked.get(fact.question, fact.question)} Answer: {fact.text}" for fact in answered]
    parts += [_listed(ANSWERS, answers), ALONE]
    return "\n\n".join(part for part in parts if part)


def with_last_messages(prompt: str, said: Sequence[str]) -> str:
    return "\n\n".join(filter(None, [prompt, _listed(LAST_MESSAGES, said)]))


def _listed(title: str, texts: Sequence[str]) -> str:
    lines = bounded_lines((f"- {shown_text(text)}" for text in texts), MAX_CONTEXT)
    return "\n".join([title, *lines]) if texts else ""


MAX_SAID, MAX_SAID_CHARACTERS = 30, 400
"""How many messages and calls a successor is told of, and how much of each."""

MARK = "The end of the conversation:"
"""The line of a checkpoint's message after which these lines follow."""


def last_messages(note: str, output: str) -> list[str]:
    """Return the last messages and calls of an agent, a line for each.

    `note` is the file that names its transcript, `output` the one with what it printed.
    """
    try:
        with open(note, encoding="utf-8", errors="surrogateescape") as file:
            transcript = file.read()
    except OSError:
        transcript = ""
    said = list(_told(items_in(transcript)))
    return (said or list(_told(items_of(last_lines(output, MAX_SAID)))))[-MAX_SAID:]


def with_messages(message: str, said: Iterable[str]) -> str:
    lines = list(said)
    return "\n".join([message, "", MARK, *lines]) if lines else message


def messages_in(message: str) -> list[str]:
    _, mark, rest = message.partition(f"\n{MARK}\n")
    return rest.strip().splitlines() if mark else []


def _told(said: Iterable[TranscriptItem]) -> Iterator[str]:
    for each in said:
        words = " ".join(item_text(each).split())
        if words:
            yield clipped(words, MAX_SAID_CHARACTERS)
