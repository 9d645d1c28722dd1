"""The picture in the README: an agent that stops, and is told to go on.

`docs/images/continued.json` is the conversation between Claude Code and its model in the walk with an agent, as it was
sent over the wire. `python -m tests.walks.picture` makes that walk in the real Claude Code and writes the file and the
drawing; a test draws it again from the file.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from tests.clients.model import DONE
from tests.host.models.model_server import ReceivedRequest
from tests.project.source import ROOT
from tests.walks.walk import READERS, walk_with_claude

RECORD = ROOT / "docs" / "images" / "continued.json"
DRAWING = ROOT / "docs" / "images" / "continued.svg"
FEEDBACK = "Stop hook feedback:\n"
WIDTH, LINE, TOP, LEFT = 860, 22, 66, 28
STYLE = """\
text { font: 15px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; }
text { fill: #e6edf3; }
.muted { fill: #8b949e; }
.good { fill: #3fb950; }
.name { fill: #79c0ff; }
.told { fill: #f0b72f; }
.bold { font-weight: 700; }
.aside { font: italic 14px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #8b949e; }
"""

Line = tuple[str, list[tuple[str, str]], str]
"""The kind of a line, its parts (class and text), and a remark at its end."""


def conversation(requests: Sequence[ReceivedRequest], last_answer: str) -> list[dict[str, Any]]:
    """Return what was said, in order: by the person, by the model, by the tools, by the gate."""
    said: list[dict[str, Any]] = []
    for message in requests[-1].messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            said += _said(message["role"], block)
    return [*said, {"model": last_answer}]


def _said(role: str, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match block:
        case {"type": "text", "text": str(text)} if text.startswith(FEEDBACK):
            yield {"gate": text.removeprefix(FEEDBACK)}
        case {"type": "text", "text": str(text)} if role == "assistant":
            yield {"model": text}
        case {"type": "text", "text": str(text)} if not text.startswith("<system-reminder>"):
            yield {"person": text}
        case {"type": "tool_use", "name": str(name), "input": given} if name.endswith("todo"):
            yield {"call": given}
        case {"type": "tool_result", "content": [{"text": str(text)}]}:
            yield {"reply": text}
        case _:
            pass


def svg(said: Sequence[dict[str, Any]]) -> str:
    """Draw a conversation."""
    lines = list(_lines(said))[:-1]
    height = TOP + LINE * len(lines) + 16
    body = "".join(_drawn(line, TOP + LINE * number) for number, line in enumerate(lines))
    circles = "".join(
        f'<circle cx="{26 + 20 * number}" cy="24" r="6" fill="{colour}"/>'
        for number, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" aria-label="An agent stops after one of three tasks, is told to go on, and finishes.">\n'
        f"<style>\n{STYLE}</style>\n"
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="10" fill="#0d1117" stroke="#30363d"/>\n'
        f'{circles}<text x="{WIDTH // 2}" y="29" text-anchor="middle" class="aside">Claude Code, with tildone</text>\n'
        f"{body}</svg>\n"
    )


def _lines(said: Sequence[dict[str, Any]]) -> Iterator[Line]:
    for index, entry in enumerate(said):
        [(who, what)] = entry.items()
        match who:
            case "person":
                yield "", [("muted", "> "), ("bold", what)], ""
                yield "", [], ""
            case "call":
                yield "", [("good", "● "), ("name bold", "todo"), ("", f"  {_arguments(what)}")], ""
            case "reply":
                yield "", [("muted", f"  └ {what}")], ""
            case "gate":
                for number, text in enumerate(what.split("\n")):
                    remark = "tildone: go on" if number == 0 else ""
                    yield "told", [("told", f"  {text}")], remark
                yield "", [], ""
            case _:
                stops = index + 1 < len(said)
                yield "", [("", f"● {what}")], "the agent stops" if stops else "done"
                yield "", [], ""


def _arguments(given: dict[str, Any]) -> str:
    return "  ".join(f"{op} {_values(values)}" for op, values in given.items())


def _values(values: object) -> str:
    items = values if isinstance(values, list) else [values]
    return ", ".join(f"“{item}”" if isinstance(item, str) else str(item) for item in items)


def _drawn(line: Line, y: int) -> str:
    kind, parts, remark = line
    band = f'<rect x="14" y="{y - 16}" width="{WIDTH - 28}" height="{LINE}" fill="#f0b72f" fill-opacity="0.12"/>\n'
    spans = "".join(f'<tspan class="{style}">{escape(text)}</tspan>' for style, text in parts)
    text = f'<text x="{LEFT}" y="{y}">{spans}</text>\n' if spans else ""
    aside = (
        f'<text x="{WIDTH - LEFT}" y="{y}" text-anchor="end" class="aside">{escape(remark)}</text>\n' if remark else ""
    )
    return (band if kind == "told" else "") + text + aside


def recorded() -> list[dict[str, Any]]:
    """Return the conversation that is kept."""
    said: list[dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return said


def record(home: Path) -> list[dict[str, Any]]:
    """Make the walk in Claude Code, and return its conversation."""
    _, model = walk_with_claude(READERS["agent"], home)
    return conversation(model.requests, (model.script[-1] if model.script else DONE)["text"])


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        said = record(Path(home))
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    DRAWING.write_text(svg(said), encoding="utf-8")


if __name__ == "__main__":
    main()
