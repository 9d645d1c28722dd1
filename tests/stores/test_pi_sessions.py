"""Session files in pi's format."""

import json
import os
from pathlib import Path

import pytest

from tildone.base.errors import NotFound, StoreDamaged, StoreError, StoreTooNew
from tildone.stores.pi.session_file import SessionFile, file_name, format_timestamp, load, newest_files, parse_timestamp

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05.006Z", "cwd": "/p"}
TRACES = sorted((Path(__file__).parents[1] / "traces").glob("*.json"))


OLD = Path(__file__).parent / "old_sessions"


def custom(entry_id: str, parent: str | None) -> dict[str, object]:
    return {"type": "custom", "id": entry_id, "parentId": parent}


def lines(*records: object) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def test_a_file_is_created_with_the_first_entry(tmp_path: Path) -> None:
    """With missing folders; a session without entries leaves no file."""
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
def test_entries_of_pi_are_read_unchanged(trace: Path, tmp_path: Path) -> None:
    """Including unknown entries and fields."""
    for number, recorded in enumerate(json.loads(trace.read_text(encoding="utf-8"))["session_files"]):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(lines(*recorded["entries"]), encoding="utf-8")

        header, entries = load(str(path))

        assert [header, *entries] == recorded["entries"]


def test_an_unparsable_line_is_skipped(tmp_path: Path) -> None:
    """As in pi: an incomplete last line, or garbage without children."""
    path = tmp_path / "s.jsonl"
    text = lines(HEADER, custom("a", None)) + "garbage\nNaN\n" + lines(custom("b", "a")) + '{"type": "cus'
    path.write_text(text, encoding="utf-8")

    assert [entry["id"] for entry in load(str(path))[1]] == ["a", "b"]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("garbage\n", "line 2 cannot be read, and line 3 depends on it"),
        ("", "line 2 has parent 'lost', which is not in the file"),
    ],
)
def test_a_conversation_with_an_unparsable_ancestor_is_refused(tmp_path: Path, bad: str, why: str) -> None:
    """It is not continued as if that entry had never existed. Other branches may be broken."""
    path = tmp_path / "s.jsonl"
    path.write_text(lines(HEADER) + bad + lines(custom("a", "lost"), custom("b", "a")), encoding="utf-8")

    with pytest.raises(StoreDamaged, match=why):
        load(str(path))
    with path.open("a", encoding="utf-8") as file:
        file.write(lines(custom("c", None)))
    assert [entry["id"] for entry in load(str(path))[1]] == ["a", "b", "c"]


@pytest.mark.parametrize("above", ["b", "a"])
def test_a_cycle_of_parents_is_refused(tmp_path: Path, above: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(lines(HEADER, custom("a", above), custom("b", "a")), encoding="utf-8")

    with pytest.raises(StoreDamaged, match="line 2"):
        load(str(path))


@pytest.mark.parametrize("torn", ["", '{"type": "message", "id": "x", "par', "garbage"])
def test_an_append_after_an_incomplete_line_begins_a_new_line(tmp_path: Path, torn: str) -> None:
    """The incomplete line is preserved."""
    path = tmp_path / "s.jsonl"
    path.write_text(lines(HEADER, custom("a", None)) + torn, encoding="utf-8")

    SessionFile(str(path), HEADER, exists=True).write(custom("b", "a"))

    assert [entry["id"] for entry in load(str(path))[1]] == ["a", "b"]
    assert torn in path.read_text(encoding="utf-8")


def test_a_last_line_without_a_newline_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(lines(HEADER, custom("a", None)).rstrip(), encoding="utf-8")

    SessionFile(str(path), HEADER, exists=True).write(custom("b", "a"))

    assert [entry["id"] for entry in load(str(path))[1]] == ["a", "b"]


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_file_is_upgraded_once_before_an_append(tmp_path: Path, version: int) -> None:
    """A copy of it is kept. Reading does not change it."""
    path = tmp_path / "s.jsonl"
    old = (OLD / f"version-{version}.jsonl").read_bytes()
    path.write_bytes(old)
    header, entries = load(str(path))
    assert path.read_bytes() == old

    file = SessionFile(str(path), header, exists=True)
    for number, parent in enumerate([entries[-1]["id"], "new0"]):
        file.write(custom(f"new{number}", parent))

    assert load(str(path)) == (header, [*entries, custom("new0", entries[-1]["id"]), custom("new1", "new0")])
    assert json.loads(path.read_bytes().splitlines()[0]) == header
    assert (tmp_path / f"s.jsonl.v{version}.bak").read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 2


def test_a_new_session_does_not_overwrite_a_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("precious", encoding="utf-8")

    with pytest.raises(StoreError, match="exists already"):
        SessionFile(str(path), HEADER).write(custom("a", None))

    assert path.read_text(encoding="utf-8") == "precious"


def test_older_versions_are_upgraded_in_memory(tmp_path: Path) -> None:
    """Entries without parents become a chain, and a hook's message a custom one."""
    path = tmp_path / "s.jsonl"
    old = {"type": "message", "message": {"role": "hookMessage", "content": "x"}}
    path.write_text(lines({"type": "session", "id": "s"}, old, {"type": "custom"}, [1], ""), encoding="utf-8")

    header, entries = load(str(path))

    assert header["version"] == 3
    assert [(entry["id"], entry["parentId"]) for entry in entries] == [("00000000", None), ("00000001", "00000000")]
    assert entries[0]["message"]["role"] == "custom"


@pytest.mark.parametrize("text", ["", "\n", lines({"type": "message", "id": "a"}), "[]\n"])
def test_a_file_that_is_not_a_session_file_is_refused(text: str, tmp_path: Path) -> None:
    """The error mentions its first line."""
    path = tmp_path / "s.jsonl"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(StoreDamaged, match="not a session header"):
        load(str(path))


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    """It is not misread."""
    path = tmp_path / "s.jsonl"
    path.write_text(lines({**HEADER, "version": 4}), encoding="utf-8")

    with pytest.raises(StoreTooNew, match="version 4"):
        load(str(path))


def test_unreadable_and_unwritable_files_are_errors(tmp_path: Path) -> None:
    """A missing file, a folder instead of a file, a file instead of a folder."""
    with pytest.raises(NotFound, match="no session file"):
        load(str(tmp_path / "none.jsonl"))
    with pytest.raises(StoreError, match="cannot read"):
        load(str(tmp_path))
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError, match="file: File exists"):
        SessionFile(str(tmp_path / "file" / "s.jsonl"), HEADER).write({"type": "custom"})


def test_the_newest_file_is_the_one_written_to_last(tmp_path: Path) -> None:
    """Other files are ignored; without a folder there is none."""
    assert newest_files(str(tmp_path / "none")) == []
    assert newest_files(str(tmp_path)) == []
    for age, name in enumerate(["b.jsonl", "a.jsonl", "c.txt"]):
        (tmp_path / name).write_text("", encoding="utf-8")
        os.utime(tmp_path / name, (age, age))

    assert newest_files(str(tmp_path))[0] == str(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("at", "written"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1794703543432, "2026-11-15T00:45:43.432Z"),
        (951782400000, "2000-02-29T00:00:00.000Z"),
        (951868799999, "2000-02-29T23:59:59.999Z"),
        (4107542400000, "2100-03-01T00:00:00.000Z"),
        (32535215999999, "3000-12-31T23:59:59.999Z"),
    ],
)
def test_timestamps_have_pis_format(at: int, written: str) -> None:
    assert (format_timestamp(at), parse_timestamp(written)) == (written, at)


def test_a_timestamp_out_of_range_is_clamped() -> None:
    """Every entry needs one."""
    assert (format_timestamp(-1), format_timestamp(10**18)) == ("1970-01-01T00:00:00.000Z", "3000-12-31T23:59:59.999Z")


@pytest.mark.parametrize(
    ("written", "at"), [("2026-01-02T03:04:05Z", 1767323045000), ("2026-01-02T03:04:05.1234567Z", 1767323045123)]
)
def test_timestamps_of_other_precisions_are_read(written: str, at: int) -> None:
    assert parse_timestamp(written) == at


@pytest.mark.parametrize("written", [None, 7, "", "yesterday", "2026-01-02", "2026-01-02T03:04:05+01:00"])
def test_an_invalid_timestamp_is_none(written: object) -> None:
    assert parse_timestamp(written) is None


def test_files_are_named_as_pi_names_them() -> None:
    """The timestamp, then the id."""
    assert file_name("s", "2026-01-02T03:04:05.006Z") == "2026-01-02T03-04-05-006Z_s.jsonl"
