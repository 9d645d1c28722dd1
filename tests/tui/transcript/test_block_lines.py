"""The lines of each kind of block."""

from itertools import product

import pytest

from tests.tui.transcript.conversations import BASH, copied, done, look, numbered, shown, view
from tildone.base import replace
from tildone.base.keys import NO_KEYS
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, plain
from tildone.run.kit.components import Container, KeyHint, RenderOptions, Text
from tildone.run.kit.definition import ToolResult, draw, error_result, text_result
from tildone.screens.transcript.blocks import (
    MAX_EXPANDED_LINES,
    AnswerBlock,
    Block,
    CallBlock,
    CallState,
    Look,
    NoticeBlock,
    Offer,
    PersonMessage,
    Remark,
    Separator,
    Thinking,
    block_lines,
    header_lines,
    source_text,
)


def test_a_message_has_a_sign_that_is_not_copied() -> None:
    lines = block_lines(PersonMessage("do it\nnow, please"), look(10))

    assert [line.text for line in lines] == ["❯ do it", "  now,", "  please"]
    assert copied(lines) == ["do it", "now,", "please"]


def test_a_long_message_is_folded() -> None:
    message = PersonMessage(numbered(20))

    assert shown(message)[-2:] == ["  line 8", "  … 12 more lines · ctrl+o to expand"]
    assert shown(message, expanded=True)[-1] == "  line 20"
    assert len(shown(PersonMessage(numbered(9)))) == 9
    assert block_lines(message, Look(60, NO_KEYS))[-1].text == "  … 12 more lines · "


def test_prose_is_wrapped_at_100_columns_and_code_is_not() -> None:
    lines = shown(AnswerBlock(f"{'word ' * 40}\n```\n{'code ' * 30}\n```"), 180)

    assert max(map(len, lines[:2])) <= 100
    assert lines[2] == "  " + "code " * 29 + "code "


def test_thinking_is_one_line_unless_it_is_shown() -> None:
    assert shown(Thinking("a\nb\n")) == ["Thinking · 2 lines · ctrl+t to show"]
    assert shown(Thinking("a\nb\n"), expanded=True) == ["a", "b"]
    assert [line.text for line in block_lines(Thinking("a"), Look(60, NO_KEYS))] == ["Thinking · 1 line"]


def test_a_call_is_drawn_by_the_components_of_plain_output() -> None:
    call, options = done("ls", numbered(20)), RenderOptions()
    header = [plain(line) for line in draw(call.view.header(options), 60, safe=printable)]
    result = [plain(line) for line in draw(call.view.result(call.result, options), 58, safe=printable)]

    assert shown(call) == [*header, *(f"  {line}" for line in result)]
    assert shown(call)[-1] == "  12 more lines | ctrl+o to expand"
    assert shown(call, expanded=True)[-1] == "  line 20"
    assert copied(block_lines(call, look()))[1] == "line 1"


def test_a_running_call_shows_its_fixed_line_and_the_last_lines_of_its_output() -> None:
    call = CallBlock(view("make"), text_result(numbered(9) + "\n10 %\r20 %\r\n"), since=2.0)

    assert shown(call, now=40.5) == [
        'Bash: "make" ⠹ 0:38',
        "  Bash: working...",
        *[f"  line {n}" for n in (6, 7, 8, 9)],
        "  20 %",
    ]
    assert shown(replace(call, since=None))[0] == 'Bash: "make" ⠋'


@pytest.mark.parametrize(("seconds", "status"), [(None, ""), (0.12, " ✓ 0.1 s"), (12.4, " ✓ 12 s"), (75, " ✓ 1:15")])
def test_the_time_that_a_call_took_is_behind_it(seconds: float | None, status: str) -> None:
    assert shown(done("ls", "a", seconds))[0] == f'Bash: "ls"{status}'


def test_a_failed_call_says_so() -> None:
    call = CallBlock(view("ls"), error_result("no such file"), CallState.FAILED)

    assert shown(call) == ['Bash: "ls" ✗', "  no such file"]


def test_the_time_is_below_a_call_that_leaves_no_room() -> None:
    assert shown(done("lsx", "a", 3.0), 14) == ['Bash: "lsx"', "  ✓ 3.0 s", "  a"]


def test_the_result_of_a_merged_tool_takes_the_place_of_its_call() -> None:
    def render(_result: ToolResult) -> Text:
        return Text("merged\n\nresult")

    tool = replace(BASH, merged=True, render_result=render)
    call = CallBlock(view("ls", tool), text_result("a"), CallState.DONE)

    assert shown(call) == ["merged", "result"]
    assert header_lines(call, look()) == []
    assert shown(replace(call, state=CallState.RUNNING)) == ['Bash: "ls" ⠋']


def test_a_result_that_is_too_long_is_left_to_a_pager() -> None:
    call = done("cat", numbered(MAX_EXPANDED_LINES + 1))

    assert len(shown(call, expanded=True)) == len(shown(call)) + 1
    assert shown(call, expanded=True)[-1] == "  2,001 lines · o opens them in a pager"
    assert len(shown(done("cat", numbered(MAX_EXPANDED_LINES)), expanded=True)) == MAX_EXPANDED_LINES + 1


def test_a_separator_is_as_wide_as_prose() -> None:
    assert shown(Separator("told to go on (1 of 20)"), 40) == ["── told to go on (1 of 20) " + "─" * 13]
    assert len(shown(Separator("x"), 180)[0]) == 100
    assert shown(Separator("x" * 20), 8) == [f"── {'x' * 20} ──"]


def test_a_remark_is_any_component() -> None:
    assert shown(Remark(Text("Team added a task"))) == ["Team added a task"]
    assert shown(Remark(Container())) == []
    assert shown(Remark(KeyHint("app.exit", "to leave"))) == ["ctrl+d to leave"]


def test_a_notice_has_details_and_keys() -> None:
    notice = NoticeBlock(
        "The provider refused the key.",
        (Span("401"), Span(" · 10:57")),
        ("The key is not valid.",),
        (Offer("r", "try again"), Offer("m", "another model")),
    )

    assert shown(notice) == [
        "✗ The provider refused the key. 401 · 10:57",
        "  The key is not valid.",
        "  r try again   m another model",
    ]
    assert shown(notice, 24)[-2:] == ["  r try again", "  m another model"]
    assert shown(NoticeBlock("The connection broke.", role=Role.WARNING)) == ["! The connection broke."]


HOSTILE = "\x1b[31mred\x1b[0m\r\n\u202eabc\u200b\tx\u2028y\x9b2J\r\n字字字" + "z" * 300


def test_hostile_text_is_shown_as_symbols() -> None:
    blocks: list[Block] = [
        PersonMessage(HOSTILE),
        AnswerBlock(HOSTILE),
        AnswerBlock(f"```\n{HOSTILE}"),
        AnswerBlock(f"{HOSTILE[:20]} | b\n-|-\n{HOSTILE[20:]} | b"),
        Thinking(HOSTILE),
        done("ls", HOSTILE),
        CallBlock(view(HOSTILE), text_result(HOSTILE)),
        Separator(HOSTILE[:20]),
        NoticeBlock(HOSTILE, HOSTILE, (HOSTILE,), (Offer("r", HOSTILE),)),
        Remark(Text(HOSTILE)),
    ]
    for block, columns, expanded in product(blocks, (30, 8, 1), (False, True)):
        text = "".join(shown(block, columns, expanded=expanded))

        assert text.isprintable(), (block, columns)
        assert not set("\u202e\u200b\t") & set(text), (block, columns)


def test_a_line_of_100000_characters_is_wrapped() -> None:
    lines = block_lines(AnswerBlock("x" * 100_000), look(100))

    assert len(lines) == 1000
    assert {len(line.text) for line in lines} == {100}
    assert {line.joint for line in lines[1:]} == {""}


def test_a_block_has_its_text_as_it_was_written() -> None:
    blocks = (PersonMessage("a"), AnswerBlock("b"), Thinking("c"), done("ls", "d"), Separator("e"), NoticeBlock("f"))

    assert [source_text(block) for block in blocks] == ["a", "b", "c", "d", "e", "f"]
    assert source_text(Remark(Text("g"))) == ""
