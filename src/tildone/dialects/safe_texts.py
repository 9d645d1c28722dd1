"""A dialect whose texts are safe to hand to a model: harmless whatever the plan contains, and of limited size.

The dialects that reproduce other tools keep the exact texts of those tools, and their lists hold one line for each
task. All else that a text could do to its reader is the same for all dialects, and so it is prevented here. Every
dialect defines its record with `safe_dialect`, so there is no other form of it to import.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.limits import MAX_CONTEXT, MAX_NUDGE, MAX_RESULT, clipped
from tildone.views.sanitize import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec

    from tildone.dialects.base import Dialect, Reply, Tool

    P = ParamSpec("P")


def safe_dialect(dialect: Dialect) -> Dialect:
    """Return the dialect with every text that it makes of a plan or of a call in its harmless form."""
    context, completion = dialect.context, dialect.completion
    return replace(
        dialect,
        tools=tuple(map(_safe_tool, dialect.tools)),
        refuse=_safe_reply(dialect.refuse),
        context=lambda plan: None if (text := context(plan)) is None else clipped(safe_text(text), MAX_CONTEXT),
        carry_on=lambda plan: clipped(safe_text(dialect.carry_on(plan)), MAX_NUDGE),
        completion=completion and (lambda *given: safe_text(completion(*given))),
    )


def _safe_tool(tool: Tool) -> Tool:
    return replace(tool, reply=_safe_reply(tool.reply))


def _safe_reply(reply: Callable[P, Reply]) -> Callable[P, Reply]:
    def make(*args: P.args, **kwargs: P.kwargs) -> Reply:
        made = reply(*args, **kwargs)
        return replace(made, text=clipped(safe_text(made.text), MAX_RESULT))

    return make
