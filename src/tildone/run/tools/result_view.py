"""The views of built-in tools' results: a summary, then a preview or all of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tildone.base.keys import EXPAND
from tildone.plan.text.amounts import format_count
from tildone.plan.text.styles import LINE_BREAK, Role, Span
from tildone.run.kit.components import Component, Field, Item, KeyHint, RenderOptions, Text, ToolBody, ToolFooter
from tildone.run.kit.defaults import PREVIEW_LINES

_DIFF = {"+": Role.SUCCESS, "-": Role.ERROR, "@": Role.ACCENT}


def argument(args: object, name: str) -> str:
    """Return an argument as text; empty if it has not been streamed yet."""
    given = args.get(name) if isinstance(args, Mapping) else None
    return "" if given is None else str(given)


def result_view(
    summary: Text, text: str, options: RenderOptions, *, last: bool = False, figures: Sequence[Item] = ()
) -> Component:
    """Return the summary, the first lines of the text (the last with `last`) or all of it, and the figures below."""
    lines = text.rstrip("\n").split("\n")
    kept, hidden = _preview(lines, options, last=last)
    body = Text("\n".join(kept), Role.TOOL_OUTPUT)
    return _view(summary, body if text else None, hidden, options, figures)


def diff_view(summary: Text, diff: str, options: RenderOptions) -> Component:
    """Return the summary, and a coloured unified diff or the beginning of it."""
    kept, hidden = _preview(diff.rstrip("\n").split("\n"), options, last=False)
    spans = [span for line in kept for span in (LINE_BREAK, Span(line.rstrip("\r"), diff_role(line)))]
    return _view(summary, Text(tuple(spans[1:])) if diff else None, hidden, options, ())


def diff_role(line: str) -> Role:
    return _DIFF.get(line[:1], Role.DIM)


def _preview(lines: list[str], options: RenderOptions, *, last: bool) -> tuple[list[str], int]:
    hidden = 0 if options.expanded else max(len(lines) - PREVIEW_LINES, 0)
    if not hidden:
        return lines, 0
    return lines[hidden:] if last else lines[:-hidden], hidden


def _view(summary: Text, body: Text | None, hidden: int, options: RenderOptions, figures: Sequence[Item]) -> Component:
    fields = [Field("", part, show_collapsed=True) for part in (summary, body) if part is not None]
    items = list(figures)
    if hidden:
        items += [Item("", format_count(hidden, "more line")), Item("", KeyHint(EXPAND, "to expand"))]
    footer = ToolFooter(tuple(items)) if items else None
    return ToolBody(tuple(fields), expanded=options.expanded, footer=footer)


class ToolFailure(Exception):
    """A tool call failed. The model is shown only this message."""


def os_failure(shown: str, error: OSError) -> ToolFailure:
    """Return the failure for an operating system error on a path, without the error number."""
    return ToolFailure(f"{shown}: {error.strerror or type(error).__name__}")
