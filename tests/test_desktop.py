"""The programs of the person: those that copy to the clipboard, and the pager."""

import os
from pathlib import Path

import pytest

from tildone.base.desktop import clipboard_programs, copy_to_clipboard, page_text, terminal_copy

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")


def script(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def path_of(folder: Path) -> dict[str, str]:
    return {"PATH": f"{folder}:{os.defpath}"}


def test_the_first_program_that_works_copies_what_it_reads(tmp_path: Path) -> None:
    """This includes text with lone surrogates."""
    script(tmp_path, "xclip", "exit 1")
    script(tmp_path, "wl-copy", "cat > /no/such/folder/file")
    script(tmp_path, "xsel", f'echo "$@" > {tmp_path}/options; cat > {tmp_path}/copied')

    assert copy_to_clipboard("grüß \ud800\n", path_of(tmp_path) | {"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"})
    assert (tmp_path / "copied").read_text(encoding="utf-8") == "grüß \\ud800\n"
    assert (tmp_path / "options").read_text() == "--clipboard --input\n"


def test_no_program_is_used_where_there_is_none_and_one_that_fails_has_not_copied(tmp_path: Path) -> None:
    """Without a display, on another machine, and with another kind of display."""
    script(tmp_path, "xclip", "cat")
    elsewhere: list[dict[str, str]] = [{}, {"DISPLAY": ":0", "SSH_CONNECTION": "1"}, {"WAYLAND_DISPLAY": "wayland-0"}]
    for environ in elsewhere:
        assert clipboard_programs({"PATH": str(tmp_path), **environ}) == []
        assert not copy_to_clipboard("a", {"PATH": str(tmp_path), **environ})

    script(tmp_path, "pbcopy", "exit 1")
    assert not copy_to_clipboard("a", {"PATH": str(tmp_path)})
    (tmp_path / "pbcopy").write_text("#!/no/such/program\n")
    assert not copy_to_clipboard("a", {"PATH": str(tmp_path)})


@pytest.mark.parametrize("variable", ["WINDIR", "WSL_DISTRO_NAME"])
def test_windows_gets_the_text_as_it_expects_it(tmp_path: Path, variable: str) -> None:
    script(tmp_path, "clip.exe", f"cat > {tmp_path}/copied")

    assert copy_to_clipboard("grüß", path_of(tmp_path) | {variable: "x"})
    assert (tmp_path / "copied").read_bytes().decode("utf-16") == "grüß"


def test_the_terminal_is_asked_by_a_sequence() -> None:
    assert terminal_copy("grüß") == "\x1b]52;c;Z3LDvMOf\x07"


def test_a_pager_reads_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, "own", f'echo "$@" > {tmp_path}/options; cat > {tmp_path}/read')
    script(tmp_path, "less", f"cat > {tmp_path}/by_less")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PAGER", "own -x 'a b'")

    assert page_text("grüß\n")
    assert (tmp_path / "read").read_text(encoding="utf-8") == "grüß\n"
    assert (tmp_path / "options").read_text() == "-x a b\n"
    monkeypatch.delenv("PAGER")
    assert page_text("text")
    assert (tmp_path / "by_less").read_text() == "text"


@pytest.mark.parametrize("pager", ["no-such-pager", "false", "cat", "/bin/cat -A", "less '", " "])
def test_without_a_pager_that_stays_nothing_was_read(pager: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", pager)

    assert not page_text("text")
