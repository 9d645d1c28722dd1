"""What a dialect is: a record of plain functions and data.

The record is everything that tildone knows of a dialect. Shells list its tools and call them, hosts run it on the
extension skeleton, and the shell driver speaks it, all from these fields.
"""

from __future__ import annotations

from tildone.core.plan import Plan, Status
from tildone.core.reduce import Outcome, Step
from tildone.core.rules import Rules
from tildone.dialects import snapshot
from tildone.kit.schema import SchemaProblem
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Params = Mapping[str, Any]
    Details = dict[str, Any]
    Schema = Mapping[str, Any]
    ToolCall = tuple[str, dict[str, Any]]


@value
class Reply:
    """What a tool call returns: `text` for the model, `details` for programs."""

    text: str
    details: Details
    is_error: bool = False

    @property
    def failed(self) -> bool:
        """Whether the call was refused. Some dialects report a refusal in `details` only, as their originals do."""
        return self.is_error or bool(self.details.get("error"))


@value
class Done:
    """A call that was carried out, with everything a reply may report of it.

    `known` is the plan as the model last saw it; None if it never did, or has forgotten it since.
    """

    params: Params
    outcome: Outcome
    durable: bool = False
    took_ms: int = 0
    saved_to: str | None = None
    known: Plan | None = None


@value
class Hints:
    """What a client may assume of a tool without calling it (the annotations of MCP).

    No tool is destructive unless it says so: an undo restores whatever a call replaced.
    """

    read_only: bool = False
    idempotent: bool = False
    destructive: bool = False


@value
class Tool:
    """One tool: what a model is told of it, and what it does.

    `label` is its title for people. `parameters` is the JSON schema of the arguments, `output_schema` that of the
    details of a reply; a tool without one returns no structured results.

    `steps` translates the arguments into changes to a plan; a read-only tool has none. `reply` reports the outcome.
    `demands` lists what a call lacks although its arguments fit the schema. A tool that is not `strict` accepts a
    number for text, and text for an integer, where that is unambiguous. A tool with `interpret` accepts more forms than
    its schema describes: the function returns the arguments in their normal form, or the problems with them.

    `snippet` is the tool's line in the list of tools of a system prompt, and `guidelines` are added to that prompt.
    """

    name: str
    label: str
    description: str
    parameters: Schema
    steps: Callable[[Params], Sequence[Step]]
    reply: Callable[[Done], Reply]
    demands: Callable[[Params], Sequence[SchemaProblem]] = lambda _: ()
    snippet: str = ""
    guidelines: tuple[str, ...] = ()
    strict: bool = True
    interpret: Callable[[object], tuple[Params, Sequence[SchemaProblem]]] | None = None
    output_schema: Schema | None = None
    hints: Hints = Hints()


@value
class Phrasing:
    """The calls by which a program, in place of a model, writes a plan and marks its tasks.

    `write` returns the call that brings all tasks of `wanted` into the plan `current`; the summary says what they are
    for. `mark` returns the call that gives a status to the task of that text.
    """

    write: Callable[[Plan, Plan, str], ToolCall]
    mark: Callable[[Plan, str, Status, str], ToolCall]


@value
class Dialect:
    """The tools of one family of models, and everything else it is told about the plan.

    `refuse` answers a call whose arguments are wrong; such a call changes nothing. `context` is what a model reads
    before its turn, if anything; `carry_on` tells it to continue. `phrasing` lets the shell driver speak the dialect.

    `recover` reads the plan from the entries of a conversation. The default suits dialects whose details do not hold
    the plan: hosts add it to their results (see `tildone.dialects.snapshot`).

    In a dialect with a `completion`, finished plans are logged for people: where a call `completes` a plan, that is
    the entry, given the call, the number of the entry and a time stamp.
    """

    name: str
    rules: Rules
    tools: tuple[Tool, ...]
    refuse: Callable[[Tool, Sequence[SchemaProblem], object], Reply]
    context: Callable[[Plan], str | None]
    carry_on: Callable[[Plan], str]
    recover: Callable[[Sequence[Mapping[str, Any]]], Plan | None] = snapshot.recover
    phrasing: Phrasing | None = None
    completes: Callable[[Done], bool] = lambda _: False
    completion: Callable[[Done, int, str], str] | None = None

    def tool(self, name: str) -> Tool | None:
        """The tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    @property
    def needs_snapshots(self) -> bool:
        """Whether hosts have to add the plan to the results of its tools."""
        return self.recover is snapshot.recover
