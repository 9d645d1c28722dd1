"""Clients are installed once and completely, and errors say what is missing."""

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
    """With the real npm, from a folder, so that no network is needed."""
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
def test_a_failed_download_leaves_the_old_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "clients"
    (folder / "greeter").mkdir(parents=True)
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))

    with pytest.raises(
        Missing, match=r"(?s)ECONNREFUSED.*could not install greeter 1\.0\.0: .*; is the network reachable"
    ):
        install.install("greeter", Package("greeter", "1.0.0"), folder)

    assert [path.name for path in folder.iterdir()] == ["greeter"]
    assert not installed("greeter", Package("greeter", "1.0.0"), folder)


def test_an_unknown_client_and_a_missing_npm_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install.main(["pi", "eliza"]) == 2
    assert capsys.readouterr().err == f"there is no client 'eliza'; there are {', '.join(CLIENTS)}\n"
    monkeypatch.setattr(shutil, "which", lambda _: None)

    assert install.main(["pi"], tmp_path) == 1

    assert capsys.readouterr().err == "node is installed with npm, which is not on PATH; it comes with Node.js\n"


@needs_npm
@pytest.mark.slow
def test_a_client_without_a_build_for_this_platform_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its package runs npm for the build, which the registry does not have; the other clients are installed."""
    ours = own_package(tmp_path)
    failing = tmp_path / "failing"
    failing.mkdir()
    lines = "npm error code ETARGET", "npm error notarget No matching version found for failing-arm@1.0.0."
    scripts = {"postinstall": f"{'; '.join(f'echo {line}' for line in lines)}; exit 1"}
    manifest = {"name": "failing", "version": "1.0.0", "scripts": scripts}
    (failing / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
    packages = {"failing": Package("failing", f"file:{failing}", scripts=True), "greeter": ours}
    monkeypatch.setattr(install, "CLIENTS", packages)
    monkeypatch.setattr(install, "node_is_new_enough", lambda: True)

    assert install.main([], tmp_path / "clients") == 0

    printed = capsys.readouterr().out
    reason = "No matching version found for failing-arm@1.0.0; its tests are skipped"
    assert f"npm could not install failing file:{failing}: {reason}\n" in printed
    assert installed("greeter", ours, tmp_path / "clients")
    assert not installed("failing", packages["failing"], tmp_path / "clients")


def test_another_version_does_not_count_as_installed(tmp_path: Path) -> None:
    stamp, wanted = tmp_path / "pi" / "installed.json", Package("pi", "2.0.0")
    stamp.parent.mkdir()

    results = [installed("pi", wanted, tmp_path)]
    for text in (
        "{",
        *(f'{{"name": "pi", "version": "{version}", "scripts": false}}' for version in ("1.0.0", "2.0.0")),
    ):
        stamp.write_text(text, encoding="utf-8")
        results.append(installed("pi", wanted, tmp_path))

    assert results == [False, False, False, True]


def test_an_old_node_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest version that is enough is one that every client runs on."""
    versions = {"v22.19.0": True, "v24.1.0": True, "v22.18.9": False, "v20.20.2": False, "": False}
    answers = (subprocess.CompletedProcess([], 0, stdout=f"{version}\n") for version in versions)
    monkeypatch.setattr(shutil, "which", lambda _: "node")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: next(answers))

    assert {version: install.node_is_new_enough() for version in versions} == versions


def test_the_reason_of_npm_is_the_missing_version_or_the_last_line() -> None:
    missing = ("code 1", "npm error notarget No matching version found for a@1.", "Help.")
    not_found = ("code E404", "404 Not Found", "A complete log of this run can be found in: x")

    reasons = [
        install.npm_reason("".join(f"npm error {line}\n" for line in lines)) for lines in (missing, not_found, ())
    ]

    assert reasons == ["No matching version found for a@1", "404 Not Found", "npm printed nothing"]


def own_package(folder: Path) -> Package:
    source = folder / "source"
    source.mkdir()
    manifest = {"name": "greeter", "version": "1.0.0", "bin": {"greet": "greet.js"}}
    (source / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
    (source / "greet.js").write_text("#!/usr/bin/env node\nconsole.log('hello');\n", encoding="utf-8")
    return Package("greeter", f"file:{source}")


def forbidden(*command: object, **_: object) -> NoReturn:
    raise AssertionError(f"nothing should be run: {command}")
