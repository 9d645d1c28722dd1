"""Entries inside the inline values of a TOML text: finding them, adding them and removing them."""

from __future__ import annotations

import re

from tildone.integrations.settings.toml_scanner import InlineValue, scan
from tildone.integrations.settings.toml_writer import key_text, value_text
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.integrations.settings.toml_scanner import Path


def holder_of(text: str, path: Path) -> tuple[InlineValue, Path] | None:
    """Return the innermost inline value that contains a path to be created, and the rest of the path; None if none."""
    for statement in scan(text):
        node = statement.node
        if node is not None and node.is_container and statement.path == path[: len(statement.path)]:
            rest = path[len(statement.path) :]
            while True:
                inner = next(
                    (
                        (child, names)
                        for names, _, child in node.children
                        if child.is_container and names == rest[: len(names)]
                    ),
                    None,
                )
                if inner is None:
                    return node, rest
                node, rest = inner[0], rest[len(inner[1]) :]
    return None


def with_entry(text: str, holder: tuple[InlineValue, Path], data: object, *, as_item: bool = False) -> str:
    """Return the text with an entry added to an inline value."""
    node, rest = holder
    if as_item:
        data = data if not rest else [data]
    for key in reversed(rest[1:]):
        data = {key: data}
    entry = f"{key_text(str(rest[0]))} = {value_text(data)}" if rest else value_text(data)
    if not node.children:
        return f"{text[: node.start + 1]} {entry}{text[node.start + 1 :]}"
    end = node.children[-1][2].end
    return f"{text[:end]}, {entry}{text[end:]}"


def value_at(text: str, path: Path) -> InlineValue | None:
    """Return the inline value at a path, if it is written as one."""
    for statement in scan(text):
        if statement.node is not None and statement.path == path:
            return statement.node
    found = located(text, path)
    if found is None:
        return None
    parent, index = found
    return parent.children[index][2] if parent.children[index][0] == path[-1:] else None


def located(text: str, path: Path) -> tuple[InlineValue, int] | None:
    """Return the inline value that contains an entry or a part of it, and the index of that; None if none does."""
    for statement in scan(text):
        length = len(statement.path)
        if statement.node is not None and length < len(path) and statement.path == path[:length]:
            return _inside(statement.node, path[length:])
    return None


def _inside(node: InlineValue, rest: Path) -> tuple[InlineValue, int] | None:
    for index, (names, _, _) in enumerate(node.children):
        if names[: len(rest)] == rest:
            return node, index
    for names, _, child in node.children:
        if names == rest[: len(names)]:
            return _inside(child, rest[len(names) :])
    return None


def without_child(text: str, node: InlineValue, index: int) -> str:
    """Return the text without a child of an inline value, and without its comma."""
    _, start, child = node.children[index]
    if index:
        before = node.children[index - 1][2].end
        gap = text[before:start]
        # A comment in front of the comma or after it is not part of the entry.
        kept = re.sub(r"(^(?:[ \t\r\n]|#[^\n]*\n)*),", r"\1", gap) if "#" in gap else ""
        return text[:before] + kept + text[child.end :]
    if len(node.children) > 1:
        return text[:start] + text[node.children[1][1] :]
    return text[: node.start + 1] + text[child.end :]
