"""Where tildone deliberately differs from the systems it grew out of: what, and why.

Each has a test of its own (`tests/test_differences.py`) and is told to users (`docs/differences.md`). `tags`
are the marks of the recorded vectors that show the original's way.
"""

from __future__ import annotations

from tildone.value import value


@value
class Difference:
    """One deliberate difference."""

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
        why="What an agent threw away must not come back.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="finished-before-breaker",
        original="The limit is checked before asking whether anything is left.",
        here="A finished list never announces that the limit was reached.",
        why="It told people to take over work that was done.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="only-change-resets",
        original="Any write resets the nudge count, even one that changes nothing.",
        here="Only a change of the plan resets it.",
        why="An agent that rewrites the same list for ever would never be stopped.",
    ),
    Difference(
        id="drift-bound",
        original="A change of status resets the nudge count without end.",
        here="A second bound ends chains in which no task is ever closed or added.",
        why="An agent that toggles a status for ever would never be stopped.",
    ),
    Difference(
        id="no-nudge-after-error",
        original="An agent whose turn ended with an error is told to go on.",
        here="It is left alone.",
        why="The next turn would most likely meet the same error, at the same cost.",
    ),
    Difference(
        id="one-line-per-task",
        original="Line breaks in a text are printed raw into lists and prompts.",
        here="They are shown as ⏎ in every text a model reads; the stored text keeps them.",
        why="A task could forge the lines around it, an instruction included.",
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
        original="The list and its counters live in the module.",
        here="They live in a session, and come from its log.",
        why="Two agents in one process must not share a list; a hook in a new process must know the count.",
    ),
    Difference(
        id="no-empty-text",
        original="An item with empty text is accepted, and lost at the next restart.",
        here="It is refused at the door.",
        why="Losing it shifts the positions of all items after it.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="strict-types",
        original="The host turns 1.5, true and null into whole numbers, null into text, single items into lists.",
        here="Text that is a whole number is read as one, and a number as text; any other wrong type is refused.",
        why="A guess that is wrong changes the plan; a refusal costs one short call.",
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
        here="What was applied is remembered.",
        why="The model was shown the new state; it must still be the state tomorrow.",
        tags=("upstream-bug",),
    ),
    Difference(
        id="equal-tasks-reachable",
        original="Of several tasks with the same text only the first can be reached.",
        here="The first open one is meant, so each is reached in its turn.",
        why="The second would stay open for ever.",
    ),
    Difference(
        id="lossless-markdown",
        original="Markdown export loses blank lines in notes, line breaks in texts and spaces at their ends.",
        here="Export and import give back the same plan, whatever its texts hold.",
        why="Exporting, looking and importing must be safe.",
        tags=("lossy-round-trip", "line-break"),
    ),
    Difference(
        id="reminder-cannot-be-closed",
        original="Task text can close the `<system-reminder>` it stands in.",
        here="The angle bracket of such a tag is replaced inside reminders.",
        why="What follows would be read as the system's own words.",
        tags=("upstream-bug", "line-break"),
    ),
    Difference(
        id="unknown-fields-refused",
        original="Unknown fields of `TodoWrite` items are accepted and dropped.",
        here="They are refused, as the documented schema says.",
        why="A model that sends a priority believes it was kept.",
        tags=("extra-keys",),
    ),
    Difference(
        id="bad-calls-change-nothing",
        original="Arguments that the schema would refuse can raise or corrupt the list when they get through.",
        here="They get an error reply, and nothing changes.",
        why="Bad input gets a clear error and changes nothing.",
        tags=("out-of-schema", "upstream-bug", "lone-surrogate"),
    ),
    Difference(
        id="init-needs-a-list",
        original="`init` without a list empties the plan, and reports an error.",
        here="It is refused at the door, and the plan stays.",
        why="A forgotten field must not cost the whole plan.",
    ),
    Difference(
        id="empty-file-keeps-the-plan",
        original="Importing an empty file empties the plan.",
        here="`tildone todo import` refuses it without `--force`; `/todo import` does as the original.",
        why="An empty file is far more often a mistake than a wish.",
    ),
    Difference(
        id="list-is-drawn",
        original="The result of `list_todos` is drawn as an empty list, whatever it says.",
        here="The list is drawn.",
        why="A person who watches must see what the model sees.",
    ),
)
