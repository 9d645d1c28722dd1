"""UI components of tools: values that describe content; width, colours and keys are applied when they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tildone.kit.theme import THEME, Role, Styled, Theme
from tildone.value import value


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
        """Add a component below the others."""
        self.children.append(child)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Container) and self.children == other.children

    def __repr__(self) -> str:
        return f"Container({self.children!r})"


Component = Text | Markdown | Spacer | KeyHint | ToolCallHeader | ToolFooter | ToolBody | Container


@value
class RenderOptions:
    """How a result is rendered: partial, failed, collapsed or expanded."""

    expanded: bool = False
    is_partial: bool = False
    is_error: bool = False


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
