"""`tildone call`: a tool call as a model makes it."""

from pathlib import Path

import pytest

from tests.cli.person import Person

APPEND = '{"ops": [{"op": "append", "phase": "Build", "items": ["Parse"]}]}'


def test_a_model_would_get_this(person: Person) -> None:
    written = person.says("call", "write_todos", '{"mode": "replace", "todos": [{"text": "Parse"}]}')

    assert written == "Wrote 1 todo item(s)\n\n– [0] Parse\n"
    assert person.says("call", "list_todos", "{}") == "– [0] Parse\n"


@pytest.mark.parametrize("tool", ["todo_write", "TodoWrite", "write_todos"])
def test_a_call_finds_its_dialect_by_its_tool(person: Person, tool: str) -> None:
    answer = person.run("call", tool, "{}")

    assert answer.code == 3
    assert answer.out.strip()


def test_arguments_come_from_standard_input_if_they_are_not_typed(person: Person) -> None:
    said = [
        person.says("call", "todo_write", "-", given=APPEND),
        person.says("call", "list_todos"),
        person.says("call", "list_todos", given="\ufeff{}\n"),
    ]

    assert "Parse" in said[0]
    assert said[1] == said[2] == "● [0] Parse\n"


def test_the_whole_result_is_there_as_json(person: Person) -> None:
    answer = person.run("call", "todo_write", APPEND, "--json")

    assert answer.code == 0
    assert answer.json["content"][0]["type"] == "text"
    assert "Parse" in answer.json["content"][0]["text"]
    assert answer.json["details"]["phases"] == [
        {"name": "Build", "tasks": [{"content": "Parse", "status": "in_progress"}]}
    ]
    assert answer.json["isError"] is False


def test_a_refusal_is_an_answer_with_an_exit_code(person: Person) -> None:
    for tool, arguments, is_error in (
        ("edit_todos", '{"action": "start", "indices": [3]}', False),
        ("edit_todos", "{", True),
        ("edit_todos", "[]", True),
        ("todo_write", '{"ops": [{"op": "start", "task": "x"}]}', True),
        ("TodoWrite", '{"todos": 7}', True),
    ):
        answer = person.run("call", tool, arguments, "--json")

        assert (answer.code, answer.err) == (3, ""), tool
        assert answer.json["isError"] is is_error, tool


def test_an_unknown_tool_is_told_with_all_that_there_are(person: Person) -> None:
    for argv, complaint in (
        (
            ["nope"],
            "there is no tool 'nope'; tools are write_todos list_todos edit_todos (indexed), todo_write (phased",
        ),
        (["todo_write", "--dialect", "indexed"], "indexed has no tool 'todo_write'; its tools are write_todos, "),
        (["todo_write", "--dialect", "phase"], "there is no dialect 'phase'; did you mean 'phased'?"),
    ):
        answer = person.run("call", *argv)

        assert (answer.code, answer.out) == (2, ""), argv
        assert answer.err.startswith(f"tildone: {complaint}"), argv


def test_a_huge_call_is_carried_out(person: Person) -> None:
    items = ",".join(f'"{"x" * 900} {number}"' for number in range(1000))

    answer = person.run(
        "call", "todo_write", "-", given=f'{{"ops": [{{"op": "append", "phase": "A", "items": [{items}]}}]}}'
    )

    assert (answer.code, answer.err) == (0, "")
    assert person.run("sessions", "--json").json["sessions"][0]["total"] == 1000


def test_a_call_that_is_too_large_is_refused_in_words(person: Person) -> None:
    answer = person.run("call", "todo_write", given=f'{{"ops": "{"x" * 1_000_000}"}}')

    assert answer.code == 3
    assert len(answer.out) < 1000


def test_input_that_is_no_text_is_refused(person: Person) -> None:
    answer = person.run("call", "list_todos", "-", given=b"\xff\xfe{")

    assert (answer.code, answer.err) == (2, "tildone: standard input is not UTF-8 text\n")


def test_half_a_surrogate_pair_goes_in_and_out(person: Person) -> None:
    answer = person.run("call", "write_todos", r'{"mode": "replace", "todos": [{"text": "a\ud800b"}]}')

    assert (answer.code, answer.err) == (0, "")
    assert "a<U+D800>b" in answer.out
    assert "a<U+D800>b" in person.says("todo")


def test_a_finished_plan_is_written_down_in_the_project(person: Person) -> None:
    """As the declared dialect promises, and wherever in the project the call is made."""
    below = person.folder / "src"
    below.mkdir()
    done = '{"summary": "All", "todos": [{"content": "a", "status": "completed"}]}'

    answer = Person(below, person.home, person.environ).run("call", "TodoWrite", done)

    assert answer.code == 0
    assert [file.parent for file in Path(person.folder).rglob("todoList-*.md")] == [person.folder / "memory" / "todos"]
