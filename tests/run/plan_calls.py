"""Calls of the tools of each dialect, and how they are drawn: the call, its sign, and the lines below it."""

from tests.host.models.model_server import Turn

Drawn = tuple[str, str, list[str]]
"""The call, `✓` or `✗`, and its result. A result that replaces its call has a sign of its own, and no other one."""


def call(name: str, **args: object) -> Turn:
    return {"tool": name, "args": args}


def declare(*todos: tuple[str, str]) -> Turn:
    return call("TodoWrite", summary="s", todos=[{"content": text, "status": status} for text, status in todos])


def ops(*given: dict[str, object]) -> Turn:
    return call("todo_write", ops=list(given))


READ, BOTH = ("Read", "in_progress"), ("Write", "in_progress")
TOO_MANY = "todos: expected at most one item in_progress, got 2"
TREE = ["  I. A", "  ├─ ☐ Read", "  └─ ☐ Write", "  II. B", "  └─ ☐ Test"]
NOT_FOUND = 'Errors: Task "Nope" not found'
OUT_OF_RANGE = "Error: indices [9] out of range (0 to 2)"

PLAN_CALLS: dict[str, list[tuple[Turn, Drawn]]] = {
    "indexed": [
        (
            call("write_todos", mode="replace", todos=[{"text": text} for text in ("Read", "Write", "Test")]),
            ("write_todos replace (3 items)", "✓", ["– [0] Read", "– [1] Write", "– [2] Test"]),
        ),
        (
            call("edit_todos", action="start", indices=[0]),
            ("edit_todos start [0]", "✓", ["● [0] Read", "– [1] Write", "– [2] Test"]),
        ),
        *2 * [(call("edit_todos", action="complete", indices=[9]), ("edit_todos complete [9]", "✗", [OUT_OF_RANGE]))],
        (call("list_todos"), ("list_todos", "✓", ["● [0] Read", "– [1] Write", "– [2] Test"])),
        (
            call("edit_todos", action="complete", indices=[0]),
            ("edit_todos complete [0]", "✓", ["✓ [0] Read", "– [1] Write", "– [2] Test"]),
        ),
        (
            call("write_todos", mode="replace", todos=[{"text": "Write"}]),
            ("write_todos replace (1 items)", "✓", ["– [0] Write"]),
        ),
        (call("write_todos", mode="replace", todos=[]), ("write_todos replace (0 items)", "✓", ["No todos"])),
        (call("list_todos"), ("list_todos", "✓", ["No todos"])),
    ],
    "phased": [
        (
            ops(
                {"op": "init", "list": [{"phase": "A", "items": ["Read", "Write"]}, {"phase": "B", "items": ["Test"]}]}
            ),
            ("✔ Todo Write init · 3 tasks", "", TREE),
        ),
        (ops({"op": "start", "task": "Write"}), ("✔ Todo Write start Write · 3 tasks", "", TREE)),
        *2 * [(ops({"op": "done", "task": "Nope"}), ("✘ Todo Write done Nope · 3 tasks", "", [NOT_FOUND, *TREE]))],
        (
            ops({"op": "done", "task": "Write"}, {"op": "rm", "task": "Test"}),
            ("✔ Todo Write done Write · rm Test · 2 tasks", "", ["  ├─ ☐ Read", "  └─ ☑ Write"]),
        ),
        (ops({"op": "rm"}), ("✔ Todo Write rm · 0 tasks", "", ["Todo list cleared."])),
    ],
    "declared": [
        (
            declare(READ, ("Write", "pending")),
            ('Write todos: "s" todos=2 items', "✓", ["--- TODO UPDATE ---", "[▶] Read", "[ ] Write", 19 * "-"]),
        ),
        *2 * [(declare(READ, BOTH), ('Write todos: "s" todos=2 items', "✗", [TOO_MANY]))],
        *2 * [(declare(READ), ('Write todos: "s" todos=1 item', "✓", ["--- TODO UPDATE ---", "[▶] Read", 19 * "-"]))],
    ],
    "brief": [
        (call("todo"), ("Todo", "✓", ["No todos"])),
        (
            call("todo", add=["Read", "Write", "Test"]),
            ("Todo: add=[Read, Write, Test]", "✓", ["– #1 Read", "– #2 Write", "– #3 Test"]),
        ),
        (call("todo", start="1"), ("Todo: start=1", "✓", ["● #1 Read", "– #2 Write", "– #3 Test"])),
        *2 * [(call("todo", done=9), ("Todo: done=9", "✗", ["no 9; there are 1-3"]))],
        (
            call("todo", done=1, note="2 soon"),
            ("Todo: done=1 note=2 soon", "✓", ["✓ #1 Read", "● #2 Write", "– #3 Test"]),
        ),
        *2 * [(call("todo"), ("Todo", "✓", ["✓ #1 Read", "● #2 Write", "– #3 Test"]))],
        (call("todo", drop=[2, 3]), ("Todo: drop=[2, 3]", "✓", ["✓ #1 Read", "✗ #2 Write", "✗ #3 Test"])),
    ],
}

NUMBERS = [f"Task {number}" for number in range(1, 11)]
"""More tasks than are shown after each call in the dialect `brief`."""
