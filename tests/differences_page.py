"""`docs/differences.md`, generated from the list of differences by `python -m tests.differences_page`."""

from pathlib import Path

from tildone.differences import DIFFERENCES, Difference

PAGE = Path(__file__).parents[1] / "docs" / "differences.md"
OPENING = """\
# Differences from the originals

tildone re-implements the todo tools of pi-til-done, `todo_write` of oh-my-pi and `TodoWrite` of MyCodeAgent. Recordings
of all three are replayed against it. This page lists the deliberate differences and their reasons. It is generated from
`tildone.differences.DIFFERENCES`, and each entry has a test.
"""


def page() -> str:
    """Return the whole page."""
    return "\n".join([OPENING, *map(_entry, DIFFERENCES)])


def _entry(difference: Difference) -> str:
    title = difference.id.replace("-", " ").capitalize()
    return (
        f"## {title}\n\n- *The original:* {difference.original}\n- *tildone:* {difference.tildone}\n"
        f"- *Why:* {difference.why}\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
