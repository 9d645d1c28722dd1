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
            description="Without a verb, the plan is shown. A part of its text is enough to name a task or a phase.",
            examples=("tildone todo", 'tildone todo append "Write the parser"', "tildone todo done parser"),
            groups=(Group("", todo.VERBS),),
            default="show",
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
