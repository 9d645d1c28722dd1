"""The `brief` dialect: one tool, permanent task numbers, and replies of a few tokens."""

from tildone.core.rules import Rules
from tildone.dialects.base import Dialect, Tool
from tildone.dialects.brief.interpretation import interpret
from tildone.dialects.brief.params import PARAMETERS, steps
from tildone.dialects.brief.phrasing import PHRASING
from tildone.dialects.brief.words import carry_on, context, refuse, reply
from tildone.dialects.schema import TEXT, record

RULES = Rules(max_tasks=200, max_text=2000)

DIALECT = Dialect(
    name="brief",
    rules=RULES,
    tools=(
        Tool(
            name="todo",
            label="Todo",
            description=(
                "Your plan: add steps; done ID starts the next; {} lists. "
                'block "ID why it waits", note "ID text", move "ID before ID"'
            ),
            parameters=PARAMETERS,
            steps=steps,
            reply=reply,
            snippet="Keep a plan of what there is to do",
            interpret=interpret,
            output_schema=record("say", say=TEXT),
        ),
    ),
    refuse=refuse,
    context=context,
    carry_on=carry_on,
    phrasing=PHRASING,
    numbered=True,
    marks_origins=True,
    names_tools=False,
)
