"""The `declared` dialect: `TodoWrite`, which is sent the whole list each time and answers in an envelope."""

from tildone.dialects.base import Dialect, Hints, Tool
from tildone.dialects.declared.entries import recover
from tildone.dialects.declared.envelope import refuse, write_reply
from tildone.dialects.declared.params import (
    MAX_CONTENT_CHARACTERS,
    MAX_ITEMS,
    NAME,
    PARAMETERS,
    RULES,
    interpret,
    steps,
)
from tildone.dialects.declared.phrasing import PHRASING
from tildone.dialects.declared.results import RESULT
from tildone.dialects.declared.words import carry_on, completes, completion, context, shown_part
from tildone.dialects.safe_texts import safe_dialect

SNIPPET = "Keep the plan of a longer task: send the whole todo list, get it back with a recap"
GUIDELINES = (
    "Use TodoWrite for work of three or more steps, or if asked to track progress, not for simple requests.",
    f"Send the complete list every time, never a part: at most {MAX_ITEMS} items, and a summary of it all.",
    f"Keep each content short and actionable, at most {MAX_CONTENT_CHARACTERS} characters.",
    "Set an item to in_progress before you begin it, never two at once, and to completed once it is done.",
    "Set what is no longer needed to cancelled. Call TodoWrite again whenever the plan changes.",
)

DIALECT = safe_dialect(
    Dialect(
        name="declared",
        rules=RULES,
        tools=(
            Tool(
                name=NAME,
                label="Write todos",
                description=(
                    "Overwrite the todo list with the current complete list. "
                    "Framework persists and returns the updated list and recap."
                ),
                parameters=PARAMETERS,
                steps=steps,
                whole_list=True,
                reply=write_reply,
                snippet=SNIPPET,
                guidelines=GUIDELINES,
                interpret=interpret,
                output_schema=RESULT,
                hints=Hints(idempotent=True),
            ),
        ),
        refuse=refuse,
        context=context,
        carry_on=carry_on,
        phrasing=PHRASING,
        recover=recover,
        completes=completes,
        completion=completion,
        shown_part=shown_part,
        tells_results=True,
    )
)
