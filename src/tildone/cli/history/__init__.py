"""Verbs that show the history of the plan and move in it."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry
from tildone.cli.table import FORCE, JSON, Option, Verb

if TYPE_CHECKING:
    from tildone.cli.table import VerbTable

EVENTS = (
    "EVENT is a label, an event id or a prefix of one, head, or root (before the first change). A suffix ~N means "
    "N changes earlier; ~N alone counts from the head."
)

VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "log": Verb(
            "log",
            "Show what happened to the plan, newest first.",
            description=(
                "Events that end a task's time in progress show how long it was. With --tasks, lists every task of "
                "this branch: how long it was in progress, the time from added to closed, and who closed it."
            ),
            options=(
                Option("limit", "N", "Number of events (default: 20)."),
                Option("all", "", "Include other branches: what was undone or left behind."),
                Option("tasks", "", "Show how long each task took."),
                JSON,
            ),
            examples=("tildone log", "tildone log --limit 5", "tildone log --tasks", "tildone log --all --json"),
        ),
        "stats": Verb(
            "stats",
            "Show pictures of the plan's history: open tasks over time, time per task, nudges.",
            description=(
                "Shows the current branch: the number of open tasks over time; when changes were made, by agents and "
                "by people; when the agent was told to go on (a nudge) and when it was let go; and how long each task "
                "was in progress. Tokens are shown if tildone run worked on the plan. With --svg, writes one picture "
                "in the colours of the viewer's light or dark scheme."
            ),
            options=(
                Option("svg", "FILE", "Write the pictures to an SVG file; - is standard output."),
                Option("force", "", "Overwrite the file even if it is not such a picture."),
                JSON,
            ),
            examples=("tildone stats", "tildone stats --svg plan.svg", "tildone stats --json"),
        ),
        "points:diff": Verb(
            "diff [EVENT] [EVENT]",
            "Show what changed in the plan.",
            description=(
                "Without EVENT, shows the newest change; with one, the changes since then; with two, the changes from "
                "the first to the second.\n"
                f"{EVENTS}"
            ),
            options=(JSON,),
            examples=("tildone diff", "tildone diff head~3", "tildone diff root before-lunch"),
        ),
        "points:blame": Verb(
            "blame [TASK]",
            "Show who added and who closed each task, and in which call.",
            description=(
                "TASK is a part of the text, or a number. With it, shows the whole history of the task, including the "
                "arguments of the calls. A task keeps its identity when it moves to another phase, not when its text "
                "changes."
            ),
            options=(Option("at", "EVENT", "Use the plan as it was at an event."), JSON),
            examples=("tildone blame", "tildone blame parser", "tildone blame --at head~5"),
        ),
        "moving:undo": Verb(
            "undo [N]",
            "Undo the newest change of the plan, or the newest N.",
            description="Changes by agents are undone as well. Nothing is lost: tildone redo restores them.",
            options=(JSON,),
            examples=("tildone undo", "tildone undo 3"),
        ),
        "moving:redo": Verb(
            "redo [N]",
            "Redo the change that was undone last, or the last N.",
            options=(JSON,),
            examples=("tildone redo", "tildone redo 3"),
        ),
        "moving:checkout": Verb(
            "checkout EVENT",
            "Move to another point of the plan's history and continue from there.",
            description=f"Nothing is lost: later changes stay on a branch of their own.\n{EVENTS}",
            examples=("tildone checkout head~3", "tildone checkout before-lunch"),
        ),
        "points:run_branch": Verb(
            "branch [NAME]",
            "List the branches of the plan's history, or label the current point.",
            description=(
                "A branch begins where the plan was changed after an undo or a checkout. With NAME, the current point "
                "gets that label, for tildone checkout NAME. The label stays there when the plan changes."
            ),
            options=(FORCE, JSON),
            examples=("tildone branch", "tildone branch first-try"),
        ),
        "points:run_label": Verb(
            "label [NAME] [EVENT]",
            "Label a point of the plan's history, or list the labels.",
            description=f"EVENT defaults to the current point. --force moves a label from another event.\n{EVENTS}",
            options=(Option("remove", "", "Remove the label."), FORCE, JSON),
            examples=(
                "tildone label before-lunch",
                "tildone label v1 head~2",
                "tildone label v1 --remove",
                "tildone label",
            ),
        ),
    },
)
