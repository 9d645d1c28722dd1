"""Reading: text in parts, images, directories, and what cannot be read."""

import base64
import os
from pathlib import Path

import pytest

from tests.host.tools.desk import Desk
from tildone.host.tools import files, read
from tildone.host.tools.tool_failure import ToolFailure
from tildone.kit.definition import ImageContent, TextContent

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")


def put(desk: Desk, name: str, data: str | bytes) -> Path:
    path = desk.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize("text", ["one\ntwo\n", "no end", "\n", "a\r\nb\r\n", "mixed\r\nends\nhere\r", "größe ✓ 🎉\n"])
async def test_text_is_read_as_it_is(desk: Desk, text: str) -> None:
    """Line ends, too."""
    put(desk, "ünï ✓.txt", text)

    assert (await desk.call("read", path="ünï ✓.txt")).text == text


async def test_an_empty_file_is_said_to_be_empty(desk: Desk) -> None:
    put(desk, "a", "")

    assert (await desk.call("read", path="a")).text == "(empty)"


async def test_long_text_comes_in_parts_that_make_the_whole(desk: Desk) -> None:
    """The notice says how to go on, and going on as it says misses nothing."""
    lines = [f"{number}\n" if number % 7 else "\n" for number in range(1, 4501)]
    put(desk, "long.txt", "".join(lines))

    first = await desk.call("read", path="long.txt")
    second = await desk.call("read", path="long.txt", offset=2001)
    third = await desk.call("read", path="long.txt", offset=4001)

    assert first.text == "".join(lines[:2000]) + "\n[Lines 1 to 2000 of 4500: go on with offset=2001]"
    assert second.text.endswith("\n\n[Lines 2001 to 4000 of 4500: go on with offset=4001]")
    assert third.text == "".join(lines[4000:])
    assert (first.details["truncated"], third.details["truncated"]) == (True, False)


async def test_a_part_can_be_asked_for(desk: Desk) -> None:
    """Also one that holds nothing but an empty line."""
    put(desk, "a.txt", "one\n\nthree\nfour")

    assert (await desk.call("read", path="a.txt", offset=2, limit=1)).text == (
        "\n\n[Lines 2 to 2 of 4: go on with offset=3]"
    )
    assert (await desk.call("read", path="a.txt", offset=3, limit=9)).text == "three\nfour"
    with pytest.raises(ToolFailure, match=r"a\.txt has only 4 lines: there is no line 5"):
        await desk.call("read", path="a.txt", offset=5)
    with pytest.raises(ToolFailure, match="count from 1"):
        await desk.call("read", path="a.txt", offset=0)


async def test_no_more_than_50_kb_come_at_once(desk: Desk) -> None:
    put(desk, "wide.txt", ("x" * 999 + "\n") * 60)

    result = await desk.call("read", path="wide.txt")

    assert result.details["outputLines"] == 50
    assert result.text.endswith("[Lines 1 to 50 of 60: go on with offset=51]")


async def test_a_line_that_is_too_long_is_cut_and_the_rest_is_within_reach(desk: Desk) -> None:
    """The command that the notice names shows it."""
    put(desk, "it's one.json", "é" * 40_000 + "\nnext\n")

    result = await desk.call("read", path="it's one.json")

    text, _, notes = result.text.partition("\n\n")
    assert text == "é" * 25_000
    assert "go on with offset=2]" in notes
    command = notes.partition("with bash, ")[2].partition("]\n")[0]
    assert (await desk.bash(command)).text == "é" * 15_000


async def test_what_is_not_utf_8_is_shown_as_well_as_can_be(desk: Desk) -> None:
    put(desk, "latin.txt", "café\n".encode("latin-1"))

    assert (await desk.call("read", path="latin.txt")).text == (
        "caf\ufffd\n\n[Not all of it is UTF-8: what is not is shown as \ufffd]"
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("\ufeffhi\n".encode(), "hi\n"),
        ("hi ✓\n".encode("utf-16"), "hi ✓\n\n[The file is in UTF-16-LE]"),
        (b"\xfe\xff" + "hi\n".encode("utf-16-be"), "hi\n\n[The file is in UTF-16-BE]"),
        ("hi\n".encode("utf-32"), "hi\n\n[The file is in UTF-32-LE]"),
    ],
)
async def test_a_mark_says_how_text_is_encoded(desk: Desk, data: bytes, said: str) -> None:
    put(desk, "a.txt", data)

    assert (await desk.call("read", path="a.txt")).text == said


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
        (b"GIF89a\x01\x00", "image/gif"),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
async def test_images_are_known_by_what_they_hold(desk: Desk, data: bytes, mime_type: str) -> None:
    put(desk, "picture.txt", data)

    result = await desk.call("read", path="picture.txt")

    note, image = result.content
    assert note == TextContent(f"[picture.txt: {mime_type}, {len(data)} B]")
    assert isinstance(image, ImageContent)
    assert (base64.b64decode(image.data_base64), image.mime_type) == (data, mime_type)


async def test_an_image_that_no_provider_takes_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MAX_IMAGE_BYTES", 10)
    put(desk, "a.png", PNG)

    with pytest.raises(ToolFailure, match=r"a\.png is an image of \d+ B; at most 10 B can be shown"):
        await desk.call("read", path="a.png")


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"text\0text", bytes(range(1, 32)) * 9])
async def test_a_binary_file_is_refused(desk: Desk, data: bytes) -> None:
    put(desk, "a.bin", data)

    with pytest.raises(ToolFailure, match=r"a\.bin is a binary file \(\d+ B\); look into it with bash"):
        await desk.call("read", path="a.bin")


async def test_a_huge_file_is_left_to_better_tools(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 10)
    put(desk, "log", "x" * 11)

    with pytest.raises(ToolFailure, match="log has 11 B; look at parts of it with bash"):
        await desk.call("read", path="log")


async def test_a_missing_file_names_what_is_near(desk: Desk) -> None:
    put(desk, "src/config.py", "")
    put(desk, "tests/helpers.py", "")
    put(desk, "node_modules/helpers.py", "")

    with pytest.raises(ToolFailure, match=r"^src/confg\.py does not exist\. Did you mean src/config\.py\?$"):
        await desk.call("read", path="src/confg.py")
    with pytest.raises(ToolFailure, match=r"Did you mean src/config\.py\?"):
        await desk.call("read", path="src/CONFIG.PY")
    with pytest.raises(ToolFailure, match=r"Did you mean src\?"):
        await desk.call("read", path="srcs/deep/down/main.py")
    with pytest.raises(ToolFailure, match=r"Did you mean tests/helpers\.py\?"):
        await desk.call("read", path="src/helpers.py")
    with pytest.raises(ToolFailure, match=r"^zzz does not exist$"):
        await desk.call("read", path="zzz")


async def test_a_directory_is_listed(desk: Desk) -> None:
    """Directories first; a name cannot pass for two, and any bytes make a name."""
    put(desk, "b.txt", "")
    put(desk, "a\nc.txt", "")
    put(desk, "zoo/x", "")
    (desk.folder / "loop").symlink_to("loop")
    os.close(os.open(os.fsencode(desk.folder) + b"/\xff", os.O_CREAT))

    assert (await desk.call("read", path=".")).text == "zoo/\na⏎c.txt\nb.txt\nloop\n\ufffd\n"


async def test_what_is_neither_file_nor_directory_is_not_opened(desk: Desk) -> None:
    """A pipe would never end."""
    os.mkfifo(desk.folder / "pipe")

    with pytest.raises(ToolFailure, match="pipe is not a regular file"):
        await desk.call("read", path="pipe")


async def test_what_the_system_says_is_passed_on_without_numbers(desk: Desk) -> None:
    (desk.folder / "loop").symlink_to("loop")

    with pytest.raises(ToolFailure, match=r"^loop: Too many levels of symbolic links$"):
        await desk.call("read", path="loop")
