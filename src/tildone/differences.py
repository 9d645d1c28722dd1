"""Where tildone deliberately differs from the systems it grew out of: what, and why.

Each difference has a test of its own (`tests/test_differences.py`) and an entry in the documentation
(`docs/differences.md`). Recorded conformance vectors that show the original's behaviour carry the difference's id as a
tag, or one of its `tags`.
"""

from __future__ import annotations

from tildone.value import value


@value
class Difference:
    """One deliberate difference. `tags` are further tags of vectors that show the original's behaviour."""

    id: str
    original: str
    here: str
    why: str
    tags: tuple[str, ...] = ()


DIFFERENCES = (
    Difference(
        id="emptied-list-stays-empty",
        original="A list emptied with `replace` and `[]` comes back after a restart.",
        here="It stays empty. Errors and `list_todos` results still never count as state.",
        why="A list that an agent emptied must not come back.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="finished-before-breaker",
        original="The nudge limit is checked before whether any task is left.",
        here="A finished list never announces that the limit was reached.",
        why="The announcement asked people to take over work that was done.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="only-change-resets",
        original="Any write resets the nudge count, even one that changes nothing.",
        here="Only a change of the plan resets it.",
        why="An agent that keeps rewriting the same list would never be stopped.",
    ),
    Difference(
        id="drift-bound",
        original="Every change of a status resets the nudge count.",
        here="A second bound ends chains of nudges in which no task is closed or added.",
        why="An agent that keeps toggling a status would never be stopped.",
    ),
    Difference(
        id="no-nudge-after-error",
        original="An agent whose turn ended with an error is told to continue.",
        here="It is left alone.",
        why="The next turn would most likely fail with the same error, at the same cost.",
    ),
    Difference(
        id="one-countdown",
        original="When a turn ends during a countdown, the running countdown goes on, even if the turn was aborted.",
        here="The end of a turn cancels the running countdown; at most one prompt is pending.",
        why="Two prompts would be sent for one stop, or one after the person said stop.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="prompt-at-send",
        original="The prompt to continue is built when the turn ends and sent three seconds later.",
        here="It is built when it is sent, and not sent if the plan was finished or replaced meanwhile.",
        why="The prompt would list tasks that are done and leave out tasks that were added.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="countdown-ends-with-branch",
        original="Without a screen, a countdown goes on after a switch to another branch or conversation.",
        here="The switch cancels it.",
        why="The prompt would be about a plan that is no longer the current one.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="one-line-per-task",
        original="Line breaks in a task's text are printed raw into lists and prompts.",
        here="They are shown as ⏎ in every text a model reads; the stored text keeps them.",
        why="A task could forge the lines around it, including instructions.",
        tags=("line-break", "upstream-bug"),
    ),
    Difference(
        id="harmless-on-screens",
        original="Control and bidirectional characters reach the terminal.",
        here="They are drawn as pictures or code points.",
        why="A task could move the cursor, recolour the screen or reorder what is read.",
        tags=("terminal-escape",),
    ),
    Difference(
        id="state-in-session",
        original="The list and its counters are module state.",
        here="They belong to a session and are derived from its log.",
        why="Two agents in one process must not share a list; a hook in a new process must know the count.",
    ),
    Difference(
        id="no-empty-text",
        original="An item with empty text is accepted, and lost at the next restart.",
        here="The call is refused.",
        why="Losing the item shifts the positions of all items after it.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="strict-types",
        original="The host turns 1.5, true and null into whole numbers, null into text, single items into lists.",
        here="Text that is a whole number is read as one, and a number as text; any other wrong type is refused.",
        why="A wrong guess changes the plan; a refusal costs one short call.",
        tags=("coercion", "framework-text"),
    ),
    Difference(
        id="malformed-snapshot-skipped",
        original="A malformed snapshot in a session stops it from opening.",
        here="It is skipped, and the next older one is used.",
        why="One bad entry must not cost the whole plan.",
        tags=("malformed", "upstream-bug"),
    ),
    Difference(
        id="batch-survives-resume",
        original="A batch with one bad op is applied, but forgotten when the session is opened again.",
        here="The ops that were applied are kept.",
        why="The model was shown the new state, so a resumed session must have it.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="equal-tasks-reachable",
        original="Of several tasks with the same text only the first can be addressed.",
        here="The text names the first open one, so that each can be addressed in turn.",
        why="The second task could never be closed.",
    ),
    Difference(
        id="lossless-markdown",
        original="Markdown export loses blank lines in notes, line breaks in texts and spaces at their ends.",
        here="Export and import give back the same plan, whatever its texts hold.",
        why="A person must be able to export a plan, look at it and import it without losing anything.",
        tags=("lossy-round-trip", "line-break"),
    ),
    Difference(
        id="reminder-cannot-be-closed",
        original="Task text can close the `<system-reminder>` around it.",
        here="The angle bracket of such a tag is replaced inside reminders.",
        why="The model would read the text after it as the system's own words.",
        tags=("upstream-bug", "line-break"),
    ),
    Difference(
        id="unknown-fields-refused",
        original="Unknown fields of `TodoWrite` items are accepted and dropped.",
        here="They are refused, as the documented schema says.",
        why="A model that sends a priority believes that it was stored.",
        tags=("extra-keys",),
    ),
    Difference(
        id="bad-calls-change-nothing",
        original="Arguments that the schema would refuse can raise or corrupt the list when they get through.",
        here="They get an error reply, and nothing changes.",
        why="Bad input must get a clear error and leave the plan as it was.",
        tags=("out-of-schema", "upstream-bug", "lone-surrogate"),
    ),
    Difference(
        id="init-needs-a-list",
        original="`init` without a list empties the plan and reports an error.",
        here="The call is refused, and the plan stays.",
        why="A forgotten field must not cost the whole plan.",
    ),
    Difference(
        id="empty-file-keeps-the-plan",
        original="Importing an empty file empties the plan.",
        here="`tildone todo import` refuses it without `--force`; `/todo import` does as the original.",
        why="An empty file is far more often a mistake than intended.",
    ),
    Difference(
        id="list-is-drawn",
        original="The result of `list_todos` is drawn as an empty list, whatever it holds.",
        here="The list is drawn.",
        why="A person who watches must see what the model sees.",
    ),
    Difference(
        id="partial-call",
        original="A `write_todos` call that is still arriving is drawn with the index `@null`.",
        here="The index is drawn once it has arrived.",
        why="No task is inserted at `null`: a person who watches would look for a mistake that is not there.",
    ),
)
