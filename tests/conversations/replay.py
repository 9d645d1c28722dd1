"""Conversations: Markdown that a person reads, a test replays and the documentation includes.

A quoted paragraph is an action; the indented block below it is the result:

    > edit_todos {"action": "complete", "indices": [0]}

        Completed [0]

A tool call is the tool's name and its arguments, on one or more quoted lines; `⟨ab × 3⟩` in it means `ababab`. Other
actions: `/turn ended` ends the agent's turn, `/context` starts its next one, `/completions` prints the log of completed
plans, and `/person TEXT` adds a task as a person. In a reply, `...` on a line of its own matches any lines.

`python -m tests.conversations [FILE …]` rewrites the files (by default, all of them) with the current replies.
"""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tests.project.blocks import matches
from tildone.app.completion_log import CompletionLog
from tildone.log.session import Session
from tildone.plan.dialects import Dialect, dialect_named
from tildone.plan.gate import GiveUp, GoOn, Rest
from tildone.plan.model import Task
from tildone.plan.ops import Append
from tildone.stores.memory import MemoryStore

FOLDER = Path(__file__).parent
STAMP = "20250102-174233"
INDENT = "    "
NOTHING = "(nothing)"
STEP = re.compile(r"(?P<call>(?:^>.*\n)+)(?:\n+(?P<reply>(?:(?: {4}.*)?\n)* {4}.*\n))?", re.MULTILINE)
INDENTED = re.compile(f"^{INDENT}", re.MULTILINE)
REPEATED = re.compile(r"⟨(.+?) × (\d+)⟩")


def conversations() -> list[Path]:
    return sorted(FOLDER.glob("*/*.md"))


def dialect_of(file: Path) -> Dialect:
    """Return the dialect that the file's folder is named after."""
    name = file.parent.name
    return dialect_named(name)


def replayed(document: str, dialect: Dialect, root: Path) -> str:
    """Return the document with the replies of a new session; `root` is the project's folder."""
    ids = count()
    session = Session(
        MemoryStore(),
        "conversation",
        dialect,
        now=lambda: 0,
        new_id=lambda: str(next(ids)),
        completions=CompletionLog(str(root), lambda: STAMP),
    )

    def step(written: re.Match[str]) -> str:
        reply = _reply(session, root, _call(written["call"]))
        kept = written["reply"] and matches(INDENTED.sub("", written["reply"]), reply)
        return f"{written['call']}\n{written['reply'] if kept else _indented(reply)}"

    return STEP.sub(step, document)


def _call(quoted: str) -> str:
    call = "\n".join(line.removeprefix(">").removeprefix(" ") for line in quoted.splitlines())
    return REPEATED.sub(lambda repeated: repeated[1] * int(repeated[2]), call)


def _reply(session: Session, root: Path, call: str) -> str:
    match call.partition(" "):
        case "/turn", _, "ended":
            return _turn(session)
        case "/context", _, _:
            return session.context() or NOTHING
        case "/person", _, text:
            return "(added)" if session.change([Append((Task(text),))]).changed else NOTHING
        case "/completions", _, _:
            return "\n".join(_completions(root)) or NOTHING
        case tool, _, arguments:
            return session.call(tool, arguments).text


def _turn(session: Session) -> str:
    verdict = session.turn_ended()
    match verdict.decision:
        case GoOn():
            return verdict.prompt or NOTHING
        case Rest(why):
            return f"(the agent rests: {why.value})"
        case GiveUp(bound, limit):
            return f"(the agent is let go: {limit} {bound.value})"


def _completions(root: Path) -> Iterator[str]:
    for file in sorted(root.rglob("*.md")):
        yield f"{file.relative_to(root).as_posix()}:"
        yield ""
        yield file.read_text(encoding="utf-8").rstrip("\n")


def _indented(text: str) -> str:
    return "".join(f"{INDENT}{line}\n" if line else "\n" for line in text.split("\n"))
