"""A plan that can be carried out without a language model: every task says by which commands.

A task's command stands in backticks at the end of its text, or in lines of its notes that begin with `$ `; several are
run in that order.

    - [ ] Say hello: `echo hello`
    - [ ] Count to two
      > $ echo one
      > $ echo two
"""

from __future__ import annotations

import re

from tildone.core.plan import Status, Task
from tildone.errors import UsageError
from tildone.formats.markdown import read
from tildone.value import value
from tildone.views.sanitize import printable

PROMPT = "$ "
UNNAMED = "Todos"

_AT_THE_END = re.compile(r"(?P<text>.*)(?<!`)(?P<ticks>`+)(?!`)(?P<command>.+?)(?<!`)(?P=ticks)", re.DOTALL)
_BETWEEN = " \t:–—-"


@value
class Job:
    """A task, as the plan has it and as it is to be done."""

    phase: str
    text: str
    commands: tuple[str, ...]
    status: Status


@value
class Script:
    """Everything to be done, under the name of the file that says so."""

    name: str
    jobs: tuple[Job, ...]

    def phases(self) -> list[tuple[str, list[Job]]]:
        """Phases with their jobs, in order; a phase without a task is none."""
        named: dict[str, list[Job]] = {}
        for job in self.jobs:
            named.setdefault(job.phase, []).append(job)
        return list(named.items())

    def job(self, text: str) -> Job | None:
        """The job of the task with that text."""
        return next((job for job in self.jobs if job.text == text), None)


def read_script(markdown: str, name: str) -> Script:
    """The script in a text.

    Raises:
        UsageError: a line cannot be read, or a task cannot be carried out; all such lines are named.
    """
    reading = read(markdown, UNNAMED)
    jobs = [_job(phase.name, task) for phase in reading.plan.phases for task in phase.tasks]
    wrong = {problem.line: problem.why for problem in reading.problems}
    wrong |= {_line(markdown, index): why for index, job in enumerate(jobs) if (why := _problem(jobs[:index], job))}
    if wrong:
        told = "\n".join(f"line {line}: {why}" for line, why in sorted(wrong.items()))
        raise UsageError(f"{name} cannot be run by itself:\n{told}")
    if not jobs:
        raise UsageError(f"there is no task in {name}; write one as - [ ] Say hello: `echo hello`")
    return Script(name, tuple(jobs))


def _job(phase: str, task: Task) -> Job:
    noted = tuple(
        line.removeprefix(PROMPT).strip()
        for note in task.notes
        for line in note.splitlines()
        if line.startswith(PROMPT)
    )
    found = _AT_THE_END.fullmatch(task.text)
    if found is None:
        return Job(phase, task.text, noted, task.status)
    command = found["command"].strip()
    return Job(phase, found["text"].rstrip(_BETWEEN) or command, (command, *noted), task.status)


def _problem(above: list[Job], job: Job) -> str | None:
    if job.status.is_open and not all(job.commands or ("",)):
        return f"“{printable(job.text)}” has no command; end it with one in `backticks`, or put > $ COMMAND below it"
    if any(other.text == job.text for other in above):
        return f"“{printable(job.text)}” is there already; tasks are told apart by their text"
    return None


def _line(markdown: str, index: int) -> int:
    """The line of a task, which is the first that makes it one task more."""
    lines = markdown.split("\n")
    above = ("\n".join(lines[:number]) for number in range(1, len(lines) + 1))
    return next(number for number, text in enumerate(above, start=1) if len(read(text).plan.tasks) > index)
