"""`tildone trust PLAN.md`: a person sees the checks that a plan file carries, and lets them run."""

import os
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.cli.plan.checking import AGENT, tasks

needs_terminal = pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals of this kind")

TEXT = "$ test -e all\n\n- [ ] Make it\n  $ test -e 'made here'\n- [ ] And this\n  $ test -e x\n  (folder sub)\n"
SHOWN = """\
plan.md has 3 checks:
#1 Make it
  command: ["test","-e","made here"]
  folder:  .
#2 And this
  command: ["test","-e","x"]
  folder:  sub
The plan
  command: ["test","-e","all"]
  folder:  .
"""
TRUSTED = "Trusted. To take it back: tildone trust plan.md --revoke\n"
HINT = "3 checks are proposed and do not run until you approve them: tildone trust plan.md\n"


@pytest.fixture
def file(person: Person) -> Path:
    path = person.folder / "plan.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


def proposed(person: Person) -> list[object]:
    return [check["number"] for check in person.run("approve", "--json").json["checks"]]


@pytest.mark.usefixtures("file")
def test_the_checks_of_an_untrusted_file_are_proposed_and_it_is_said_how_to_approve_them(person: Person) -> None:
    said = person.says("import", "plan.md")

    assert said.endswith(HINT)
    assert proposed(person) == [1, 2, None]
    assert person.run("import", "plan.md", "--json").json["imported"][0]["proposed_checks"] == 3


@pytest.mark.usefixtures("file")
def test_the_checks_of_a_trusted_file_run(person: Person) -> None:
    assert person.says("trust", "plan.md", "--yes") == SHOWN + TRUSTED

    assert "proposed" not in person.says("import", "plan.md")
    assert proposed(person) == []
    (person.folder / "made here").touch()
    assert person.run("todo", "done", "1").code == 0
    assert person.says("trust", "plan.md") == f"{marked(SHOWN)}Already trusted.\n"


def marked(shown: str) -> str:
    """The list of checks that are approved."""
    return (
        shown.replace("it\n", "it (approved)\n")
        .replace("this\n", "this (approved)\n")
        .replace("plan\n", "plan (approved)\n")
    )


@pytest.mark.usefixtures("file")
def test_trust_lets_a_task_go_on_that_waited_for_it(person: Person) -> None:
    person.says("import", "plan.md")
    assert person.run("todo", "done", "1").code != 0
    assert tasks(person)[1]["status"] == "blocked"

    person.says("trust", "plan.md", "--yes")

    assert tasks(person)[1]["status"] == "pending"


def test_a_changed_check_has_to_be_trusted_again(person: Person, file: Path) -> None:
    """What the file no longer has is no longer approved; changes of other lines need nothing."""
    person.says("trust", "plan.md", "--yes")
    file.write_text(f"{TEXT}- [ ] No check\n", encoding="utf-8")
    same = person.says("trust", "plan.md")
    file.write_text(TEXT.replace("-e x", "-e y"), encoding="utf-8")
    imported = person.says("import", "plan.md")

    said = person.says("trust", "plan.md", "--yes")

    assert same.endswith("Already trusted.\n")
    assert "1 check is proposed and does not run until you approve it: tildone trust plan.md\n" in imported
    assert said.startswith("plan.md has changed since it was trusted; it has 3 checks:\n#1 Make it (approved)\n")
    assert f"No longer approved, because it is not in the file: test -e x\n{TRUSTED}" in said
    file.write_text(TEXT, encoding="utf-8")
    person.says("import", "plan.md")
    assert proposed(person) == [2]


def test_trust_is_taken_back_from_exactly_what_was_trusted(person: Person, file: Path) -> None:
    """Also if the file is gone."""
    person.says("trust", "plan.md", "--yes")
    person.says("import", "plan.md")
    file.unlink()

    said = person.says("trust", "plan.md", "--revoke")

    assert said == f"No longer trusted: {file}\n  test -e 'made here'\n  test -e x\n  test -e all\n"
    assert proposed(person) == [1, 2, None]
    assert person.says("trust", "plan.md", "--revoke") == f"Not trusted: {file}\n"


@needs_terminal
@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(("key", "code"), [(b"y\n", 0), (b"n\n", 1)])
def test_the_person_is_asked(person: Person, key: bytes, code: int) -> None:
    terminal = person.at_terminal("trust", "plan.md")
    terminal.until("Let these commands run as checks? [y/N]")
    terminal.type(key)
    answer = terminal.end()
    person.says("import", "plan.md")

    assert answer.code == code
    assert (not proposed(person)) == (code == 0)


@pytest.mark.usefixtures("file")
def test_without_a_terminal_and_in_the_shell_of_an_agent_nothing_is_trusted(person: Person) -> None:
    alone = person.run("trust", "plan.md")
    agent = person.run("trust", "plan.md", "--yes", **AGENT)
    person.says("import", "plan.md")

    assert (alone.code, alone.err) == (2, "tildone: confirmation requires a terminal; use --yes to skip it\n")
    assert (agent.code, agent.err) == (3, "tildone: only a person can trust a file: this is the shell of claude:c-1\n")
    assert proposed(person) == [1, 2, None]


def test_other_files_are_refused(person: Person) -> None:
    for name, text, code, err in (
        ("none.md", None, 4, "there is no none.md"),
        ("a.txt", "buy milk\n", 3, "a.txt is not a Markdown plan; only such a file carries checks to trust"),
        ("bad.md", "\udcff", 3, "could not read bad.md as markdown: 'utf-8' codec can't decode"),
    ):
        if text is not None:
            (person.folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))

        answer = person.run("trust", name, "--yes")

        assert (answer.code, answer.out) == (code, ""), name
        assert answer.err.startswith(f"tildone: {err}"), name


def test_a_plan_without_checks_has_nothing_to_approve(person: Person) -> None:
    (person.folder / "plan.md").write_text("- [ ] Read it\n", encoding="utf-8")

    assert person.says("trust", "plan.md") == "plan.md has no checks.\nThere is nothing to approve.\n"


def test_the_settings_file_may_be_named(person: Person) -> None:
    (person.folder / "tildone.toml").write_text("max_same = 2\n", encoding="utf-8")

    assert "max_same = 2" in person.says("trust", "tildone.toml", "--yes")


@pytest.mark.usefixtures("file")
def test_programs_can_read_it(person: Person) -> None:
    data = person.run("trust", "plan.md", "--yes", "--json").json

    assert (data["trusted"], data["changed"]) == (True, True)
    assert data["checks"][1] == {"number": 2, "check": {"command": ["test", "-e", "x"], "folder": "sub"}}
    assert person.run("trust", "plan.md", "--revoke", "--json").json["changed"] is True


def test_nothing_in_a_file_controls_the_terminal(person: Person, file: Path) -> None:
    file.write_text("- [ ] \x1b[2Jx\n  $ cat '\x1b[2J\u202e'\n", encoding="utf-8")

    said = person.says("trust", "plan.md", "--yes")

    assert "\x1b" not in said
    assert "\u202e" not in said
