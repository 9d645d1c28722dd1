"""A newcomer's first ten minutes: every command of a quick start, typed at a terminal of 80×24 in an empty home.

`record` keeps what the terminal showed, as a text file for each reader. `python3 do.py docs` writes these files again.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.clients.agents import AGENTS, Sandbox, environment
from tests.clients.inside import PatientModel
from tests.clients.install import CLIENTS, installed
from tests.project.blocks import CODING_AGENT, SCRIPT, Reader, blocks, exchanges, matches, reader_of, save
from tests.project.source import ROOT
from tests.walks.tmux import Terminal

READERS = {
    "agent": ROOT / "docs" / "tutorial" / "quick-start-agent.md",
    "terminal": ROOT / "docs" / "tutorial" / "quick-start-terminal.md",
    "library": ROOT / "docs" / "tutorial" / "quick-start-library.md",
    "readme": ROOT / "README.md",
}
RECORDED = Path(__file__).parent / "recorded"
RUN_LINES = re.compile(r"(?:^12:00:00 run .*\n)+", re.MULTILINE)
EXIT = re.compile(r"\n?\[exit \d+\]\Z")
VARYING = (
    (re.compile(r"\b01[a-z0-9]{8}\b"), "01xxxxxxxx"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "2026-11-15 12:00"),
    (re.compile(r"^\d\d:\d\d:\d\d(?= )", re.MULTILINE), "12:00:00"),
    (re.compile(r"<?\b\d+(?:\.\d+)? ?(?:ms|s|KB|MB)\b"), "1 s"),
    (re.compile(r"/(?:\S*/)?\.venv\S*/(?=tildone|python)"), ""),
    (re.compile(r"\b[ab]-[0-9a-f]{6}\b"), "a-123abc"),
    (re.compile(r"\bworker \S+/\d+/[0-9a-f]{8}\b"), "worker host/1/12345678"),
)
"""What differs from one recording to the next: ids, times, durations, sizes and folders."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command that was typed, what the page says that it prints, and what the terminal showed."""

    command: str
    expected: str
    shown: str

    @property
    def is_as_promised(self) -> bool:
        return matches(EXIT.sub("", self.expected), self.shown)


def walk(page: Path, home: Path) -> list[Step]:
    """Follow a page from top to bottom."""
    document = page.read_text(encoding="utf-8")
    with reader_of(document, home) as reader:
        return _follow(document, reader)


def walk_with_claude(page: Path, home: Path) -> tuple[list[Step], PatientModel]:
    """Follow a page in which the coding agent is the real one; return the model that it asked, too.

    The model answers from the script of the page.
    """
    document = page.read_text(encoding="utf-8")
    assert CODING_AGENT in document
    script = [turn for found in SCRIPT.findall(document) for turn in json.loads(found)]
    with PatientModel(*script, wait={"tool": "WaitForMcpServers"}) as model:
        sandbox = Sandbox(home, home, model.url)
        own = environment("claude", sandbox)
        launch = AGENTS["claude"](sandbox, "")
        (home / "mcp.json").unlink()
        offline = {name: own[name] for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")}
        variables = {**offline, **launch.environ, "ANTHROPIC_MODEL": "claude-sonnet-4-5"}
        return _follow(document, Reader(home, programs=own["PATH"], variables=variables)), model


def _follow(document: str, reader: Reader) -> list[Step]:
    environ = reader.environment()
    del environ["NO_COLOR"]  # a newcomer has not set it
    environ["TILDONE_ACCESSIBLE"] = "true"  # nor installed the extra that draws a full screen
    with Terminal(reader.home, environ) as terminal:
        return list(_steps(document, reader, terminal))


def _steps(document: str, reader: Reader, terminal: Terminal) -> Iterator[Step]:
    for block in blocks(document):
        save(block, reader)
        if block.language == "console":
            for exchange in exchanges(block.body):
                yield Step(exchange.command, exchange.output, terminal.type(exchange.command))


def why_no_claude() -> str | None:
    """Return why the walk cannot be made with Claude Code itself."""
    package = CLIENTS["claude"]
    if installed("claude", package):
        return None
    return f"claude {package.version} is not installed; `python3 do.py clients claude` installs it"


def transcript(steps: list[Step], home: Path) -> str:
    """Return everything that was typed and shown, without what differs each time."""
    text = "".join(
        f"$ {_typed(step.command)}\n{step.shown}\n" if step.shown else f"$ {_typed(step.command)}\n" for step in steps
    )
    text = text.replace(str(home.resolve()), "~").replace(str(home), "~")
    for pattern, constant in VARYING:
        text = pattern.sub(constant, text)
    # Runs that are worked on at the same time begin and end in any order.
    return RUN_LINES.sub(lambda found: "".join(sorted(found[0].splitlines(keepends=True))), text)


def _typed(command: str) -> str:
    return command.replace("\n", "\n> ")


def recording(reader: str) -> Path:
    """Return the file of a reader's walk."""
    return RECORDED / f"{reader}.txt"


def record(reader: str, home: Path) -> tuple[Path, str]:
    """Return the file of a reader's walk, and its content as it should be now."""
    return recording(reader), transcript(walk(READERS[reader], home), home)
