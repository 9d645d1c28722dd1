"""Questions at a plain terminal: what each line answers."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tildone.cli.run.lines import LineOutput
from tildone.cli.run.plain_ui import PlainUI
from tildone.plan.text.safe import printable
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.kit.components import Text
from tildone.run.kit.definition import draw
from tildone.run.metering import RunMeter

ONCE, ALWAYS, PLAN = (PermissionReply(PermissionAnswer(name)) for name in ("once", "always", "plan"))
ASK = PermissionRequest("Run?", ("ls",), always="ls *", plan=("ls", "pwd"))
DANGEROUS = PermissionRequest("Run?", ("rm -r build",), always="exactly this command")


def no(reason: str = "") -> PermissionReply:
    return PermissionReply(PermissionAnswer.NO, reason)


class Desk:
    """A plain terminal. The person types a line whenever one is asked for; None declines."""

    def __init__(self, *lines: str | None) -> None:
        self.stream = io.StringIO()
        self.lines = list(lines)
        self.output = LineOutput(self.stream)
        self.ui = PlainUI(self.output, self.show, self.edit, self.discard, RunMeter())
        self.discarded = 0

    def show(self, text: Text) -> None:
        self.output.put(draw(text, 80, safe=printable))

    async def edit(self, text: str) -> str | None:
        return f"{text}, edited"

    def discard(self) -> None:
        self.discarded += 1

    async def answered(self, question: Awaitable[Any]) -> Any:
        task = asyncio.ensure_future(question)
        while not task.done():
            await asyncio.sleep(0)
            if self.ui.is_asking and self.lines:
                line = self.lines.pop(0)
                self.output.entered()
                if line is None:
                    self.ui.decline()
                else:
                    self.ui.answer(line)
        return task.result()


ANSWERED: list[tuple[Callable[[PlainUI], Awaitable[Any]], list[str | None], Any]] = [
    (lambda ui: ui.select("Which?", ["red", "blue"]), ["2"], "blue"),
    (lambda ui: ui.select("Which?", ["red", "blue"]), ["", "3", "blue", " 1 "], "red"),
    (lambda ui: ui.select("Which?", ["red"]), [None], None),
    (lambda ui: ui.select("Which?", ["red"], timeout=0.01), [], None),
    (lambda ui: ui.confirm("Sure?", "It is."), ["perhaps", "Y"], True),
    (lambda ui: ui.confirm("Sure?", ""), ["n"], False),
    (lambda ui: ui.confirm("Sure?", ""), [None], False),
    (lambda ui: ui.input("Name?", "a name"), ["Ada"], "Ada"),
    (lambda ui: ui.input("Name?"), [None], None),
    (lambda ui: ui.editor("Edit", "this"), [], "this, edited"),
    (lambda ui: ui.ask_permission(ASK), ["?", "yes", "Y"], ONCE),
    (lambda ui: ui.ask_permission(ASK), ["a"], ALWAYS),
    (lambda ui: ui.ask_permission(ASK), ["p", "p"], PLAN),
    (lambda ui: ui.ask_permission(ASK), ["p", "y", "n"], no()),
    (lambda ui: ui.ask_permission(ASK), ["r", " use fd "], no("use fd")),
    (lambda ui: ui.ask_permission(ASK), ["r", ""], no()),
    (lambda ui: ui.ask_permission(ASK), ["r", None], None),
    (lambda ui: ui.ask_permission(ASK), [None], None),
    (lambda ui: ui.ask_permission(DANGEROUS), ["y", "a", "p", "Y"], ONCE),
    (lambda ui: ui.ask_permission(DANGEROUS), ["y", "A"], ALWAYS),
]


@pytest.mark.parametrize(("ask", "lines", "expected"), ANSWERED)
async def test_a_question_takes_these_answers(
    ask: Callable[[PlainUI], Awaitable[Any]], lines: list[str | None], expected: object
) -> None:
    desk = Desk(*lines)

    assert await desk.answered(ask(desk.ui)) == expected
    assert (desk.lines, desk.ui.is_asking) == ([], False)


async def test_a_question_explains_its_answers() -> None:
    desk = Desk("?", "N")

    assert await desk.answered(desk.ui.ask_permission(DANGEROUS)) == no()
    shown = desk.stream.getvalue()
    assert "Careful: it deletes files." in shown
    assert "\nA  allows everything that is named behind it" in shown
    assert "\nn  refuses this call; the model is told, and goes on.\n" in shown


async def test_questions_are_asked_one_at_a_time_and_the_row_above_is_taken_up_again() -> None:
    desk = Desk("y", "n")
    desk.output.ask("> ")

    assert await desk.answered(asyncio.gather(desk.ui.confirm("A?", ""), desk.ui.confirm("B?", ""))) == [True, False]
    assert desk.discarded == 2
    assert [line for line in desk.stream.getvalue().split("\n") if not line.startswith("  ")] == [
        *("> ", "? A?", "Answer: > ", "? B?", "Answer: > ")
    ]


async def test_what_is_shown_is_printed_when_it_changes_and_cannot_control_the_terminal() -> None:
    desk = Desk()
    for left in (3, 2, 1):
        desk.ui.set_widget("countdown", [f"Goes on in {left} s"])
    desk.ui.set_widget("countdown", None)
    desk.ui.set_widget("countdown", ["Goes on in 3 s"])
    desk.ui.set_status("limit", "waits\x1b[2J")
    desk.ui.set_status("limit", "waits\x1b[2J")
    desk.ui.set_status("limit", None)
    desk.ui.notify("Seen")

    assert desk.stream.getvalue().split("\n") == [*2 * ["Goes on in 3 s"], "waits␛[2J", "Seen", ""]
