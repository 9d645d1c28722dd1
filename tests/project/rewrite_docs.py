"""`python3 do.py docs`: brings what the documents show of the program up to date, in place."""

import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from tests.hooks import drills
from tests.project import api_page, blocks, cli_reference, reference_tables, wings_page
from tests.project.originals import page as originals
from tests.project.source import ROOT
from tests.walks import tmux
from tests.walks.walk import READERS, record


def documents() -> list[Path]:
    """Every document whose blocks are run, the README first."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


GENERATED: dict[Path, Callable[[], str]] = {
    wings_page.PAGE: wings_page.page,
    originals.PAGE: originals.page,
    drills.PAGE: drills.page,
    api_page.PAGE: api_page.page,
    cli_reference.MANUAL: cli_reference.manual,
    cli_reference.PAGE: cli_reference.page,
    **{each.path: each.page for each in (reference_tables.ACTS, reference_tables.CHECKS, reference_tables.FLEET)},
}
"""Each file that is made from the program, or has a part that is, and what returns it as it should be now."""


def fresh() -> Iterator[tuple[Path, str]]:
    """Each document that shows something of the program, as it should be now."""
    yield from ((path, page()) for path, page in GENERATED.items())
    for path in documents():
        if path not in (api_page.PAGE, cli_reference.PAGE, originals.PAGE, wings_page.PAGE):
            document = path.read_text(encoding="utf-8")
            with tempfile.TemporaryDirectory() as home, blocks.reader_of(document, Path(home)) as reader:
                yield path, blocks.rewritten(document, reader)


def walks() -> Iterator[tuple[Path, str]]:
    """The recorded walks, as they should be now; nothing where there is no terminal for them."""
    if tmux.why_not():
        return
    for reader in READERS:
        with tempfile.TemporaryDirectory() as home:
            yield record(reader, Path(home))


def main() -> None:
    for path, text in chain(fresh(), walks()):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"rewrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
