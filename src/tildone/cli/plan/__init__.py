"""Verbs that show the plan and change it."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry
from tildone.cli.plan import todo
from tildone.cli.table import JSON, Group, Option, Verb

if TYPE_CHECKING:
    from tildone.cli.table import VerbTable

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
            groups=(Group("", lambda: todo.VERBS),),
            default="list",
            unknown="to search: tildone todo list {}",
        ),
        "verify": Verb(
            "verify",
            "[TASK…]",
            "Run checks, and record whether they passed.",
            description=(
                "Without TASK, runs the checks of done tasks whose files have changed since, those that were run and "
                "did not pass, and that of the plan once all tasks are closed. Prints a line for each. A done task "
                "whose check fails is in progress again. The exit code is 3 unless all passed."
            ),
            options=(Option("plan", "", "The plan's own check."), JSON),
            examples=("tildone verify", "tildone verify 3", "tildone verify --json"),
        ),
        "approve": Verb(
            "approve",
            "[TASK…]",
            "Let checks run that somebody else has written.",
            description=(
                "A check that you type is approved. One from a model, or from a plan that somebody else wrote, is "
                "proposed, and is not run until you approve it. Without TASK, lists what is proposed. Shows the exact "
                "arguments of the command and its folder, and asks. The approval is for this command in this folder of "
                "this project, on this machine. Tasks that waited for it can be worked on again. In the shell of an "
                "agent it is refused."
            ),
            options=(
                Option("all", "", "All proposed checks."),
                Option("plan", "", "The plan's own check."),
                Option("yes", "", "Do not ask for confirmation."),
                JSON,
            ),
            examples=("tildone approve", "tildone approve 3", "tildone approve --all --yes"),
        ),
        "call": Verb(
            "call",
            "TOOL [JSON]",
            "Call a tool as a model would.",
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
