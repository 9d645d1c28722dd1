"""Layout of components into rows, independent of the terminal's width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tildone.base import value
from tildone.base.keys import KeyBindings, key_of
from tildone.plan.text.styles import THEME, Role, Span, Styled, Theme, display_width, plain, spans_of
from tildone.run.kit.drawing import Row, Spans, Table, markdown_rows


@value
class Text:
    """Text, plain or styled. The line breaks of plain text are kept."""

    content: Styled
    role: Role | None = None
    bold: bool = False


@value
class Markdown:
    """Markdown text, as models write it."""

    text: str
    role: Role = Role.TOOL_OUTPUT


@value
class Spacer:
    """Empty lines."""

    lines: int = 1


@value
class KeyHint:
    """The key bound to an action and what it does; not shown if no key is bound."""

    action: str
    words: str


@value
class Item:
    """A value with an optional short label."""

    label: str
    value: Styled | KeyHint


@value
class ToolCallHeader:
    """The header of a call: `[Tool name]: [action] [main arg] [option args]`, and long args on lines below.

    Arguments that are too long for the first line or have several lines move below as well. The colon is omitted if
    nothing follows it.
    """

    tool_name: str
    action: str = ""
    main_arg: Styled = ""
    option_args: Sequence[Styled] = ()
    long_args: Sequence[Item] = ()
    show_colon: bool = True


@value
class ToolFooter:
    """Statistics at the end of a result; not shown without items.

    The empty line before it is for a footer that is stacked below other components. A body has its own setting.
    """

    items: Sequence[Item]
    separator: str = " | "
    include_spacer_before_footer: bool = False


@value
class Field:
    """A part of a result, shown in the expanded view and, with `show_collapsed`, in the collapsed one."""

    label: str
    value: Styled | Component
    show_collapsed: bool = False


@value
class ToolBody:
    """A result: its fields and a footer, separated by an empty line if both are shown.

    A component among the fields is one without a label, for the expanded view.
    """

    fields: Sequence[Field | Component]
    expanded: bool = False
    footer: ToolFooter | None = None
    include_spacer_before_footer: bool = True


class Container:
    """Components stacked vertically. Unlike other components it can grow."""

    __match_args__ = ("children",)
    __hash__ = None  # type: ignore[assignment]  # it can change

    def __init__(self, children: Iterable[Component] = ()) -> None:
        self.children = list(children)

    def add_child(self, child: Component) -> None:
        self.children.append(child)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Container) and self.children == other.children

    def __repr__(self) -> str:
        return f"Container({self.children!r})"


Component = Text | Markdown | Spacer | KeyHint | ToolCallHeader | ToolFooter | ToolBody | Container


@value
class RenderOptions:
    """How a result is rendered: partial, failed, collapsed or expanded; timed, if its time is shown beside the call."""

    expanded: bool = False
    is_partial: bool = False
    is_error: bool = False
    is_timed: bool = False


@value
class RenderContext:
    """The call that is rendered, and the screen it is on.

    `args` are its arguments, which may be incomplete while they arrive. `state` belongs to the renderers of this one
    call: it is the same dict from the first rendering of the call to the last of its result. `invalidate` asks the
    screen to render a running call again; a finished one does not change any more.
    """

    args: Any
    state: dict[str, Any]
    tool_call_id: str = ""
    cwd: str = ""
    expanded: bool = False
    is_partial: bool = False
    is_error: bool = False
    theme: Theme = THEME
    invalidate: Callable[[], None] = lambda: None


def stacked(*children: Component | None) -> Container:
    """Stack these components vertically; None is skipped."""
    return Container(child for child in children if child is not None)


MAX_INLINE_COLUMNS = 72
"""Columns that the arguments on the first line of a call may take."""

_INDENT = Span("  ")


def rows(component: Component, keys: KeyBindings) -> Iterator[Row | Table]:
    match component:
        case Text():
            yield Row((_span(component.content, component.role, bold=component.bold),))
        case Markdown(text, role):
            yield from markdown_rows(text, role)
        case Spacer(lines):
            yield from (Row() for _ in range(lines))
        case KeyHint():
            hint = _hint(component, keys)
            yield from (Row(hint),) if hint else ()
        case ToolCallHeader():
            yield from _header_rows(component, keys)
        case ToolFooter():
            shown = list(_footer_rows(component, keys))
            yield from (Row(), *shown) if shown and component.include_spacer_before_footer else shown
        case ToolBody():
            yield from _body_rows(component, keys)
        case Container(children):  # exhaustive
            for child in children:
                yield from rows(child, keys)


def _span(text: Styled, role: Role | None, *, bold: bool = False, lines: bool = True) -> Span:
    if isinstance(text, str):
        return Span(text, role, bold=bold, lines=lines)
    return Span(spans_of(text), role, bold=bold)


def _hint(hint: KeyHint, keys: KeyBindings) -> Spans:
    key = key_of(hint.action, keys)
    return (Span(key, Role.DIM), Span(f" {hint.words}", Role.MUTED)) if key else ()


def _header_rows(header: ToolCallHeader, keys: KeyBindings) -> Iterator[Row]:
    inline: list[tuple[Styled, Role]] = [(header.action, Role.WARNING)] if header.action else []
    below: list[Item] = []
    columns_left = MAX_INLINE_COLUMNS
    for arg, role in ((header.main_arg, Role.ACCENT), *((option, Role.MUTED) for option in header.option_args)):
        text = plain(spans_of(arg))
        if display_width(text) > columns_left or "\n" in text:
            below.append(Item("", arg))
        elif text:
            inline.append((arg, role))
            columns_left -= display_width(text) + 1
    colon = ":" if header.show_colon and inline else ""
    words = (span for arg, role in inline for span in (Span(" "), _span(arg, role, lines=False)))
    yield Row((Span(f"{header.tool_name}{colon}", Role.TOOL_TITLE, bold=True), *words))
    for item in (*below, *header.long_args):
        yield Row(_value(item, keys, Role.TOOL_OUTPUT), (_INDENT, *_label(item.label)))


def _footer_rows(footer: ToolFooter, keys: KeyBindings) -> Iterator[Row]:
    shown = [(*_label(item.label), *value) for item in footer.items if (value := _value(item, keys, Role.MUTED))]
    spans: list[Span] = []
    for item in shown:
        spans += (Span(footer.separator, Role.DIM), *item) if spans else item
    if spans:
        yield Row(tuple(spans))


def _body_rows(body: ToolBody, keys: KeyBindings) -> Iterator[Row | Table]:
    fields = [each if isinstance(each, Field) else Field("", each) for each in body.fields]
    shown = [row for each in fields if body.expanded or each.show_collapsed for row in _field_rows(each, keys)]
    footer = list(_footer_rows(body.footer, keys)) if body.footer else []
    yield from shown
    if shown and footer and body.include_spacer_before_footer:
        yield Row()
    yield from footer


def _field_rows(field: Field, keys: KeyBindings) -> Iterator[Row | Table]:
    if isinstance(field.value, str | Span | tuple):
        yield Row((_span(field.value, None),), _label(field.label))
        return
    if field.label:
        yield Row((Span(f"{field.label}:", Role.MUTED),))
    yield from rows(field.value, keys)


def _label(label: str) -> Spans:
    return (Span(f"{label}: ", Role.MUTED),) if label else ()


def _value(item: Item, keys: KeyBindings, role: Role) -> Spans:
    if isinstance(item.value, KeyHint):
        return _hint(item.value, keys)
    return (_span(item.value, role),) if item.value else ()
