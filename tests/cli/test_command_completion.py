"""Completion of a verb that takes a command of another program."""

from tildone.cli.parsing import ROOT
from tildone.cli.program.completion import Completions, completions


def test_behind_two_dashes_files_are_completed_and_no_options() -> None:
    assert completions(ROOT, ["todo", "check", "1", "--", "make"]) == Completions(files=True)
    assert completions(ROOT, ["todo", "check", "1", "--", "make", "--f"]) == Completions(files=True)


def test_in_front_of_them_options_are_completed() -> None:
    found = completions(ROOT, ["todo", "check", "1", "--f"])

    assert [each.text for each in found.candidates] == ["--folder"]
    assert completions(ROOT, ["todo", "check", "1", "--folder", ""]).files
