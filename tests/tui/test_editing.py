"""Changing a plan on the screen while others change it too.

With keys, with the mouse, its order, and answers to agents.
"""

from functools import partial

import pytest
from textual.pilot import Pilot

from tests.tui.test_copying import drag, plan_list, row_of
from tests.tui.watching import World, enters, lines, sees, shows, text, type_text, until, watching
from tildone.base.ids import now
from tildone.log.needs import Need
from tildone.plan.claims import Claimant
from tildone.plan.model import Phase, Status, Task
from tildone.plan.ops import Numbered, Order, Remove, Rename, Touch
from tildone.screens.watch.app import Start
from tildone.screens.watch.need_panel import ARMING_SECONDS, NeedPanel, answer_keys
from tildone.screens.widgets.plan import SIGN_COLUMN

PLAN = Start("p", opened=True)


def has_status(world: World, number: int, status: str) -> bool:
    return world.status("p", number) == status


def numbers(world: World) -> list[int]:
    return [task.number for task in world.plan("p").tasks]


async def test_a_key_marks_the_task_with_the_cursor_a_message_says_so_and_undo_takes_it_back(written: World) -> None:
    """The cursor begins on the task in progress."""
    async with watching(written, PLAN) as pilot:
        await until(pilot, lambda: any(line.startswith("▎  ● Wire up") for line in lines(pilot)))
        await sees(pilot, "space", "Done: #4 Wire up the command line", "✓ Wire up the command line")
        await sees(pilot, "u", "Undid: completed #4 “Wire up the command line”", "● Wire up the command line")
        await sees(pilot, "U", "Redid: completed #4", "✓ Wire up the command line")
        for keys, number, status in (
            ("u", 4, "in_progress"),
            ("x", 4, "abandoned"),
            ("j j s", 6, "in_progress"),
            ("g space", 1, "pending"),
            ("u", 1, "completed"),
            ("g x", 1, "pending"),
            ("G b", 7, "pending"),
        ):
            await sees(pilot, keys, partial(has_status, written, number, status))
        await sees(pilot, 8 * "u ", "Nothing to undo")


async def test_a_task_is_blocked_noted_on_renamed_and_removed_and_a_phase_folded(written: World) -> None:
    """Notes are shown on request; after a task was removed, the cursor is on the next."""
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "z", "Build 2/3 …")
        assert "Write the tokenizer" not in text(pilot)
        await sees(pilot, "space z", "Write the tokenizer")
        assert written.status("p", 4) == "in_progress"
        await sees(pilot, "j b", "#4 waits for:")
        await enters(pilot, "the key", "│ waits: the key", "Blocked: #4")
        assert written.status("p", 4) == "blocked"
        await sees(pilot, "e", "#4: Wire up the command line")
        await enters(pilot, " now", "Renamed: #4 Wire up the command line now")
        assert "Wire up the command line now" in written.texts("p")
        await sees(pilot, "delete", "Removed: #4", "▎  ✗ Keep the old flags")
        assert "Wire up the command line now" not in written.texts("p")
        await pilot.press("g", "n")
        await enters(pilot, "see page 3", "Noted on: #1")
        assert "│ see page 3" not in text(pilot)
        await sees(pilot, "p", "│ see page 3")


async def test_a_task_is_added_after_the_cursor_and_a_phase_with_its_first_task(written: World) -> None:
    """An empty text is refused, and escape adds nothing. In a folded phase the task becomes the last one."""
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "a enter", "A task needs a text")
        await pilot.press("a", "x", "escape", "a")
        await enters(pilot, "Name the flags", "Added to Build: #8 Name the flags")
        await pilot.press("A")
        await enters(pilot, "Ship", "First task of Ship:")
        await enters(pilot, "Sign it", "Added to the new phase Ship: #9 Sign it")
        await pilot.press("g", "j", "j", "j", "j", "j", "a")
        await enters(pilot, "Name them", "Added to Build: #10 Name them")
        await pilot.press("z", "a")
        await enters(pilot, "Name more", "Added to Build: #11 Name more")

    assert [[task.text for task in phase.tasks] for phase in written.plan("p").phases[1::2]] == [
        [
            *("Write the tokenizer", "Wire up the command line", "Name the flags"),
            *("Keep the old flags", "Name them", "Name more"),
        ],
        ["Sign it"],
    ]
    assert written.plan("p").phases[-1].name == "Ship"
    assert len(written.texts("p")) == 11


async def test_tasks_are_moved_by_one_row_also_into_the_next_phase(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "K", lambda: numbers(written) == [1, 2, 4, 3, 5, 6, 7])
        await sees(pilot, "K", lambda: [len(phase.tasks) for phase in written.plan("p").phases] == [3, 2, 2])
        assert numbers(written) == [1, 2, 4, 3, 5, 6, 7]
        await sees(pilot, "J", lambda: [len(phase.tasks) for phase in written.plan("p").phases] == [2, 3, 2])
        await sees(pilot, "J J J", lambda: numbers(written) == [1, 2, 3, 5, 4, 6, 7])
        assert [len(phase.tasks) for phase in written.plan("p").phases] == [2, 2, 3]
        await sees(pilot, "g K", "Nothing changed: #1 is the first task.")


async def test_what_another_process_does_meanwhile_is_kept_and_a_removed_task_said_to_be_gone(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        written.session("p").change([Remove(Numbered((1,)))])
        await sees(pilot, "space", lambda: written.status("p", 4) == "completed")
        assert numbers(written) == [2, 3, 4, 5, 6, 7]
        await pilot.press("e")
        await type_text(pilot, " now")
        written.tildone("todo", "rm", "4", "--session", "p")
        await sees(pilot, "enter", "There is no task #4: it was removed")


@pytest.mark.parametrize(("key", "expected"), [("1", "Wire it now"), ("2", "Wire all"), ("e", "Wire it now!")])
async def test_a_text_that_somebody_else_changed_is_shown_beside_ones(plans: World, key: str, expected: str) -> None:
    session = plans.write("p", Phase("", (Task("Wire it"),)))
    async with watching(plans, PLAN, size=(120, 24)) as pilot:
        await pilot.press("e")
        await type_text(pilot, " now")
        session.change([Rename(Numbered((1,)), "Wire all")])
        await pilot.press("enter")
        await shows(pilot, "Somebody has changed this text", "1 yours   Wire it now", "2 theirs  Wire all", "e edit")
        await sees(pilot, "enter", "Somebody has changed this text")
        await pilot.press(key)
        if key == "e":
            await type_text(pilot, "!", "enter")
        await until(pilot, lambda: plans.texts("p") == [expected])


async def test_the_first_task_of_an_empty_plan_is_added(plans: World) -> None:
    plans.write("p", Phase("", (Task("x"),))).change([Remove(Numbered((1,)))])
    async with watching(plans, PLAN) as pilot:
        await shows(pilot, "No tasks yet.")
        await pilot.press("space", "e", "a")
        await enters(pilot, "First", "– First")


async def test_a_click_on_the_sign_of_a_task_closes_it_and_elsewhere_only_moves_the_cursor(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        row = next(y for y, line in enumerate(lines(pilot)) if "Keep the old flags" in line)
        plan = pilot.app.query_one("#plan")
        place = row - plan.region.y
        await pilot.click("#plan", offset=(8, place))
        await shows(pilot, "▎  ✗ Keep the old flags")
        assert written.status("p", 5) == "abandoned"
        await pilot.click("#plan", offset=(3, place))
        await shows(pilot, "– Keep the old flags")
        await pilot.click("#plan", offset=(3, place - 1))
        assert written.status("p", 4) == "in_progress"


MINUTE = 60_000
HOSTILE = "\x1b[2J\u202eevil"


@pytest.fixture
def three(plans: World) -> World:
    plans.write("p", Phase("", (Task("Write it"), Task("Test it"), Task("Ship it"))))
    return plans


def after(world: World, number: int) -> tuple[int, ...]:
    return next(task.after for task in world.plan("p").tasks if task.number == number)


async def test_a_task_that_waits_for_others_says_so_until_they_are_closed(three: World) -> None:
    three.session("p").change([Order(Numbered((2,)), (1,)), Order(Numbered((3,)), (1, 2))])
    async with watching(three, PLAN) as pilot:
        await until(pilot, lambda: "     waits for #1 Write it" in lines(pilot))
        await shows(pilot, "– #2 Test it", "waits for #1, #2")
        await sees(pilot, "g x", lambda: "waits for #1" not in text(pilot))
        await shows(pilot, "waits for #2 Test it")


async def test_a_key_sets_the_order_and_shows_the_numbers_meanwhile(three: World) -> None:
    """An order that cannot be is refused with the reason."""
    refusals = {"3": "These tasks would wait for each other: ", "9": "There is no task #9", "zzz": "No task has"}
    async with watching(three, PLAN) as pilot:
        assert "#1" not in text(pilot)
        await sees(pilot, "G o", "#3 comes after:", "– #1 Write it", "– #2 Test it")
        await enters(pilot, "1, #2", "#3 Ship it comes after #1, #2", "waits for #1, #2")
        assert after(three, 3) == (1, 2)
        for line, said in refusals.items():
            await pilot.press("g", "o")
            await enters(pilot, line, said)
            assert after(three, 1) == ()
        await sees(pilot, "G o", "#3 comes after: #1 #2")
        await sees(pilot, "ctrl+u enter", "Waits for no other task: #3 Ship it")
        await until(pilot, lambda: "#1" not in text(pilot))

    assert after(three, 3) == ()


async def test_a_key_sets_the_files_that_a_task_changes(three: World) -> None:
    """A task whose files another one changes waits for it."""
    async with watching(three, PLAN) as pilot:
        await sees(pilot, "f", "#1 changes:")
        await enters(pilot, "src/** 'a b/*'", "    changes src/**, a b/*")
        assert three.plan("p").tasks[0].touches == ("src/**", "a b/*")
        await sees(pilot, "f", "#1 changes: 'src/**' 'a b/*'")
        await sees(pilot, "ctrl+u enter", "Names no files: #1 Write it")
        assert three.plan("p").tasks[0].touches == ()
        await pilot.press("f")
        await enters(pilot, "'x", "The files cannot be split into words")
        assert three.plan("p").tasks[0].touches == ()
        three.session("p").change([Touch(Numbered((1, 2)), ("src/**",))])
        await shows(pilot, "    changes src/**")
        await sees(pilot, "g s", "    waits for #1, which may change the same files")


async def test_a_task_says_which_agent_has_it_and_from_whom_it_was_taken_over(three: World) -> None:
    store, first, second = three.store, Claimant("claude:1"), Claimant(f"{HOSTILE}:2")
    three.write("p", Phase("", (Task("Write it", Status.IN_PROGRESS), Task("Test it"))))
    store.records.claim("p", 1, first, 5 * MINUTE)
    async with watching(three, PLAN) as pilot:
        await shows(pilot, "    held by claude 1 for 5 min")

    store.records.lapse("p", first.agent)
    async with watching(three, PLAN) as pilot:
        await shows(pilot, "    left by claude 1: others can take it over")

    store.records.claim("p", 1, second, 5 * MINUTE)
    async with watching(three, PLAN, now=lambda: now() + 2 * MINUTE) as pilot:
        await shows(pilot, "held by ␛[2J<U+202E>evil 2 for 3 min, taken over from claude 1")
        assert not set(text(pilot)) & set("\x1b\u202e")


async def test_order_files_and_claims_fit_into_a_narrow_screen(three: World) -> None:
    three.write("p", Phase("", (Task("Write it", Status.IN_PROGRESS), Task("Test " * 12))))
    three.store.records.claim("p", 1, Claimant("claude:5f0c1234-7a5e-4a35-9d1b-0d3a5f0c1234"), 5 * MINUTE)
    number = three.plan("p").tasks[1].number
    three.session("p").change([Order(Numbered((number,)), (1,)), Touch(Numbered((number,)), ("x" * 80,))])
    async with watching(three, PLAN, size=(40, 24)) as pilot:
        await shows(pilot, "held by claude 1234 for 5 min", "waits for #1 Write it", "changes xxx")
        assert all(len(row) <= 40 for row in lines(pilot))


def phases(world: World) -> list[list[int]]:
    return [[task.number for task in phase.tasks] for phase in world.plan("p").phases]


BEFORE = [[1, 2], [3, 4, 5], [6, 7]]


async def test_a_task_goes_where_it_is_dropped(written: World) -> None:
    """Down, onto a note, up, into a phase, onto a heading, to the beginning, to the end, and below the last row."""
    async with watching(written, PLAN, (80, 40)) as pilot:
        plan = plan_list(pilot)
        for task, onto, after in (
            ("Write the tokenizer", "Wire up", [[1, 2], [4, 3, 5], [6, 7]]),
            ("Write the tokenizer", "Flags stay", [[1, 2], [4, 3, 5], [6, 7]]),
            ("Keep the old flags", "Write the tokenizer", [[1, 2], [5, 3, 4], [6, 7]]),
            ("Write the tokenizer", "Test every", [[1, 2], [4, 5], [6, 3, 7]]),
            ("Write the tokenizer", "Prove 0/2", [[1, 2], [4, 5], [3, 6, 7]]),
            ("Fuzz it", "Read the grammar", [[7, 1, 2], [3, 4, 5], [6]]),
            ("Read the grammar", "waits:", [[2], [3, 4, 5], [6, 7, 1]]),
            ("Read the grammar", "", [[2], [3, 4, 5], [6, 7, 1]]),
        ):

            def is_dropped(task: str = task, after: list[list[int]] = after) -> bool:
                has_cursor = lines(pilot)[row_of(pilot, task) + plan.region.y].startswith("▎")
                return phases(written) == after and has_cursor

            def is_back(task: str = task, begin: int = row_of(pilot, task)) -> bool:
                return row_of(pilot, task) == begin

            end = row_of(pilot, onto) if onto else plan.size.height - 1
            await drag(pilot, plan, (SIGN_COLUMN, row_of(pilot, task)), (5 if not onto else 20, end))
            await shows(pilot, "Moved: #")
            await until(pilot, is_dropped)
            assert not plan.has_selection
            await sees(pilot, "u", is_back)
            assert phases(written) == BEFORE


async def test_an_arrow_shows_where_it_goes_and_back_on_itself_or_on_a_folded_phase_it_stays(written: World) -> None:
    """Not even the click at the end of the drag closes it."""
    async with watching(written, PLAN) as pilot:
        plan, row = plan_list(pilot), row_of(pilot, "Wire up")
        top = plan.region.y
        await pilot.mouse_down(offset=(SIGN_COLUMN, top + row))
        await pilot.hover(offset=(SIGN_COLUMN, top + row + 2))
        await shows(pilot, "↓  ✗ Keep the old flags")
        await pilot.hover(offset=(SIGN_COLUMN, top + row - 1))
        await shows(pilot, "↑  ✓ Write the tokenizer")
        await pilot.hover(offset=(SIGN_COLUMN, top + row))
        await until(pilot, lambda: not any(line.startswith(("↑", "↓")) for line in lines(pilot)))
        await pilot.mouse_up(offset=(SIGN_COLUMN, top + row))
        await pilot.press("n", "escape")
        assert written.status("p", 4) == "in_progress"
        assert phases(written) == BEFORE
        await sees(pilot, "G z", "Prove 0/2 …")
        await drag(pilot, plan, (SIGN_COLUMN, row_of(pilot, "Wire up")), (5, row_of(pilot, "Prove")))
        await pilot.press("n", "escape")
        assert phases(written) == BEFORE


@pytest.mark.parametrize(
    ("removed", "text", "left"),
    [(3, "Write the tokenizer", [[1, 2], [6, 4, 5], [7]]), (6, "Test every example", [[1, 2], [3, 4, 5], [7]])],
)
async def test_it_goes_beside_what_is_there_then(
    written: World, removed: int, text: str, left: list[list[int]]
) -> None:
    async with watching(written, PLAN) as pilot:
        plan, begin, end = plan_list(pilot), row_of(pilot, "Test every"), row_of(pilot, "Write the tokenizer")
        top = plan.region.y
        await pilot.mouse_down(offset=(SIGN_COLUMN, top + begin))
        await pilot.hover(offset=(SIGN_COLUMN, top + end))
        written.session("p").change([Remove(Numbered((removed,)))])
        await until(pilot, lambda: text not in "".join(lines(pilot)))
        await pilot.hover(offset=(SIGN_COLUMN, top + end))
        await pilot.mouse_up(offset=(SIGN_COLUMN, top + end))
        await pilot.press("n", "escape")
        await until(pilot, lambda: phases(written) == left)


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
    """In a narrow terminal no answer is cut off. A dangerous command is allowed with a capital letter, and says why."""
    async with watching(asked) as pilot:
        await shows(pilot, "1 needs you", "needs you", "? cargo fuzz run parse  y answers")
        await pilot.press("y")
        await shows(pilot, "█ ? Run this command?", "cargo fuzz run parse", "in ~/src, 10 min", "y once", "esc later")
        await sees(pilot, "escape enter", "– Fuzz it", "asks     in the list, y answers: cargo fuzz run parse")
        assert answer_of(asked) == ""
        await pilot.press("escape")
        await pilot.resize_terminal(40, 20)
        await shows(pilot, "? cargo fuzz run parse  y answers")
        await sees(pilot, "y", "█ y once   a for the whole session", "█ n no   esc later")
        await pilot.press("escape")
        await pilot.resize_terminal(80, 24)
        asked.store.records.ask(Need("n0", "p", "command", "sudo rm -rf build", ("once", "no"), 0))
        await shows(pilot, "? sudo rm -rf build  y answers")
        await sees(pilot, "n", "sudo rm -rf build", "Careful: it runs as another user, deletes files.", "Y once")


@pytest.mark.parametrize(("keys", "answer"), [(["y"], "once"), (["n"], "no"), (["a", "a"], "session")])
async def test_an_answer_counts_after_a_moment(asked: World, keys: list[str], answer: str) -> None:
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
        await pilot.resize_terminal(80, 50)
        await sees(pilot, "pagedown", "step 29", "y once")
        clock.now += 1
        await sees(pilot, "y", lambda: answer_of(plans) == "once")


async def test_what_allows_more_asks_once_more_and_what_somebody_else_answers_is_closed(asked: World) -> None:
    async with watching(asked) as pilot:
        await shows(pilot, "y answers")
        clock = with_clock(pilot)
        await sees(pilot, "y", "Run this command?")
        clock.now += 1
        await sees(pilot, "a", "a again: for the whole session")
        assert answer_of(asked) == ""
        asked.store.records.answer("n1", "no", "Ada", 5)
        await shows(pilot, "The question is answered, or nobody waits for the answer any more.")
        await until(pilot, lambda: "Run this command?" not in text(pilot))
        await sees(pilot, "y", "There is no open question here.")


async def test_a_question_without_choices_is_answered_with_a_text(plans: World) -> None:
    """A long one leaves room for the answer."""
    plans.write("p", Phase("", (Task("Name it"),)))
    records = plans.store.records
    records.ask(Need("n1", "p", "input", "Which name?", (), 1))
    async with watching(plans) as pilot:
        await shows(pilot, "y answers")
        await sees(pilot, "y", "█   Which name?", "Answer:")
        await type_text(pilot, "til")
        await sees(pilot, "escape", lambda: "█" not in text(pilot))
        await pilot.press("y")
        await enters(pilot, "tildone", lambda: answer_of(plans) == "tildone")
        await until(pilot, lambda: "█" not in text(pilot))
        records.ask(Need("n2", "p", "input", "Which of the two shall it have, and why not the other?", (), 1))
        await pilot.resize_terminal(40, 20)
        await shows(pilot, "y answers")
        await sees(pilot, "y", "why not the other?")
        await type_text(pilot, "tildone")
        await shows(pilot, "Answer: tildone")


def test_the_keys_of_a_text_about_a_dangerous_command_are_small_and_those_of_other_choices_numbers() -> None:
    needs = {
        Need("n", "p", "command", "echo 'rm -rf build'", ("once", "no")): {"y": "once", "n": "no"},
        Need("n", "p", "change", "+ rm -rf build", ("once", "no")): {"y": "once", "n": "no"},
        Need("n", "p", "select", "", ("red", "yes", "once", "blue")): {
            "1": "red",
            "y": "yes",
            "3": "once",
            "4": "blue",
        },
    }
    assert {need: answer_keys(need) for need in needs} == needs


async def test_hostile_text_in_a_question_is_drawn_as_text(plans: World) -> None:
    plans.write("p", Phase("", (Task("x"),)))
    hostile = "\x1b[2J[bold red]x[/] \u202eevil\n\x9b31m"
    plans.store.records.ask(Need("n1", "p", hostile, hostile, (hostile, "no"), 1, detail=hostile))
    async with watching(plans) as pilot:
        await shows(pilot, "y answers")
        await sees(pilot, "y", "A question", "␛[2J[bold red]x[/]")
        assert not set(text(pilot)) & set("\x1b\x9b\u202e")
