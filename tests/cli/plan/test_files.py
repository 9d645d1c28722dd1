"""`tildone todo export` and `import`: a plan leaves and comes back whole, and nothing is lost on the way."""

import os

import pytest

from tests.cli.person import Person

TEXT = "# Build\n- [x] Parse\n  > see the grammar\n- [/] Wire up\n\n# Ship\n- [ ] Tell\n"


def test_a_plan_leaves_and_comes_back(person: Person) -> None:
    assert person.says("todo", "import", "-", given=TEXT).startswith(
        "Imported standard input: 3 tasks in 2 phases\n1 of 3 closed."
    )

    assert person.says("todo", "export") == "Wrote the plan to TODO.md\n"

    assert (person.folder / "TODO.md").read_bytes().decode() == TEXT
    person.says("todo", "rm", "--all")
    assert person.says("todo", "import").startswith("Imported TODO.md: 3 tasks in 2 phases\n")
    assert person.says("todo", "export", "-") == TEXT
    assert person.run("log", "--json", "--limit", "1").json["events"][0]["actor"] == "import"


def test_whatever_a_text_holds_comes_back(person: Person) -> None:
    nasty = r'{"mode": "replace", "todos": [{"text": "a\n- [x] b\u001b \ud800 \r\u2028"}, {"text": " # c "}]}'
    person.says("call", "write_todos", nasty)
    before = [task["text"] for task in person.run("blame", "--json").json["tasks"]]

    answer = person.shell("tildone todo export plan.md && tildone todo import --session copy plan.md")

    assert (answer.code, answer.err) == (0, "")
    assert [task["text"] for task in person.run("blame", "--json", "--session", "copy").json["tasks"]] == before


@pytest.mark.parametrize("held", ["# Notes\n\nSome prose.\n", "\xff", "- [x] done\nMore.\n"])
def test_a_file_that_is_no_checklist_is_kept_unless_forced(person: Person, held: str) -> None:
    file = person.folder / "NOTES.md"
    file.write_bytes(held.encode("latin-1"))
    person.says("todo", "add", "one")

    answer = person.run("todo", "export", "NOTES.md")

    assert (answer.code, answer.out) == (3, "")
    assert answer.err == "tildone: NOTES.md contains more than a checklist; to overwrite it, use --force\n"
    assert file.read_bytes() == held.encode("latin-1")
    person.says("todo", "export", "NOTES.md", "--force")
    assert file.read_text(encoding="utf-8") == "- [ ] one\n"


@pytest.mark.parametrize("held", ["", "# Old\n- [ ] old\n"])
def test_a_checklist_is_replaced(person: Person, held: str) -> None:
    (person.folder / "TODO.md").write_text(held, encoding="utf-8")
    person.says("todo", "add", "one")

    person.says("todo", "export")

    assert (person.folder / "TODO.md").read_text(encoding="utf-8") == "- [ ] one\n"


@pytest.mark.parametrize("verb", ["export", "copy"])
def test_without_a_plan_there_is_nothing_to_take_away(person: Person, verb: str) -> None:
    answer = person.run("todo", verb)

    assert (answer.code, answer.err) == (
        3,
        f"tildone: there is no plan to {verb}; add a task with: tildone todo add TEXT\n",
    )
    assert not (person.folder / "TODO.md").exists()


def test_a_file_that_cannot_be_written_is_said(person: Person) -> None:
    person.says("todo", "add", "one")

    answer = person.run("todo", "export", "nope/x.md")

    assert (answer.code, answer.err) == (1, "tildone: could not write nope/x.md: No such file or directory\n")
    assert person.run("todo", "export", ".").code == 1


def test_every_line_that_cannot_be_read_is_named_and_nothing_changes(person: Person) -> None:
    person.says("todo", "add", "one")
    (person.folder / "bad.md").write_text("# A\nnonsense\n- [q] x\n", encoding="utf-8")

    answer = person.run("todo", "import", "bad.md")

    assert (answer.code, answer.out) == (3, "")
    assert answer.err == (
        "tildone: could not read bad.md as a plan:\n"
        "  line 2: not a heading (# name), a task (- [ ] text) or a note (> text)\n"
        "  line 3: unknown mark [q]; known are [ ], [/], [x], [-] and [!]\n"
    )
    assert person.says("todo", "export", "-") == "- [ ] one\n"


@pytest.mark.parametrize("text", ["", "\n\n", "# Only a heading\n"])
def test_a_file_without_a_task_does_not_wipe_a_plan_unless_forced(person: Person, text: str) -> None:
    person.says("todo", "add", "one")
    (person.folder / "TODO.md").write_text(text, encoding="utf-8")

    answer = person.run("todo", "import")

    assert (answer.code, answer.out) == (3, "")
    assert answer.err == (
        "tildone: TODO.md contains no tasks; to empty the plan, use --force or: tildone todo rm --all\n"
    )
    assert person.run("todo", "import", "--force").code == 0
    assert person.says("todo").startswith("No tasks")


def test_an_empty_file_for_an_empty_plan_is_no_matter(person: Person) -> None:
    assert person.says("todo", "import", "-") == "Imported standard input: 0 tasks in 0 phases\nNothing changed.\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows says it differently")
def test_a_file_that_cannot_be_opened_is_said(person: Person) -> None:
    (person.folder / "binary").write_bytes(b"\xff\xfe")
    for path, complaint in (
        ("gone.md", "No such file or directory"),
        (".", "Is a directory"),
        ("binary", "it is not UTF-8 text"),
    ):
        answer = person.run("todo", "import", path)

        assert (answer.code, answer.err) == (1, f"tildone: could not read {path}: {complaint}\n"), path


def test_windows_line_ends_and_a_byte_order_mark_are_read(person: Person) -> None:
    (person.folder / "TODO.md").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())

    person.says("todo", "import")

    assert person.says("todo", "export", "-") == TEXT


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_an_export_to_the_default_name_follows_no_link_out_of_the_project(person: Person) -> None:
    """A repository may contain one; a file that the person names is their own choice."""
    person.says("todo", "add", "one")
    outside = person.home / "notes.md"
    outside.write_text("")
    (person.folder / "TODO.md").symlink_to(outside)

    answer = person.run("todo", "export", "--force")

    assert (answer.code, outside.read_text()) == (3, "")
    assert f"{person.folder / 'TODO.md'} is a symbolic link to {outside}, outside of {person.folder}" in answer.err
