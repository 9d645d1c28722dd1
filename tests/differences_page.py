"""`docs/differences.md`, written from the list of differences: `python -m tests.differences_page`."""

from pathlib import Path

from tildone.differences import DIFFERENCES, Difference

PAGE = Path(__file__).parents[1] / "docs" / "differences.md"
OPENING = """\
# Differences from the originals

tildone re-implements pi-til-done's todo tools, oh-my-pi's `todo_write` and MyCodeAgent's `TodoWrite`, and
recorded behaviour of all three is replayed against it. Where it deliberately does something else, that is
listed here, with the reason. The list is data (`tildone.differences.DIFFERENCES`), each entry has a test of its own,
and this page is written from it.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([OPENING, *map(_entry, DIFFERENCES)])


def _entry(difference: Difference) -> str:
    title = difference.id.replace("-", " ").capitalize()
    return (
        f"## {title}\n\n- *The original:* {difference.original}\n- *Here:* {difference.here}\n"
        f"- *Why:* {difference.why}\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
