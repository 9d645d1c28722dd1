"""Long results at a plain terminal: they are collapsed, and `/expand` shows them in full."""

import os

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import ALLOW_ALL, CHAT, provider_environment, write_plan
from tests.run.screens import at_terminal, screen

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

EXPANDED, COLLAPSED = (f"Results are shown {how} from now on" for how in ("expanded", "collapsed"))
COUNT: Turn = {"tool": "bash", "args": {"command": "seq 20"}}


def test_results_are_shown_in_full_until_they_are_collapsed_again(person: Person) -> None:
    """The newest collapsed one is written again."""
    script: tuple[Turn, ...] = (
        COUNT,
        {"tool": "bash", "args": {"command": "true"}},
        *({"text": "All of it."}, COUNT, {"text": "Once more."}, COUNT, {"text": "The last."}),
    )
    with ModelServer(*script) as server:
        terminal = at_terminal(person, "--model", CHAT, *ALLOW_ALL, **provider_environment(server))
        for typed, awaited in [
            ("Go", "All of it."),
            ("/expand", "  20\r\n"),
            ("More", "Once more."),
            ("/expand", COLLAPSED),
            ("And more", "The last."),
        ]:
            terminal.until_after("\r\n", "> ")
            terminal.type(f"{typed}\r".encode())
            terminal.until(awaited)
        terminal.until_after("The last.", "> ")
        terminal.type(b"/quit\r")
        answer = terminal.end()

    shown = screen(answer.out)
    again, more, collapsed = shown.index(EXPANDED), shown.index("❯ More"), shown.index(COLLAPSED)
    assert "  12" not in shown[:again]
    assert any(line.endswith("12 more lines") for line in shown[:again])
    numbers = [f"  {number}" for number in range(1, 21)]
    assert shown[again + 1 : again + 23] == ["Bash: seq 20", "  Done: 20 lines", *numbers]
    assert "  1" in shown[more:collapsed]
    assert "  1" not in shown[collapsed:]


def test_no_key_is_offered_where_none_works(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `seq 20`\n")
    answers = [at_terminal(person, name, "--restart", *ALLOW_ALL, *mode).end() for mode in ((), ("--mode", "print"))]

    assert [answer.code for answer in answers] == [0, 0]
    assert all("12 more lines" in answer.out and "ctrl+o" not in answer.out for answer in answers)
