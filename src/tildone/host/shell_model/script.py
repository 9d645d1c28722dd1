"""The commands of a task: what the shell driver runs to carry it out.

A task's command is in backticks at the end of its text, or in lines of its notes that begin with `$ `. Several commands
run in that order.

    - [ ] Say hello: `echo hello`
    - [ ] Count to two
      > $ echo one
      > $ echo two
"""

from __future__ import annotations

import re

from tildone.core.numbers import numbered
from tildone.core.plan import Plan, Task
from tildone.views.sanitize import single_line

PROMPT = "$ "

_AT_THE_END = re.compile(r"(?P<text>.*)(?<!`)(?P<ticks>`+)(?!`)(?P<command>.+?)(?<!`)(?P=ticks)", re.DOTALL)
_BETWEEN = " \t:–—-"


def commands_of(task: Task) -> tuple[str, ...]:
    found = _AT_THE_END.fullmatch(task.text)
    in_text = (found["command"].strip(),) if found else ()
    in_notes = (
        line.removeprefix(PROMPT).strip()
        for note in task.notes
        for line in note.splitlines()
        if line.startswith(PROMPT)
    )
    return tuple(command for command in (*in_text, *in_notes) if command)


def title_of(task: Task) -> str:
    """Return the number of a task and its text without the command."""
    found = _AT_THE_END.fullmatch(task.text)
    text = (found["text"].rstrip(_BETWEEN) or found["command"].strip()) if found else task.text
    return f"#{task.number} {single_line(text)}"


def tasks_without_command(plan: Plan) -> list[Task]:
    """Return the tasks that could be worked on now, but have no command."""
    tasks = numbered(plan).tasks
    return [task for task in tasks if task.status.is_actionable and not commands_of(task)]


def describe_missing(tasks: list[Task]) -> str:
    """Say which tasks have no command, and what can be done about it."""
    those = "a task has" if len(tasks) == 1 else f"{len(tasks)} tasks have"
    each = "it" if len(tasks) == 1 else "each"
    listed = "".join(f"\n  {title_of(task)}" for task in tasks)
    return (
        f"{those} no command:{listed}\n"
        f"End {each} with its command in `backticks`, or name a model that does the work: --model PROVIDER:NAME"
    )
