"""Tools for hosts and models: their definitions and results, abort signals, and components drawn as lines.

A definition has the tool's description for models, the function that executes it, and the renderers of its calls and
results. A result has two parts: `content` for the model, `details` for the renderer.
"""

import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from inspect import Parameter, getdoc, iscoroutinefunction, signature
from typing import Any, overload
from unicodedata import category

from tildone.base import replace, value
from tildone.base.keys import DEFAULT_BINDINGS, KeyBindings
from tildone.base.schema import KEYWORDS, SchemaProblem
from tildone.plan.text import styles as theme
from tildone.run.kit.components import Component, rows
from tildone.run.kit.drawing import DrawnLine, Line, Row, Safe, Table, fitted_row, fitted_table, table_rows

REPLACEMENT = "\ufffd"


def mask_unprintable(text: str) -> str:
    """Return the text with every unprintable character, line breaks included, replaced by U+FFFD."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or category(char) == "Zs" else REPLACEMENT for char in text)


def draw(
    component: Component,
    columns: int,
    *,
    safe: Safe = mask_unprintable,
    keys: KeyBindings = DEFAULT_BINDINGS,
) -> list[Line]:
    """Return the lines of a component, none wider than `columns`; no lines if `columns` is less than 1.

    `safe` sanitizes one line. It has been applied to all text of the result: applying it again could widen lines.
    """
    return [[*line.spans] for line in fitted(rows(component, keys), columns, safe=safe)]


def fitted(
    laid_out: Iterable[Row | Table], columns: int, *, safe: Safe, prose_columns: int | None = None
) -> Iterator[DrawnLine]:
    """Yield the lines of rows, none wider than `columns`; no lines if `columns` is less than 1.

    Text that is not `wide` is kept within `prose_columns`.
    """
    if columns < 1:
        return
    narrow = columns if prose_columns is None else min(columns, prose_columns)
    for row in laid_out:
        if isinstance(row, Table):
            yield from fitted_table(row, columns, safe)
        else:
            yield from fitted_row(row, columns if row.wide else narrow, safe)


def markup(component: Component, *, keys: KeyBindings = DEFAULT_BINDINGS) -> str:
    """Return the component with a tag for each style, one line per row; neither wrapped nor sanitized."""
    laid_out = rows(component, keys)
    lines = (line for row in laid_out for line in (table_rows(row) if isinstance(row, Table) else (row,)))
    return "\n".join(theme.markup((*row.lead, *row.body)) for row in lines)


Callback = Callable[[], object]

ABORTED = "Aborted"


class Aborted(Exception):
    """The operation was aborted."""

    def __init__(self, reason: str = ABORTED) -> None:
        super().__init__(reason)
        self.reason = reason


class _State:
    """State shared by a controller and its signal; `reason` is set at most once and never reset."""

    __slots__ = ("callbacks", "reason")

    def __init__(self) -> None:
        self.reason: str | None = None
        self.callbacks: dict[object, Callback] = {}


class AbortSignal:
    """Shows whether the operation was aborted, and calls subscribers back when it is."""

    __slots__ = ("_state",)

    def __init__(self, state: _State | None = None) -> None:
        self._state = state or _State()

    @property
    def aborted(self) -> bool:
        return self._state.reason is not None

    @property
    def reason(self) -> str | None:
        """The reason of the abort; None before it."""
        return self._state.reason

    def raise_if_aborted(self) -> None:
        """Raise if the operation was aborted. Raises Aborted if with the reason of the abort."""
        if self._state.reason is not None:
            raise Aborted(self._state.reason)

    def on_abort(self, callback: Callback) -> Callable[[], None]:
        """Call back once on abort, immediately if already aborted. Return a function that unsubscribes."""
        if self.aborted:
            callback()
            return lambda: None
        key = object()
        callbacks = self._state.callbacks
        callbacks[key] = callback

        def unsubscribe() -> None:
            callbacks.pop(key, None)

        return unsubscribe


class AbortController:
    __slots__ = ("_state", "signal")

    def __init__(self) -> None:
        self._state = _State()
        self.signal = AbortSignal(self._state)

    def abort(self, reason: str = ABORTED) -> list[Exception]:
        """Abort, the first time only, and call the subscribers in the order of their subscription.

        An exception of one callback does not prevent the others from being called. Return the exceptions.
        """
        if self.signal.aborted:
            return []
        self._state.reason = reason
        callbacks, raised = self._state.callbacks, list[Exception]()
        while callbacks:
            callback = callbacks.pop(next(iter(callbacks)))
            try:
                callback()
            except Exception as error:  # noqa: BLE001  a foreign callback may raise anything
                raised.append(error)
        return raised


def any_of(*signals: AbortSignal | None) -> AbortSignal:
    """Return a signal that is aborted as soon as one of these is, with its reason. None is never aborted."""
    present = [signal for signal in signals if signal is not None]
    joined = AbortController()
    unsubscribers: list[Callable[[], None]] = []

    def stop() -> None:
        for unsubscribe in unsubscribers:
            unsubscribe()
        reason = next(signal.reason for signal in present if signal.reason is not None)
        raised = joined.abort(reason)
        if raised:
            raise ExceptionGroup("callbacks failed", raised)

    unsubscribers += [signal.on_abort(stop) for signal in present]
    if joined.signal.aborted:
        stop()
    return joined.signal


DEFAULT_ERROR = "Operation failed"
ANY_ARGUMENTS: Mapping[str, Any] = {"type": "object"}


@value
class TextContent:
    text: str


@value
class ImageContent:
    data_base64: str
    mime_type: str


Content = TextContent | ImageContent
Details = Any
"""Data for renderers and for later turns, in a form of the tool's own: usually a dict that JSON can represent."""


@value
class ToolResult:
    """The result of a call: `content` is sent to the model, `details` is used by renderers; a tool may have none.

    A tool reports failure by raising an exception, or returns `is_error` if it also has details. `told` is what the
    call has changed in the plan, a line for each kind of change, for a person.
    """

    content: tuple[Content, ...]
    details: Details = None
    is_error: bool = False
    told: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text blocks of the content, joined by line breaks."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def failed(self) -> bool:
        """Whether the call did not do all that it was asked to: an error, or refusals that only the details report."""
        if self.is_error or not isinstance(self.details, Mapping):
            return self.is_error
        return bool(self.details.get("error") or self.details.get("refusals"))


OnUpdate = Callable[[ToolResult], None]

# Parameters and context are typed by each tool: parameters with a TypedDict that matches its schema, the context by the
# host that provides it.
Execute = Callable[[str, Any, AbortSignal | None, OnUpdate | None, Any], Coroutine[Any, Any, ToolResult]]
Parameters = Mapping[str, Any] | Callable[..., Any]
"""A JSON schema; or a class, such as a pydantic model; or a function with annotated parameters."""

# Renderers take as many of these arguments as they need: the arguments of the call, the theme and the `RenderContext`;
# the result, the `RenderOptions`, the theme and the `RenderContext`.
RenderCall = Callable[..., Component | None]
RenderResult = Callable[..., Component | None]


@value
class ToolDefinition:
    """A tool that a model can call.

    `execute` is called with the call id, the arguments, an abort signal, a callback for partial results and the host's
    context, in this order; the signal and the callback may be None. An exception becomes a failed result for the model.
    A renderer that returns None selects the default rendering.

    `parameters` describe the arguments: a JSON schema of draft 2020-12; a class, such as a pydantic model, a dataclass
    or a TypedDict, whose instance `execute` then gets; or an annotated function, see `tool`. The host
    derives the schema from a class or a function when the tool is registered.

    `prompt_snippet` is the tool's line in the system prompt's list of tools; tools without one are not listed.
    `prompt_guidelines` are part of the system prompt while the tool can be called.

    `exclusive` tools never run concurrently with others. `strict` tools accept only arguments that match the schema
    exactly. `discoverable` tools are offered to a model only when it searches for them. Tools without `inherit` are not
    available to subagents. `any_case_name` allows names that are not in snake_case.

    `demands` returns problems that the schema cannot express, for arguments that match it. `refuse` makes the result of
    a refused call from its problems and arguments. `interpret` replaces the schema check for tools that accept more
    forms than their schema describes: it returns the arguments for `execute`, and the problems with them. The result of
    a `merged` tool is shown in place of its call, not below it. What a call of a tool that `tells` has changed is shown
    in place of the call, once it has ended.
    """

    name: str
    label: str
    description: str
    parameters: Parameters
    execute: Execute
    prompt_snippet: str = ""
    prompt_guidelines: tuple[str, ...] = ()
    render_call: RenderCall | None = None
    render_result: RenderResult | None = None
    exclusive: bool = False
    strict: bool = False
    discoverable: bool = False
    inherit: bool = True
    any_case_name: bool = False
    demands: Callable[[Any], Sequence[SchemaProblem]] = lambda _: ()
    refuse: Callable[[Sequence[SchemaProblem], Any], ToolResult] | None = None
    interpret: Callable[[Any], tuple[Any, Sequence[SchemaProblem]]] | None = None
    merged: bool = False
    tells: bool = False

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of the arguments. For a class or function, it is known once the tool is registered."""
        return self.parameters if isinstance(self.parameters, Mapping) else ANY_ARGUMENTS


def text_result(text: str, details: Details | None = None) -> ToolResult:
    return ToolResult((TextContent(text),), details or {})


def error_result(message: str) -> ToolResult:
    """Return the result of a call that raised an exception: the message for the model, and empty details."""
    return ToolResult((TextContent(message or DEFAULT_ERROR),), {}, is_error=True)


def send_update(on_update: OnUpdate | None, result: ToolResult) -> None:
    """Send a partial result, if there is a callback for it."""
    if on_update is not None:
        on_update(result)


FROM_HOST = ("tool_call_id", "signal", "on_update", "ctx")
"""Parameters that the host provides."""

ToolFunction = Callable[..., Coroutine[Any, Any, ToolResult | str]]

_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@overload
def tool(function: ToolFunction, /) -> ToolDefinition: ...
@overload
def tool(
    *, name: str = "", label: str = "", description: str = "", **fields: Any
) -> Callable[[ToolFunction], ToolDefinition]: ...
def tool(
    function: ToolFunction | None = None, /, *, name: str = "", label: str = "", description: str = "", **fields: Any
) -> ToolDefinition | Callable[[ToolFunction], ToolDefinition]:
    """Return the tool that calls an async function; usable as a decorator, with or without arguments.

    The name is that of the function, the label is made from the name, and the description is the docstring, unless
    given. `fields` are other fields of `ToolDefinition`. A text that the function returns is the content of the result.
    """

    def decorate(function: ToolFunction) -> ToolDefinition:
        called = name or function.__name__
        return ToolDefinition(
            name=called,
            label=label or called.replace("_", " ").title(),
            description=description or getdoc(function) or "",
            parameters=function,
            execute=_executing(function),
            **fields,
        )

    return decorate if function is None else decorate(function)


def argument_parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the parameters of a function that are arguments of the tool."""
    return {name: each for name, each in signature(function).parameters.items() if name not in FROM_HOST}


def signature_problems(function: Callable[..., Any]) -> Iterator[str]:
    """Yield why the signature of a function cannot describe the arguments of a tool."""
    if not iscoroutinefunction(function):
        yield "the function must be async"
    for name, parameter in argument_parameters(function).items():
        if parameter.kind not in _BY_NAME:
            yield f"the parameter {name} cannot be passed by name"
        elif parameter.annotation is Parameter.empty:
            yield f"the parameter {name} has no annotation"


def _executing(function: ToolFunction) -> Execute:
    wanted = [name for name in FROM_HOST if name in signature(function).parameters]

    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal | None, on_update: OnUpdate | None, ctx: Any
    ) -> ToolResult:
        provided = dict(zip(FROM_HOST, (tool_call_id, signal, on_update, ctx), strict=True))
        result: object = await function(**params, **{name: provided[name] for name in wanted})
        if isinstance(result, ToolResult):
            return result
        if isinstance(result, str):
            return text_result(result)
        raise TypeError(f"the function must return a ToolResult or a text, not {type(result).__name__}")

    return execute


MAX_LINES = 2000
MAX_BYTES = 50_000

_FEED = b"\n"
_LINE_END = b"\r\n"
_CONTINUATION_BYTES = range(0x80, 0xC0)


@value
class TruncationResult:
    """The part of a text that was kept, and the size of the whole."""

    content: str
    truncated: bool
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int


def keep_head(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> TruncationResult:
    """Return the first lines that fit into the limits. A first line that is too long by itself is cut."""
    data = _encoded(text)
    end = lines = 0
    while end < len(data) and lines < max_lines:
        line_end = data.find(_FEED, end) + 1 or len(data)
        if line_end > max_bytes:
            break
        end, lines = line_end, lines + 1
    if end == 0 and max_lines > 0:
        end = _before(data, max_bytes)
    return _truncation(data, data[:end])


def keep_tail(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> TruncationResult:
    """Return the last lines that fit into the limits. A last line that is too long by itself is cut."""
    data = _encoded(text)
    start, lines = len(data), 0
    while start > 0 and lines < max_lines:
        line_start = data.rfind(_FEED, 0, start - 1) + 1
        if len(data) - line_start > max_bytes:
            break
        start, lines = line_start, lines + 1
    if start == len(data) and max_lines > 0:
        start = _after(data, len(data) - max_bytes)
    return _truncation(data, data[start:])


def _encoded(text: str) -> bytes:
    """UTF-8; lone surrogates, which models may write, take three bytes each."""
    return text.encode("utf-8", "surrogatepass")


def _truncation(whole: bytes, kept: bytes) -> TruncationResult:
    return TruncationResult(
        content=kept.decode("utf-8", "surrogatepass"),
        truncated=len(kept) < len(whole),
        total_lines=_lines(whole),
        total_bytes=len(whole),
        output_lines=_lines(kept),
        output_bytes=len(kept),
    )


def _lines(data: bytes) -> int:
    return data.count(_FEED) + (not data.endswith(_FEED) and bool(data))


def _before(data: bytes, end: int) -> int:
    """The last position up to `end` that splits neither a character nor a CRLF."""
    end = min(max(end, 0), len(data))
    while _splits(data, end):
        end -= 1
    return end


def _after(data: bytes, start: int) -> int:
    """The first such position from `start` on."""
    start = min(max(start, 0), len(data))
    while _splits(data, start):
        start += 1
    return start


def _splits(data: bytes, position: int) -> bool:
    if position in (0, len(data)):
        return False
    return data[position] in _CONTINUATION_BYTES or data.startswith(_LINE_END, position - 1)


MAX_NAME_LENGTH = 64

_SNAKE_CASE = re.compile("[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_ANY_CASE = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_OBJECT_SCHEMA = 'the schema of an object: {"type": "object", "properties": {…}}'
_ARGUMENTS = ("tool_call_id", "params", "signal", "on_update", "ctx")


class InvalidDefinition(ValueError):
    """The definition of a tool is not valid."""


def validated(definition: ToolDefinition) -> ToolDefinition:
    """Return the same definition. Raises InvalidDefinition, listing every problem, if it is not valid."""
    problems = list(_problems(definition))
    if problems:
        raise InvalidDefinition(f"tool {definition.name!r}: {'; '.join(problems)}")
    return definition


def _problems(definition: ToolDefinition) -> Iterator[str]:
    yield from _name_problems(definition)
    if not definition.label.strip():
        yield "the label is empty"
    if not definition.description.strip():
        yield "the description is empty"
    yield from _parameter_problems(definition.parameters)
    if _is_text(definition.prompt_guidelines):
        yield "prompt_guidelines is one text; it must be a tuple of texts"
    if not _takes_all_arguments(definition.execute):
        yield f"execute must be called with {', '.join(_ARGUMENTS)}"


def _name_problems(definition: ToolDefinition) -> Iterator[str]:
    if len(definition.name) > MAX_NAME_LENGTH:
        yield f"the name is longer than {MAX_NAME_LENGTH} characters"
    if definition.any_case_name and not _ANY_CASE.fullmatch(definition.name):
        yield "the name must be letters, digits, _ and -, a letter first"
    if not definition.any_case_name and not _SNAKE_CASE.fullmatch(definition.name):
        yield "the name must be in snake_case, like web_search (any_case_name=True allows others)"


def _parameter_problems(parameters: object) -> Iterator[str]:
    if isinstance(parameters, Mapping):
        yield from _schema_problems(parameters)
    elif not callable(parameters):
        yield f"parameters must be {_OBJECT_SCHEMA}, a class or a function"
    elif not isinstance(parameters, type):
        yield from signature_problems(parameters)


def _schema_problems(schema: Mapping[str, object]) -> Iterator[str]:
    if schema.get("type") != "object":
        yield f"parameters must be {_OBJECT_SCHEMA}"
        return
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping):
        yield "the properties of parameters must be an object"
        return
    # Other keywords can describe properties, too.
    if schema.keys() <= KEYWORDS and isinstance(required, list | tuple):
        unknown = [str(name) for name in required if name not in properties]
        if unknown:
            yield f"parameters requires properties that it does not describe: {', '.join(unknown)}"


def _is_text(given: object) -> bool:
    """A string also counts as a sequence of strings, so types do not rule it out."""
    return isinstance(given, str)


def _takes_all_arguments(execute: Execute) -> bool:
    try:
        signature(execute).bind(*_ARGUMENTS)
    except (TypeError, ValueError):
        return False
    return True


@value
class Invocation:
    """The five arguments of `execute`, by name."""

    tool_call_id: str
    params: Any
    signal: AbortSignal | None
    on_update: OnUpdate | None
    ctx: Any


Delegate = Callable[[Invocation], Awaitable[ToolResult]]
Around = Callable[[Invocation, Delegate], Awaitable[ToolResult]]


def wrap_tool(inner: ToolDefinition, around: Around | None = None, **changes: Any) -> ToolDefinition:
    """Return a copy of the tool with some fields changed and, if given, `around` called in place of `execute`.

    `around` receives the invocation and a `delegate` that executes the inner tool. Raises InvalidDefinition if the
    resulting definition is not valid.
    """
    changed = replace(inner, **changes)
    return validated(changed if around is None else replace(changed, execute=_wrapped_execute(changed.execute, around)))


def dispatch_by_action(actions: Mapping[str, Execute]) -> Execute:
    """Return an `execute` that calls the function registered for `action`. Raises ValueError for an unknown action."""

    async def execute(
        tool_call_id: str, params: Any, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: Any
    ) -> ToolResult:
        action = params.get("action")
        if not isinstance(action, str) or action not in actions:
            raise ValueError(f"Unknown action: {action}; known are {', '.join(actions)}")
        return await actions[action](tool_call_id, params, signal, on_update, ctx)

    return execute


def _wrapped_execute(execute: Execute, around: Around) -> Execute:
    async def delegate(call: Invocation) -> ToolResult:
        return await execute(call.tool_call_id, call.params, call.signal, call.on_update, call.ctx)

    async def wrapped(
        tool_call_id: str, params: Any, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: Any
    ) -> ToolResult:
        return await around(Invocation(tool_call_id, params, signal, on_update, ctx), delegate)

    return wrapped
