"""The envelope of every reply: status, data, text, stats, context, and the error if there is one."""

from __future__ import annotations

from tildone.core.query import has_checks
from tildone.dialects.base import Reply
from tildone.dialects.declared.params import STATUSES, WORDS
from tildone.dialects.declared.words import lines, part, sentence, short_recap
from tildone.log.codec import pretty
from tildone.typing import TYPE_CHECKING
from tildone.views.limits import clipped
from tildone.views.proofs import results
from tildone.views.sanitize import escape_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan
    from tildone.dialects.base import CompletedCall, Details, Tool
    from tildone.kit.schema import SchemaProblem

MAX_PROBLEMS = 5
"""The number of problems that are listed; the others are counted."""

MAX_ECHO_DEPTH = 16
"""Arguments with deeper nesting are not echoed. A valid call has four levels, and each adds indentation."""

MAX_ECHO_CHARACTERS = 10_000
"""Longer arguments are not echoed."""


def write_reply(call: CompletedCall) -> Reply:
    """Report the new list, as data for the model and as text for people."""
    if call.outcome.faults:
        return _refusal(sentence(call.outcome.faults[0]), call.params, call.elapsed_ms)
    plan = call.outcome.after
    told = part(plan)
    todos = [
        {"id": f"t{number}", "content": task.text, "status": WORDS[task.status]}
        for number, task in enumerate(told.plan.tasks, 1)
    ]
    data: Details = {
        "todos": todos,
        "recap": short_recap(plan),
        "summary": clipped(call.params["summary"].strip(), MAX_ECHO_CHARACTERS),
    }
    block = ["--- TODO UPDATE ---", *lines(told.plan), *told.omissions, "-------------------"]
    if call.saved_to is not None:
        data["persisted_to"] = call.saved_to
        block.append(f"(Saved to {call.saved_to})")
    block += results(call.outcome, numbered=False) if has_checks(plan) else []
    return _reply(
        {
            "status": "success",
            "data": data,
            "text": "\n".join(block),
            "stats": {"time_ms": max(1, call.elapsed_ms), **_counts(plan)},
            "context": _context(call.params),
        }
    )


def refuse(_tool: Tool, problems: Sequence[SchemaProblem], given: object) -> Reply:
    """Reply to arguments that do not match the schema, in the same form as to a list that the tool refuses."""
    messages = [str(problem) for problem in problems[:MAX_PROBLEMS]]
    if len(problems) > MAX_PROBLEMS:
        messages.append(f"and {len(problems) - MAX_PROBLEMS} more")
    return _refusal("; ".join(messages), given, elapsed_ms=0)


def internal_error(why: str, given: object) -> Reply:
    """Report an internal error; the call changed nothing."""
    return _refusal(f"nothing was changed: {why}", given, elapsed_ms=0, code="INTERNAL_ERROR")


def _refusal(message: str, given: object, elapsed_ms: int, code: str = "INVALID_PARAM") -> Reply:
    return _reply(
        {
            "status": "error",
            "data": {},
            "text": clipped(message),
            "stats": {"time_ms": elapsed_ms},
            "context": _context(given),
            "error": {"code": code, "message": clipped(message)},
        }
    )


def _reply(envelope: Details) -> Reply:
    return Reply(escape_json(pretty(envelope)), envelope, is_error=envelope["status"] == "error")


def _context(given: object) -> Details:
    is_short = not _is_deeper(given, MAX_ECHO_DEPTH) and len(pretty(given)) <= MAX_ECHO_CHARACTERS
    return {"cwd": ".", "params_input": given if is_short else {}}


def _is_deeper(given: object, levels: int) -> bool:
    if not isinstance(given, dict | list | tuple):
        return False
    inner = given.values() if isinstance(given, dict) else given
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner)


def _counts(plan: Plan) -> dict[str, int]:
    by_word = {word: sum(task.status is status for task in plan.tasks) for word, status in STATUSES.items()}
    return {"total": len(plan.tasks), **by_word}
