"""Makes the pictures again: `python -m tests.pictures [NAME…]`."""

import sys

from tests.pictures.board import BOARD_PICTURES, missing_fonts, photographs
from tests.pictures.pictures import IMAGES, PICTURES, drawing
from tests.pictures.recording import write_frames

names = sys.argv[1:] or [*PICTURES, *BOARD_PICTURES]
if not BOARD_PICTURES.keys().isdisjoint(names) and (trouble := missing_fonts()):
    sys.exit(trouble)
for name in names:
    if name in BOARD_PICTURES:
        board_picture = BOARD_PICTURES[name]
        for theme, image, text in photographs(board_picture):
            (IMAGES / board_picture.drawing(theme)).write_bytes(image)
            board_picture.text.write_text(text, encoding="utf-8")
    else:
        picture = PICTURES[name]
        write_frames(picture.record, picture.make())
        picture.drawing.write_text(drawing(picture), encoding="utf-8")
    print(f"wrote {name}")
