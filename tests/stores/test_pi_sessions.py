"""Session files in pi's format."""

import json
import os
from pathlib import Path

import pytest

from tildone.errors import NotFound, StoreDamaged, StoreError, StoreTooNew
from tildone.stores.pi_sessions import SessionFile, file_name, load, newest

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05.006Z", "cwd": "/p"}
TRACES = sorted((Path(__file__).parents[1] / "traces").glob("*.json"))


def lines(*records: object) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def test_a_file_is_made_with_its_header_when_the_first_entry_comes(tmp_path: Path) -> None:
    """Folders included; a session in which nothing was said leaves no file."""
    path = tmp_path / "new" / "s.jsonl"
    file = SessionFile(str(path), HEADER)
    assert not path.exists()

    file.write({"type": "custom", "id": "a", "parentId": None, "data": "\ud800\u2028 ü"})
    file.write({"type": "custom", "id": "b", "parentId": "a"})

    header, entries = load(str(path))
    assert header == HEADER
    assert [entry["id"] for entry in entries] == ["a", "b"]
    assert entries[0]["data"] == "\ud800\u2028 ü"


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_what_pi_wrote_is_read_entry_by_entry(trace: Path, tmp_path: Path) -> None:
    """Unknown entries and fields included."""
    for number, recorded in enumerate(json.loads(trace.read_text(encoding="utf-8"))["session_files"]):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(lines(*recorded["entries"]), encoding="utf-8")

        header, entries = load(str(path))

        assert [header, *entries] == recorded["entries"]


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    """Only the last one can have been; elsewhere it is damage, and its line is named."""
    path = tmp_path / "s.jsonl"
    path.write_text(lines(HEADER, {"type": "custom", "id": "a", "parentId": None}) + '{"type": "cus', encoding="utf-8")

    assert [entry["id"] for entry in load(str(path))[1]] == ["a"]
    path.write_text(lines(HEADER) + "garbage\n" + lines({"type": "custom", "id": "a"}), encoding="utf-8")
    with pytest.raises(StoreDamaged, match="line 2: not JSON"):
        load(str(path))


def test_older_versions_are_raised(tmp_path: Path) -> None:
    """A line of entries becomes a chain, and a hook's message a custom one."""
    path = tmp_path / "s.jsonl"
    old = {"type": "message", "message": {"role": "hookMessage", "content": "x"}}
    path.write_text(lines({"type": "session", "id": "s"}, old, {"type": "custom"}, [1], ""), encoding="utf-8")

    header, entries = load(str(path))

    assert header["version"] == 3
    assert [(entry["id"], entry["parentId"]) for entry in entries] == [("00000000", None), ("00000001", "00000000")]
    assert entries[0]["message"]["role"] == "custom"


@pytest.mark.parametrize("text", ["", "\n", lines({"type": "message", "id": "a"}), "[]\n"])
def test_what_is_no_session_file_is_refused(text: str, tmp_path: Path) -> None:
    """With a word about its first line."""
    path = tmp_path / "s.jsonl"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(StoreDamaged, match="no session header"):
        load(str(path))


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    """Rather than read wrongly."""
    path = tmp_path / "s.jsonl"
    path.write_text(lines({**HEADER, "version": 4}), encoding="utf-8")

    with pytest.raises(StoreTooNew, match="version 4"):
        load(str(path))


def test_what_cannot_be_read_or_written_says_so(tmp_path: Path) -> None:
    """A missing file, a folder in the way of a file, a file in the way of a folder."""
    with pytest.raises(NotFound, match="no session file"):
        load(str(tmp_path / "none.jsonl"))
    with pytest.raises(StoreError, match="cannot read"):
        load(str(tmp_path))
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot write"):
        SessionFile(str(tmp_path / "file" / "s.jsonl"), HEADER).write({"type": "custom"})


def test_the_newest_file_is_the_one_written_to_last(tmp_path: Path) -> None:
    """Other files do not count; no folder, no file."""
    assert newest(str(tmp_path / "none")) is None
    assert newest(str(tmp_path)) is None
    for age, name in enumerate(["b.jsonl", "a.jsonl", "c.txt"]):
        (tmp_path / name).write_text("", encoding="utf-8")
        os.utime(tmp_path / name, (age, age))

    assert newest(str(tmp_path)) == str(tmp_path / "a.jsonl")


def test_files_are_named_as_pi_names_them() -> None:
    """The moment, then the id."""
    assert file_name("s", "2026-01-02T03:04:05.006Z") == "2026-01-02T03-04-05-006Z_s.jsonl"
