"""UI components of tools: values that describe content; width, colours and keys are applied when they are drawn."""

from __future__ import annotations

from tildone.kit.theme import Role, Span
from tildone.value import value


@value
class Text:
    """Text, whose line breaks are kept, or styled spans."""

    content: str | tuple[Span, ...]
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
    value: str | KeyHint


@value
class ToolCallHeader:
    """The header of a call: `[Tool name]: [action] [main arg] [option args]`, and long args on lines below.

    Arguments that are too long for the first line or have several lines move below as well. The colon is omitted if
    nothing follows it.
    """

    tool_name: str
    action: str = ""
    main_arg: str = ""
    option_args: tuple[str, ...] = ()
    long_args: tuple[Item, ...] = ()
    show_colon: bool = True


@value
class ToolFooter:
    """Statistics at the end of a result; not shown without items."""

    items: tuple[Item, ...]
    separator: str = " | "


@value
class Field:
    """A part of a result, shown in the expanded view and, with `show_collapsed`, in the collapsed one."""

    label: str
    value: str | Component
    show_collapsed: bool = False


@value
class ToolBody:
    """A result: its fields and a footer, separated by an empty line if both are shown."""

    fields: tuple[Field, ...]
    expanded: bool = False
    footer: ToolFooter | None = None
    spacer_before_footer: bool = True


@value
class Container:
    """Components stacked vertically."""

    children: tuple[Component, ...]


Component = Text | Markdown | Spacer | KeyHint | ToolCallHeader | ToolFooter | ToolBody | Container


@value
class RenderOptions:
    """How a result is rendered: partial, failed, collapsed or expanded."""

    expanded: bool = False
    is_partial: bool = False
    is_error: bool = False


def stacked(*children: Component | None) -> Container:
    """Stack these components vertically; None is skipped."""
    return Container(tuple(child for child in children if child is not None))
