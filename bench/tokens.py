"""Tokens of one workload in each dialect, counted with the o200k encoding.

Ten tasks are added in one call, then each is started and completed, one call at a time. Counted is what a model reads
and writes: the tools' definitions once, every call (tool name and arguments) and every answer.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from rs_bpe.bpe import openai  # type: ignore[import-not-found]  # its modules are made when it is imported

from bench.measure import Tokens
from tildone.dialects import DIALECTS, dialect_named
from tildone.dialects.base import Dialect
from tildone.session import Session
from tildone.stores.memory import MemoryStore

TASKS = (
    "Read the existing parser",
    "Write a failing test",
    "Add the token type",
    "Extend the grammar",
    "Handle the error cases",
    "Update the pretty printer",
    "Run the whole suite",
    "Fix the lint warnings",
    "Write the changelog entry",
    "Open a pull request",
)
# Measured with the originals of three dialects on this workload; for the fourth, the goal.
AIMS = {"indexed": 3_561, "phased": 3_568, "declared": 22_128, "brief": 480}

Call = tuple[str, dict[str, Any]]


def rows() -> Iterator[Tokens]:
    """A row for each dialect."""
    tokenizer = openai.o200k_base()
    for name in DIALECTS:
        yield measured(dialect_named(name), WORKLOADS[name](), tokenizer.count)


def measured(dialect: Dialect, calls: Iterator[Call], tokens: Callable[[str], int]) -> Tokens:
    """Run one dialect's workload and count its tokens."""
    ids = count()
    session = Session(MemoryStore(), "s", dialect, now=lambda: 0, new_id=lambda: str(next(ids)))
    schema = sum(tokens(_compact(definition(tool))) for tool in dialect.tools)
    written = answered = 0
    for tool, arguments in calls:
        reply = session.call(tool, arguments)
        assert not reply.is_error, reply.text
        written += tokens(_compact({"name": tool, "arguments": arguments}))
        answered += tokens(reply.text)
    assert all(not task.status.is_open for task in session.plan.tasks)
    assert len(session.plan.tasks) == len(TASKS)
    return Tokens(dialect.name, schema, written, answered, AIMS[dialect.name])


def definition(tool: Any) -> dict[str, Any]:
    """A tool as it is described to a model."""
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _indexed() -> Iterator[Call]:
    yield "write_todos", {"mode": "replace", "todos": [{"text": text} for text in TASKS]}
    for number in range(len(TASKS)):
        yield "edit_todos", {"action": "start", "indices": [number]}
        yield "edit_todos", {"action": "complete", "indices": [number]}


def _phased() -> Iterator[Call]:
    yield "todo_write", {"ops": [{"op": "init", "list": [{"phase": "Work", "items": list(TASKS)}]}]}
    # Completing a task starts the next one.
    yield from (("todo_write", {"ops": [{"op": "done", "task": text}]}) for text in TASKS)


def _declared() -> Iterator[Call]:
    for done in range(-1, 2 * len(TASKS)):
        words = ["completed" if 2 * i + 1 <= done else "in_progress" if 2 * i == done else "pending" for i in range(10)]
        todos = [{"content": text, "status": word} for text, word in zip(TASKS, words, strict=True)]
        yield "TodoWrite", {"summary": "Extend the language", "todos": todos}


def _brief() -> Iterator[Call]:
    yield "todo", {"add": list(TASKS)}
    for number in range(1, len(TASKS) + 1):
        yield "todo", {"start": number}
        yield "todo", {"done": number}


WORKLOADS: dict[str, Callable[[], Iterator[Call]]] = {
    "indexed": _indexed,
    "phased": _phased,
    "declared": _declared,
    "brief": _brief,
}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
