"""The `indexed` dialect: `write_todos`, `list_todos` and `edit_todos`, a flat list addressed by position."""

from tildone.dialects.base import Dialect, Hints, Tool
from tildone.dialects.indexed.entries import recover
from tildone.dialects.indexed.params import (
    EDIT_PARAMETERS,
    LIST_PARAMETERS,
    RULES,
    WRITE_PARAMETERS,
    edit_steps,
    no_empty_texts,
    write_steps,
)
from tildone.dialects.indexed.phrasing import PHRASING
from tildone.dialects.indexed.results import RESULT
from tildone.dialects.indexed.words import carry_on, context, edit_reply, list_reply, refuse, write_reply
from tildone.dialects.safe_texts import safe_dialect

SNIPPET = "Manage a todo list: write (replace/append/insert), list, edit (start/complete/abandon by indices)"
GUIDELINES = (
    "Use write_todos with mode 'replace' to create or replace the full todo list at the start of a task.",
    "Use write_todos with mode 'append' to add new items to the end of the existing list.",
    "Use write_todos with mode 'insert' and an 'index' parameter to insert items at a specific position.",
    "Use edit_todos with action 'start' and an array of 0-based indices to begin work on specific items.",
    "Use edit_todos with action 'complete' and an array of 0-based indices to mark items as done.",
    "Use edit_todos with action 'abandon' and an array of 0-based indices when items are no longer needed.",
    "Use list_todos to review the current todo list.",
    ("Always call edit_todos with action 'start' on the next item before working on it, then 'complete' when done."),
)

DIALECT = safe_dialect(
    Dialect(
        name="indexed",
        rules=RULES,
        tools=(
            Tool(
                name="write_todos",
                label="Write todos",
                description="Write the todo list: replace all of it, append items, or insert items at an index.",
                parameters=WRITE_PARAMETERS,
                steps=write_steps,
                reply=write_reply,
                demands=no_empty_texts,
                snippet=SNIPPET,
                strict=False,
                guidelines=GUIDELINES,
                output_schema=RESULT,
            ),
            Tool(
                name="list_todos",
                label="List todos",
                description="Show the todo list.",
                parameters=LIST_PARAMETERS,
                steps=lambda _: (),
                reply=list_reply,
                snippet=SNIPPET,
                strict=False,
                # No output schema: the details omit the list, because `recover` must not read it as state.
                hints=Hints(read_only=True, idempotent=True),
            ),
            Tool(
                name="edit_todos",
                label="Edit todos",
                description="Start, complete or abandon todo items by their 0-based indices: all or none.",
                parameters=EDIT_PARAMETERS,
                steps=edit_steps,
                reply=edit_reply,
                snippet=SNIPPET,
                strict=False,
                output_schema=RESULT,
                hints=Hints(idempotent=True),
            ),
        ),
        refuse=refuse,
        context=context,
        carry_on=carry_on,
        phrasing=PHRASING,
        recover=recover,
    )
)
