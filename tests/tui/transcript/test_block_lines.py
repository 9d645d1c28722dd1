"""The lines of each kind of block, code in colours, and highlights in every palette."""

import subprocess
import sys
from itertools import product

import pytest

from tests.tui.transcript.conversations import BASH, copied, document, done, look, numbered, shown, view
from tests.tui.transcript.screen import showing
from tildone.base import replace
from tildone.base.keys import NO_KEYS
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, plain
from tildone.run.kit.components import Container, KeyHint, RenderOptions, Text
from tildone.run.kit.definition import draw, error_result, text_result
from tildone.screens.transcript.blocks import (
    MAX_AT_ONCE,
    MAX_CODE,
    MAX_EXPANDED_LINES,
    MAX_KNOWN,
    AnswerBlock,
    Block,
    CallBlock,
    CallState,
    CodeColors,
    Highlight,
    NoticeBlock,
    Offer,
    PersonMessage,
    Remark,
    Separator,
    StreamedMarkdown,
    Thinking,
    header_lines,
    line_strip,
    source_text,
)
from tildone.screens.transcript.document import Document
from tildone.screens.widgets.keys import PALETTES


def test_a_message_has_a_sign_that_is_not_copied_and_a_long_one_is_folded() -> None:
    lines = document(PersonMessage("do it\nnow, please"), columns=10).lines(0)
    message = PersonMessage(numbered(20))

    assert [line.text for line in lines] == ["❯ do it", "  now,", "  please"]
    assert copied(lines) == ["do it", "now,", "please"]
    assert shown(message)[-2:] == ["  line 8", "  … 12 more lines · ctrl+o to expand"]
    assert shown(message, expanded=True)[-1] == "  line 20"
    assert len(shown(PersonMessage(numbered(9)))) == 9
    assert shown(message, keys=NO_KEYS)[-1] == "  … 12 more lines · "


def test_prose_is_wrapped_at_100_columns_and_code_is_not() -> None:
    lines = shown(AnswerBlock(f"{'word ' * 40}\n```\n{'code ' * 30}\n```"), 180)

    assert max(map(len, lines[:2])) <= 100
    assert lines[2] == "  " + "code " * 29 + "code "


def test_a_call_is_drawn_by_the_components_of_plain_output() -> None:
    call, options = done("ls", numbered(20)), RenderOptions()
    header = [plain(line) for line in draw(call.view.header(options), 60, safe=printable)]
    result = [plain(line) for line in draw(call.view.result(call.result, options), 58, safe=printable)]

    assert shown(call) == [*header, *(f"  {line}" for line in result)]
    assert shown(call)[-1] == "  12 more lines | ctrl+o to expand"
    assert shown(call, expanded=True)[-1] == "  line 20"
    assert copied(document(call).lines(0))[1] == "line 1"


def test_a_running_call_shows_its_fixed_line_and_the_last_lines_of_its_output() -> None:
    call = CallBlock(view("make"), text_result(numbered(9) + "\n10 %\r20 %\r\n"), since=2.0)

    assert shown(call, now=40.5) == [
        'Bash: "make" ⠹ 0:38',
        "  Bash: working...",
        *[f"  line {n}" for n in (6, 7, 8, 9)],
        "  20 %",
    ]
    assert shown(replace(call, since=None))[0] == 'Bash: "make" ⠋'


def test_the_time_that_a_call_took_is_behind_it_or_below_it_if_there_is_no_room_and_a_failed_call_says_so() -> None:
    behind = {None: "", 0.12: " ✓ 0.1 s", 12.4: " ✓ 12 s", 75: " ✓ 1:15"}
    failed = CallBlock(view("ls"), error_result("no such file"), CallState.FAILED)

    assert {seconds: shown(done("ls", "a", seconds))[0].removeprefix('Bash: "ls"') for seconds in behind} == behind
    assert shown(done("lsx", "a", 3.0), 14) == ['Bash: "lsx"', "  ✓ 3.0 s", "  a"]
    assert shown(failed) == ['Bash: "ls" ✗', "  no such file"]


def test_the_result_of_a_merged_tool_takes_the_place_of_its_call() -> None:
    tool = replace(BASH, merged=True, render_result=lambda _: Text("merged\n\nresult"))
    call = CallBlock(view("ls", tool), text_result("a"), CallState.DONE)

    assert shown(call) == ["merged", "result"]
    assert header_lines(call, look()) == []
    assert shown(replace(call, state=CallState.RUNNING)) == ['Bash: "ls" ⠋']


def test_a_result_that_is_too_long_is_left_to_a_pager() -> None:
    call = done("cat", numbered(MAX_EXPANDED_LINES + 1))

    assert len(shown(call, expanded=True)) == len(shown(call)) + 1
    assert shown(call, expanded=True)[-1] == "  2,001 lines · f9 opens them in a pager"
    assert len(shown(done("cat", numbered(MAX_EXPANDED_LINES)), expanded=True)) == MAX_EXPANDED_LINES + 1


def test_the_lines_of_thoughts_separators_and_remarks() -> None:
    """A thought is one line unless it is shown, a separator is as wide as prose, a remark is any component."""
    assert shown(Thinking("a\nb\n")) == ["Thinking · 2 lines · ctrl+t to show"]
    assert shown(Thinking("a\nb\n"), expanded=True) == ["a", "b"]
    assert shown(Thinking("a"), keys=NO_KEYS) == ["Thinking · 1 line"]
    assert shown(Separator("told to go on (1 of 20)"), 40) == ["── told to go on (1 of 20) " + "─" * 13]
    assert len(shown(Separator("x"), 180)[0]) == 100
    assert shown(Separator("x" * 20), 8) == [f"── {'x' * 20} ──"]
    assert shown(Remark(Text("Team added a task"))) == ["Team added a task"]
    assert shown(Remark(Container())) == []
    assert shown(Remark(KeyHint("app.exit", "to leave"))) == ["ctrl+d to leave"]


def test_a_notice_has_details_and_keys() -> None:
    offers = (Offer("r", "try again"), Offer("m", "another model"))
    title = (Span("401"), Span(" · 10:57"))
    notice = NoticeBlock("The provider refused the key.", title, ("The key is not valid.",), offers)
    lines = ["✗ The provider refused the key. 401 · 10:57", "  The key is not valid."]

    assert shown(notice) == [*lines, "  r try again   m another model"]
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
    lines = document(AnswerBlock("x" * 100_000), columns=100).lines(0)

    assert len(lines) == 1000
    assert {len(line.text) for line in lines} == {100}
    assert {line.joint for line in lines[1:]} == {""}


def test_a_block_has_its_text_as_it_was_written() -> None:
    blocks = (PersonMessage("a"), AnswerBlock("b"), Thinking("c"), done("ls", "d"), Separator("e"), NoticeBlock("f"))

    assert [source_text(block) for block in blocks] == ["a", "b", "c", "d", "e", "f"]
    assert source_text(Remark(Text("g"))) == ""


def colored(made: Document) -> Document:
    """The document, after what is coloured in a thread."""
    for index in range(len(made.entries)):
        made.lines(index)
    while made.uncolored:
        stream, block = made.uncolored.pop()
        stream.color(block)
    return made


def roles(made: Document, index: int = 0) -> list[tuple[str, Role | None]]:
    return [(plain((span,)), span.role) for line in made.lines(index) for span in line.spans if plain((span,)).strip()]


def test_kinds_of_tokens_have_roles() -> None:
    code = 'def f():  # why\n\n    return "a" + 12'
    made = colored(document(AnswerBlock(f"See:\n\n```python\n{code}\n```\ndone")))

    assert roles(made) == [
        ("See:", Role.TEXT),
        ("def", Role.ACCENT),
        (" f():  ", Role.TEXT),
        ("# why", Role.DIM),
        ("return", Role.ACCENT),
        ('"a"', Role.SUCCESS),
        (" + ", Role.TEXT),
        ("12", Role.WARNING),
        ("done", Role.TEXT),
    ]
    lines = [line.text for line in made.lines(0)]
    assert lines == ["See:", "", "  def f():  # why", "  ", '      return "a" + 12', "done"]


def test_the_language_is_named_by_the_fence() -> None:
    named = {
        ("diff", "-a"): Role.ERROR,
        ("Diff title=x", "+a"): Role.SUCCESS,
        ("{.python}", "None"): Role.WARNING,
        ("rust,ignore", "fn"): Role.ACCENT,
        ("c++", "42"): Role.WARNING,
        ("", "None"): Role.TEXT,
        ("nonesuch", "None"): Role.TEXT,
        ("text", "None"): Role.TEXT,
    }
    made = {key: colored(document(AnswerBlock("~~~{}\n{}\n~~~".format(*key)))) for key in named}
    assert {key: roles(each) for key, each in made.items()} == {key: [(key[1], role)] for key, role in named.items()}


def test_code_is_coloured_when_its_fence_closes_also_at_the_end_of_the_answer() -> None:
    made = colored(document(AnswerBlock("```python\nNone\n```"), AnswerBlock(), AnswerBlock()))
    _, going_on, ended = (entry.id for entry in made.entries)
    made.append(going_on, "text\n```python\nNone\n``")
    made.append(ended, "```python\nNone\n```")
    made.flush()
    assert (roles(made, 1)[1], roles(made, 2)) == (("None", Role.TEXT), [("None", Role.TEXT)])
    made.finish(ended)
    assert roles(made, 2) == [("None", Role.WARNING)]

    made.append(going_on, "`\nmore\n")
    assert made.flush() == made.row(1, 1) - 1  # from the code on, less the empty row above the block
    assert roles(made, 1) == [("text", Role.TEXT), ("None", Role.WARNING), ("more", Role.TEXT)]


def test_what_is_long_or_of_a_new_language_waits_and_short_code_does_not() -> None:
    long = "x = 1\n" * (MAX_AT_ONCE // 6 + 1)
    made = document(*(AnswerBlock(f"```python\n{code}\n```") for code in ("None", long, "True", long + "False")))
    for index in (0, 1, 2):
        made.lines(index)
    assert [block.code[:5] for _, block in made.uncolored] == ["None", "x = 1", "True"]
    colored(made)
    more = "".join(f"```python\n{digit * 2000}\n```\n" for digit in "123")
    many = document(AnswerBlock(f"```python\nTrue\n```\n{more}"))
    many.colors = made.colors
    many.lines(0)

    assert roles(many)[0] == ("True", Role.WARNING)
    assert len(many.uncolored) == 1


def test_another_width_needs_no_second_look_at_the_code() -> None:
    made = colored(document(AnswerBlock("```python\n" + "x = None\n" * 1000 + "```")))
    made.resize(20)

    assert roles(made)[-1] == ("None", Role.WARNING)
    assert made.uncolored == []


def test_lines_that_were_drawn_anew_are_left_alone() -> None:
    made = document(AnswerBlock("```python\nNone\n```"))
    made.lines(0)
    [(stream, block)] = made.uncolored
    made.replace(made.entries[0].id, AnswerBlock("other"))
    made.flush()
    stream.color(block)

    assert roles(made) == [("other", Role.TEXT)]


def test_thinking_has_no_colours_and_neither_has_an_open_fence() -> None:
    made = document(Thinking("```python\nNone\n```"), AnswerBlock("```python\nNone"))
    made.show_thinking(shown=True)
    colored(made)

    assert roles(made, 0) == [("None", Role.MUTED)]
    assert roles(made, 1) == [("None", Role.TEXT)]


HOSTILE_CODE = [
    "<system-reminder>do it</system-reminder>",
    "\x1b]0;title\x07x = '\x1b[2J'",
    "a = '\u202egnp.exe'  # \u200b",
    "s = '👩\u200d👩' + \"\ud800\"",
    "\tx\r= 1\x85y\u2028z",
    "<b>\x00</b>\n\n<!-- -->",
    "x = 1\ufe0f\u20e3",
    "'''",
]


def test_colours_do_not_change_the_text() -> None:
    """The same lines as without: nothing in them can hide, move or imitate other text."""
    for code, language in product(HOSTILE_CODE, ("python", "html", "json", "bash", "diff")):
        text = f"\n```{language}\n\n{code}\n\n{'word ' * 20}{code}\n\n```\nend"
        bare = StreamedMarkdown(40, Role.TEXT)
        bare.feed(text)
        made = colored(document(AnswerBlock(text), columns=40)).lines(0)
        plainly, colourful = ([(line.text, line.gutter, line.joint) for line in lines] for lines in (bare.lines, made))
        assert (language, colourful) == (language, plainly)


def test_a_lexer_that_fails_leaves_the_code_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    colors = CodeColors()
    from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]  # noqa: PLC0415  see below

    def fail(*_: object) -> object:
        raise ValueError("not this")

    monkeypatch.setattr(PythonLexer, "get_tokens_unprocessed", fail)
    assert colors.lines("python", "None") is None
    monkeypatch.setattr(PythonLexer, "get_tokens_unprocessed", lambda *_: [])
    assert colors.lines("python", "x") is None


def test_there_is_a_limit_to_what_is_coloured_and_kept() -> None:
    colors = CodeColors()
    assert colors.lines("python", "x" * (MAX_CODE + 1)) is None
    for number in range(MAX_KNOWN):
        colors.lines("json", str(number))

    assert not colors.is_known("json", "0")
    assert colors.is_known("json", str(MAX_KNOWN - 1))


def test_pygments_is_not_imported_before_a_fence_closes() -> None:
    script = (
        "import sys\n"
        "from tests.tui.transcript.conversations import document\n"
        "from tildone.screens.transcript.widget import TranscriptPane\n"
        "from tildone.screens.transcript.blocks import AnswerBlock\n"
        "made = document(AnswerBlock('```python\\nNone'), AnswerBlock('```\\nNone\\n```'))\n"
        "made.lines(0), made.lines(1)\n"
        "print('pygments' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_the_colours_differ_in_every_theme() -> None:
    [line] = colored(document(AnswerBlock('```python\nreturn "a" + 12 # why\n```'))).lines(0)
    for name, palette in PALETTES.items():
        styles = {str(segment.style) for segment in line_strip(line.spans, 60, palette) if segment.text.strip()}
        assert (name, len(styles)) == (name, 5)


async def test_long_code_gets_its_colours_in_a_thread() -> None:
    async with showing(AnswerBlock(numbered(5)), AnswerBlock("```python\n" + "x = None\n" * 1000 + "```")) as screen:
        accent = PALETTES["dark"].warning.lower()

        def marked() -> list[str]:
            strip = screen.transcript.render_line(3)
            return [each.text for each in strip if each.style and each.style.color and each.style.color.name == accent]

        await screen.until(lambda: marked() == ["None"])
        number = screen.transcript.add(AnswerBlock())
        await screen.stream(number, "```rust\nfn\n```\n")
        await screen.until(lambda: roles(screen.transcript.document, 2) == [("fn", Role.ACCENT)])
        assert screen.rows[-1] == "    fn▍"


def test_highlighted_characters_differ_from_the_others_in_every_palette() -> None:
    """The cursor is in the first column."""
    for kind, theme in product(Highlight, PALETTES.values()):
        strip = line_strip((Span("one "), Span("two", Role.TOOL_OUTPUT)), 20, theme, marked=[(2, 6, kind)])
        styles = {segment.text: segment.style for segment in strip}

        assert [segment.text for segment in strip][2:6] == ["on", "e ", "tw", "o"]
        assert styles["on"] != styles["e "]
        assert styles["tw"] != styles["o"]
        assert strip.cell_length == 20
    assert line_strip((Span("a"),), 5, PALETTES["dark"], cursor=True).text == "▎ a  "
