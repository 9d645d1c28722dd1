"""`tildone trust`: a person sees what a project's settings file sets, and lets it apply."""

import os
from pathlib import Path

import pytest

from tests.cli.person import CTRL_C, Person

needs_terminal = pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals of this kind")

TEXT = 'store = "plans.db"\nsession = "ours"\nmax_nudges = 100\nmax_same = 2\n'
SHOWN = (
    'FILE sets:\n  store = "FOLDER/plans.db"\n  session = "ours"\n  max_nudges = 100\n'
    "  max_same = 2  (applies without trust)\n"
)


@pytest.fixture
def file(person: Person) -> Path:
    path = person.folder / "tildone.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def shown(file: Path) -> str:
    return SHOWN.replace("FILE", str(file)).replace("FOLDER", str(file.parent))


def notice(file: Path, names: str = "store, session, max_nudges") -> str:
    return (
        f"tildone: {file} is not trusted, so its settings do not apply ({names}); to see and trust it: tildone trust\n"
    )


def test_an_untrusted_file_is_mentioned_once_and_gives_no_orders(person: Person, file: Path) -> None:
    answer = person.run("todo", "add", "Mine")

    assert (answer.code, answer.err) == (0, notice(file))
    assert not (file.parent / "plans.db").exists()
    assert person.run("todo", "--json").json["session"] == str(file.parent)


def test_trust_shows_the_settings_and_lets_them_apply(person: Person, file: Path) -> None:
    said = person.says("trust", "--yes")

    assert said == f"{shown(file)}Trusted. To take it back: tildone trust --revoke\n"
    assert person.says("todo") == "No tasks in session 'ours'. Add one with: tildone todo add TEXT\n"
    assert person.says("trust") == f"{shown(file).replace('  (applies without trust)', '')}Already trusted.\n"


@needs_terminal
def test_a_person_is_asked(person: Person, file: Path) -> None:
    terminal = person.at_terminal("trust")
    terminal.until("[y/N]")
    terminal.type(b"n\n")
    refused = terminal.end()
    before = person.run("todo").err
    terminal = person.at_terminal("trust")
    terminal.until("[y/N]")
    terminal.type(b"y\n")
    agreed = terminal.end()

    assert (refused.code, agreed.code) == (1, 0)
    assert "Nothing was changed." in refused.out
    assert (before, person.run("todo").err) == (notice(file), "")


@needs_terminal
def test_ctrl_c_trusts_nothing(person: Person, file: Path) -> None:
    terminal = person.at_terminal("trust")
    terminal.until("[y/N]")
    terminal.type(CTRL_C)

    assert terminal.end().code == 130
    assert person.run("todo").err == notice(file)


def test_without_a_terminal_nobody_can_be_asked(person: Person, file: Path) -> None:
    answer = person.run("trust")

    assert (answer.code, answer.err) == (2, "tildone: confirmation requires a terminal; use --yes to skip it\n")
    assert person.run("todo").err == notice(file)


def test_after_a_change_the_file_has_to_be_trusted_again(person: Person, file: Path) -> None:
    person.says("trust", "--yes")
    file.write_text('session = "theirs"\n', encoding="utf-8")
    before = person.run("todo").err

    said = person.says("trust", "--yes")

    assert before == notice(file, "session")
    assert said.startswith(f'{file} has changed since it was trusted; it sets:\n  session = "theirs"\n')
    assert person.says("todo") == "No tasks in session 'theirs'. Add one with: tildone todo add TEXT\n"


def test_trust_can_be_revoked(person: Person, file: Path) -> None:
    person.says("trust", "--yes")

    assert person.says("trust", "--revoke") == f"No longer trusted: {file}\n"
    assert person.run("todo").err == notice(file)
    assert person.says("trust", "--revoke") == f"Not trusted: {file}\n"


def test_trust_of_a_file_that_is_gone_can_be_revoked(person: Person, file: Path) -> None:
    person.says("trust", "--yes")
    file.unlink()

    assert person.says("trust", "--revoke") == f"No longer trusted: {file}\n"


def test_programs_can_read_it(person: Person, file: Path) -> None:
    refused = person.run("trust", "--json")
    trusted = person.run("trust", "--yes", "--json").json
    revoked = person.run("trust", "--revoke", "--json").json

    assert refused.code == 2
    settings = {"store": str(file.parent / "plans.db"), "session": "ours", "max_nudges": 100, "max_same": 2}
    assert {name: trusted[name] for name in ("file", "trusted", "changed", "settings")} == {
        "file": str(file),
        "trusted": True,
        "changed": True,
        "settings": settings,
    }
    assert (revoked["trusted"], revoked["changed"]) == (False, True)


def test_without_a_file_there_is_nothing_to_trust(person: Person) -> None:
    answer = person.run("trust")

    assert (answer.code, answer.err) == (4, f"tildone: there is no {person.folder / 'tildone.toml'}\n")


def test_a_file_with_a_mistake_is_not_trusted(person: Person, file: Path) -> None:
    file.write_text("gate = 1\n", encoding="utf-8")

    answer = person.run("trust", "--yes")

    assert (answer.code, answer.err) == (
        3,
        f'tildone: {file}, line 1: gate must be "on" or "off"; correct it first\n',
    )


def test_an_empty_file_sets_nothing(person: Person, file: Path) -> None:
    file.write_text("# nothing yet\n", encoding="utf-8")

    assert (
        person.says("trust", "--yes") == f"{file} sets:\n  nothing\nTrusted. To take it back: tildone trust --revoke\n"
    )


def test_the_settings_are_shown_harmless_and_without_passwords(person: Person, file: Path) -> None:
    file.write_text('store = "postgresql://me:hunter2@db/plans"\nsession = "\\u001b[2Jx\\u202e"\n', encoding="utf-8")

    said = person.says("trust", "--yes")

    assert 'store = "postgresql://me@db/plans"' in said
    assert not {"hunter2", "\x1b", "\u202e"} & {word for word in ("hunter2", "\x1b", "\u202e") if word in said}


def test_doctor_tells_of_an_untrusted_file(person: Person, file: Path) -> None:
    told = person.run("doctor").out

    assert f"! {file} is not trusted, so its settings do not apply (store, session, max_nudges)" in told
    assert "tildone trust" in told
