"""The `read` tool: text in parts, images, directories, and errors."""

import base64
import os
from pathlib import Path

import pytest

from tests.host.tools.tool_bench import ToolBench
from tildone.run.kit.definition import ImageContent, TextContent
from tildone.run.tools import files, read
from tildone.run.tools.result_view import ToolFailure

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")


def put(bench: ToolBench, name: str, data: str | bytes) -> Path:
    path = bench.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize("text", ["one\ntwo\n", "no end", "\n", "a\r\nb\r\n", "mixed\r\nends\nhere\r", "größe ✓ 🎉\n"])
async def test_text_is_read_as_it_is(bench: ToolBench, text: str) -> None:
    """This includes line ends."""
    put(bench, "ünï ✓.txt", text)

    assert (await bench.call("read", path="ünï ✓.txt")).text == text


async def test_an_empty_file_is_reported_as_empty(bench: ToolBench) -> None:
    put(bench, "a", "")

    assert (await bench.call("read", path="a")).text == "(empty)"


async def test_long_text_is_returned_in_parts(bench: ToolBench) -> None:
    """Following the notice of each part reads the whole text."""
    lines = [f"{number}\n" if number % 7 else "\n" for number in range(1, 4501)]
    put(bench, "long.txt", "".join(lines))

    first = await bench.call("read", path="long.txt")
    second = await bench.call("read", path="long.txt", offset=2001)
    third = await bench.call("read", path="long.txt", offset=4001)

    assert first.text == "".join(lines[:2000]) + "\n[Lines 1 to 2000 of 4500: go on with offset=2001]"
    assert second.text.endswith("\n\n[Lines 2001 to 4000 of 4500: go on with offset=4001]")
    assert third.text == "".join(lines[4000:])
    assert (first.details["truncated"], third.details["truncated"]) == (True, False)


async def test_a_range_of_lines_can_be_read(bench: ToolBench) -> None:
    """The range may be one empty line."""
    put(bench, "a.txt", "one\n\nthree\nfour")

    assert (await bench.call("read", path="a.txt", offset=2, limit=1)).text == (
        "\n\n[Lines 2 to 2 of 4: go on with offset=3]"
    )
    assert (await bench.call("read", path="a.txt", offset=3, limit=9)).text == "three\nfour"
    with pytest.raises(ToolFailure, match=r"a\.txt has only 4 lines: there is no line 5"):
        await bench.call("read", path="a.txt", offset=5)
    with pytest.raises(ToolFailure, match="count from 1"):
        await bench.call("read", path="a.txt", offset=0)


async def test_at_most_50_kb_are_returned(bench: ToolBench) -> None:
    put(bench, "wide.txt", ("x" * 999 + "\n") * 60)

    result = await bench.call("read", path="wide.txt")

    assert result.details["outputLines"] == 50
    assert result.text.endswith("[Lines 1 to 50 of 60: go on with offset=51]")


async def test_a_long_line_is_truncated_and_the_notice_shows_how_to_read_the_rest(bench: ToolBench) -> None:
    """The command that the notice names shows it."""
    put(bench, "it's one.json", "é" * 40_000 + "\nnext\n")

    result = await bench.call("read", path="it's one.json")

    text, _, notes = result.text.partition("\n\n")
    assert text == "é" * 25_000
    assert "go on with offset=2]" in notes
    command = notes.partition("with bash, ")[2].partition("]\n")[0]
    assert (await bench.bash(command)).text == "é" * 15_000


async def test_invalid_utf_8_is_replaced(bench: ToolBench) -> None:
    put(bench, "latin.txt", "café\n".encode("latin-1"))

    assert (await bench.call("read", path="latin.txt")).text == (
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
async def test_the_byte_order_mark_determines_the_encoding(bench: ToolBench, data: bytes, said: str) -> None:
    put(bench, "a.txt", data)

    assert (await bench.call("read", path="a.txt")).text == said


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
        (b"GIF89a\x01\x00", "image/gif"),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
async def test_images_are_recognized_by_their_content(bench: ToolBench, data: bytes, mime_type: str) -> None:
    put(bench, "picture.txt", data)

    result = await bench.call("read", path="picture.txt")

    note, image = result.content
    assert note == TextContent(f"[picture.txt: {mime_type}, {len(data)} B]")
    assert isinstance(image, ImageContent)
    assert (base64.b64decode(image.data_base64), image.mime_type) == (data, mime_type)


async def test_a_large_image_is_refused(bench: ToolBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "MAX_IMAGE_BYTES", 10)
    put(bench, "a.png", PNG)

    with pytest.raises(ToolFailure, match=r"a\.png is an image of \d+ B; at most 10 B can be shown"):
        await bench.call("read", path="a.png")


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"text\0text", bytes(range(1, 32)) * 9])
async def test_a_binary_file_is_refused(bench: ToolBench, data: bytes) -> None:
    put(bench, "a.bin", data)

    with pytest.raises(ToolFailure, match=r"a\.bin is a binary file \(\d+ B\); look into it with bash"):
        await bench.call("read", path="a.bin")


async def test_a_huge_file_is_refused(bench: ToolBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 10)
    put(bench, "log", "x" * 11)

    with pytest.raises(ToolFailure, match="log has 11 B; look at parts of it with bash"):
        await bench.call("read", path="log")


async def test_a_missing_file_is_an_error_with_suggestions(bench: ToolBench) -> None:
    put(bench, "src/config.py", "")
    put(bench, "tests/helpers.py", "")
    put(bench, "node_modules/helpers.py", "")

    with pytest.raises(ToolFailure, match=r"^src/confg\.py does not exist\. Did you mean src/config\.py\?$"):
        await bench.call("read", path="src/confg.py")
    with pytest.raises(ToolFailure, match=r"Did you mean src/config\.py\?"):
        await bench.call("read", path="src/CONFIG.PY")
    with pytest.raises(ToolFailure, match=r"Did you mean src\?"):
        await bench.call("read", path="srcs/deep/down/main.py")
    with pytest.raises(ToolFailure, match=r"Did you mean tests/helpers\.py\?"):
        await bench.call("read", path="src/helpers.py")
    with pytest.raises(ToolFailure, match=r"^zzz does not exist$"):
        await bench.call("read", path="zzz")


async def test_a_directory_is_listed(bench: ToolBench) -> None:
    """Directories are first; line feeds and undecodable bytes in names are replaced."""
    put(bench, "b.txt", "")
    put(bench, "a\nc.txt", "")
    put(bench, "zoo/x", "")
    (bench.folder / "loop").symlink_to("loop")
    os.close(os.open(os.fsencode(bench.folder) + b"/\xff", os.O_CREAT))

    assert (await bench.call("read", path=".")).text == "zoo/\na⏎c.txt\nb.txt\nloop\n\ufffd\n"


async def test_special_files_are_not_opened(bench: ToolBench) -> None:
    """A pipe would never end."""
    os.mkfifo(bench.folder / "pipe")

    with pytest.raises(ToolFailure, match="pipe is not a regular file"):
        await bench.call("read", path="pipe")


async def test_system_errors_are_reported_without_numbers(bench: ToolBench) -> None:
    (bench.folder / "loop").symlink_to("loop")

    with pytest.raises(ToolFailure, match=r"^loop: its links form a circle, or have changed in the meantime$"):
        await bench.call("read", path="loop")
