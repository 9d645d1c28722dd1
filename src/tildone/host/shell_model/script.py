"""A script: a plan whose tasks name the commands that carry them out, so that no language model is needed.

A task's command is in backticks at the end of its text, or in lines of its notes that begin with `$ `. Several commands
run in that order.

    - [ ] Say hello: `echo hello`
    - [ ] Count to two
      > $ echo one
      > $ echo two
"""

from __future__ import annotations

import re

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.errors import UsageError
from tildone.formats.markdown.reader import read
from tildone.value import value
from tildone.views.sanitize import printable

PROMPT = "$ "
UNNAMED = "Todos"

_AT_THE_END = re.compile(r"(?P<text>.*)(?<!`)(?P<ticks>`+)(?!`)(?P<command>.+?)(?<!`)(?P=ticks)", re.DOTALL)
_BETWEEN = " \t:–—-"


@value
class Job:
    """A task, with the commands that carry it out."""

    phase: str
    text: str
    commands: tuple[str, ...]
    status: Status


@value
class Script:
    """The jobs of a plan file, and the name of the file."""

    name: str
    jobs: tuple[Job, ...]

    @property
    def plan(self) -> Plan:
        """The plan to write: every job as a pending task, in its phase."""
        phases: dict[str, list[Task]] = {}
        for job in self.jobs:
            phases.setdefault(job.phase, []).append(Task(job.text))
        return Plan(tuple(Phase(name, tuple(tasks)) for name, tasks in phases.items()))

    def job(self, text: str) -> Job | None:
        """Return the job of the task with this text."""
        return next((job for job in self.jobs if job.text == text), None)


def read_script(markdown: str, name: str) -> Script:
    """Parse a script.

    Raises:
        UsageError: lines cannot be parsed, or tasks have no command or the same text; the message lists all of them.
    """
    reading = read(markdown, UNNAMED)
    jobs = [_job(phase.name, task) for phase in reading.plan.phases for task in phase.tasks]
    wrong = {problem.line: problem.reason for problem in reading.problems}
    wrong |= {_line(markdown, index): why for index, job in enumerate(jobs) if (why := _problem(jobs[:index], job))}
    if wrong:
        problems = "\n".join(f"line {line}: {why}" for line, why in sorted(wrong.items()))
        raise UsageError(f"{name} cannot be run by itself:\n{problems}")
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
    """Return the line number of a task: the shortest prefix of the text that contains the task ends there."""
    lines = markdown.split("\n")
    above = ("\n".join(lines[:number]) for number in range(1, len(lines) + 1))
    return next(number for number, text in enumerate(above, start=1) if len(read(text).plan.tasks) > index)
