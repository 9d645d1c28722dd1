"""Copying to the clipboard with a program of the platform."""

import os
from pathlib import Path

import pytest

from tildone.run.extensions.presence import copy_to_clipboard, programs

on_posix = pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")


def install(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


@on_posix
def test_the_first_working_program_receives_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This includes text with lone surrogates."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    monkeypatch.setenv("DISPLAY", ":0")
    install(tmp_path, "xclip", "exit 1")
    install(tmp_path, "xsel", f'cat > "{tmp_path}/clipboard"')

    done = copy_to_clipboard("ünïcode \ud800")

    assert (done, (tmp_path / "clipboard").read_text(encoding="utf-8")) == (True, "ünïcode \\ud800")


@on_posix
def test_without_a_program_nothing_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DISPLAY", ":0")

    assert not copy_to_clipboard("text")


def test_every_platform_has_its_own_programs() -> None:
    assert programs("darwin", {}) == [("pbcopy",)]
    assert programs("win32", {}) == [("clip",)]
    assert programs("linux", {}) == []
