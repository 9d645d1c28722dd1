"""Lines of a history."""

from tildone.kit.text import display_width
from tildone.kit.theme import Role, Span, plain
from tildone.views.line_layout import clip_line, hanging_lines

LEAD = (Span("* 01m7ev36es", Role.WARNING), Span("  12:03", Role.MUTED))
SAID = [(Span("completed “a”"), (Span(" (12m)", Role.MUTED),)), (Span("started “b”"), ())]


def test_what_is_said_stands_beside_what_leads_it() -> None:
    """As many lines as there are texts, below each other."""
    assert [plain(line) for line in hanging_lines(LEAD, SAID)] == [
        "* 01m7ev36es  12:03  completed “a” (12m)",
        "                     started “b”",
    ]


def test_where_there_is_no_room_it_stands_below() -> None:
    """A little further in than its lead."""
    assert [plain(line) for line in hanging_lines((Span("  "), *LEAD), SAID, 40)] == [
        "  * 01m7ev36es  12:03",
        "    completed “a” (12m)",
        "    started “b”",
    ]


def test_no_line_is_wider_than_it_may_be() -> None:
    """Whatever the texts are, and however little room there is."""
    said = [(Span("日本語" * 20, bold=True), (Span(" (12m)"),)), (Span("x"), (Span("y" * 90),))]

    for columns in range(80):
        assert all(display_width(plain(line)) <= columns for line in hanging_lines(LEAD, said, columns))


def test_what_is_cut_keeps_its_style() -> None:
    """Up to the last sign of it."""
    line = (Span("ab"), Span("cdefgh", Role.DIM, strike=True), Span("ij"))

    assert clip_line(line, 5) == (Span("ab"), Span("cd…", Role.DIM, strike=True))
    assert clip_line(line, 10) == line
    assert hanging_lines((Span("a"),), [(Span("x" * 40, Role.DIM, bold=True), ())], 30)[0][-1] == Span(
        f"{'x' * 26}…", Role.DIM, bold=True
    )
