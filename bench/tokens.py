"""Tokens of one workload in each dialect, counted with the o200k encoding.

Ten tasks are added in one call, then each is started and completed, one after the other. In `phased` and `brief`,
completing a task starts the next one, so only the completions are calls; in `brief, each started`, each start is a call
as well. Two numbers are counted:

- in all, what a model reads and writes: the tools' definitions once, every call (tool name and arguments) and every
  answer.
- input, what is sent to a provider that caches nothing: every request carries the definitions and all earlier calls and
  answers. There is a request for each call, and one for the words that end the turn.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from rs_bpe.bpe import openai  # type: ignore[import-not-found]  # its modules are made when it is imported

from bench.measure import Tokens
from bench.wire import compact
from tildone.log.session import Session
from tildone.plan.dialects import Dialect, dialect_named
from tildone.plan.model import Status
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
BRIEF_STARTED = "brief, each started"
# Measured with the originals of three dialects on this workload; for the fourth, the goal.
AIMS = {"indexed": 3_561, "phased": 3_568, "declared": 22_128, "brief": 300, BRIEF_STARTED: 440}
# The goal for the fourth; for the others, that their input does not grow.
INPUT_AIMS = {"indexed": 33_729, "phased": 16_669, "declared": 204_552, "brief": 3_000, BRIEF_STARTED: 6_200}

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Workload:
    """The tokens of a workload: of the tools' definitions, and of each call and answer."""

    name: str
    schema: int
    calls: tuple[int, ...]
    answers: tuple[int, ...]

    @property
    def total(self) -> int:
        """What a model reads and writes, each thing once."""
        return self.schema + sum(self.calls) + sum(self.answers)

    @property
    def input(self) -> int:
        """What all requests carry: the definitions, and the calls and answers before each."""
        rounds = [call + answer for call, answer in zip(self.calls, self.answers, strict=True)]
        return sum(self.schema + sum(rounds[:count]) for count in range(len(rounds) + 1))

    def rows(self) -> Iterator[Tokens]:
        """The two rows of the table."""
        yield Tokens(self.name, self.parts, self.total, AIMS[self.name])
        requests = f"{len(self.calls) + 1} requests without a cache"
        yield Tokens(f"{self.name}, input", requests, self.input, INPUT_AIMS[self.name])

    @property
    def parts(self) -> str:
        return f"{self.schema} schema + {sum(self.calls)} calls + {sum(self.answers)} answers"


def rows() -> Iterator[Tokens]:
    """Two rows for each workload."""
    tokenizer = openai.o200k_base()
    for name in WORKLOADS:
        yield from measured(name, tokenizer.count).rows()


def measured(name: str, tokens: Callable[[str], int]) -> Workload:
    """Run a workload in its dialect and count its tokens."""
    ids, dialect = count(), dialect_of(name)
    session = Session(MemoryStore(), "s", dialect, now=lambda: 0, new_id=lambda: str(next(ids)))
    schema = sum(tokens(compact(definition(tool))) for tool in dialect.tools)
    written: list[int] = []
    answered: list[int] = []
    started: set[str] = set()
    for tool, arguments in WORKLOADS[name]():
        reply = session.call(tool, arguments)
        assert not reply.is_error, reply.text
        written.append(tokens(compact({"name": tool, "arguments": arguments})))
        answered.append(tokens(reply.text))
        started |= {task.text for task in session.plan.tasks if task.status is Status.IN_PROGRESS}
    assert started == set(TASKS)
    assert [task.status for task in session.plan.tasks] == [Status.COMPLETED] * len(TASKS)
    return Workload(name, schema, tuple(written), tuple(answered))


def dialect_of(name: str) -> Dialect:
    """The dialect that a workload is in."""
    return dialect_named(name.partition(",")[0])


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
    yield "todo", {"add": list(TASKS), "do": "start 1"}
    # Completing a task starts the next one.
    yield from (("todo", {"do": f"done {number}"}) for number in range(1, len(TASKS) + 1))


def _brief_each_started() -> Iterator[Call]:
    yield "todo", {"add": list(TASKS)}
    for number in range(1, len(TASKS) + 1):
        yield "todo", {"do": f"start {number}"}
        yield "todo", {"do": f"done {number}"}


WORKLOADS: dict[str, Callable[[], Iterator[Call]]] = {
    "indexed": _indexed,
    "phased": _phased,
    "declared": _declared,
    "brief": _brief,
    BRIEF_STARTED: _brief_each_started,
}
"""What each workload calls; its name begins with that of its dialect."""
