"""Answering the open question of an agent from the list: the whole question first, and never by accident."""

import pytest
from textual.pilot import Pilot

from tests.tui.watching import World, enters, sees, shows, text, type_text, until, watching
from tildone.log.needs import Need
from tildone.plan.model import Phase, Task
from tildone.screens.watch.need_panel import ARMING_SECONDS, NeedPanel, answer_keys
from tildone.screens.watch.tui_app import Start

COMMAND = Need("n1", "p", "command", "cargo fuzz run parse", ("once", "session", "no"), 1, detail="in ~/src, 10 min")


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def asked(plans: World) -> World:
    plans.write("p", Phase("", (Task("Fuzz it"),)))
    plans.store.records.ask(COMMAND)
    return plans


def with_clock(pilot: Pilot[None]) -> Clock:
    clock = Clock()
    pilot.app.query_one(NeedPanel)._clock = clock  # noqa: SLF001  time does not pass by itself in this test
    return clock


def answer_of(world: World, need: str = "n1") -> str:
    found = world.store.records.need(need)
    return found.answer if found else "gone"


async def test_the_list_says_what_is_asked_and_a_key_shows_the_whole_question(asked: World) -> None:
    async with watching(asked) as pilot:
        await shows(pilot, "1 needs you", "needs you", "? cargo fuzz run parse  y answers")
        await pilot.press("y")
        await shows(pilot, "█ ? Run this command?", "cargo fuzz run parse", "in ~/src, 10 min", "y once", "esc later")
        await sees(pilot, "escape enter", "– Fuzz it")

    assert answer_of(asked) == ""


async def test_in_a_narrow_terminal_no_answer_is_cut_off(asked: World) -> None:
    async with watching(asked, size=(40, 20)) as pilot:
        await shows(pilot, "? cargo fuzz run parse  y answers")
        await sees(pilot, "y", "█ y once   a for the whole session", "█ n no   esc later")


@pytest.mark.parametrize(("keys", "answer"), [(["y"], "once"), (["n"], "no"), (["a", "a"], "session")])
async def test_an_answer_counts_once_the_question_was_shown_for_a_moment(
    asked: World, keys: list[str], answer: str
) -> None:
    async with watching(asked) as pilot:
        await shows(pilot, "y answers")
        clock = with_clock(pilot)
        await sees(pilot, "n", "Run this command?")
        await pilot.press("y", "n", "a", "a", "enter")
        assert answer_of(asked) == ""
        clock.now += 2 * ARMING_SECONDS
        await pilot.press("enter", "space", *keys)
        await until(pilot, lambda: answer_of(asked) == answer)
        await shows(pilot, f"Answered: {answer}")


async def test_what_allows_more_than_one_command_asks_once_more(asked: World) -> None:
    async with watching(asked) as pilot:
        await shows(pilot, "y answers")
        clock = with_clock(pilot)
        await sees(pilot, "y", "Run this command?")
        clock.now += 1
        await sees(pilot, "a", "a again: for the whole session")

    assert answer_of(asked) == ""


async def test_a_long_command_is_read_to_its_end_before_it_can_be_answered(plans: World) -> None:
    plans.write("p", Phase("", (Task("Fuzz it"),)))
    plans.store.records.ask(Need("n1", "p", "command", "\n".join(f"step {n}" for n in range(30)), ("once", "no"), 1))
    async with watching(plans) as pilot:
        await shows(pilot, "y answers")
        clock = with_clock(pilot)
        await sees(pilot, "y", "↓ read to its end first")
        clock.now += 1
        await pilot.press("y")
        assert answer_of(plans) == ""
        await sees(pilot, "pagedown pagedown pagedown", "step 29", "y once")
        clock.now += 1
        await sees(pilot, "y", lambda: answer_of(plans) == "once")


async def test_a_question_that_somebody_else_answers_is_closed(asked: World) -> None:
    async with watching(asked) as pilot:
        await shows(pilot, "y answers")
        await sees(pilot, "y", "Run this command?")
        asked.store.records.answer("n1", "no", "Ada", 5)
        await shows(pilot, "The question is answered, or nobody waits for the answer any more.")
        await until(pilot, lambda: "Run this command?" not in text(pilot))


async def test_a_question_without_choices_is_answered_with_a_text(plans: World) -> None:
    plans.write("p", Phase("", (Task("Name it"),)))
    plans.store.records.ask(Need("n1", "p", "input", "Which name?", (), 1))
    async with watching(plans) as pilot:
        await shows(pilot, "y answers")
        await sees(pilot, "y", "█   Which name?", "Answer:")
        await type_text(pilot, "til")
        await sees(pilot, "escape", lambda: "█" not in text(pilot))
        await pilot.press("y")
        await enters(pilot, "tildone", lambda: answer_of(plans) == "tildone")
        await until(pilot, lambda: "█" not in text(pilot))


async def test_a_long_question_without_choices_leaves_room_for_the_answer(plans: World) -> None:
    plans.write("p", Phase("", (Task("Name it"),)))
    plans.store.records.ask(
        Need("n1", "p", "input", "Which of the two names shall it have, and why not the other?", (), 1)
    )
    async with watching(plans, size=(40, 20)) as pilot:
        await shows(pilot, "y answers")
        await sees(pilot, "y", "why not the other?")
        await type_text(pilot, "tildone")
        await shows(pilot, "Answer: tildone")


async def test_a_plan_says_what_its_agent_asks(asked: World) -> None:
    async with watching(asked, Start("p", opened=True)) as pilot:
        await shows(pilot, "asks     in the list, y answers: cargo fuzz run parse")


async def test_without_a_question_the_key_says_so(plans: World) -> None:
    plans.write("p", Phase("", (Task("x"),)))
    async with watching(plans, Start("p")) as pilot:
        await sees(pilot, "y", "There is no open question here.")


async def test_a_dangerous_command_is_allowed_with_a_capital_letter_and_says_why(asked: World) -> None:
    asked.store.records.ask(Need("n0", "p", "command", "sudo rm -rf build", ("once", "no"), 0))
    async with watching(asked) as pilot:
        await shows(pilot, "y answers")
        await sees(pilot, "n", "sudo rm -rf build", "Careful: it runs as another user, deletes files.", "Y once")


def test_a_text_about_a_dangerous_command_is_none() -> None:
    quoted = Need("n", "p", "command", "echo 'rm -rf build'", ("once", "no"))
    change = Need("n", "p", "change", "+ rm -rf build", ("once", "no"))

    assert [answer_keys(need) for need in (quoted, change)] == [{"y": "once", "n": "no"}] * 2


def test_other_choices_have_numbers() -> None:
    need = Need("n", "p", "select", "Which?", ("red", "yes", "once", "blue"))

    assert answer_keys(need) == {"1": "red", "y": "yes", "3": "once", "4": "blue"}


async def test_hostile_text_in_a_question_is_drawn_as_text(plans: World) -> None:
    plans.write("p", Phase("", (Task("x"),)))
    hostile = "\x1b[2J[bold red]x[/] \u202eevil\n\x9b31m"
    plans.store.records.ask(Need("n1", "p", hostile, hostile, (hostile, "no"), 1, detail=hostile))
    async with watching(plans) as pilot:
        await shows(pilot, "y answers")
        await sees(pilot, "y", "A question", "␛[2J[bold red]x[/]")
        assert not set(text(pilot)) & set("\x1b\x9b\u202e")
