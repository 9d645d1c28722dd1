"""Code blocks in Markdown: found, run as a reader would run them, and rewritten with what they print.

`docs/contributing.md` tells writers what each kind of block means.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.host.models.model_server import ModelServer
from tests.stores.postgres import Server, running_server

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
SHOWN_ONLY = {"text", "markdown", "mermaid", "diff"}
MARK = "\x01"
SERVED = "$ createdb "
SCRIPT = re.compile(r"^<!-- model: (\[.*?\]) -->$", re.MULTILINE | re.DOTALL)
"""A hidden comment: what the models that the next blocks ask answer, as a list of turns (`tests.host.models`)."""

SAVED = re.compile(r"<!-- (also )?save: ([\w.]+) -->\n\n```python\n\Z")
"""A hidden comment before a Python block: the reader appends the block to this file, and may also run it at once."""

KINDS = (
    *((r"\[\.\.\]", ".*"), (r"\b01[a-z0-9]{8}\b", None), (r"(?<=\bclaude )[0-9a-f]{4}\b", None)),
    *((r"\d{4}-\d\d-\d\d \d\d:\d\d", None), (r"<?\b\d+(?:ms|s)\b", None)),
)
"""What varies in an expected line, and what it stands for: anything, or any text of the same kind."""

VARYING = re.compile("|".join(f"({pattern})" for pattern, _ in KINDS))

CODING_AGENT = "$ claude -p "
STAND_IN = Path(__file__).parents[1] / "walks" / "claude_stand_in.py"


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language, its text, and where its text stands in the document."""

    language: str
    body: str
    start: int
    end: int
    saved_as: str | None = None
    only_saved: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """A command of a console block and what the document says it prints."""

    command: str
    output: str


def blocks(document: str) -> list[Block]:
    return [
        Block(found["language"], found["body"], found.start("body"), found.end("body"), *_saved(document, found))
        for found in FENCE.finditer(document)
    ]


def _saved(document: str, found: re.Match[str]) -> tuple[str | None, bool]:
    comment = SAVED.search(document[: found.start("body")])
    return (comment[2], not comment[1]) if comment else (None, False)


def exchanges(body: str) -> list[Exchange]:
    """The commands of a console block: `$ ` opens one, `> ` goes on with it, all else is output."""
    found: list[tuple[list[str], list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif not found:
            raise AssertionError(f"a console block must open with a `$ ` line, not {line!r}")
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    return [Exchange("\n".join(command), "\n".join(output)) for command, output in found]


def matches(expected: str, actual: str) -> bool:
    """Equal, but for `...` alone on a line (any lines) and `[..]` within one (any characters).

    Ids of events and agents, times and durations match any other of their kind.
    """
    lines = [_pattern(line) for line in expected.splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line == r"\.\.\." else f"{line}\n" for line in lines)
    return re.fullmatch(pattern, f"{actual}\n" if actual else "") is not None


def _pattern(line: str) -> str:
    pieces, position = [], 0
    for found in VARYING.finditer(line):
        pattern, stands_for = KINDS[(found.lastindex or 1) - 1]
        pieces += [re.escape(line[position : found.start()]), stands_for or pattern]
        position = found.end()
    return "".join(pieces) + re.escape(line[position:])


@dataclass(frozen=True, slots=True)
class Reader:
    """Someone who follows one document from top to bottom, in an empty folder, with no plans yet.

    There may be a PostgreSQL server that libpq's programs find by themselves, a model that answers from a script
    where the packages of the providers look for one, and further programs in a folder on PATH.
    """

    home: Path
    server: Server | None = None
    model: str = ""
    programs: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    def outputs(self, commands: list[str]) -> list[str]:
        """What each command prints, run in order in one shell; `[exit N]` ends those that failed."""
        script = "".join(f"{command}\nprintf '{MARK}%d{MARK}' \"$?\"\n" for command in commands)
        printed = self.shell(script).stdout.split(MARK)
        texts, statuses = printed[0::2], printed[1::2]
        return [_shown(text, int(status)) for text, status in zip(texts, statuses, strict=False)]

    def shell(self, script: str) -> "subprocess.CompletedProcess[str]":
        sh = shutil.which("sh")
        assert sh is not None, "the documents' commands need a POSIX shell"
        null, pipe, same = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
        given: dict[str, Any] = {"cwd": self.home, "env": self.environment(), "encoding": "utf-8", "timeout": 60}
        return subprocess.run([sh, "-c", script], stdin=null, stdout=pipe, stderr=same, check=False, **given)

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TILDONE_", "XDG_", "PG"))}
        home = str(self.home)
        served = {"PGHOST": self.server.folder, "PGUSER": "postgres"} if self.server else {}
        programs = [self.programs] if self.programs else []
        programs += [self.server.programs] if self.server else []
        path = os.pathsep.join([str(Path(sys.executable).parent), *programs, kept.get("PATH", "")])
        own = {"PATH": path, **dict.fromkeys(("HOME", "USERPROFILE", "LOCALAPPDATA"), home)}
        own |= {"NO_COLOR": "1", "COLUMNS": "80", "TILDONE_USER": "Ada", "TZ": "UTC", "PYTHONUTF8": "1"}
        return kept | served | self.model_environment() | dict(self.variables) | own

    def model_environment(self) -> dict[str, str]:
        keys = {"ANTHROPIC_API_KEY": "none", "OPENAI_API_KEY": "none"}
        urls = {"ANTHROPIC_BASE_URL": self.model, "OPENAI_BASE_URL": f"{self.model}/v1"}
        return keys | urls if self.model else {}

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Run this process as the reader would: in the folder, with the model."""
        before = dict(os.environ)
        os.environ.update(self.model_environment())
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(self.home):
                yield
        finally:
            os.environ.clear()
            os.environ.update(before)


@contextlib.contextmanager
def reader_of(document: str, home: Path) -> Iterator[Reader]:
    """A reader who has what the document takes for granted: a database server, a model, a coding agent."""
    script = [turn for found in SCRIPT.findall(document) for turn in json.loads(found)]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_server()) if SERVED in document else None
        if CODING_AGENT in document:
            programs = stack.enter_context(TemporaryDirectory())
            program = Path(programs, "claude")
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n', encoding="utf-8")
            program.chmod(0o755)
            yield Reader(home, server, programs=programs, variables={"STAND_IN_SCRIPT": json.dumps(script)})
            return
        model = stack.enter_context(ModelServer(*script)).url if script else ""
        yield Reader(home, server, model)


def _shown(text: str, status: int) -> str:
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join([*lines, f"[exit {status}]"] if status else lines)


def problems(document: str, reader: Reader, verbs: frozenset[str]) -> Iterator[str]:
    """What is wrong with a document's blocks, read in order."""
    yield from malformed(document, verbs)
    names: dict[str, object] = {"__name__": "document"}
    for block in blocks(document):
        save(block, reader)
        match block.language:
            case "console":
                yield from _wrong_outputs(block, reader)
            case "sh" if not _tasks(block):
                yield from _failed_script(block, reader)
            case "python" if not block.only_saved:
                with reader.at_work():
                    exec(block.body, names)  # noqa: S102 -- running the documents' own code is the point
            case _:
                pass


def malformed(document: str, verbs: frozenset[str]) -> Iterator[str]:
    """What is wrong with a document's blocks before anything is run."""
    for block in blocks(document):
        match block.language:
            case "console":
                exchanges(block.body)
            case "sh":
                yield from _unknown_tasks(block, verbs)
            case "python":
                compile(block.body, "document", "exec")
            case "json":
                json.loads(block.body)
            case "toml":
                tomllib.loads(block.body)
            case language if language not in SHOWN_ONLY:
                yield f"a block needs a language the tests know; {language!r} is none: {block.body[:60]!r}"
            case _:
                pass


def save(block: Block, reader: Reader) -> None:
    """Append the block to the file that the document tells the reader to save it in."""
    if block.saved_as:
        with (reader.home / block.saved_as).open("a", encoding="utf-8") as file:
            file.write(block.body)


def _wrong_outputs(block: Block, reader: Reader) -> Iterator[str]:
    expected = exchanges(block.body)
    actual = reader.outputs([exchange.command for exchange in expected])
    for exchange, output in zip(expected, actual, strict=True):
        if not matches(exchange.output, output):
            yield f"$ {exchange.command}\nshould print\n{exchange.output}\nbut prints\n{output}\n"


def _tasks(block: Block) -> list[str]:
    """The verbs of the lines for `do.py`. They are looked up and not run: they are what runs this."""
    return re.findall(r"^python3 do\.py(?: (\w+))?.*$", block.body, re.MULTILINE)


def _unknown_tasks(block: Block, verbs: frozenset[str]) -> Iterator[str]:
    tasks = _tasks(block)
    yield from (f"do.py has no verb {verb!r}" for verb in tasks if verb and verb not in verbs)
    if tasks and len(tasks) != len(block.body.splitlines()):
        yield f"a block with do.py lines must hold nothing else: {block.body!r}"


def _failed_script(block: Block, reader: Reader) -> Iterator[str]:
    done = reader.shell(f"set -eu\n{block.body}")
    if done.returncode:
        yield f"exit {done.returncode} from\n{block.body}\n{done.stdout}"


def rewritten(document: str, reader: Reader) -> str:
    """The document with the true output under every console command; what still matches stays as written."""
    pieces, position = [], 0
    for block in blocks(document):
        save(block, reader)
        if block.language == "console":
            expected = exchanges(block.body)
            actual = reader.outputs([exchange.command for exchange in expected])
            pieces += [document[position : block.start], *map(_exchange, expected, actual)]
            position = block.end
        elif block.language == "sh" and "python3 do.py" not in block.body:
            reader.shell(block.body)
    return "".join(pieces) + document[position:]


def _exchange(exchange: Exchange, output: str) -> str:
    assert "Traceback (most recent call last)" not in output, output  # a crash is never what a document means
    shown = exchange.output if matches(exchange.output, output) else output
    command = exchange.command.replace("\n", "\n> ")
    return f"$ {command}\n" + (f"{shown}\n" if shown else "")
