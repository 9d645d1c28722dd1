"""Detect the format of a file and parse its text. Reading the file is left to the caller.

The content decides first, since names mislead: a JSON file may be an archive of tildone or a list of Claude Code, and a
`.txt` file may be a checklist. The name decides where the content fits several formats.
"""

from __future__ import annotations

import re

from tildone.base import value
from tildone.plan import codec
from tildone.plan.events import Event, SessionHead, ancestors, by_id, latest_state
from tildone.plan.formats import ConversionWarning, archive, claude_tasks, markdown_reader, todotxt
from tildone.plan.model import Plan

PI, CLAUDE, MARKDOWN, TODO_TXT, JSON = FORMATS = ("pi", "claude", "markdown", "todo.txt", "json")

_SUFFIXES = {"jsonl": PI, "md": MARKDOWN, "markdown": MARKDOWN, "mdown": MARKDOWN, "txt": TODO_TXT, "json": JSON}
_TODO_TXT_LINE = re.compile(r"^(?:x [0-9]{4}-[0-9]{2}-[0-9]{2} |\([A-Z]\) )", re.MULTILINE)


@value
class PlanFile:
    """A file that contains a plan; `warnings` lists its content that the plan does not represent."""

    path: str
    format: str
    plan: Plan
    warnings: tuple[ConversionWarning, ...] = ()
    title: str = ""


@value
class HistoryFile:
    """A file that contains a session with all its events; `warnings` lists its content that is not among them."""

    path: str
    format: str
    session: str
    events: tuple[Event, ...]
    session_head: SessionHead
    warnings: tuple[ConversionWarning, ...] = ()

    @property
    def plan(self) -> Plan:
        return latest_state(ancestors(by_id(self.events), self.session_head.head)).plan


ImportFile = PlanFile | HistoryFile


def format_of_name(path: str) -> str | None:
    stem, _, suffix = path.replace("\\", "/").rpartition("/")[2].rpartition(".")
    return _SUFFIXES.get(suffix.lower()) if stem else None


def detect_format(path: str, text: str) -> str | None:
    """Return the format of a text, by its content and then by the name of its file; None if it is unknown."""
    content = text.lstrip()
    if content.startswith(("{", "[")):
        try:
            first = codec.parse_strictly(content.partition("\n")[0])
            if isinstance(first, dict) and first.get("type") == "session":
                return PI
        except ValueError:
            pass
        format_ = _format_of_json(content)
        if format_:
            return format_
    named = format_of_name(path)
    if named == JSON:
        return None
    if named and named != TODO_TXT:
        return named
    if markdown_reader.has_checkbox(text) or not content:
        return MARKDOWN
    return TODO_TXT if named or _TODO_TXT_LINE.search(text) else None


def parse_file(path: str, format_: str, text: str) -> ImportFile:
    """Parse a text in any format but pi's; `ValueError` if it is none, `RecursionError` if it is nested too deeply."""
    if format_ == JSON:
        content = archive.read(text)
        edited = ConversionWarning("the plan in it is not what its events lead to; the events are imported")
        warnings = (edited,) if content.edited else ()
        return HistoryFile(path, JSON, content.session, content.events, content.session_head, warnings)
    if format_ == CLAUDE:
        data = codec.parse_strictly(text)
        is_task = claude_tasks.is_task_file(data)
        imported = claude_tasks.read_task_files([data]) if is_task else claude_tasks.read_todo_list(data)
    else:
        imported = todotxt.read(text) if format_ == TODO_TXT else markdown_reader.read(text)
    return PlanFile(path, format_, imported.plan, imported.warnings, imported.title)


def json_error(text: str) -> str | None:
    try:
        codec.parse_strictly(text)
    except (ValueError, RecursionError) as error:
        return reason(error)
    return None


def reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _format_of_json(text: str) -> str | None:
    try:
        data = codec.parse_strictly(text)
    except ValueError:
        return None
    if archive.is_archive(data):
        return JSON
    return CLAUDE if claude_tasks.is_task_file(data) or claude_tasks.is_todo_list(data) else None
