"""The verbs that look back, and go back."""

from tildone.cli.parsing.args import MANY, Option, Verb
from tildone.cli.parsing.options import FORCE, JSON

EVENTS = (
    "EVENT is a label, an id or its beginning, head, root (before the first change), or any of them with ~N behind\n"
    "it: N changes earlier. ~N alone counts from the head."
)

LOG = Verb(
    "log",
    "",
    "show what happened to the plan, newest first",
    run="history.log.log",
    about=(
        "What ends a task's time in progress says how long that was. With --tasks, every task of this branch is told:\n"
        "how long it was worked on, how long it took in all from added to closed, and who closed it."
    ),
    options=(
        Option("limit", "N", "how many events (20)"),
        Option("all", "", "other branches, too: what was undone and left behind"),
        Option("tasks", "", "how long each task took"),
        JSON,
    ),
    examples=("tildone log", "tildone log --limit 5", "tildone log --tasks", "tildone log --all --json"),
)
DIFF = Verb(
    "diff",
    "[EVENT] [EVENT]",
    "show what changed in the plan",
    run="history.diff.diff",
    most=2,
    about=f"The newest change; with one EVENT, from there to now; with two, from the first to the second.\n{EVENTS}",
    options=(JSON,),
    examples=("tildone diff", "tildone diff head~3", "tildone diff root before-lunch"),
)
BLAME = Verb(
    "blame",
    "[TASK]",
    "show who added and who closed each task, and in which call",
    run="history.blame.blame",
    most=MANY,
    about=(
        "TASK is a part of the text, or a number: its whole life is told then, with the arguments of the calls.\n"
        "A task is followed from phase to phase; one whose text was changed is another."
    ),
    options=(Option("at", "EVENT", "the plan as it was at an event"), JSON),
    examples=("tildone blame", "tildone blame parser", "tildone blame --at head~5"),
)
UNDO = Verb(
    "undo",
    "[N]",
    "take back the newest change of the plan, or the newest N",
    run="history.undo.undo",
    most=1,
    about="Whoever made it. Nothing is lost: tildone redo brings it back.",
    examples=("tildone undo", "tildone undo 3"),
)
REDO = Verb(
    "redo",
    "[N]",
    "take back the newest undo, or the newest N",
    run="history.undo.redo",
    most=1,
    examples=("tildone redo", "tildone redo 3"),
)
CHECKOUT = Verb(
    "checkout",
    "EVENT",
    "go to another point of the plan's history, and on from there",
    run="history.checkout.checkout",
    least=1,
    most=1,
    about=f"Nothing is lost: what was done since stays on a branch of its own.\n{EVENTS}",
    examples=("tildone checkout head~3", "tildone checkout before-lunch"),
)
BRANCH = Verb(
    "branch",
    "[NAME]",
    "list the branches of the plan's history, or name this point of it",
    run="history.branch.branch",
    most=1,
    about=(
        "A branch begins where something was changed after an undo or a checkout. With NAME, the plan as it is now\n"
        "gets that name, to come back to with tildone checkout NAME. The name stays there when the plan goes on."
    ),
    options=(FORCE, JSON),
    examples=("tildone branch", "tildone branch first-try"),
)
LABEL = Verb(
    "label",
    "[NAME] [EVENT]",
    "name a point of the plan's history, or list the names",
    run="history.label.label",
    most=2,
    about=f"Without EVENT, the plan as it is now is named. --force takes a name from another event.\n{EVENTS}",
    options=(Option("remove", "", "take the name off"), FORCE, JSON),
    examples=("tildone label before-lunch", "tildone label v1 head~2", "tildone label v1 --remove", "tildone label"),
)

VERBS = (LOG, DIFF, BLAME, UNDO, REDO, CHECKOUT, BRANCH, LABEL)
