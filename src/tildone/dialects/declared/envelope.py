"""The one shape of every answer: status, data, text, stats, context, and an error where there is one."""

from __future__ import annotations

from tildone.dialects.base import Reply
from tildone.dialects.declared.params import STATUSES, WORDS
from tildone.dialects.declared.words import lines, recap, sentence
from tildone.log.codec import pretty
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan
    from tildone.dialects.base import Details, Done, Tool
    from tildone.kit.schema import SchemaProblem

MAX_PROBLEMS = 5
"""How many problems of a call are listed; the others are counted."""

MAX_ECHO_DEPTH = 16
"""Arguments nested deeper are not echoed: a valid call has four levels, and indentation grows with each."""


def write_reply(done: Done) -> Reply:
    """The list as it is now, as data for the model and as text for people."""
    if done.outcome.faults:
        return _refusal(sentence(done.outcome.faults[0]), done.params, done.took_ms)
    plan = done.outcome.after
    todos = [
        {"id": f"t{number}", "content": task.text, "status": WORDS[task.status]}
        for number, task in enumerate(plan.tasks, 1)
    ]
    data: Details = {"todos": todos, "recap": recap(plan), "summary": done.params["summary"].strip()}
    block = ["--- TODO UPDATE ---", *lines(plan), "-------------------"]
    if done.saved_to is not None:
        data["persisted_to"] = done.saved_to
        block.append(f"(Saved to {done.saved_to})")
    return _reply(
        {
            "status": "success",
            "data": data,
            "text": "\n".join(block),
            "stats": {"time_ms": max(1, done.took_ms), **_counts(plan)},
            "context": _context(done.params),
        }
    )


def refuse(_tool: Tool, problems: Sequence[SchemaProblem], given: object) -> Reply:
    """Arguments that do not fit the schema: answered as the tool itself refuses a list."""
    told = [str(problem) for problem in problems[:MAX_PROBLEMS]]
    if len(problems) > MAX_PROBLEMS:
        told.append(f"and {len(problems) - MAX_PROBLEMS} more")
    return _refusal("; ".join(told), given, took_ms=0)


def internal_error(why: str, given: object) -> Reply:
    """An error of tildone's own; the call changed nothing."""
    return _refusal(f"nothing was changed: {why}", given, took_ms=0, code="INTERNAL_ERROR")


def _refusal(message: str, given: object, took_ms: int, code: str = "INVALID_PARAM") -> Reply:
    return _reply(
        {
            "status": "error",
            "data": {},
            "text": message,
            "stats": {"time_ms": took_ms},
            "context": _context(given),
            "error": {"code": code, "message": message},
        }
    )


def _reply(envelope: Details) -> Reply:
    return Reply(pretty(envelope), envelope, is_error=envelope["status"] == "error")


def _context(given: object) -> Details:
    return {"cwd": ".", "params_input": {} if _deeper(given, MAX_ECHO_DEPTH) else given}


def _deeper(given: object, levels: int) -> bool:
    if not isinstance(given, dict | list | tuple):
        return False
    inner = given.values() if isinstance(given, dict) else given
    return levels == 0 or any(_deeper(item, levels - 1) for item in inner)


def _counts(plan: Plan) -> dict[str, int]:
    by_word = {word: sum(task.status is status for task in plan.tasks) for word, status in STATUSES.items()}
    return {"total": len(plan.tasks), **by_word}
