"""What `tildone run` shows of the calls of plan tools: the list or the refusal, each time."""

import os

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer
from tests.run.plan_calls import NUMBERS, PLAN_CALLS, call
from tests.run.run_workspace import CHAT, provider_environment
from tests.run.screens import at_terminal

GO = ("Go", "--model", CHAT, "--max-nudges", "0", "--session", "s")
RED, RESET = "\x1b[31m", "\x1b[0m"


def shown(person: Person, server: ModelServer, *argv: str) -> list[str]:
    """The lines of a run in a pipe, from the message of the person to the last answer."""
    out = person.run("run", *GO, *argv, **provider_environment(server)).out
    return out.partition("Go\n")[2].partition("The end.")[0].splitlines()


@pytest.mark.parametrize("dialect", PLAN_CALLS)
def test_every_call_shows_the_whole_list_or_why_it_was_refused(person: Person, dialect: str) -> None:
    """Also one whose text is that of the call before it: a start in phases, a list, the same refusal."""
    turns = [turn for turn, _ in PLAN_CALLS[dialect]]
    with ModelServer(*turns, {"text": "The end.", "repeat": True}) as server:
        lines = shown(person, server, "--dialect", dialect)

    expected: list[str] = []
    for header, sign, (first, *others) in (drawn for _, drawn in PLAN_CALLS[dialect]):
        if not sign:
            expected += [header, first, *others]
        else:
            lead = "✗ " if sign == "✗" else "  "
            expected += [header, lead + first, *(f"  {line}" for line in others)]
    assert [line for line in lines if not line.startswith("Todo update failed")] == expected


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("dialect", "refusal"),
    [
        ("indexed", f"{RED}✗ {RESET}{RED}Error: indices [9] out of range (0 to 2){RESET}"),
        ("phased", f'{RED}Errors: Task "Nope" not found{RESET}'),
        ("declared", f"{RED}✗ {RESET}{RED}todos: expected at most one item in_progress, got 2{RESET}"),
        ("brief", f"{RED}✗ {RESET}{RED}no 9; there are 1-3{RESET}"),
    ],
)
def test_a_refusal_has_the_sign_and_the_colour_of_an_error(person: Person, dialect: str, refusal: str) -> None:
    turns = [turn for turn, _ in PLAN_CALLS[dialect]]
    with ModelServer(*turns, {"text": "The end.", "repeat": True}) as server:
        environ = {"NO_COLOR": "", "TERM": "xterm", **provider_environment(server)}
        out = at_terminal(person, *GO, "--dialect", dialect, **environ).end().out

    assert out.count(refusal) == 2, out
    if dialect == "phased":
        assert out.count(f"{RED}✘{RESET}") == 2


def test_of_a_long_plan_what_has_changed_is_shown_and_how_much_has_not(person: Person) -> None:
    """Whoever changed it, also before a call that was refused. All of it if tasks have moved, or if it is asked for."""
    turns = [
        call("todo", add=NUMBERS),
        call("todo", start=3),
        call("bash", command="tildone todo done 5 --session s && tildone todo add 'Task 11' --session s"),
        call("todo", done=99),
        call("todo", done=3),
        call("todo", move="2 before 1"),
        call("todo"),
    ]
    with ModelServer(*turns, {"text": "The end.", "repeat": True}) as server:
        lines = shown(person, server, "--dialect", "brief", "--allow", "*")

    def after(header: str) -> list[str]:
        rest = lines[lines.index(header) + 1 :]
        return rest[: next((at for at, line in enumerate(rest) if not line.startswith("  ")), len(rest))]

    assert lines[2:12] == [f"  – #{number} Task {number}" for number in range(1, 11)]
    assert after("Todo: start=3") == ["  ● #3 Task 3", "  9 unchanged"]
    assert after("Todo: done=3") == [
        "  ✓ #3 Task 3",
        "  ● #4 Task 4",
        "  ✓ #5 Task 5",
        "  – #11 Task 11",
        "  7 unchanged",
    ]
    assert len(after("Todo: move=2 before 1")) == 11
    assert lines[-12:] == ["Todo", *after("Todo: move=2 before 1")]
