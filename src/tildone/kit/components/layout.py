"""Layout of components into rows, independent of the terminal's width."""

from __future__ import annotations

from collections.abc import Iterator

from tildone.kit.components import (
    Component,
    Container,
    Field,
    Item,
    KeyHint,
    Markdown,
    Spacer,
    Text,
    ToolBody,
    ToolCallHeader,
    ToolFooter,
)
from tildone.kit.components.markdown import markdown_rows
from tildone.kit.components.row import Row, Spans, Table
from tildone.kit.keys import KeyBindings, key_of
from tildone.kit.text import display_width
from tildone.kit.theme import Role, Span, Styled, plain, spans_of

MAX_INLINE_COLUMNS = 72
"""Columns that the arguments on the first line of a call may take."""

_INDENT = Span("  ")


def rows(component: Component, keys: KeyBindings) -> Iterator[Row | Table]:
    """Yield the rows of a component, top to bottom."""
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
