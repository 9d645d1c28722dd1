"""Commands and checks of a run that a worker does not permit by its own list: asked for in the log, and approved there.

A person approves one command of one run, by `tildone fleet approve`. It is then permitted as if the list had it, for
this run only. Approvals are rows of the store, and whoever can write to it can forge them. So they count only for
commands that the settings of the worker itself name: those of its list, and those for which persons may be asked
(`--ask`). Nothing else in a run or its lease adds to what a worker permits.
"""

from __future__ import annotations

from tildone.agents.identity import digest
from tildone.checks.approvals import Approvals
from tildone.core.plan import Status
from tildone.log.fleet.facts import Answered, Asked
from tildone.typing import TYPE_CHECKING
from tildone.views.proofs import check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tildone.core.check import Check
    from tildone.core.plan import Plan
    from tildone.log.events import Event
    from tildone.log.fleet.lease import RunFence
    from tildone.log.fleet.port import RunLeases

COMMAND, CHECK = "command", "check"
YES = "yes"
ID_CHARACTERS = 10


def answers_to(events: Iterable[Event], run: str) -> dict[str, str]:
    """Return the commands that a run has asked for, each with the newest answer."""
    asked: dict[str, str] = {}
    answers: dict[str, str] = {}
    for event in events:
        fact = event.fact
        if isinstance(fact, Asked) and fact.run == run and fact.kind in (COMMAND, CHECK):
            asked[fact.question] = fact.text
        elif isinstance(fact, Answered) and fact.run == run and fact.question in asked:
            answers[asked[fact.question]] = fact.text
    return answers


def approved_patterns(answers: Mapping[str, str], own: Sequence[str]) -> tuple[str, ...]:
    """Return patterns that match the commands that were approved, and nothing else.

    Only commands that a pattern of the worker's `own` matches count.
    """
    # Late, because few runs ask.
    from glob import escape  # noqa: PLC0415  see above

    approved = (command for command, answer in answers.items() if answer == YES)
    return tuple(escape(command) for command in approved if matches_any(command, own))


def waiting_checks(plan: Plan, allow: Sequence[str], answers: Mapping[str, str]) -> list[Check]:
    """Return the checks for which tasks are blocked, which are not permitted, and which no person has denied."""
    approvals = Approvals("", "", allow)
    checks = [task.check for task in plan.tasks if task.status is Status.BLOCKED]
    return [
        check
        for check in checks
        if check is not None and not approvals.is_allowed(check) and not is_denied(check, answers)
    ]


def is_denied(check: Check, answers: Mapping[str, str]) -> bool:
    """Return whether a person has denied a command."""
    return answers.get(check_text(check), YES) != YES


def matches_any(command: str, patterns: Iterable[str]) -> bool:
    """Return whether a pattern matches a command."""
    from fnmatch import fnmatchcase  # noqa: PLC0415  few runs ask

    return any(fnmatchcase(command, pattern) for pattern in patterns)


def permitted_blocked(plan: Plan, allow: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the tasks that are blocked although their checks are permitted by now."""
    approvals = Approvals("", "", allow)
    blocked = (task for task in plan.tasks if task.status is Status.BLOCKED and task.check is not None)
    return tuple(task.number for task in blocked if task.check and approvals.is_allowed(task.check))


class RunAsker:
    """Asks persons for what the agent of a lease may not run by itself."""

    def __init__(
        self, leases: RunLeases, held: RunFence, new_id: Callable[[], str], asked: Collection[str] = ()
    ) -> None:
        """`asked` are the ids of the questions that are open already."""
        self._leases, self._held, self._new_id = leases, held, new_id
        self._asked = set(asked)

    def ask(self, kind: str, text: str) -> None:
        """Ask for a command or a check, once.

        Raises:
            RunFenced: the lease has passed to another worker.
        """
        held = self._held
        question = digest(f"{held.run}/{held.hand} {kind} {text}")[:ID_CHARACTERS]
        if question not in self._asked:
            self._asked.add(question)
            self._leases.append(held, Asked(held.run, held.hand, question, kind, text), self._new_id())
