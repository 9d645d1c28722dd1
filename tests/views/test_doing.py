"""What an agent is doing, in one short line."""

import pytest

from tildone.plan.text.proofs import MAX_DOING, doing


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("bash", {"timeout": 5, "note": "x", "command": " pytest -q "}, "bash: pytest -q"),
        ("Read", {"file_path": "/src/a.py", "limit": 3}, "Read: /src/a.py"),
        ("todo", {"op": "done", "task": 3}, "todo: done"),
        ("ls", {}, "ls"),
        ("ls", {"path": "  "}, "ls"),
        ("ls", None, "ls"),
        ("ls", ["a"], "ls"),
        ("bash", {"command": "a\nb\x1b[2J"}, "bash: a⏎b␛[2J"),
    ],
)
def test_the_argument_that_tells_most_follows_the_tool(tool: str, arguments: object, line: str) -> None:
    assert doing(tool, arguments) == line


def test_a_long_line_is_cut() -> None:
    line = doing("bash", {"command": "x" * 100_000})

    assert len(line) == MAX_DOING
    assert line.endswith("x…")
