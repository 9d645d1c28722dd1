"""The `read`, `write` and `edit` tools: parts of files, whole changes or none, diffs, no way out by links."""

import asyncio
import base64
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.host.tools.tool_bench import AnsweringUI, ToolBench
from tests.needs import need
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.kit.definition import ImageContent, TextContent
from tildone.run.tools import builtin, files
from tildone.run.tools.files import (
    Replacement,
    ToolFailure,
    apply_replacements,
    hunks,
    read_file,
    replace_file,
    split_lines,
    unified_diff,
)
from tildone.run.tools.permissions import PermissionPolicy

relative_files = pytest.mark.skipif(
    os.open not in os.supports_dir_fd, reason="files cannot be opened relative to a folder"
)
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")


BINARY = [b"\x7fELF\0\0", b"text\0text", bytes(range(1, 32)) * 9]
TEXTS = ["one\ntwo\n", "no end", "\n", "a\r\nb\r\n", "mixed\r\nends\nhere\r", "größe ✓ 🎉\n"]


def put(bench: ToolBench, name: str, data: str | bytes) -> Path:
    path = bench.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


async def test_long_text_is_returned_in_parts(bench: ToolBench) -> None:
    """Following the notice of each part reads the whole text."""
    lines = [f"{number}\n" if number % 7 else "\n" for number in range(1, 4501)]
    put(bench, "long.txt", "".join(lines))

    first, second, third = [await bench.call("read", path="long.txt", offset=at) for at in (1, 2001, 4001)]

    assert first.text == "".join(lines[:2000]) + "\n[Lines 1 to 2000 of 4500: go on with offset=2001]"
    assert second.text.endswith("\n\n[Lines 2001 to 4000 of 4500: go on with offset=4001]")
    assert third.text == "".join(lines[4000:])
    assert (first.details["truncated"], third.details["truncated"]) == (True, False)
    assert (await bench.call("read", path="long.txt")) == first


async def test_a_range_of_lines_can_be_read(bench: ToolBench) -> None:
    """The range may be one empty line."""
    put(bench, "a.txt", "one\n\nthree\nfour")

    assert await bench.read("a.txt", offset=2, limit=1) == "\n\n[Lines 2 to 2 of 4: go on with offset=3]"
    assert await bench.read("a.txt", offset=3, limit=9) == "three\nfour"
    assert "a.txt has only 4 lines: there is no line 5" in await bench.refusal("read", path="a.txt", offset=5)
    assert "count from 1" in await bench.refusal("read", path="a.txt", offset=0)


async def test_at_most_50_kb_are_returned(bench: ToolBench) -> None:
    put(bench, "wide.txt", ("x" * 999 + "\n") * 60)

    result = await bench.call("read", path="wide.txt")

    assert result.details["outputLines"] == 50
    assert result.text.endswith("[Lines 1 to 50 of 60: go on with offset=51]")


async def test_a_long_line_is_truncated_and_the_notice_shows_how_to_read_the_rest(bench: ToolBench) -> None:
    """The command that the notice names shows it."""
    put(bench, "it's one.json", "é" * 40_000 + "\nnext\n")

    text, _, notes = (await bench.read("it's one.json")).partition("\n\n")

    assert text == "é" * 25_000
    assert "go on with offset=2]" in notes
    command = notes.partition("with bash, ")[2].partition("]\n")[0]
    assert (await bench.bash(command)).text == "é" * 15_000


READ = {text.encode(): text for text in TEXTS} | {
    b"": "(empty)",
    "café\n".encode("latin-1"): "caf\ufffd\n\n[Not all of it is UTF-8: what is not is shown as \ufffd]",
    "\ufeffhi\n".encode(): "hi\n",
    "hi ✓\n".encode("utf-16"): "hi ✓\n\n[The file is in UTF-16-LE]",
    b"\xfe\xff" + "hi\n".encode("utf-16-be"): "hi\n\n[The file is in UTF-16-BE]",
    "hi\n".encode("utf-32"): "hi\n\n[The file is in UTF-32-LE]",
}
IMAGES = {
    PNG: "image/png",
    b"\xff\xd8\xff\xe0\x00\x10JFIF": "image/jpeg",
    b"GIF89a\x01\x00": "image/gif",
    b"RIFF\x24\x00\x00\x00WEBPVP8 ": "image/webp",
}


async def test_text_is_read_as_it_is(bench: ToolBench) -> None:
    """This includes line ends. The byte order mark determines the encoding."""
    for data, text in READ.items():
        put(bench, "ünï ✓.txt", data)

        assert await bench.read("ünï ✓.txt") == text


async def test_images_are_recognized_by_their_content(bench: ToolBench) -> None:
    for data, mime_type in IMAGES.items():
        put(bench, "picture.txt", data)

        note, image = (await bench.call("read", path="picture.txt")).content
        assert note == TextContent(f"[picture.txt: {mime_type}, {len(data)} B]")
        assert image == ImageContent(base64.b64encode(data).decode(), mime_type)


async def test_what_no_model_can_read_is_refused(bench: ToolBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Special files are not opened: a pipe would never end. System errors are reported without numbers."""
    monkeypatch.setattr(builtin, "MAX_IMAGE_BYTES", 10)
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1000)
    put(bench, "a.png", PNG)
    put(bench, "large", b"x" * 1001)
    os.mkfifo(bench.folder / "pipe")
    (bench.folder / "loop").symlink_to("loop")

    said = {name: await bench.refusal("read", path=name) for name in ("a.png", "large", "pipe", "loop")}

    assert said == {
        "a.png": f"a.png is an image of {len(PNG)} B; at most 10 B can be shown. Make it smaller.",
        "large": "large has 1001 B; look at parts of it with bash (sed -n, grep, tail)",
        "pipe": "pipe is not a regular file",
        "loop": "loop: its links form a circle, or have changed in the meantime",
    }
    for data in BINARY:
        put(bench, "a", data)
        words = await bench.refusal("read", path="a")
        assert words == f"a is a binary file ({len(data)} B); look into it with bash (file, strings, xxd)"


SUGGESTIONS = {
    "src/confg.py": "src/confg.py does not exist. Did you mean src/config.py?",
    "src/CONFIG.PY": "src/CONFIG.PY does not exist. Did you mean src/config.py?",
    "srcs/deep/down/main.py": "srcs/deep/down/main.py does not exist. Did you mean src?",
    "src/helpers.py": "src/helpers.py does not exist. Did you mean tests/helpers.py?",
    "zzz": "zzz does not exist",
}


async def test_a_missing_file_is_an_error_with_suggestions(bench: ToolBench) -> None:
    for name in ("src/config.py", "tests/helpers.py", "node_modules/helpers.py"):
        put(bench, name, "")

    assert {path: await bench.refusal("read", path=path) for path in SUGGESTIONS} == SUGGESTIONS


async def test_a_directory_is_listed(bench: ToolBench) -> None:
    """Directories are first; line feeds and undecodable bytes in names are replaced."""
    for name in ("b.txt", "a\nc.txt", "zoo/x"):
        put(bench, name, "")
    (bench.folder / "loop").symlink_to("loop")
    os.close(os.open(os.fsencode(bench.folder) + b"/\xff", os.O_CREAT))

    assert await bench.read(".") == "zoo/\na⏎c.txt\nb.txt\nloop\n\ufffd\n"


async def test_a_file_is_created_with_its_folders(bench: ToolBench) -> None:
    result = await bench.call("write", path="näw/deep ✓/a.txt", content="one\r\ntwo ✓")

    assert (bench.folder / "näw/deep ✓/a.txt").read_bytes() == "one\r\ntwo ✓".encode()
    assert result.text == "Created näw/deep ✓/a.txt: 2 lines, 12 B"
    assert result.details == {"summary": "Created: 2 lines, 12 B", "lines": 2, "bytes": 12}


async def test_a_file_is_replaced_and_keeps_its_mode(bench: ToolBench) -> None:
    """A new one has the default mode: the umask applies, unlike for temporary files."""
    script = put(bench, "run.sh", "old")
    script.chmod(0o751)
    (bench.folder / "other").touch()

    result = await bench.call("write", path="run.sh", content="new\n")
    await bench.call("write", path="mine", content="")

    assert result.text == "Replaced run.sh: 1 line, 4 B"
    assert script.read_text(encoding="utf-8") == "new\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o751
    assert (bench.folder / "mine").stat().st_mode == (bench.folder / "other").stat().st_mode


@pytest.mark.parametrize("step", ["fsync", "replace"])
async def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    bench: ToolBench, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = put(bench, "a", "old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)

    assert await bench.refusal("write", path="a", content="new") == "a: No space left on device"
    assert os.listdir(bench.folder) == ["a"]
    assert path.read_text(encoding="utf-8") == "old"


async def test_a_path_that_cannot_be_a_file_is_refused(bench: ToolBench) -> None:
    """So is a lone surrogate, which models sometimes write, and which cannot be encoded."""
    (bench.folder / "folder").mkdir()
    put(bench, "file", "")

    half = await bench.refusal("write", path="a", content="ok\nbad \ud83d")

    assert "folder is not a regular file" in await bench.refusal("write", path="folder", content="x")
    assert re.search("file/x: (Not a directory|File exists)", await bench.refusal("write", path="file/x", content="x"))
    assert "content holds half a character (U+D83D) on line 2" in half
    assert not (bench.folder / "a").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
async def test_a_read_only_file_is_not_changed(bench: ToolBench) -> None:
    (bench.folder / "a").touch(mode=0o444)

    with pytest.raises(ToolFailure, match="a is read-only"):
        await bench.call("write", path="a", content="x")


async def test_text_is_replaced_and_the_diff_returned(bench: ToolBench) -> None:
    path = put(bench, "a.py", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
    path.chmod(0o640)

    result = await bench.call("edit", path="a.py", old_text="five\n", new_text="5\n5½\n")

    assert path.read_text(encoding="utf-8") == "one\ntwo\nthree\nfour\n5\n5½\nsix\nseven\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert result.text == "Edited a.py: 1 place, +2 -1 lines, from line 5 on"
    assert result.details == {
        "summary": "1 place, +2 -1",
        "diff": "--- a.py\n+++ a.py\n@@ -2,6 +2,7 @@\n two\n three\n four\n-five\n+5\n+5½\n six\n seven",
        "firstChangedLine": 5,
        "added": 2,
        "removed": 1,
    }


SIMILAR = {
    "def great(name):\n    pass": "Most like it is line 3: def greet(name):",
    "  def greet(name):\n\treturn name": "Only its white space differs from what begins on line 3.",
    "@@@@": "Read the file, and copy the text from there.",
}


async def test_missing_text_is_an_error_that_names_the_most_similar_line(bench: ToolBench) -> None:
    path = put(bench, "a.py", "import os\n\ndef greet(name):\n    return name\n")

    for old, hint in SIMILAR.items():
        said = await bench.refusal("edit", path="a.py", old_text=old, new_text="")
        assert said == f"old_text is not in a.py. {hint}"
    assert path.read_text(encoding="utf-8").count("greet") == 1


async def test_ambiguous_text_is_not_replaced_but_all_matches_can_be(bench: ToolBench) -> None:
    path = put(bench, "a.py", before := "x = 1\ny = 2\nx = 1\n" + "x = 1\n" * 10)

    assert await bench.refusal("edit", path="a.py", old_text="x = 1", new_text="x = 2") == (
        "old_text stands 12 times in a.py, on lines 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, …. "
        "Give more of the text around the one you mean, or set all to true."
    )
    assert path.read_text(encoding="utf-8") == before

    result = await bench.call("edit", path="a.py", old_text="x = 1", new_text="x = 3", all=True)

    assert path.read_text(encoding="utf-8") == before.replace("x = 1", "x = 3")
    assert result.details["summary"] == "12 places, +12 -12"


LINE_ENDS = [
    ("a\r\nb\r\nc\r\n", "a\nb\n", "1\n2\n3\n", "1\r\n2\r\n3\r\nc\r\n"),
    ("a\r\nb\r\n", "a", "1\n2", "1\r\n2\r\nb\r\n"),
    ("a\r\nb\r\n", "a\r\nb", "1\r\n2", "1\r\n2\r\n"),
    ("a\nb\n", "a\r\nb", "1\r\n2", "1\n2\n"),
    ("a\r\nb\nc\nd\n", "a\nb", "1\n2", "1\r\n2\nc\nd\n"),
    ("a\r\nb\nc\nd\n", "c", "1\n2", "a\r\nb\n1\n2\nd\n"),
    ("one line", "one", "1\r\n2", "1\r\n2 line"),
    ("a\r\n", "\n", "", "a"),
]
ENCODINGS = {
    b"\xef\xbb\xbfold\n": b"\xef\xbb\xbfnew\n",
    "old ✓\n".encode("utf-16"): "new ✓\n".encode("utf-16"),
    b"caf\xe9 old \xff\xfe\n": b"caf\xe9 new \xff\xfe\n",
}


async def test_new_text_adopts_the_line_ends_around_it(bench: ToolBench) -> None:
    """Models write line feeds even for files with CRLF."""
    for before, old, new, after in LINE_ENDS:
        path = put(bench, "a.py", before)

        await bench.call("edit", path="a.py", old_text=old, new_text=new)

        assert path.read_bytes() == after.encode()


async def test_the_encoding_of_the_file_is_preserved(bench: ToolBench) -> None:
    """This includes undecodable bytes."""
    for before, after in ENCODINGS.items():
        path = put(bench, "a.py", before)

        result = await bench.call("edit", path="a.py", old_text="old", new_text="new")

        assert path.read_bytes() == after
        assert result.details["diff"].encode()


EDITS = [("", "x", "old_text is empty"), ("one", "one", "the same"), ("one\n", "one\r\n", "the same")]
EDITS += [("one", "\udc41", "half a character")]
NO_TEXTS: dict[bytes | None, str] = {
    None: "a.py does not exist; to make a file, use write",
    b"one\0": "a.py is a binary file",
    b"\xff\xfeo": "a.py is not the UTF-16-LE that its first bytes say it is",
}


async def test_an_invalid_edit_is_refused(bench: ToolBench) -> None:
    """So is one of a file that is no text."""
    for data, said in NO_TEXTS.items():
        if data is not None:
            put(bench, "a.py", data)
        assert said in await bench.refusal("edit", path="a.py", old_text="one", new_text="two")
    path = put(bench, "a.py", "one\ntwo\n")
    for old, new, said in EDITS:
        assert said in await bench.refusal("edit", path="a.py", old_text=old, new_text=new)

    assert path.read_bytes() == b"one\ntwo\n"


async def test_old_text_is_not_a_pattern(bench: ToolBench) -> None:
    path = put(bench, "a.py", "a.b axb (c)\\1")

    await bench.call("edit", path="a.py", old_text="a.b", new_text="\\1\\g<0>")

    assert path.read_text(encoding="utf-8") == "\\1\\g<0> axb (c)\\1"


async def test_concurrent_edits_are_all_applied(bench: ToolBench) -> None:
    """Each reads, changes and writes the file before the next one reads it."""
    names = [f"<{number}>" for number in range(40)]
    path = put(bench, "a.py", "\n".join(names))
    (bench.folder / "link.py").symlink_to("a.py")

    await asyncio.gather(
        *(
            bench.call("edit", path=("a.py", "./link.py")[number % 2], old_text=name, new_text=f"[{number}]")
            for number, name in enumerate(names)
        )
    )

    assert path.read_text(encoding="utf-8") == "\n".join(f"[{number}]" for number in range(40))


async def test_an_edit_in_a_large_file_is_fast(bench: ToolBench) -> None:
    """Every other line changes; comparing all lines would take minutes."""
    put(bench, "a.py", "old\nsame\n" * 50_000)

    result = await bench.call("edit", path="a.py", old_text="old", new_text="new", all=True)

    assert result.details["summary"] == "50,000 places, +50000 -50000"
    assert len(result.details["diff"]) <= 50_000


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, list[Replacement]]:
    """A text and replacements in it."""
    text = draw(st.text("ab\n", min_size=1, max_size=60))
    places = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=8)))
    pairs = zip(places[::2], places[1::2], strict=False)
    return text, [Replacement(start, end, draw(st.text("xy\n", max_size=6))) for start, end in pairs]


def applied(diff: str, text: str) -> Iterator[str]:
    """Apply a diff, all context lines of which must match, and return the new lines."""
    lines, at = split_lines(text), 0
    marked = split_lines(diff + "\n")[2:]
    for number, line in enumerate(marked):
        ends = number + 1 < len(marked) and marked[number + 1].startswith("\\")
        words = line[1:-1] if ends else line[1:]
        match line[0]:
            case "@":
                start, _, count = line.split()[1].removeprefix("-").partition(",")
                first = int(start) - (count != "0")
                yield from lines[at:first]
                at = first
            case "+":
                yield words
            case "-" | " ":
                assert lines[at] == words
                at += 1
                yield from [words] if line[0] == " " else []
            case _:
                assert line == "\\ No newline at end of file\n"
    yield from lines[at:]


@settings(max_examples=300, derandomize=True)
@given(edits())
def test_a_diff_turns_the_old_text_into_the_new_one(edit: tuple[str, list[Replacement]]) -> None:
    text, replacements = edit

    diff = unified_diff(text, hunks(text, replacements), "a")

    assert "".join(applied(diff, text)) == apply_replacements(text, replacements)


def test_other_programs_can_apply_it(tmp_path: Path) -> None:
    need("git")
    text = "".join(f"{number}\n" for number in range(40)) + "end"
    parts = ["0\n", "5\n6\n", "12", "30\n31\n", "end"]
    changes = [Replacement(text.index(part), text.index(part) + len(part), "new\nnewer") for part in parts]
    (tmp_path / "a").write_text(text, encoding="utf-8")
    diff = unified_diff(text, hunks(text, changes), "a") + "\n"

    subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=diff, text=True, check=True)

    assert (tmp_path / "a").read_text(encoding="utf-8") == apply_replacements(text, changes)


DIFFS = [
    ("a\nb\nc\n", "a\nb", "a\nB", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"),
    ("a\n", "a\n", "", "@@ -1 +0,0 @@\n-a"),
    ("a\nb", "\nb", "", "@@ -1,2 +1 @@\n-a\n-b\n\\ No newline at end of file\n+a\n\\ No newline at end of file"),
]


def test_a_diff_contains_only_changed_lines_and_context() -> None:
    for text, old, new, diff in DIFFS:
        change = Replacement(text.index(old), text.index(old) + len(old), new)

        assert unified_diff(text, hunks(text, [change]), "x") == f"--- x\n+++ x\n{diff}"


CHANGED = "its links form a circle, or have changed in the meantime"
ROUNDS = 400

RACER = """
import os, shutil, sys
place = sys.argv[1]
folder, link, aside = (os.path.join(place, name) for name in ("folder", "link", "aside"))

def put_back():
    if os.path.islink(folder):
        os.rename(folder, link)
    if os.path.isdir(aside):
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(aside, folder)

print("ready", flush=True)
complete = True
while True:
    try:
        if not complete:
            put_back()
        complete = False
        os.rename(folder, aside); os.rename(link, folder)
        os.rename(folder, link); os.rename(aside, folder)
        complete = True
    except OSError:
        continue  # a write has created the folder while it was missing
"""


class SwappingUI(AnsweringUI):
    """Replaces a folder by a link to another while the person is asked."""

    def __init__(self, folder: Path, target: Path) -> None:
        super().__init__()
        self.folder, self.target = folder, target

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        self.folder.rename(self.folder.with_name("aside"))
        self.folder.symlink_to(self.target)
        self.answers = [PermissionAnswer.ONCE]
        return await super().ask_permission(request)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def race(folder: Path) -> "subprocess.Popen[bytes]":
    """Start the process that swaps, and wait until it is at work."""
    racer = subprocess.Popen([sys.executable, "-c", RACER, str(folder)], stdout=subprocess.PIPE)
    assert racer.stdout is not None
    racer.stdout.readline()
    return racer


@pytest.fixture
def elsewhere(folder: Path) -> Path:
    """A folder outside, with the same files as `folder` inside."""
    place = folder.parent / "elsewhere"
    for where, text in ((place, "secret"), (folder / "folder", "inside")):
        where.mkdir()
        (where / "file").write_text(text, encoding="utf-8")
    return place


@relative_files
@pytest.mark.parametrize("path", ["folder/file", "folder/new", "folder/deep/new", "an edit of folder/file"])
async def test_a_folder_that_is_swapped_while_the_person_is_asked(folder: Path, elsewhere: Path, path: str) -> None:
    bench = ToolBench(folder, PermissionPolicy(), SwappingUI(folder / "folder", elsewhere))
    edit = {"path": "folder/file", "old_text": "inside", "new_text": "mine"}
    is_edit = path.startswith("an edit")

    said = await (bench.refusal("edit", **edit) if is_edit else bench.refusal("write", path=path, content="mine"))

    assert CHANGED in said
    assert contents(elsewhere) == {"file": "secret"}
    assert (folder / "aside/file").read_text(encoding="utf-8") == "inside"


@relative_files
@pytest.mark.parametrize("path", ["link/file", "file-link", "up/link/file"])
def test_a_resolved_path_is_used_without_following_links(folder: Path, elsewhere: Path, path: str) -> None:
    (folder / "up").mkdir()
    (folder / "link").symlink_to(elsewhere)
    (folder / "up/link").symlink_to(elsewhere)
    (folder / "file-link").symlink_to(elsewhere / "file")

    with pytest.raises(ToolFailure, match=f"shown: {CHANGED}"):
        read_file(str(folder.resolve() / path), "shown")
    with pytest.raises(ToolFailure, match=f"shown: {CHANGED}"):
        replace_file(str(folder.resolve() / path), b"mine", "shown")

    assert (elsewhere / "file").read_text(encoding="utf-8") == "secret"


@relative_files
@pytest.mark.usefixtures("elsewhere")
async def test_links_to_targets_inside_are_followed(folder: Path) -> None:
    """The file that the link leads to is replaced, and keeps its mode."""
    (folder / "folder/file").chmod(0o640)
    (folder / "link").symlink_to("folder")
    (folder / "file-link").symlink_to("link/file")
    bench = ToolBench(folder)

    await bench.call("write", path="file-link", content="one\n")
    await bench.call("edit", path="link/file", old_text="one", new_text="two")
    listed = await bench.call("read", path="link")

    assert await bench.read("file-link") == "two\n"
    assert listed.text == "file\n"
    assert (folder / "file-link").is_symlink()
    assert stat.S_IMODE((folder / "folder/file").stat().st_mode) == 0o640
    assert os.listdir(folder / "folder") == ["file"]


@relative_files
@pytest.mark.slow
async def test_nothing_gets_out_while_a_folder_and_a_link_are_swapped(folder: Path, elsewhere: Path) -> None:
    """Another process swaps a folder and a link as fast as it can, during several hundred reads and writes."""
    (folder / "link").symlink_to(elsewhere)
    bench = ToolBench(folder)
    read: set[str] = set()
    with race(folder) as racer:
        try:
            for number in range(ROUNDS):
                calls = (
                    bench.call("read", path="folder/file"),
                    bench.call("read", path="folder"),
                    bench.call("write", path=f"folder/new-{number}", content="mine"),
                    bench.call("write", path="folder/over", content=f"mine {number}"),
                )
                for outcome in await asyncio.gather(*calls, return_exceptions=True):
                    if isinstance(outcome, BaseException):
                        assert isinstance(outcome, ToolFailure), outcome
                    else:
                        read.add(outcome.text)
        finally:
            racer.kill()

    assert contents(elsewhere) == {"file": "secret"}
    assert "secret" not in read
    assert "inside" in read
