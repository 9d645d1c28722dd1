"""`python3 do.py docs`: brings what the documents show of the program up to date, in place."""

import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tests.hooks import drills
from tests.project import acts_page, api_page, blocks, checks_page, cli_reference, fleet_page, wings_page
from tests.project.originals import page as originals
from tests.project.source import ROOT
from tests.walks import tmux
from tests.walks.walk import READERS, record


def documents() -> list[Path]:
    """Every document whose blocks are run, the README first."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def fresh() -> Iterator[tuple[Path, str]]:
    """Each document that shows something of the program, as it should be now."""
    yield wings_page.PAGE, wings_page.page()
    yield originals.PAGE, originals.page()
    yield drills.PAGE, drills.page()
    yield acts_page.PAGE, acts_page.page()
    yield api_page.PAGE, api_page.page()
    yield checks_page.PAGE, checks_page.page()
    yield fleet_page.PAGE, fleet_page.page()
    yield cli_reference.MANUAL, cli_reference.manual()
    yield cli_reference.PAGE, cli_reference.page()
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
