"""What a person is shown of a call and of an extension's message, whatever a renderer of theirs raises."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from tildone.run.events import RetryStart
from tildone.run.host import Renderer
from tildone.run.kit.components import Component, RenderContext, RenderOptions, Text, stacked
from tildone.run.kit.defaults import call_component, default_call, default_result, result_component, told_spans
from tildone.run.kit.definition import ToolDefinition, ToolResult, markup
from tildone.run.messages import CustomMessage, text_of


class CallRow:
    """One call. `tool` is None if there is none of this name.

    The tool's renderers are called again whenever the row is drawn. They may raise anything, and make components that
    cannot be drawn: the default rendering is used then, and `failure` says why.
    """

    def __init__(
        self,
        call_id: str,
        name: str,
        tool: ToolDefinition | None,
        args: Any,
        *,
        cwd: str,
        invalidate: Callable[[], None],
    ) -> None:
        self.name = name
        self.args = args
        self.partial = ToolResult((), {})
        self.failure = ""
        self._call_id = call_id
        self._tool = tool
        self._cwd = cwd
        self._invalidate = invalidate
        self._state: dict[str, Any] = {}

    @property
    def is_merged(self) -> bool:
        """Whether the result replaces the line of the call."""
        return self._tool is not None and self._tool.merged

    @property
    def tells(self) -> bool:
        """Whether the line of the call is known only when the call has ended."""
        return self._tool is not None and self._tool.tells

    def header(self, options: RenderOptions, result: ToolResult | None = None) -> Component:
        """Return the line of the call, or what it has changed if that is known from its result."""
        if result is not None and result.told and self.tells:
            return stacked(*(Text(told_spans(line)) for line in result.told))
        if self._tool is None:
            return Text(self.name, bold=True)
        try:
            return _drawable(call_component(self._tool, self.args, self._context(options)))
        except Exception as error:  # noqa: BLE001  see the class
            self._failed("its call", error)
            return default_call(self._tool, self.args)

    def result(self, result: ToolResult, options: RenderOptions) -> Component:
        """Return a result, partial or final."""
        if self._tool is None:
            return default_result(result, options)
        try:
            return _drawable(result_component(self._tool, result, options, self._context(options)))
        except Exception as error:  # noqa: BLE001  see the class
            # A renderer need not expect that nothing has arrived yet.
            if not options.is_partial:
                self._failed("its result", error)
            return default_result(result, options, self._tool.label)

    def _context(self, options: RenderOptions) -> RenderContext:
        return RenderContext(
            self.args,
            self._state,
            self._call_id,
            self._cwd,
            expanded=options.expanded,
            is_partial=options.is_partial,
            is_error=options.is_error,
            invalidate=self._invalidate,
        )

    def _failed(self, part: str, error: Exception) -> None:
        self.failure = f"{self.name} could not render {part}: {type(error).__name__}: {error}"


def _drawable(component: Component) -> Component:
    """Return the component; raise whatever drawing it raises."""
    markup(component)
    return component


def retry_words(retry: RetryStart, seconds: float) -> str:
    """Return what is said of a request that failed and is repeated, with the seconds that are left until then."""
    when = f" in {ceil(seconds)} s" if seconds > 0 else ""
    return f"retrying{when} ({retry.attempt} of {retry.max_attempts})"


def custom_component(message: CustomMessage, render: Renderer | None) -> Component:
    """Return the component of an extension's message; its text, if there is no renderer or the renderer raises."""
    try:
        return render(message) if render else Text(text_of(message))
    except Exception:  # noqa: BLE001  an extension's renderer may raise anything: the plain text is shown
        return Text(text_of(message))
