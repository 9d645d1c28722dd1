"""Texts are safe and bounded: sanitizing, exact limits, and amounts for people."""

import json
import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING
from tildone.plan.events import Bound
from tildone.plan.model import Phase, Plan, Status, Task, flat
from tildone.plan.text.amounts import (
    DAY,
    HOUR,
    MINUTE,
    about,
    ago,
    days,
    describe_bound,
    dollars,
    duration,
    elapsed,
    short_age,
    size,
    stopwatch,
    token_count,
    usage_text,
)
from tildone.plan.text.safe import (
    MAX_TEXT,
    MIN_TEXT,
    Part,
    bounded_lines,
    bounded_list,
    bounded_plan,
    clipped,
    escape_json,
    printable,
    printable_lines,
    reminder,
    safe_text,
    shown_text,
    single_line,
)

BREAKS = "\n\v\f\r\x85\u2028\u2029"
EMOJI = [
    *("👨‍👩‍👧‍👦 family", "🏳️‍🌈 flag", "❤️‍🔥", "👩🏽‍💻", "1️⃣ #️⃣", "🇩🇪🇫🇷"),
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
]
SPELLING = ["می‌خواهم", "क्‍ष", "葛\U000e0100城", "ქართული", "עברית", "Z͑ͫ̓ͪ̂ͫ̽̕a", "全角　空白"]

TAGS = (
    *("</system-reminder>", "<system-reminder>", "< / System-Reminder >", "</SYSTEM_REMINDER>", "</system reminder"),
    *("</systemreminder>", "<system-prompt>", "<tool_result>", "</tool-results>", "<tool_use id=1>"),
    *("<function_calls>", "</function_response>", "<user-prompt-submit-hook>", "<command-name>"),
    *("</local-command-stdout>", "<environment_context>", "</hook_context>", '<hook_prompt hook_run_id="stop">'),
    *("<task-notification>", "<persisted-output>", "<invoke>", "</antml:x>", "<|im_start|>", "<|endoftext|>"),
)
WITHOUT_TAGS = (
    *("a < b", "a <| b |> c", "<system> reminder", "<b>system-reminder</b>", "system-reminder>"),
    *("<div>Vec<T></div> <!-- TODO -->", "<todo></todos><todo-list kind='x'>"),
    *("Result<ToolCall, SystemMessage> and List<UserMessage>", "git <command name> <user message> <toolbar> <invoked>"),
    "tabs\tand\r\nlines\n",
)
SYMBOLS = {
    "\x1b[2J": "␛[2J",
    "a\tb\x00": "a␉b␀",
    "\x7f": "␡",
    "\x9b31m": "<U+009B>31m",
    "a\r\nb\u2028c\x85": "a⏎b⏎c⏎",
    "user\u202egpj.exe": "user<U+202E>gpj.exe",
    "pass\u200bword pass\u200dword": "pass<U+200B>word pass<U+200D>word",
    "\u2066\u2069\u061c": "<U+2066><U+2069><U+061C>",
    "\ufeffbom": "<U+FEFF>bom",
    "half \ud83d": "half <U+D83D>",
    "hi\U000e0068\U000e0069": "hi<U+E0068><U+E0069>",
    "a\ufe0f👍\ufe01\ufe02": "a<U+FE0F>👍\ufe01<U+FE02>",
    "👩\u200d\u200d💻": "👩<U+200D><U+200D>💻",
}

CONTROLS = "\t\x00\x1b\x7f\x9b\xad\ud800\udfff"
HIDDEN = "\u034f\u200b\u200c\u200d\u202e\u2066\u3164\ufe00\ufe0f\ufeff\U0001d173\U000e0041\U000e007f\U000e0100"

# What no reader may be handed, told without the module under test.
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0001\U000e0020-\U000e0060]"
    "|(?i:</?(?:system-reminder|tool_result|function_calls|antml))|<\\|im_start"
)

hostile = st.text(st.sampled_from([*BREAKS, *CONTROLS, *HIDDEN, *"a1#<>&\"'葛👩❤🏴م"]))


@given(st.text(st.sampled_from([*BREAKS, *"ab\x1b\u202e⏎"])))
def test_a_single_line_has_no_line_break(text: str) -> None:
    """Neither for Python nor JavaScript, a terminal or a model."""
    assert not set(BREAKS) & set(single_line(text))
    assert single_line(single_line(text)) == single_line(text)


@given(st.text(st.characters(exclude_characters=BREAKS)))
@example("\x1b[31m\x00\x7f\x9b\u202e\u200b\x1c\t")
def test_single_line_changes_nothing_else(text: str) -> None:
    assert single_line(text) == text


def test_unprintable_characters_are_replaced_by_symbols() -> None:
    """Also those that Python calls printable. Line feeds of multi-line text are kept."""
    assert {text: printable(text) for text in SYMBOLS} == SYMBOLS

    ranges = ["034F", "061C", "115F-1160", "17B4-17B5", "180B-180F", "200B-200F", "202A-202E", "2060-206F", "3164"]
    ranges += ["FE00-FE0F", "FEFF", "FFA0", "FFF0-FFFB", "1BCA0-1BCA3", "1D173-1D17A", "E0000-E0FFF"]
    ends = [(int(first, 16), int(last or first, 16)) for first, _, last in (each.partition("-") for each in ranges)]
    hidden = [code for first, last in ends for code in range(first, last + 1)]

    assert [hex(code) for code in hidden if printable(f"a{chr(code)}b") != f"a<U+{code:04X}>b"] == []
    assert [hex(code) for code in hidden if safe_text(f"a{chr(code)}b") != f"a<U+{code:04X}>b"] == []
    assert printable_lines("a\r\n\x1bb\n\nc\rd") == ["a", "␛b", "", "c⏎d"]
    assert single_line("a\r\nb\n\nc\n\rd") == "a⏎b⏎⏎c⏎⏎d"


def test_text_cannot_open_or_close_the_elements_of_a_coding_agent() -> None:
    """In any spelling; line breaks are kept, and a hidden character in a tag is shown."""
    for tag in TAGS:
        defused = f"‹{tag[1:]}"

        assert safe_text(f"a\n{tag}\nb") == f"a\n{defused}\nb"
        assert printable(tag) == defused
        assert reminder(tag) == f"<system-reminder>\n{defused}\n</system-reminder>"
        assert escape_json(f'"{tag}"') == f'"\\u003c{tag[1:]}"'

    assert safe_text("</system\u200b-reminder>") == "</system<U+200B>-reminder>"


def test_ordinary_text_is_unchanged_for_people_and_models() -> None:
    """Including emoji, and scripts whose spelling needs joiners."""
    texts = [*WITHOUT_TAGS, *EMOJI, *SPELLING]
    quoted = [json.dumps(text, ensure_ascii=False) for text in texts]

    assert [safe_text(text) for text in texts] == texts
    assert [escape_json(text) for text in quoted] == quoted

    texts = [*EMOJI, *SPELLING, "plain ⏎ text", "tab-free  spaces\xa0"]

    assert [printable(text) for text in texts] == texts


@given(st.text() | hostile)
@example("\r\r\n\x1b\u2028\t<todo>")
def test_no_text_hides_anything_from_a_model(text: str) -> None:
    """Lines and tabs stay, and a text is harmless from the first time on."""
    safe = safe_text(text)

    assert not FORBIDDEN.search(safe)
    assert safe.count("\n") == text.count("\n")
    assert safe_text(safe) == safe
    assert shown_text(shown_text(text)) == shown_text(text)
    assert not FORBIDDEN.search(shown_text(text))


@given(st.text() | hostile)
@example("</system-reminder>\U000e0041\x7f\x9b\\<todo>")
def test_escaped_json_has_the_same_value(text: str) -> None:
    # JSON has no form for two surrogates in a row that are not one character.
    text = json.loads(json.dumps(text))
    for plain in (json.dumps([text], ensure_ascii=False), json.dumps({"k": text}, ensure_ascii=False, indent=2)):
        escaped = escape_json(plain)

        assert json.loads(escaped) == json.loads(plain)
        assert not FORBIDDEN.search(escaped)


@given(hostile)
@example("👩\ufe0f\ufe0f\u200d💻")
@example("🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f\u200d👩")
def test_printable_text_has_no_character_that_moves_hides_or_reorders_others(text: str) -> None:
    """Joiners and selectors are allowed only where they are visible; sanitizing is idempotent."""
    shown = printable(text)
    in_place = shown
    for kept in ("\u200c", "\u200d", "\ufe00", "\ufe0f", "\U000e0100", *map(chr, range(0xE0061, 0xE0080))):
        in_place = in_place.replace(kept, "")

    assert not {"Cc", "Cf", "Cs", "Zl", "Zp"} & {unicodedata.category(char) for char in in_place}
    assert not set("\u034f\u3164\xad") & set(shown)
    assert printable(shown) == shown


CUT = "… long texts are cut, except of tasks in progress"


def entry(task: Task) -> tuple[Task, Callable[[int], str]]:
    return task, lambda size: clipped(task.text, size)


def listed(tasks: list[Task], max_characters: int) -> list[str]:
    return bounded_list([entry(task) for task in tasks], max_characters)


def test_what_just_fits_is_whole_and_else_texts_are_as_long_as_possible() -> None:
    """Each line takes one character more for its end. Shorter texts stay whole."""
    assert bounded_lines(["aa", "bb"], 6) == ["aa", "bb"]
    assert bounded_lines(["aa", "bb"], 5) == ["aa", "… and 1 more line"]
    assert bounded_lines(["aa", "bb", "cc"], 3) == ["aa", "… and 2 more lines"]

    tasks = [Task("x" * 100), Task("y" * 200)]

    assert listed(tasks, 302) == ["x" * 100, "y" * 200]

    tasks = [Task("x" * 100), Task("y" * 200)]

    assert listed(tasks, 301) == ["x" * 100, "y" * 198 + "…", CUT]
    assert listed(tasks, 202) == ["x" * 100, "y" * 99 + "…", CUT]
    assert listed(tasks, 201) == ["x" * 98 + "…", "y" * 98 + "…", CUT]
    assert listed([Task("x" * (MAX_TEXT + 1))], 100_000) == ["x" * (MAX_TEXT - 1) + "…"]
    assert listed([Task("\u202e" * 10)], 101) == ["\u202e" * 10]
    assert listed([Task("\u202e" * 10)], 100) == ["… and 1 more task, listed as others are closed"]
    assert listed([], 0) == []


@pytest.mark.parametrize("status", list(Status))
def test_the_text_of_a_task_in_progress_is_whole(status: Status) -> None:
    lines = listed([Task("x" * 300, status), Task("y" * 300)], 500)

    assert ("x" * 300 in lines) is (status is IN_PROGRESS)
    assert lines[-1] == CUT


def test_if_tasks_in_progress_leave_no_room_their_texts_are_cut_too() -> None:
    """Every task keeps its line before a text is whole."""
    lines = listed([Task("x" * 300, IN_PROGRESS), Task("y" * 300)], 2 * MIN_TEXT + 2)

    assert lines == ["x" * (MIN_TEXT - 1) + "…", "y" * (MIN_TEXT - 1) + "…", "… long texts are cut"]


def test_tasks_are_left_out_if_their_shortest_lines_do_not_fit() -> None:
    """Closed ones first, those in progress last; the order stays."""
    tasks = [Task(f"{status.value} {'x' * 100}", status) for status in (COMPLETED, PENDING, IN_PROGRESS, ABANDONED)]
    closed, pending, active, _ = (clipped(task.text, MIN_TEXT) for task in tasks)
    whole = tasks[2].text

    assert listed(tasks, 4 * (MIN_TEXT + 1)) == [closed, pending, active, clipped(tasks[3].text, MIN_TEXT), CUT[:20]]
    assert listed(tasks, len(whole) + 2 * MIN_TEXT + 3) == [closed, pending, whole, CUT, "… and 1 more task"]
    assert listed(tasks, len(whole) + 2 * MIN_TEXT + 2) == [pending, whole, CUT, "… and 2 more tasks"]
    assert listed(tasks, len(whole) + 1) == [whole, "… and 3 more tasks, listed as others are closed"]
    assert listed(tasks, 1) == ["… and 4 more tasks, listed as others are closed"]


def test_a_plan_that_does_not_fit_keeps_its_phases_and_the_newest_notes() -> None:
    """Phases without a task that is told are left out."""
    notes = ("old" * 500, "x" * 1_500, "new")
    plan = Plan((Phase("A", (Task("a" * 900, IN_PROGRESS, notes),)), Phase("B", (Task("b" * 900),)), Phase("C")))

    part = bounded_plan(plan, 3_200)

    active, pending = part.plan.phases
    assert active == Phase("A", (Task("a" * 900, IN_PROGRESS, notes[1:]),))
    assert (pending.name, pending.tasks[0].text[-3:]) == ("B", "bb…")
    assert (part.omissions, part.omitted) == ((CUT,), 0)

    plan = Plan((Phase("A", (Task("a", notes=("n" * 5_000,)),)), Phase("B")))

    assert bounded_plan(plan, 10_000) == Part(plan, (), 0)

    part = bounded_plan(flat(Task("a" * 900), Task("b" * 900)), 1_000, MAX_TEXT)

    assert part == Part(flat(Task("a" * 900)), ("… and 1 more task, listed as others are closed",), 1)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "<1s"),
        (999, "<1s"),
        (1000, "1s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (12 * 60_000 + 59_999, "12m"),
        (3_599_999, "59m"),
        (3_600_000, "1h"),
        (2 * 3_600_000 + 5 * 60_000, "2h 5m"),
        (86_399_999, "23h 59m"),
        (86_400_000, "1d"),
        (3 * 86_400_000 + 4 * 3_600_000, "3d 4h"),
        (400 * 86_400_000, "400d"),
    ],
)
def test_an_elapsed_time_has_at_most_two_units(milliseconds: int, text: str) -> None:
    assert elapsed(milliseconds) == text


def test_every_form_of_an_amount() -> None:
    times = (0, 41_000, 12 * MINUTE, 6 * HOUR, 3 * DAY)
    assert [about(each) for each in times] == ["0 s", "41 s", "12 min", "6 h", "3 d"]
    assert [short_age(each) for each in (-1, *times[1:])] == ["0s", "41s", "12m", "6h", "3d"]
    assert [duration(each) for each in (0.44, 12.9, 252, 7500)] == ["0.4 s", "12 s", "4 min 12 s", "2 h 5 min"]
    assert [stopwatch(each) for each in (0, 38.9, 61, 3600)] == ["0:00", "0:38", "1:01", "60:00"]
    assert [days(each) for each in (-1, DAY - 1, DAY, 1000 * DAY)] == ["today", "today", "1 day", "1,000 days"]
    assert [ago(each) for each in (-1, MINUTE, 2 * DAY)] == ["just now", "1 minute ago", "2 days ago"]
    assert [size(each) for each in (0, 999, 1500, 2_000_000)] == ["0 bytes", "999 bytes", "1.5 KB", "2.0 MB"]
    assert size(10**16) == "10,000.0 TB"
    assert [token_count(each) for each in (0, 999, 1234, 184_900, 2_100_000)] == ["0", "999", "1.2k", "184k", "2.1M"]
    amounts = {0: "$0.00", 0.0004: "<$0.001", 0.0042: "$0.004", 0.015: "$0.015", 0.0301: "$0.03", 0.5: "$0.50"}
    amounts |= {0.9996: "$1.00", 1.2: "$1.20", 1.919: "$1.92", 1234.5: "$1,234.50"}
    assert [dollars(each) for each in amounts] == list(amounts.values())


def test_amounts_and_budgets_are_said_as_far_as_they_are_known() -> None:
    assert usage_text(12 * 60_000, 84_200, 0.41) == "12 min · 84k · $0.41"
    assert usage_text(500, None, 0.0042) == "0 s · $0.004"
    assert usage_text(tokens=950) == "950"
    assert usage_text(tokens=950, nudges=1) == "told to go on once · 950"
    assert usage_text(nudges=3) == "told to go on 3 times"
    assert usage_text() == ""
    assert describe_bound(Bound.COST, 2.5) == "the agents of this plan have cost $2.50"
    assert describe_bound(Bound.TOKENS, 84_000) == "the agents of this plan have used 84k tokens"
    assert describe_bound(Bound.TASK_COST, 0.5) == "the task in progress has cost $0.50"
    assert describe_bound(Bound.TASK_TOKENS, 1_500_000) == "the task in progress has used 1.5M tokens"
    assert describe_bound(Bound.TASK_TIME, 30) == "the task in progress has taken 30 minutes"
    assert describe_bound(Bound.HOST, 8) == "told to go on 8 times, the limit of the coding agent"
