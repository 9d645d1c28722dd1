"""The first prompt of an agent of a fleet: the plan to work through, and for an heir, where the other left off.

Task texts, questions, answers and reasons were written by people, models and programs. They appear on lines of lists
only, where they cannot look like a part of the prompt.
"""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.dialects.fleet_prompts import ALONE, ANSWERS, BEGUN, LAST_MESSAGES, TAKEN_OVER, WHY, place
from tildone.dialects.run_prompts import work_prompt
from tildone.log.fleet.facts import Answered, Asked, RunLost, RunReleased, RunTaken
from tildone.log.state import latest_state
from tildone.log.tree import branch, by_id
from tildone.typing import TYPE_CHECKING
from tildone.views.limits import MAX_CONTEXT, bounded_lines
from tildone.views.sanitize import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tildone.core.plan import Plan
    from tildone.fleet.worktrees import Worktree
    from tildone.log.events import Event, Fact
    from tildone.log.fleet.workers import RunView


def prompt_for(view: RunView, events: Iterable[Event], worktree: Worktree) -> str:
    """Return the first prompt of the agent that has just got the lease.

    `events` are those of the session of its plan, in the order they were written: the newest is the head.
    """
    written = list(events)
    plan = latest_state(reversed(branch(by_id(written), written[-1].id if written else None))).plan
    facts = [event.fact for event in written]
    parts = [work_prompt(plan), place(worktree.branch, worktree.found, shared=worktree.shared)]
    if _is_heir(view, facts):
        parts += [TAKEN_OVER, _listed(WHY, _reasons(view, facts)), _listed(BEGUN, _begun(plan)), worktree.lost]
    parts += [_listed(ANSWERS, _answers(view, facts)), ALONE]
    return "\n\n".join(part for part in parts if part)


def with_last_messages(prompt: str, said: Sequence[str]) -> str:
    """Return the first prompt of an heir with what the agent before said and did last."""
    return "\n\n".join(filter(None, [prompt, _listed(LAST_MESSAGES, said)]))


def _is_heir(view: RunView, facts: Sequence[Fact]) -> bool:
    lease = view.lease
    return any(
        isinstance(fact, RunTaken) and (fact.run, fact.hand) == (lease.run, lease.hand) and fact.epoch < lease.epoch
        for fact in facts
    )


def _reasons(view: RunView, facts: Sequence[Fact]) -> list[str]:
    """Return why the last agent of this hand does not go on."""
    lease = view.lease
    ends = [
        fact.why
        for fact in facts
        if isinstance(fact, RunLost | RunReleased) and (fact.run, fact.hand) == (lease.run, lease.hand) and fact.why
    ]
    return ends[-1:]


def _begun(plan: Plan) -> list[str]:
    """Return the tasks in progress, each with its newest note."""
    begun = [task for task in plan.tasks if task.status is Status.IN_PROGRESS]
    return [f"#{task.number} {task.text}{''.join(f' ({note})' for note in task.notes[-1:])}" for task in begun]


def _answers(view: RunView, facts: Sequence[Fact]) -> list[str]:
    """Return the questions of the run that were answered, each with its answer."""
    run = view.lease.run
    asked = {fact.question: fact.text for fact in facts if isinstance(fact, Asked) and fact.run == run}
    answered = [fact for fact in facts if isinstance(fact, Answered) and fact.run == run]
    return [f"{asked.get(fact.question, fact.question)} Answer: {fact.text}" for fact in answered]


def _listed(title: str, texts: Sequence[str]) -> str:
    """Return a list with its title; empty without items."""
    lines = bounded_lines((f"- {shown_text(text)}" for text in texts), MAX_CONTEXT)
    return "\n".join([title, *lines]) if texts else ""
