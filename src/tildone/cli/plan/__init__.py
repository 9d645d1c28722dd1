"""Verbs that show the plan and change it."""

from __future__ import annotations

from tildone.cli.parsing.options import JSON
from tildone.cli.parsing.table import Group, Verb
from tildone.cli.plan import todo
from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.cli.parsing.table import VerbTable

VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "todo": Verb(
            "todo",
            "[VERB …]",
            "Show the plan, or change it.",
            description=(
                "Without a verb, the plan is shown. A task is named by the number that the list shows (3 or #3), which "
                "stays with the task, or by a part of its text."
            ),
            options=todo.FILTERS,
            examples=(
                "tildone todo",
                'tildone todo add "Write the parser"',
                "tildone todo done 1",
                "tildone todo --open",
            ),
            groups=(Group("", todo.VERBS),),
            default="list",
            unknown="to search: tildone todo list {}",
        ),
        "call": Verb(
            "call",
            "TOOL [JSON]",
            "Call a tool as a model would.",
            min_args=1,
            max_args=2,
            description=(
                "Prints what the model would receive. If JSON is - or missing, the arguments are read from standard "
                "input.\nTools: {tools}."
            ),
            options=(JSON,),
            examples=(
                """tildone call todo_write '{"ops": [{"op": "append", "phase": "Build", "items": ["Parse"]}]}'""",
                "tildone call write_todos - < todos.json",
                "tildone call list_todos '{}' --json",
            ),
        ),
    },
)
