"""The pictures show what the program shows today."""

import os
import struct
import xml.etree.ElementTree as ET

import pytest

from tests.pictures.board import BOARD_PICTURES, THEMES, photographs
from tests.pictures.pictures import IMAGES, PICTURES, drawing
from tests.pictures.recording import read_frames
from tests.project.source import ROOT
from tests.web.browser.install import HOW, find_browser

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pictures are recorded at a POSIX terminal")
PNG = b"\x89PNG\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_run_today_shows_the_screens_of_the_picture(name: str) -> None:
    picture = PICTURES[name]
    stored = read_frames(picture.record)
    recorded = picture.make()
    assert [frame.text for frame in recorded] == [frame.text for frame in stored]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_drawn_from_its_frames(name: str) -> None:
    picture = PICTURES[name]
    assert picture.drawing.read_text(encoding="utf-8") == drawing(picture)
    svg = ET.fromstring(drawing(picture))  # noqa: S314  our own file
    assert svg.get("aria-label") == picture.label
    assert not [element for element in svg.iter() if element.tag.endswith(("script", "foreignObject", "image"))]


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARD_PICTURES)
def test_the_board_today_says_what_the_picture_shows(name: str) -> None:
    if find_browser() is None and not os.environ.get("CI"):
        pytest.skip(HOW)
    picture = BOARD_PICTURES[name]
    stored = picture.text.read_text(encoding="utf-8")
    for _, image, text in list(photographs(picture)):
        assert text == stored
        assert image.startswith(PNG)


def test_every_picture_is_on_a_page_and_those_of_the_board_have_their_sizes() -> None:
    of_the_board = {picture.drawing(theme): picture.size for picture in BOARD_PICTURES.values() for theme in THEMES}
    begins = {file: (IMAGES / file).read_bytes()[:24] for file in of_the_board}
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]

    assert {file: struct.unpack(">II", begin[16:]) for file, begin in begins.items()} == of_the_board
    assert {begin[: len(PNG)] for begin in begins.values()} == {PNG}
    files = [*of_the_board, *(f"{name}.svg" for name in PICTURES)]
    assert [file for file in files if not any(f"images/{file}" in page for page in pages)] == []
