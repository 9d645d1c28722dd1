"""Clients are installed once, whole or not at all, and what is missing is said."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

from tests.clients import install
from tests.clients.install import CLIENTS, Missing, Package, installed, programs

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not on PATH")


@needs_npm
@pytest.mark.slow
def test_a_package_is_installed_and_a_second_call_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the real npm, from a folder, which takes no network."""
    package = own_package(tmp_path)
    folder = tmp_path / "clients"

    install.install("greeter", package, folder)

    assert capsys.readouterr().out.startswith("greeter: greeter file:")
    greeting = subprocess.run([programs("greeter", folder) / "greet"], capture_output=True, text=True, check=True)
    assert greeting.stdout == "hello\n"
    assert [path.name for path in folder.iterdir()] == ["greeter"]
    monkeypatch.setattr(subprocess, "run", forbidden)
    install.install("greeter", package, folder)
    assert capsys.readouterr().out == ""


@needs_npm
@pytest.mark.slow
def test_what_cannot_be_fetched_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of npm are shown, and a question about the network asked."""
    folder = tmp_path / "clients"
    (folder / "greeter").mkdir(parents=True)
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))

    with pytest.raises(Missing, match=r"(?s)ECONNREFUSED.*could not install greeter 1\.0\.0; is the network reachable"):
        install.install("greeter", Package("greeter", "1.0.0"), folder)

    assert [path.name for path in folder.iterdir()] == ["greeter"]
    assert not installed("greeter", Package("greeter", "1.0.0"), folder)


def test_without_npm_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And that is a failure."""
    monkeypatch.setattr(shutil, "which", lambda _: None)

    assert install.main(["pi"], tmp_path) == 1

    assert capsys.readouterr().err == "node is installed with npm, which is not on PATH; it comes with Node.js\n"


def test_an_unknown_client_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert install.main(["pi", "eliza"]) == 2

    assert capsys.readouterr().err == f"there is no client 'eliza'; there are {', '.join(CLIENTS)}\n"


def test_another_version_is_not_the_one_that_is_wanted(tmp_path: Path) -> None:
    """Nor is half of one, or a stamp that nobody can read."""
    stamp = tmp_path / "pi" / "installed.json"
    stamp.parent.mkdir()
    wanted = Package("pi", "2.0.0")

    found = []
    for text in (None, "{", json.dumps({"name": "pi", "version": "1.0.0", "scripts": False})):
        if text is not None:
            stamp.write_text(text, encoding="utf-8")
        found.append(installed("pi", wanted, tmp_path))

    assert found == [False, False, False]
    stamp.write_text(json.dumps({"name": "pi", "version": "2.0.0", "scripts": False}), encoding="utf-8")
    assert installed("pi", wanted, tmp_path)


@pytest.mark.parametrize(
    ("version", "enough"),
    [("v22.19.0", True), ("v24.1.0", True), ("v22.18.9", False), ("v20.20.2", False), ("", False)],
)
def test_an_old_node_is_not_enough(version: str, monkeypatch: pytest.MonkeyPatch, *, enough: bool) -> None:
    """The oldest that every client runs on is."""
    answer = subprocess.CompletedProcess([], 0, stdout=f"{version}\n")
    monkeypatch.setattr(shutil, "which", lambda _: "node")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)

    assert install.node_is_new_enough() is enough


def own_package(folder: Path) -> Package:
    """A package of ours with a program in it."""
    source = folder / "source"
    source.mkdir()
    manifest = {"name": "greeter", "version": "1.0.0", "bin": {"greet": "greet.js"}}
    (source / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
    (source / "greet.js").write_text("#!/usr/bin/env node\nconsole.log('hello');\n", encoding="utf-8")
    return Package("greeter", f"file:{source}")


def forbidden(*command: object, **_: object) -> NoReturn:
    raise AssertionError(f"nothing should be run: {command}")
