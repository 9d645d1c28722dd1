"""The pictures of terminals, by name: how each is recorded, and where it is kept."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.pictures import demo
from tests.pictures.animation import animation
from tests.pictures.recording import Frame, Mark, read_frames, record_in_project
from tests.project.source import ROOT
from tests.suite.forking import PROGRAM
from tests.web.browser.plans import sample_store

IMAGES = ROOT / "docs" / "images"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a terminal. `make` records it from a real run."""

    name: str
    make: Callable[[], list[Frame]]
    columns: int
    label: str

    @property
    def record(self) -> Path:
        """The frames that the drawing was made from."""
        return Path(__file__).with_name(f"{self.name}.json")

    @property
    def drawing(self) -> Path:
        return IMAGES / f"{self.name}.svg"


def drawing(picture: Picture) -> str:
    """Draw a picture from its stored frames."""
    return animation(read_frames(picture.record), picture.columns, picture.label)


WATCH_SIZE = (160, 40)
WATCH = "A list of a dozen sessions with their states, the ones that need a person first, and the plan of one of them."


def watched() -> list[Frame]:
    """The first screen of `tildone watch`, with the sample sessions and one plan."""
    return record_in_project(
        lambda _, home: [PROGRAM, "watch", "--store", str(sample_store(home))],
        [Mark(r"live(?s:.*)Read the grammar(?s:.*)\? keys", 1.0)],
        WATCH_SIZE,
    )


PICTURES = {
    picture.name: picture
    for picture in (
        Picture("demo", demo.record, demo.COLUMNS, demo.LABEL),
        Picture("watch", watched, WATCH_SIZE[0], WATCH),
    )
}
