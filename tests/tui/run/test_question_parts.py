"""Parts of questions: dangerous commands, and diffs."""

from tildone.plan.text.styles import plain
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.screens.run.diff_view import fits_side_by_side, parse_diff, side_by_side, unified
from tildone.screens.run.questions import AskedPermission

DIFF = ("@@ -1,2 +1,3 @@", " one", "-two", "+zwei", "+drei")


def test_a_diff_has_the_numbers_of_its_lines() -> None:
    rows = [plain(row).rstrip() for rows in unified(parse_diff(DIFF), 60) for row in rows]

    assert rows == ["@@ -1,2 +1,3 @@", "    1   one", "    2 - two", "    2 + zwei", "    3 + drei"]


def test_a_diff_side_by_side_and_a_long_line_that_does_not_fit() -> None:
    diff = parse_diff(DIFF)
    rows = [plain(row).rstrip() for row in side_by_side(diff, 43)]

    assert rows[1:] == [
        "    1   one          │     1   one",
        "    2 - two          │     2 + zwei",
        "                     │     3 + drei",
    ]
    assert fits_side_by_side(diff, 43)
    assert not fits_side_by_side(parse_diff((*DIFF, "+" + "x" * 40)), 43)


async def test_the_commands_of_a_plan_are_listed_before_they_are_all_permitted() -> None:
    plan = ("make one", "make two")
    asked = AskedPermission(PermissionRequest("Run this command?", ("make one",), "make one", plan=plan))

    def listed() -> bool:
        return "make two" in "\n".join(map(plain, asked.rows(60)))

    assert not listed()
    assert asked.press("p")
    assert listed()
    assert "p again: exactly the 2 commands above" in "\n".join(map(plain, asked.key_line(60)))
    assert asked.press("x")
    assert not listed()
    asked.press("p")
    asked.press("p")
    assert (await asked.answer) == PermissionReply(PermissionAnswer.PLAN)
