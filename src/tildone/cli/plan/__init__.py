"""Verbs that show the plan and change it."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry
from tildone.cli.table import FORCE, JSON, Group, Option, Verb

if TYPE_CHECKING:
    from tildone.cli.table import VerbTable

TASK = (
    "TASK is a number as the list shows it (3 or #3) or a part of the task's text. If several tasks match a text, the "
    "only open one is chosen."
)
SEVERAL = f"{TASK} Several numbers name several tasks."
ALL = Option("all", "", "All tasks; do not ask.")

FILTERS = (
    Option("open", "", "Only tasks that are not closed."),
    Option("phase", "NAME", "Only tasks of this phase; a part of its name is enough."),
    Option("status", "STATUS", "Only tasks with this status: {statuses}."),
    JSON,
)

TODO: VerbTable = Registry(
    __name__,
    "run",
    {
        "list_tasks": Verb(
            "list [WORD…]",
            "Show the plan, or the tasks that contain all words.",
            description="Words are searched in texts and notes, in any case. Without words: the same as tildone todo.",
            options=FILTERS,
            examples=("tildone todo list", "tildone todo list parser", "tildone todo ls --open --phase Build"),
            aliases=("ls", "show"),
        ),
        "next_task": Verb(
            "next",
            "Show the task to work on now: the one in progress, else the first that is ready.",
            description="A task is ready if it is not blocked and does not come after a task that is open.",
            options=(JSON,),
            examples=("tildone todo next", "tildone todo next --json"),
        ),
        "changing:add": Verb(
            "add TEXT…",
            "Add tasks to the plan. Each argument is a task.",
            description=(
                "Texts are kept as you type them. - reads tasks from standard input, one per line. Without --phase, "
                "tasks are added to the last phase."
            ),
            options=(Option("phase", "NAME", "The phase to add to; it is created if it is missing."), JSON),
            examples=(
                'tildone todo add "Buy milk" "Call the bank"',
                'tildone todo add --phase Build "Write the parser"',
                "tildone todo add - < tasks.txt",
            ),
        ),
        "changing:append": Verb(
            "append [PHASE] TEXT…",
            "Old spelling of add: of several arguments, the first names the phase.",
            description="A part of the name of an existing phase is enough; an unknown name creates a phase.",
            options=(JSON,),
            examples=('tildone todo append Build "Write the parser"',),
        ),
        "changing:start": Verb(
            "start TASK",
            "Mark a task as in progress.",
            description=TASK,
            options=(JSON,),
            examples=("tildone todo start 3", "tildone todo start parser"),
        ),
        "changing:done": Verb(
            "done [TASK…|PHASE]",
            "Mark tasks, a phase or all open tasks as completed.",
            description=f"{SEVERAL} Without an argument, all open tasks are meant, and you are asked first.",
            options=(ALL, JSON),
            examples=("tildone todo done 3", "tildone todo done 1 2 5", "tildone todo done release notes"),
        ),
        "changing:block": Verb(
            "block TASK [REASON…]",
            "Mark a task as waiting for someone else.",
            description=f"{TASK} The reason becomes a note of the task. Agents skip blocked tasks.",
            options=(JSON,),
            examples=('tildone todo block 3 "Waiting for the API key"',),
        ),
        "changing:unblock": Verb(
            "unblock TASK",
            "Mark a blocked task as pending.",
            description=TASK,
            options=(JSON,),
            examples=("tildone todo unblock 3",),
        ),
        "changing:reopen": Verb(
            "reopen TASK",
            "Mark a closed task as pending.",
            description=TASK,
            options=(JSON,),
            examples=("tildone todo reopen 3",),
        ),
        "changing:rename": Verb(
            "rename TASK TEXT…",
            "Change the text of a task. Its number, status and notes stay.",
            description=TASK,
            options=(JSON,),
            examples=('tildone todo rename 3 "Write the tokenizer"',),
        ),
        "changing:move": Verb(
            "move TASK",
            "Move a task within the plan. Its number stays.",
            description=TASK,
            options=(
                Option("before", "TASK", "Move it in front of this task, into its phase."),
                Option("after", "TASK", "Move it behind this task, into its phase."),
                Option("phase", "NAME", "Move it to the end of this phase, which is created if it is missing."),
                Option("first", "", "Move it to the start of the plan."),
                Option("last", "", "Move it to the end of the plan."),
                JSON,
            ),
            examples=(
                "tildone todo move 5 --before 2",
                "tildone todo move 5 --phase Ship",
                "tildone todo move 5 --first",
            ),
        ),
        "changing:drop": Verb(
            "drop [TASK…|PHASE]",
            "Mark tasks, a phase or all open tasks as abandoned.",
            description=f"{SEVERAL} Without an argument, all open tasks are meant, and you are asked first.",
            options=(ALL, JSON),
            examples=("tildone todo drop 4", "tildone todo drop release notes"),
        ),
        "changing:rm": Verb(
            "rm [TASK…|PHASE]",
            "Remove tasks, the tasks of a phase, or all tasks.",
            description=(
                f"{SEVERAL} Without an argument, all tasks are meant, and you are asked first. Removed tasks are not "
                "lost: tildone undo restores them."
            ),
            options=(ALL, JSON),
            examples=("tildone todo rm 4", "tildone todo rm --all"),
        ),
        "changing:note": Verb(
            "note TASK TEXT…",
            "Add a note to a task.",
            description=TASK,
            options=(JSON,),
            examples=('tildone todo note parser "The grammar is in docs/grammar.md"',),
        ),
        "checks:check_verb": Verb(
            "check [TASK] [-- COMMAND…]",
            "Set the command that shows that a task is done, or show it.",
            description=(
                f"{TASK} A task with a check is done only if the command succeeds: tildone todo done runs it. No shell "
                "interprets COMMAND; for pipes, use: -- sh -c '…'. It is run in the project's folder. What you type "
                "is approved; in the shell of an agent, it is only proposed. Another check makes a done task open "
                "again. Options without a command change the present check. Without either, the check and its state "
                "are shown; without TASK, all of them."
            ),
            options=(
                Option("plan", "", "The plan's own check, which is run once all tasks are closed."),
                Option("folder", "DIR", "The folder to run it in, inside the project."),
                Option("seconds", "N", "How long it may take; default: 120."),
                Option("retries", "N", "How often it is run again if it fails; default: 0."),
                Option("watch", "GLOB", "Files that the result depends on, repeatable; default: all tracked files."),
                Option("remove", "", "Remove the check."),
                JSON,
            ),
            examples=(
                "tildone todo check 3 -- pytest -q tests/parser",
                "tildone todo check 3 --watch 'src/parser/**' --seconds 300 -- make test",
                "tildone todo check --plan -- make all",
                "tildone todo check 3",
            ),
            takes_command=True,
        ),
        "changing:after": Verb(
            "after TASK [TASK…]",
            "Say after which other tasks a task is worked on.",
            description=(
                "The first TASK comes after the others, in place of those before. It is not offered while one of them "
                "is open. Tasks that would wait for each other are refused. Numbers are as the list shows them."
            ),
            options=(Option("none", "", "It waits for no other task."), JSON),
            examples=("tildone todo after 3 1 2", "tildone todo after 3 --none"),
        ),
        "changing:touches": Verb(
            "touches TASK [GLOB…]",
            "Say which files a task will change.",
            description=(
                "Tasks that may change the same files are not given to two agents at once. Quote patterns, so that "
                "your shell does not replace them."
            ),
            options=(Option("none", "", "Name no files."), JSON),
            examples=("tildone todo touches 3 'src/parser/*' docs/grammar.md", "tildone todo touches 3 --none"),
        ),
        "files:edit_plan": Verb(
            "edit",
            "Edit the plan in $VISUAL or $EDITOR.",
            description=(
                "Unchanged tasks, and tasks whose text you edit in place, keep their numbers. Your text is kept if it "
                "cannot be parsed, or if the plan has changed in the meantime."
            ),
            options=(JSON,),
            examples=("EDITOR=nano tildone todo edit",),
            unknown="to change the text of a task: tildone todo rename {} TEXT",
        ),
        "changing:undo": Verb(
            "undo [N]",
            "Undo the newest change of the plan, or the newest N; the same as tildone undo.",
            description="Nothing is lost: tildone redo restores what was undone.",
            options=(JSON,),
            examples=("tildone todo undo",),
        ),
        "files:copy_plan": Verb("copy", "Copy the plan to the clipboard as Markdown.", examples=("tildone todo copy",)),
        "files:export_plan": Verb(
            "export [FILE]",
            "Write the plan to a file as Markdown.",
            description=(
                "FILE defaults to TODO.md; - is standard output. A file that contains anything but a checklist is not "
                "overwritten without --force."
            ),
            options=(FORCE,),
            examples=("tildone todo export", "tildone todo export - | less"),
        ),
        "files:import_plan": Verb(
            "import [FILE]",
            "Read the plan from a Markdown file.",
            description=(
                "FILE defaults to TODO.md; - is standard input. The file replaces the whole plan; tasks with an "
                "unchanged text keep their numbers. If a line cannot be parsed, nothing changes; a file without tasks "
                "replaces a plan only with --force."
            ),
            options=(FORCE, JSON),
            examples=("tildone todo import plan.md", "tildone todo export - | tildone todo import - --session copy"),
        ),
    },
)

VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "todo": Verb(
            "todo [VERB …]",
            "Show the plan, or change it.",
            description=(
                "Without a verb, the plan is shown. A task is named by the number that the list shows (3 or #3), which "
                "stays with the task, or by a part of its text."
            ),
            options=FILTERS,
            examples=(
                "tildone todo",
                'tildone todo add "Write the parser"',
                "tildone todo done 1",
                "tildone todo --open",
            ),
            groups=(Group("", lambda: TODO),),
            default="list",
            unknown="to search: tildone todo list {}",
        ),
        "checks:verify": Verb(
            "verify [TASK…]",
            "Run checks, and record whether they passed.",
            description=(
                "Without TASK, runs the checks of done tasks whose files have changed since, those that were run and "
                "did not pass, and that of the plan once all tasks are closed. Prints a line for each. A done task "
                "whose check fails is in progress again. The exit code is 3 unless all passed."
            ),
            options=(Option("plan", "", "The plan's own check."), JSON),
            examples=("tildone verify", "tildone verify 3", "tildone verify --json"),
        ),
        "checks:approve": Verb(
            "approve [TASK…]",
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
            "call TOOL [JSON]",
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
