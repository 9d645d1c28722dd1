"""The pictures of terminals, by name: how each is recorded, and where it is kept."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.pictures import demo, watching
from tests.pictures.animation import animation
from tests.pictures.frames import read_frames
from tests.pictures.recording import Frame
from tests.project.source import ROOT

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
        """The picture itself."""
        return IMAGES / f"{self.name}.svg"


def drawing(picture: Picture) -> str:
    """Draw a picture from its stored frames."""
    return animation(read_frames(picture.record), picture.columns, picture.label)


PICTURES = {
    picture.name: picture
    for picture in (
        Picture("demo", demo.record, demo.COLUMNS, demo.LABEL),
        Picture("watch", watching.record, watching.COLUMNS, watching.LABEL),
    )
}
