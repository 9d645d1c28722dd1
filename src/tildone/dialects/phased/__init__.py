"""The `phased` dialect: `todo_write`, phases of tasks that are addressed by their text."""

from tildone.dialects.base import Dialect, Tool
from tildone.dialects.phased.entries import recover
from tildone.dialects.phased.params import PARAMETERS, RULES, interpret, steps
from tildone.dialects.phased.phrasing import PHRASING
from tildone.dialects.phased.results import RESULT
from tildone.dialects.phased.words import carry_on, context, refuse, reply
from tildone.dialects.safe_texts import safe_dialect

DESCRIPTION = """\
Todo list: phases of tasks, both named by their exact text. \
Ops run in order; bad ones are reported, the rest count.
init: list replaces everything. append: items to phase (made if new). start: task. \
done, drop (give up), rm: task, else phase, else all. note: text to task.
Keep task texts unique. When the task in progress closes, the next one starts by itself."""

DIALECT = safe_dialect(
    Dialect(
        name="phased",
        rules=RULES,
        tools=(
            Tool(
                name="todo_write",
                label="Write todos",
                description=DESCRIPTION,
                parameters=PARAMETERS,
                steps=steps,
                reply=reply,
                interpret=interpret,
                output_schema=RESULT,
                snippet="Plan work in phases and tick it off",
                guidelines=(
                    "Plan work of several steps with todo_write first; mark each task done as soon as it is.",
                    "Append what turns up on the way; drop what is no longer needed.",
                ),
            ),
        ),
        refuse=refuse,
        context=context,
        carry_on=carry_on,
        phrasing=PHRASING,
        recover=recover,
    )
)
