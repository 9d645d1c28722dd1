"""Replacements as hunks and as a unified diff."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.needs import need
from tildone.run.tools.diffs import Replacement, apply_replacements, hunks, split_lines, unified_diff


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, list[Replacement]]:
    """A text and replacements in it."""
    text = draw(st.text("ab\n", min_size=1, max_size=60))
    places = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=8)))
    pairs = zip(places[::2], places[1::2], strict=False)
    return text, [Replacement(start, end, draw(st.text("xy\n", max_size=6))) for start, end in pairs]


def applied(diff: str, text: str) -> Iterator[str]:
    """Apply a diff, all context lines of which must match, and return the new lines."""
    lines, at = split_lines(text), 0
    marked = split_lines(diff + "\n")[2:]
    for number, line in enumerate(marked):
        ends = number + 1 < len(marked) and marked[number + 1].startswith("\\")
        words = line[1:-1] if ends else line[1:]
        match line[0]:
            case "@":
                start, _, count = line.split()[1].removeprefix("-").partition(",")
                first = int(start) - (count != "0")
                yield from lines[at:first]
                at = first
            case "+":
                yield words
            case "-" | " ":
                assert lines[at] == words
                at += 1
                yield from [words] if line[0] == " " else []
            case _:
                assert line == "\\ No newline at end of file\n"
    yield from lines[at:]


@settings(max_examples=300, derandomize=True)
@given(edits())
def test_a_diff_turns_the_old_text_into_the_new_one(edit: tuple[str, list[Replacement]]) -> None:
    text, replacements = edit

    diff = unified_diff(text, hunks(text, replacements), "a")

    assert "".join(applied(diff, text)) == apply_replacements(text, replacements)


def test_other_programs_can_apply_it(tmp_path: Path) -> None:
    need("git")
    text = "".join(f"{number}\n" for number in range(40)) + "end"
    parts = ["0\n", "5\n6\n", "12", "30\n31\n", "end"]
    changes = [Replacement(text.index(part), text.index(part) + len(part), "new\nnewer") for part in parts]
    (tmp_path / "a").write_text(text, encoding="utf-8")
    diff = unified_diff(text, hunks(text, changes), "a") + "\n"

    subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=diff, text=True, check=True)

    assert (tmp_path / "a").read_text(encoding="utf-8") == apply_replacements(text, changes)


@pytest.mark.parametrize(
    ("text", "old", "new", "diff"),
    [
        ("a\nb\nc\n", "a\nb", "a\nB", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"),
        ("a\n", "a\n", "", "@@ -1 +0,0 @@\n-a"),
        ("a\nb", "\nb", "", "@@ -1,2 +1 @@\n-a\n-b\n\\ No newline at end of file\n+a\n\\ No newline at end of file"),
    ],
)
def test_a_diff_contains_only_changed_lines_and_context(text: str, old: str, new: str, diff: str) -> None:
    change = Replacement(text.index(old), text.index(old) + len(old), new)

    assert unified_diff(text, hunks(text, [change]), "x") == f"--- x\n+++ x\n{diff}"
