"""The type of a dialect: a record of plain functions and data.

The record contains everything that tildone knows about a dialect. Shells list and call its tools, hosts run it on the
extension skeleton, and the shell driver phrases its calls, all from these fields.
"""

from __future__ import annotations

from tildone.core.plan import Plan, Status
from tildone.dialects import snapshot
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from tildone.core.reduce import Outcome, Step
    from tildone.core.rules import Rules
    from tildone.kit.schema import SchemaProblem

    Params = Mapping[str, Any]
    Details = dict[str, Any]
    Schema = Mapping[str, Any]
    ToolCall = tuple[str, dict[str, Any]]

    class Completions(Protocol):
        """A log of completed plans, for people."""

        def add(self, entry: Callable[[int, str], str]) -> str | None:
            """Write the entry made from a number and a timestamp. Return its path; None if writing failed."""


@value
class Reply:
    """What a tool call returns: `text` for the model, `details` for programs.

    `refusals` are what a call that was executed did not do, in the words of `text`: tasks whose checks did not pass.
    """

    text: str
    details: Details
    is_error: bool = False
    refusals: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the call was refused. Like their originals, some dialects report a refusal in `details` only."""
        return self.is_error or bool(self.details.get("error"))


@value
class CompletedCall:
    """A tool call that was executed, with everything that a reply may report about it.

    `known` is the plan as the model last saw it; None if the model has not seen it, or its context was reset since.
    """

    params: Params
    outcome: Outcome
    durable: bool = False
    elapsed_ms: int = 0
    saved_to: str | None = None
    known: Plan | None = None


@value
class Hints:
    """The behaviour that a client may assume of a tool (MCP's tool annotations).

    Tools are not destructive by default: an undo restores whatever a call replaced.
    """

    read_only: bool = False
    idempotent: bool = False
    destructive: bool = False


@value
class Tool:
    """One tool: its description for the model, and its implementation.

    `label` is its title for people. `parameters` is the JSON schema of the arguments, and `output_schema` is the schema
    of a reply's details; a tool without an output schema returns no structured results.

    `steps` translates the arguments into changes to a plan, or into a function that returns the changes for a plan; a
    read-only tool has none. `reply` reports the outcome. A tool with `whole_list` is sent the complete plan each time:
    tasks that others added since the model last saw the plan are kept although its list lacks them.
    `demands` returns problems that the schema cannot express. A tool that is not `strict` accepts a
    number for text, and text for an integer, where that is unambiguous. A tool with `interpret` accepts more forms than
    its schema describes: the function returns the arguments in their normal form, or the problems with them.

    `snippet` is the tool's line in the list of tools of a system prompt, and `guidelines` are added to that prompt.
    """

    name: str
    label: str
    description: str
    parameters: Schema
    steps: Callable[[Params], Sequence[Step] | Callable[[Plan], Sequence[Step]]]
    reply: Callable[[CompletedCall], Reply]
    demands: Callable[[Params], Sequence[SchemaProblem]] = lambda _: ()
    snippet: str = ""
    guidelines: tuple[str, ...] = ()
    strict: bool = True
    interpret: Callable[[object], tuple[Params, Sequence[SchemaProblem]]] | None = None
    output_schema: Schema | None = None
    hints: Hints = Hints()
    whole_list: bool = False


@value
class Phrasing:
    """Builds the tool calls with which a program, in place of a model, works through a plan.

    `mark(plan, position, status)` returns the call that sets the status of the task at that position.
    """

    mark: Callable[[Plan, int, Status], ToolCall]


@value
class Dialect:
    """The tools of one family of models, and all other text about the plan that these models read.

    `refuse` replies to a call with invalid arguments, which changes nothing. `context` returns the text that is added
    before a model's turn, or None. `carry_on` returns the prompt that tells a model to continue. `phrasing` lets the
    shell driver use the dialect.

    `recover` reads the plan from the entries of a conversation. The default is for dialects whose details do not
    contain the plan: hosts add it to the results (see `tildone.dialects.snapshot`).

    `names_tools` means that `context` tells the model to call the dialect's tools.

    `shown_part` returns the part of a plan that a model is told. Tasks that it was not told are kept when it replaces
    the whole list.

    A dialect that is `numbered` names tasks by their numbers towards its model. One that `marks_origins` says in its
    texts which open tasks a person added; others have the exact texts of the tools they come from, and hooks add it.

    A dialect that `tells_results` says in its replies which checks did not pass; to those of others, it is added.

    A dialect with a `completion` logs finished plans for people. When `completes` is true of a call,
    `completion(call, number, timestamp)` returns the log entry.
    """

    name: str
    rules: Rules
    tools: tuple[Tool, ...]
    refuse: Callable[[Tool, Sequence[SchemaProblem], object], Reply]
    context: Callable[[Plan], str | None]
    carry_on: Callable[[Plan], str]
    recover: Callable[[Sequence[Mapping[str, Any]]], Plan | None] = snapshot.recover
    phrasing: Phrasing | None = None
    completes: Callable[[CompletedCall], bool] = lambda _: False
    completion: Callable[[CompletedCall, int, str], str] | None = None
    numbered: bool = False
    marks_origins: bool = False
    tells_results: bool = False
    names_tools: bool = True
    shown_part: Callable[[Plan], Plan] = lambda plan: plan

    def tool(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)

    @property
    def needs_snapshots(self) -> bool:
        """Whether hosts have to add the plan to the results of the dialect's tools."""
        return self.recover is snapshot.recover
