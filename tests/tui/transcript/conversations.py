"""Blocks for tests: calls of real tools, drawn by the renderers that plain output uses."""

from typing import Any

from tildone.base.keys import ALL_BINDINGS, KeyBindings
from tildone.run.kit.definition import ToolDefinition, ToolResult, text_result
from tildone.run.kit.drawing import DrawnLine
from tildone.run.rendering import CallRow
from tildone.screens.transcript.blocks import Block, CallBlock, CallState, Look
from tildone.screens.transcript.document import Document


async def _execute(*_args: Any) -> ToolResult:
    return text_result("")


BASH = ToolDefinition("bash", "Bash", "Run a command", {"type": "object"}, _execute)


def view(command: str, definition: ToolDefinition | None = BASH) -> CallRow:
    return CallRow("c1", "bash", definition, {"command": command}, cwd="", invalidate=lambda: None)


def done(command: str, output: str, seconds: float | None = None) -> CallBlock:
    """A call that has ended."""
    return CallBlock(view(command), text_result(output), CallState.DONE, seconds=seconds)


def numbered(count: int, word: str = "line") -> str:
    return "\n".join(f"{word} {number}" for number in range(1, count + 1))


def look(columns: int = 60, *, expanded: bool = False, now: float = 0.0) -> Look:
    return Look(columns, ALL_BINDINGS, expanded=expanded, now=now)


def shown(
    block: Block, columns: int = 60, *, expanded: bool = False, now: float = 0.0, keys: KeyBindings = ALL_BINDINGS
) -> list[str]:
    """The lines of a block as text."""
    made = Document(lambda: now, keys, columns)
    made.set_expanded(made.add(block), expanded=expanded)
    return [line.text for line in made.lines(0)]


def document(*blocks: Block, columns: int = 60) -> Document:
    made = Document(lambda: 0.0, ALL_BINDINGS, columns)
    for block in blocks:
        made.add(block)
    return made


def drawn(made: Document) -> list[str]:
    """All rows of a document, drawn one by one as the widget does it."""
    while made.draw_waiting():
        pass
    rows = []
    for row in range(made.total):
        index, number = made.locate(row)
        rows.append(made.lines(index)[number].text.rstrip() if number >= 0 else "")
    return rows


def copied(lines: list[DrawnLine]) -> list[str]:
    return [line.text[line.gutter :] for line in lines]
