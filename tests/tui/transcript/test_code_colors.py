"""Code in colours: when its fence has closed, and without a change of its text."""

import subprocess
import sys
from itertools import product

import pytest

from tests.tui.transcript.conversations import document, numbered
from tests.tui.transcript.screen import showing
from tildone.plan.text.styles import Role, plain
from tildone.screens.transcript.blocks import (
    MAX_AT_ONCE,
    MAX_CODE,
    MAX_KNOWN,
    AnswerBlock,
    CodeColors,
    StreamedMarkdown,
    Thinking,
    line_strip,
)
from tildone.screens.transcript.document import Document
from tildone.screens.widgets.keys import PALETTES

CODE = 'def f():  # why\n\n    return "a" + 12'


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


def texts(made: Document) -> list[str]:
    return [line.text for line in made.lines(0)]


def test_kinds_of_tokens_have_roles() -> None:
    made = colored(document(AnswerBlock(f"See:\n\n```python\n{CODE}\n```\ndone")))

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
    assert texts(made) == ["See:", "", "  def f():  # why", "  ", '      return "a" + 12', "done"]


@pytest.mark.parametrize(
    ("info", "code", "role"),
    [
        ("diff", "-a", Role.ERROR),
        ("Diff title=x", "+a", Role.SUCCESS),
        ("{.python}", "None", Role.WARNING),
        ("rust,ignore", "fn", Role.ACCENT),
        ("c++", "42", Role.WARNING),
        ("", "None", Role.TEXT),
        ("nonesuch", "None", Role.TEXT),
        ("text", "None", Role.TEXT),
    ],
)
def test_the_language_is_named_by_the_fence(info: str, code: str, role: Role) -> None:
    assert roles(colored(document(AnswerBlock(f"~~~{info}\n{code}\n~~~")))) == [(code, role)]


def test_code_is_coloured_when_its_fence_closes() -> None:
    made = colored(document(AnswerBlock("```python\nNone\n```"), AnswerBlock()))
    number = made.entries[1].id
    made.append(number, "text\n```python\nNone\n``")
    made.flush()
    assert roles(made, 1)[1] == ("None", Role.TEXT)
    made.append(number, "`\nmore\n")

    assert made.flush() == made.row(1, 1) - 1  # from the code on, less the empty row above the block
    assert roles(made, 1) == [("text", Role.TEXT), ("None", Role.WARNING), ("more", Role.TEXT)]


def test_a_fence_that_ends_the_answer_closes_with_it() -> None:
    made = colored(document(AnswerBlock("```python\nNone\n```"), AnswerBlock()))
    number = made.entries[1].id
    made.append(number, "```python\nNone\n```")
    made.flush()
    assert roles(made, 1) == [("None", Role.TEXT)]
    made.finish(number)

    assert roles(made, 1) == [("None", Role.WARNING)]


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


HOSTILE = [
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
    for code, language in product(HOSTILE, ("python", "html", "json", "bash", "diff")):
        text = f"\n```{language}\n\n{code}\n\n{'word ' * 20}{code}\n\n```\nend"
        bare = StreamedMarkdown(40, Role.TEXT)
        bare.feed(text)
        made = colored(document(AnswerBlock(text), columns=40))

        assert (language, [(line.text, line.gutter, line.joint) for line in made.lines(0)]) == (
            language,
            [(line.text, line.gutter, line.joint) for line in bare.lines],
        )


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


@pytest.mark.parametrize("theme", list(PALETTES))
def test_the_colours_differ_in_every_theme(theme: str) -> None:
    made = colored(document(AnswerBlock('```python\nreturn "a" + 12 # why\n```')))
    styles = [
        segment.style for segment in line_strip(made.lines(0)[0].spans, 60, PALETTES[theme]) if segment.text.strip()
    ]

    assert len({str(style) for style in styles}) == 5


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
