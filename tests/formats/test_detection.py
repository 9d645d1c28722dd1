"""The format of a file is detected by its content, then by its name."""

import pytest

from tildone.plan.events import SessionHead
from tildone.plan.formats import archive
from tildone.plan.formats.archive import Archive
from tildone.plan.formats.detection import (
    CLAUDE,
    JSON,
    MARKDOWN,
    PI,
    TODO_TXT,
    HistoryFile,
    PlanFile,
    detect_format,
    format_of_name,
    json_error,
    parse_file,
    reason,
)

TASK = '{"id": "1", "subject": "a", "status": "pending"}'
TODOS = '[{"content": "a", "status": "pending", "activeForm": "a"}]'
EMPTY_ARCHIVE = archive.write(Archive("s", SessionHead(None), ()))


@pytest.mark.parametrize(
    ("path", "format_"),
    [
        ("a.md", MARKDOWN),
        ("A.MarkDown", MARKDOWN),
        ("dir.d/a.txt", TODO_TXT),
        ("C:\\dir\\a.json", JSON),
        ("a.b.jsonl", PI),
        ("a", None),
        ("dir.md/a", None),
        (".md", None),
        ("-", None),
    ],
)
def test_the_suffix_of_a_name_stands_for_a_format(path: str, format_: str | None) -> None:
    assert format_of_name(path) == format_


@pytest.mark.parametrize(
    ("path", "text", "format_"),
    [
        ("a.txt", '{"type": "session", "version": 3}\n{"type": "message"}', PI),
        ("a.md", TASK, CLAUDE),
        ("-", TODOS, CLAUDE),
        ("a.txt", EMPTY_ARCHIVE, JSON),
        ("a.jsonl", "{broken", PI),
        ("a.json", "{broken", None),
        ("a.json", "[1, 2]", None),
        ("a.md", "[1] a footnote", MARKDOWN),
        ("a.txt", "- [ ] a", MARKDOWN),
        ("a.txt", "Call mum", TODO_TXT),
        ("-", "(A) Call mum", TODO_TXT),
        ("-", "x 2026-01-01 Call mum", TODO_TXT),
        ("-", "  \n", MARKDOWN),
        ("-", "Once upon a time", None),
    ],
)
def test_the_content_decides_before_the_name(path: str, text: str, format_: str | None) -> None:
    assert detect_format(path, text) == format_


@pytest.mark.parametrize(("format_", "text"), [(CLAUDE, TASK), (CLAUDE, TODOS), (TODO_TXT, "a"), (MARKDOWN, "- [ ] a")])
def test_a_file_with_a_plan_is_parsed(format_: str, text: str) -> None:
    file = parse_file("name", format_, text)

    assert isinstance(file, PlanFile)
    assert (file.path, file.format, [task.text for task in file.plan.tasks]) == ("name", format_, ["a"])


def test_an_archive_is_a_file_with_a_history() -> None:
    file = parse_file("name", JSON, EMPTY_ARCHIVE)

    assert isinstance(file, HistoryFile)
    assert (file.session, file.events, file.plan.tasks, file.warnings) == ("s", (), (), ())


def test_text_in_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="session"):
        parse_file("name", JSON, "[]")


def test_a_parse_error_has_a_reason() -> None:
    assert json_error("{}") is None
    assert json_error("{") == str(reason(ValueError(json_error("{"))))
    assert reason(RecursionError()) == "it is nested too deeply"
