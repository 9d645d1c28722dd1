"""Layout of lines with a lead."""

from tildone.plan.text.styles import Role, Span, clip_line, display_width, hanging_lines, plain

LEAD = (Span("* 01m7ev36es", Role.WARNING), Span("  12:03", Role.MUTED))
SAID = [(Span("completed “a”"), (Span(" (12m)", Role.MUTED),)), (Span("started “b”"), ())]


def test_texts_are_beside_their_lead() -> None:
    """One line for each text."""
    assert [plain(line) for line in hanging_lines(LEAD, SAID)] == [
        "* 01m7ev36es  12:03  completed “a” (12m)",
        "                     started “b”",
    ]


def test_on_a_narrow_terminal_texts_are_below_their_lead() -> None:
    """Indented."""
    assert [plain(line) for line in hanging_lines((Span("  "), *LEAD), SAID, 40)] == [
        "  * 01m7ev36es  12:03",
        "    completed “a” (12m)",
        "    started “b”",
    ]


def test_no_line_is_wider_than_the_columns() -> None:
    texts = [(Span("日本語" * 20, bold=True), (Span(" (12m)"),)), (Span("x"), (Span("y" * 90),))]

    for columns in range(80):
        assert all(display_width(plain(line)) <= columns for line in hanging_lines(LEAD, texts, columns))


def test_a_clipped_text_keeps_its_style() -> None:
    line = (Span("ab"), Span("cdefgh", Role.DIM, strike=True), Span("ij"))

    assert clip_line(line, 5) == (Span("ab"), Span("cd…", Role.DIM, strike=True))
    assert clip_line(line, 10) == line
    assert hanging_lines((Span("a"),), [(Span("x" * 40, Role.DIM, bold=True), ())], 30)[0][-1] == Span(
        f"{'x' * 26}…", Role.DIM, bold=True
    )
