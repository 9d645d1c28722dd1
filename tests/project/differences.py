"""The deliberate differences between tildone and the tools that it re-implements, with the reasons.

Each difference has a test (`tests/test_differences.py`) and an entry in `docs/reference/originals.md`. Recorded
conformance vectors that show the original's behaviour are tagged with the id of the difference or with one of its
`tags`.
"""

from typing import NamedTuple


class Difference(NamedTuple):
    """One deliberate difference. `tags` are further tags for vectors that show the original's behaviour."""

    id: str
    original: str
    tildone: str
    why: str
    tags: tuple[str, ...] = ()


DIFFERENCES = (
    Difference(
        id="emptied-list-stays-empty",
        original="A list that was emptied with `replace` and `[]` reappears after a restart.",
        tildone="It stays empty. As in the original, errors and `list_todos` results never count as state.",
        why="A restart must not undo a change.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="finished-before-breaker",
        original="The nudge limit is checked first, even if no task is left.",
        tildone="For a finished list, reaching the limit is not announced.",
        why="The announcement asks the person to take over, but the work is done.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="only-change-resets",
        original="Any write resets the nudge count, even one that changes nothing.",
        tildone="A change to the plan or to the files of the project resets it, and so does a message of the person.",
        why="An agent that keeps rewriting its list would never be stopped; one with a long task changes files.",
    ),
    Difference(
        id="drift-bound",
        original="Every change of a status resets the nudge count.",
        tildone="A second bound ends chains of nudges in which statuses or files change and no task is finished.",
        why="An agent that keeps toggling a status would never be stopped.",
    ),
    Difference(
        id="time-bound",
        original="A chain of nudges without progress may last for any time.",
        tildone="It ends after some hours, however few nudges there were.",
        why="An agent that takes an hour for each turn would be nudged for a day without having finished anything.",
    ),
    Difference(
        id="absolute-bound",
        original="An agent that makes progress is continued without end.",
        tildone="Nudges, hours and requests since a person last spoke are limited, whatever the agent does.",
        why="An agent that adds a task for each one that it finishes would never be stopped.",
    ),
    Difference(
        id="overtaken-session",
        original="Opening a conversation restores the list in its history.",
        tildone="A list that was changed in the store since is kept, and the model is told of it.",
        why="Restoring an older list would undo the work of other agents and of the person.",
    ),
    Difference(
        id="no-nudge-after-error",
        original="An agent whose turn ended with an error is continued.",
        tildone="It is not continued.",
        why="The next turn would most likely fail with the same error, at the same cost.",
    ),
    Difference(
        id="one-countdown",
        original="When a turn ends during a countdown, the countdown continues, even if the turn was aborted.",
        tildone="The end of a turn cancels the running countdown; at most one prompt is pending.",
        why="Otherwise two prompts are sent for one stop, or one after the person aborted the turn.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="prompt-at-send",
        original="The continue prompt is built when the turn ends and sent three seconds later.",
        tildone="It is built and counted when it is sent, whenever a task is open then; a finished plan gets none.",
        why="An old prompt lists tasks that are closed and omits tasks that were added.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="countdown-ends-with-branch",
        original="Without a screen, a countdown continues after a switch to another branch or conversation.",
        tildone="The switch cancels it, and so does the end of the conversation.",
        why="Otherwise the prompt is about a plan that is no longer the current one.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="one-line-per-task",
        original="Line breaks in the text of a task appear as line breaks in lists and prompts.",
        tildone="They appear as ⏎ in every text that a model reads; the stored text keeps them.",
        why="The text of a task could imitate the lines around it, including instructions.",
        tags=("line-break", "upstream-bug"),
    ),
    Difference(
        id="harmless-on-screens",
        original="Control and bidirectional characters reach the terminal.",
        tildone="They are drawn as symbols or code points.",
        why="The text of a task could move the cursor, change colours or reorder the text that a person reads.",
        tags=("terminal-escape",),
    ),
    Difference(
        id="harmless-for-models",
        original="Control, bidirectional and invisible characters, and all tags, reach the model as they are.",
        tildone=(
            "The dialects hand a model symbols and code points instead, JSON its escapes, and ‹ for the bracket of a "
            "tag of the frames that coding agents use, as `</system-reminder>`. Other tags are ordinary text."
        ),
        why="Hidden text, or the tag with which a coding agent ends its own text, would be read as an instruction.",
    ),
    Difference(
        id="bounded-texts",
        original="Results and prompts list every task with its whole text, however long.",
        tildone=(
            "Each has a limit. Long texts are cut, so that every task keeps its line; those of tasks in progress are "
            "whole. Tasks that do not fit even so are counted, closed ones first. A recap has at most 299 characters."
        ),
        why="One long plan must not fill the context of every model that works on the project.",
    ),
    Difference(
        id="log-where-asked",
        original="`TodoWrite` logs finished lists below the working folder.",
        tildone="`tildone` logs them in the project, a library only in the folder that it is given (`session_in`).",
        why="A library must not write into whatever folder a program happens to run in.",
    ),
    Difference(
        id="state-in-session",
        original="The list and its counters are module state.",
        tildone="They belong to a session and are derived from its event log.",
        why="Two agents in one process must not share a list; a hook in a new process must know the count.",
    ),
    Difference(
        id="no-empty-text",
        original="An item with empty text is accepted and lost at the next restart; one with only white space is kept.",
        tildone="Calls with either are refused.",
        why="Losing the item shifts the positions of all items after it, and nobody can tell what a blank one means.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="strict-types",
        original="Its framework converts 1.5, true and null to integers, null to text, and single items to lists.",
        tildone=(
            "The tools of `indexed` convert text that is an integer to one, and a number to text; any other wrong type "
            "is refused, also if a host passes it on unchecked. `todo_write` and `TodoWrite` refuse every wrong type. "
            "In all of them, null for an optional field means that the field is absent."
        ),
        why="A wrong guess changes the plan; a refusal costs one short call.",
        tags=("coercion", "framework-text"),
    ),
    Difference(
        id="malformed-snapshot-skipped",
        original="A session that contains a malformed snapshot cannot be opened.",
        tildone="The snapshot is skipped, and the next older one is used.",
        why="One bad entry must not make the whole plan inaccessible.",
        tags=("malformed", "upstream-bug"),
    ),
    Difference(
        id="batch-survives-resume",
        original="A batch with one refused op is applied, but lost when the session is opened again.",
        tildone="The ops that were applied are kept.",
        why="The model was shown the new state, so a resumed session must have it.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="equal-tasks-reachable",
        original="Of several tasks with the same text, only the first can be addressed.",
        tildone="The text addresses the first open one, so that they can be closed one after the other.",
        why="Otherwise the second task can never be closed.",
    ),
    Difference(
        id="lossless-markdown",
        original=(
            "Markdown export loses blank lines in notes, line breaks in texts, spaces at their ends, and phases "
            "without a name."
        ),
        tildone="An exported plan is the same after import, whatever its texts and the names of its phases contain.",
        why="A person must be able to export, edit and import a plan without losing anything.",
        tags=("lossy-round-trip", "line-break"),
    ),
    Difference(
        id="reminder-cannot-be-closed",
        original="The text of a task can close the `<system-reminder>` element around it.",
        tildone="The angle bracket of such a tag is replaced in reminders.",
        why="Otherwise the model reads the text after the tag as part of the system prompt.",
        tags=("upstream-bug", "line-break"),
    ),
    Difference(
        id="unknown-fields-refused",
        original="Unknown fields of `TodoWrite` items are accepted and discarded.",
        tildone="They are refused, as the documented schema requires, except `activeForm`, which is discarded.",
        why="A model that sends a priority would assume that it was stored. `activeForm` only repeats the content.",
        tags=("extra-keys",),
    ),
    Difference(
        id="bad-calls-change-nothing",
        original="Arguments that violate the schema can raise an exception or corrupt the list.",
        tildone="They produce an error reply, and nothing changes.",
        why="Invalid input must produce a clear error and leave the plan unchanged.",
        tags=("out-of-schema", "upstream-bug", "lone-surrogate"),
    ),
    Difference(
        id="init-needs-a-list",
        original="`init` without a list empties the plan and reports an error.",
        tildone="The same error is reported, the plan is unchanged by this op, and the others are carried out.",
        why="A missing field must not delete the whole plan.",
    ),
    Difference(
        id="empty-name-selects-nothing",
        original="`done`, `drop` and `rm` with an empty name for a task or a phase apply to all tasks.",
        tildone="Such an op is refused: it names a task or a phase, and not which. Without either name, it means all.",
        why="A model that filled in no name would close or remove the whole plan.",
    ),
    Difference(
        id="empty-file-keeps-the-plan",
        original="Importing an empty file empties the plan.",
        tildone="`tildone todo import` refuses the file without `--force`; `/todo import` behaves like the original.",
        why="An empty file is far more often a mistake than an intention.",
    ),
    Difference(
        id="list-is-drawn",
        original="The result of `list_todos` is always drawn as an empty list.",
        tildone="The list is drawn, with the same colours as after a change.",
        why="A person who watches must see the same list as the model.",
    ),
    Difference(
        id="partial-call",
        original="A `write_todos` call is drawn with the index `@null` while its arguments are still arriving.",
        tildone="The index is drawn once it has arrived.",
        why="`@null` looks like an error, although there is none.",
    ),
)
