"""Decoding the keys of a terminal, and editing a line with them."""

import pytest

from tildone.cli.run.terminal.keys import Decoder, Key
from tildone.cli.run.terminal.line_editor import LineEditor


def typed(*chunks: bytes) -> LineEditor:
    decoder, line = Decoder(), LineEditor()
    for chunk in chunks:
        for key in decoder.feed(chunk):
            line.press(key)
    return line


def line_of(text: str) -> LineEditor:
    line = LineEditor()
    line.press(Key("", text))
    return line


DECODED = [
    ([b"abc"], [Key("", "abc")]),
    ([b"\xc3", b"\xa4"], [Key("", "ä")]),
    ([b"\x1b[A"], [Key("up")]),
    ([b"\x1b["], []),
    ([b"\x1b[", b"A"], [Key("up")]),
    ([b"\x1bOH"], [Key("home")]),
    ([b"\x1b"], []),
    ([b"\x1b", b"[A"], [Key("up")]),
    ([b"a\x1bb"], [Key("", "a"), Key("word left")]),
    ([b"\x1b[1;5C"], [Key("word right")]),
    ([b"\x1bz"], []),
    ([b"\x1b\x1b[A"], [Key("escape"), Key("up")]),
    ([b"\x1b[99~"], []),
    ([b"a\rb"], [Key("", "a"), Key("enter"), Key("", "b")]),
    ([b"\x00\x04"], [Key("ctrl+d")]),
    ([b"\x1b[200~two\r\nlines\x1b[201~!"], [Key("", "two\nlines", pasted=True), Key("", "!")]),
    ([b"\x1b[200~half", b" of it\x1b[201~"], [Key("", "half of it", pasted=True)]),
    ([b"\x1b[200~\x1b[A\x1b[201~"], [Key("", "\x1b[A", pasted=True)]),
]


def test_bytes_are_decoded_as_keys() -> None:
    def decoded(chunks: list[bytes]) -> list[Key]:
        decoder = Decoder()
        return [key for chunk in chunks for key in decoder.feed(chunk)]

    assert [(chunks, decoded(chunks)) for chunks, _ in DECODED] == DECODED


EDITED = [
    (b"hello", "hello", 5),
    (b"hllo\x1b[D\x1b[D\x1b[De", "hello", 2),
    (b"hello\x01\x06\x1b[3~", "hllo", 1),
    (b"hello\x7f\x7f", "hel", 3),
    (b"\x7f", "", 0),
    (b"two words\x17", "two ", 4),
    (b"two words\x17\x17", "", 0),
    (b"one two\x02\x02\x02\x15", "two", 0),
    (b"one two\x01\x06\x06\x06\x0b", "one", 3),
    (b"a\x1b[D\x1b[D\x1b[C\x1b[C\x05b", "ab", 2),
    (b"first\rsecond\r\x1b[A\x1b[A", "first", 5),
    (b"first\rfirst\r\x1b[A\x1b[A", "first", 5),
    (b"first\r\x1b[A\x1b[B", "", 0),
    (b"first\rdraft\x1b[A\x1b[B", "draft", 5),
    (b"one two\x1bbx", "one xtwo", 5),
    (b"one two\x01\x1bf\x1bf!", "one two!", 8),
    (b"one two\x1b\x7f", "one ", 4),
    (b"one\\\rtwo", "one\ntwo", 7),
    (b"x\x1bOP", "x", 1),
]


def test_a_line_is_edited_with_the_usual_keys() -> None:
    lines = [(keys, typed(keys)) for keys, _, _ in EDITED]

    assert [(keys, line.text, line.cursor) for keys, line in lines] == EDITED


VISIBLE = [
    ("short", 20, "> short", 7),
    ("a rather long line", 10, "> ng line", 9),
    ("漢字漢字", 8, "> 漢字", 6),
    ("one\ntwo", 20, "> one⏎two", 9),
    ("a\x1b[2J", 20, "> a␛[2J", 7),
    ("x", 1, "> x", 3),
]


def test_the_visible_part_of_a_line_fits_the_terminal() -> None:
    assert [(text, columns, *line_of(text).visible(columns)) for text, columns, _, _ in VISIBLE] == VISIBLE


def test_text_after_the_cursor_is_cut_first() -> None:
    line = typed(b"abcdef\x01")

    assert line.visible(6) == ("> abc", 2)


@pytest.mark.parametrize(("data", "keys"), [(b"\x1b", [Key("escape")]), (b"\x1b[", []), (b"", []), (b"x", [])])
def test_a_lone_escape_character_is_the_escape_key_if_nothing_follows(data: bytes, keys: list[Key]) -> None:
    decoder = Decoder()
    decoder.feed(data)

    assert decoder.flush() == keys
    assert not decoder.is_waiting
    assert decoder.feed(b"y") == [Key("", "y")]


def test_a_paste_may_take_its_time() -> None:
    decoder = Decoder()
    decoder.feed(b"\x1b[200~one ")

    assert not decoder.is_waiting
    assert decoder.flush() == []
    assert decoder.feed(b"two\x1b[201~") == [Key("", "one two", pasted=True)]


def test_a_long_paste_is_drawn_at_once() -> None:
    """The cost of drawing depends on the width of the terminal."""
    assert line_of("word " * 1_000_000).visible(12) == ("> ord word ", 11)


COMPLETED = [
    ("/m", "/model ", []),
    ("/c", "/c", ["/clear", "/compact"]),
    ("/co", "/compact ", []),
    ("/x", "/x", []),
]


def test_the_name_of_a_command_is_completed() -> None:
    for typed_text, text, shown in COMPLETED:
        line = line_of(typed_text)

        assert (typed_text, line.complete(["/clear", "/compact", "/model"])) == (typed_text, shown)
        assert (line.text, line.cursor) == (text, len(text))
