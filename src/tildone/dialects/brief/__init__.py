"""The `brief` dialect: one tool, permanent task numbers, and replies of a few tokens.

What only a call needs is imported by the first one: hooks use the words of a dialect and make no call.
"""

from __future__ import annotations

from tildone.core.rules import Rules
from tildone.dialects.base import Dialect, Tool
from tildone.dialects.brief.params import PARAMETERS
from tildone.dialects.brief.phrasing import PHRASING
from tildone.dialects.brief.words import carry_on, context, refuse, reply
from tildone.dialects.safe_texts import safe_dialect
from tildone.dialects.schema import TEXT, record
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tildone.core.reduce import Step
    from tildone.kit.schema import SchemaProblem

RULES = Rules(max_tasks=200, max_text=2000)


def _interpret(arguments: object) -> tuple[dict[str, Any], list[SchemaProblem]]:
    from tildone.dialects.brief.interpretation import interpret  # noqa: PLC0415  see the module's docstring

    return interpret(arguments)


def _steps(params: Mapping[str, Any]) -> list[Step]:
    from tildone.dialects.brief.steps import steps  # noqa: PLC0415  see the module's docstring

    return steps(params)


DIALECT = safe_dialect(
    Dialect(
        name="brief",
        rules=RULES,
        tools=(
            Tool(
                name="todo",
                label="Todo",
                description=(
                    "Your plan: add steps; done ID starts the next; {} lists. "
                    'block "ID why it waits", note "ID text", move "ID before ID", '
                    'check "ID command", after "ID IDs", touches "ID globs"'
                ),
                parameters=PARAMETERS,
                steps=_steps,
                reply=reply,
                snippet="Keep a plan of what there is to do",
                interpret=_interpret,
                output_schema=record("say", say=TEXT),
            ),
        ),
        refuse=refuse,
        context=context,
        carry_on=carry_on,
        phrasing=PHRASING,
        numbered=True,
        marks_origins=True,
        tells_results=True,
        names_tools=False,
    )
)
