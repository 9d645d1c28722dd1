"""A damaged file of a jsonl store costs its own session: the others are listed, backed up, migrated and examined."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.person import Person

NESTED = b"[" * 100_000 + b"]" * 100_000


def changed(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(old, new)


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    return lambda content: b"".join(change(content.splitlines(keepends=True)))


HARMLESS: dict[str, Callable[[bytes], bytes]] = {
    "a line that is not JSON": lambda content: content + b"\x00\xff{broken\n",
    "a truncated line": lambda content: content + b'{"type":"message","id":"zz","parentId"',
    "a deeply nested line": lambda content: content + NESTED + b"\n",
    "a huge number": lambda content: content + b'{"type":"x","id":"y","n":' + b"9" * 5000 + b"}\n",
    "an infinite number": lambda content: content + b'{"type":"x","n":1e999}\n',
}
HARMFUL: dict[str, Callable[[bytes], bytes]] = {
    "no header": lines(lambda found: found[1:]),
    "a broken header": changed(b'{"type":"session"', b'{"type":\xff"session"'),
    "nothing but zeros": lambda content: bytes(len(content)),
    "a broken first event": lines(lambda found: [found[0], b"\x00" * 20 + b"\n", *found[2:]]),
    "a broken middle event": lines(lambda found: [*found[:2], b"\xff\xfe\n", *found[3:]]),
    "a newer format": changed(b'"version":3', b'"version":99'),
    "an event of no known kind": changed(b'"fact":"plan_changed"', b'"fact":"plan_chanted"'),
    "a time that is none": changed(b'"actor":"user"', b'"actor":"nobody"'),
}


@pytest.fixture
def sessions(person: Person) -> Path:
    """The folder of a store with two sessions; the tests damage the file of the one named bad."""
    person.environ["TILDONE_STORE"] = "jsonl:sessions"
    for name in ("good", "bad"):
        for text in ("one", "two", "three"):
            person.says("todo", "add", text, "--session", name)
    return person.folder / "sessions"


def damage(folder: Path, change: Callable[[bytes], bytes]) -> str:
    [path] = folder.glob("*_bad.jsonl")
    before = path.read_bytes()
    path.write_bytes(change(before))
    assert path.read_bytes() != before
    return path.name


@pytest.mark.parametrize("what", HARMFUL)
def test_the_other_sessions_are_listed_backed_up_migrated_and_examined(
    person: Person, sessions: Path, what: str
) -> None:
    """What is left out is named, and the exit code says that something is missing."""
    name = damage(sessions, HARMFUL[what])

    listed = person.run("sessions", "--json")
    backed_up = person.run("backup", "plans.db", "--json")
    migrated = person.run("migrate", "copy.db")
    examined = person.run("doctor", "--json")

    for answer in (listed, backed_up, migrated):
        assert answer.code == 5, answer
        assert "left out: " in answer.err
        assert name in answer.err
        assert "Traceback" not in answer.err
    assert [each["name"] for each in listed.json["sessions"]] == ["good"]
    assert len(listed.json["left_out"]) == len(backed_up.json["left_out"]) == 1
    assert backed_up.json["sessions"] == 1
    for store in ("plans.db", "copy.db"):
        assert person.says("todo", "export", "-", "--session", "good", "--store", store) == (
            "- [ ] one\n- [ ] two\n- [ ] three\n"
        )
        copied = json.loads(person.says("sessions", "--json", "--store", store))
        assert [each["name"] for each in copied["sessions"]] == ["good"]
    assert examined.code == 5
    assert any(name in check["message"] and check["status"] == "problem" for check in examined.json["checks"])


@pytest.mark.parametrize("what", HARMLESS)
def test_a_line_that_nothing_depends_on_costs_nothing_else(person: Person, sessions: Path, what: str) -> None:
    damage(sessions, HARMLESS[what])

    assert len(json.loads(person.says("sessions", "--json"))["sessions"]) == 2
    assert json.loads(person.says("backup", "plans.db", "--json"))["events"] == 6
    assert person.says("todo", "export", "-", "--session", "bad") == "- [ ] one\n- [ ] two\n- [ ] three\n"
    assert person.run("doctor", "--json").code == 0


def test_a_history_in_a_circle_is_left_out_while_its_plan_is_shown(person: Person, sessions: Path) -> None:
    """Every event has the whole plan, so that the newest one is enough to show it."""

    def in_a_circle(content: bytes) -> bytes:
        header, *entries = map(json.loads, content.splitlines())
        entries[1]["parentId"] = entries[2]["id"]
        return b"".join(json.dumps(each).encode() + b"\n" for each in (header, *entries))

    name = damage(sessions, in_a_circle)

    assert len(json.loads(person.says("sessions", "--json"))["sessions"]) == 2
    backed_up, log = person.run("backup", "plans.db", "--json"), person.run("log", "--session", "bad")
    assert (backed_up.code, backed_up.json["sessions"], log.code) == (5, 1, 5)
    assert name in backed_up.err
    assert name in log.err
    assert "Traceback" not in backed_up.err + log.err


def test_a_double_id_means_its_last_entry(person: Person, sessions: Path) -> None:
    """As in pi."""

    def twice(content: bytes) -> bytes:
        *before, last = content.splitlines(keepends=True)
        return b"".join((*before, last, last.replace(b"three", b"fourth")))

    damage(sessions, twice)

    assert person.says("todo", "export", "-", "--session", "bad") == "- [ ] one\n- [ ] two\n- [ ] fourth\n"
    assert json.loads(person.says("backup", "plans.db", "--json"))["events"] == 6


def test_many_sessions_that_are_left_out_are_counted(person: Person, sessions: Path) -> None:
    for number in range(12):
        (sessions / f"2026-01-01T00-00-00-000Z_x{number}.jsonl").write_bytes(b"\xff\n")
    (sessions / "of another program.jsonl").write_bytes(b"\xff\n")

    answer = person.run("sessions", "--json")

    assert (answer.code, len(answer.json["sessions"]), len(answer.json["left_out"])) == (5, 2, 12)
    assert "tildone: left out: 2 more\n" in answer.err


def test_an_incomplete_backup_does_not_replace_another(person: Person, sessions: Path) -> None:
    person.says("backup", "plans.db")
    before = (person.folder / "plans.db").read_bytes()
    damage(sessions, HARMFUL["no header"])

    answer = person.run("backup", "plans.db", "--force")

    assert answer.code == 5
    assert "plans.db was not overwritten, because the new backup would be incomplete: " in answer.err
    assert (person.folder / "plans.db").read_bytes() == before
    assert sorted(path.name for path in person.folder.iterdir()) == [".git", "plans.db", "sessions"]
