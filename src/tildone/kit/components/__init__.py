"""What tools are shown with: values that say what is to be seen, and leave width and colour to whoever draws them."""

from __future__ import annotations

from tildone.kit.theme import Role, Span
from tildone.value import value


@value
class Text:
    """Words, whose line breaks are lines, or spans that were styled elsewhere."""

    content: str | tuple[Span, ...]
    role: Role | None = None
    bold: bool = False


@value
class Markdown:
    """Rich text as models write it."""

    text: str
    role: Role = Role.TOOL_OUTPUT


@value
class Spacer:
    """Empty lines."""

    lines: int = 1


@value
class KeyHint:
    """The key for an action, and what it is good for; nothing where no key does it."""

    action: str
    words: str


@value
class Item:
    """A value with a short label, or without one."""

    label: str
    value: str | KeyHint


@value
class ToolCallHeader:
    """A call at a glance: `[Tool name]: [action] [main arg] [option args]`, and long args on lines below.

    What is too long for the first line, or has lines of its own, moves below as well. The colon is left out where
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
    """Figures at the end of a result; nothing without items."""

    items: tuple[Item, ...]
    separator: str = " | "


@value
class Field:
    """A part of a result: seen in the expanded view, and in the collapsed one if it says so."""

    label: str
    value: str | Component
    show_collapsed: bool = False


@value
class ToolBody:
    """A result: its fields, and a footer. An empty line parts them where there is something to part."""

    fields: tuple[Field, ...]
    expanded: bool = False
    footer: ToolFooter | None = None
    spacer_before_footer: bool = True


@value
class Container:
    """Components, one below the other."""

    children: tuple[Component, ...]


Component = Text | Markdown | Spacer | KeyHint | ToolCallHeader | ToolFooter | ToolBody | Container


@value
class RenderOptions:
    """The state that a result is shown in: still coming, failed, and how much of it is wanted."""

    expanded: bool = False
    is_partial: bool = False
    is_error: bool = False


def stacked(*children: Component | None) -> Container:
    """These components, one below the other; what is None is left out."""
    return Container(tuple(child for child in children if child is not None))
