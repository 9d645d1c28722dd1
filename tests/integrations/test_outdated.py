"""What an earlier version installed, what works on one machine only, and coding agents that are too old."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import Person
from tests.integrations.test_checks import check
from tests.suite.forking import PROGRAM
from tildone.agents import doctor as host_version
from tildone.agents.doctor import too_old
from tildone.agents.integrations import INTEGRATIONS

WITH_PROJECT = [name for name in INTEGRATIONS if name != "claude-desktop"]


def warnings(person: Person, name: str) -> list[tuple[str, str]]:
    return [(what, remedy) for status, what, remedy in check(person, name) if status == "warning"]


def test_the_hook_line_of_an_earlier_version_in_gemini_is_reported(person: Person) -> None:
    """Gemini CLI refuses to run an agent whose hook cannot be started, which the present line prevents."""
    person.says("install", "gemini", "--no-check")
    settings = person.home / ".gemini" / "settings.json"
    text = settings.read_text()
    settings.write_text(text.replace("shopt -s execfail 2>/dev/null; exec ", "").replace("; exit 0", ""))

    [(what, remedy)] = warnings(person, "gemini")
    person.says(*remedy.split()[1:], "--no-check")

    assert "a tildone that cannot be started would stop the agent" in what
    assert remedy == "tildone install gemini"
    assert settings.read_text() == text


@pytest.mark.parametrize(
    ("name", "file"), [("opencode", ".config/opencode/plugins/tildone.js"), ("pi", ".pi/agent/extensions/tildone.ts")]
)
def test_the_shim_of_an_earlier_version_is_reported(person: Person, name: str, file: str) -> None:
    person.says("install", name, "--no-check")
    shim = person.home / file
    text = shim.read_text()
    shim.write_text(text.replace("callHook", "runHook"))

    [(what, remedy)] = warnings(person, name)
    person.says(*remedy.split()[1:], "--no-check")

    assert f"{shim.name} is another version's" in what
    assert shim.read_text() == text


def test_a_server_entry_without_the_key_that_keeps_its_tool_in_every_request_is_reported(person: Person) -> None:
    person.says("install", "claude", "--no-check")
    settings = person.home / ".claude.json"
    data = json.loads(settings.read_text())
    del data["mcpServers"]["tildone"]["alwaysLoad"]
    settings.write_text(json.dumps(data))

    [(what, remedy)] = warnings(person, "claude")

    assert "the server's entry has no alwaysLoad" in what
    assert remedy == "tildone install claude"


@pytest.mark.parametrize("name", WITH_PROJECT)
def test_files_of_a_project_name_no_path_of_this_machine(person: Person, name: str) -> None:
    """They run the tildone on the PATH, the person learns that others need it, and no backup is in the project."""
    (person.folder / ".codex").mkdir()
    (person.folder / ".codex" / "config.toml").write_text("model = 'x'\n")

    out = person.says("install", name, "--scope", "project", "--no-check")

    texts = {path.name: path.read_text() for path in person.folder.rglob("*") if path.is_file()}
    assert any("tildone" in text for text in texts.values())
    assert not [file for file, text in texts.items() if str(PROGRAM.parent) in text or str(person.home) in text]
    assert not [file for file in texts if "backup" in file]
    assert "Everyone who uses these files needs tildone on their PATH" in out
    for prompt in INTEGRATIONS[name].prompts.get("project", ()):
        assert f"{INTEGRATIONS[name].title} will ask {prompt}." in out


def test_a_path_of_this_machine_in_the_files_of_a_project_is_reported(person: Person) -> None:
    """As earlier versions wrote it."""
    person.says("install", "cursor", "--scope", "project", "--no-check")
    for path in (person.folder / ".cursor").iterdir():
        text = path.read_text()
        path.write_text(text.replace('"tildone hook', f'"{PROGRAM} hook').replace('"tildone",', f'"{PROGRAM}",'))

    [(what, remedy)] = warnings(person, "cursor")
    person.says(*remedy.split()[1:], "--no-check")

    assert "a path of this machine" in what
    assert remedy == "tildone install cursor --scope project"
    assert warnings(person, "cursor") == []


def test_a_project_where_tildone_is_not_on_the_path_says_so(person: Person, tmp_path: Path) -> None:
    person.says("install", "vscode", "--scope", "project", "--no-check")
    python = tmp_path / "bin"
    python.mkdir()
    (python / "sh").symlink_to("/bin/sh")

    [(status, what, remedy)] = check(person, "vscode", PATH=str(python))

    assert (status, remedy) == ("problem", f"add {PROGRAM.parent} to your PATH")
    assert what == "VS Code in this project: tools do not answer: tildone is not on the PATH"


def fake_agent(folder: Path, package: str, version: str, name: str) -> Path:
    """An installed npm package, as npm lays it out."""
    home = folder / "lib" / "node_modules" / package
    (home / "bin").mkdir(parents=True)
    (home / "package.json").write_text(json.dumps({"name": package, "version": version}))
    program = home / "bin" / "cli.js"
    program.write_text("#!/bin/sh\nsleep 100\n")
    program.chmod(0o755)
    (folder / "bin").mkdir()
    (folder / "bin" / name).symlink_to(program)
    return folder / "bin"


OLD = {name: each.min_versions["gate"] for name in INTEGRATIONS if "gate" in (each := INTEGRATIONS[name]).min_versions}


@pytest.mark.skipif(os.name == "nt", reason="npm makes no links there")
@pytest.mark.parametrize("name", OLD)
def test_a_coding_agent_that_is_too_old_for_the_gate_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The program is not started: this one would not answer."""
    agent = INTEGRATIONS[name]
    older = ".".join([*OLD[name].split(".")[:-2], "0", "0"]) if name != "pi" else "0.86.9"
    older = {"opencode": "0.15.31"}.get(name, older)
    monkeypatch.setenv("PATH", str(fake_agent(tmp_path / "old", agent.package, older, agent.executable)))
    found = [finding.what for finding in too_old(agent)]
    monkeypatch.setenv("PATH", str(fake_agent(tmp_path / "new", agent.package, "99.0.0", agent.executable)))

    assert [*too_old(agent)] == []
    assert f"{agent.title} {older} is older than {OLD[name]}: an agent that stops early is not continued" in found


def version_of(monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    monkeypatch.setenv("PATH", str(folder))
    return host_version.host_version(INTEGRATIONS["codex"])


@pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
def test_a_version_is_read_from_the_path_or_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As native installers lay it out; a program that does not answer in time has no version."""

    def program(folder: Path, script: str) -> Path:
        folder.mkdir(parents=True)
        (folder / "codex").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "codex").chmod(0o755)
        return folder

    monkeypatch.setattr(host_version, "VERSION_TIMEOUT_SECONDS", 0.5)

    assert version_of(monkeypatch, program(tmp_path / "Cellar" / "0.31.2" / "bin", "exit 1")) == "0.31.2"
    assert version_of(monkeypatch, program(tmp_path / "a", "echo codex-cli 0.99.1-alpha")) == "0.99.1"
    assert version_of(monkeypatch, program(tmp_path / "b", "exec /bin/sleep 100")) == ""
    assert version_of(monkeypatch, program(tmp_path / "c", "echo none; exit 3")) == ""
    assert version_of(monkeypatch, tmp_path / "nowhere") == ""


def test_install_and_doctor_say_that_a_coding_agent_is_too_old(person: Person, tmp_path: Path) -> None:
    package: Any = INTEGRATIONS["codex"].package
    path = f"{fake_agent(tmp_path / 'npm', package, '0.99.0', 'codex')}{os.pathsep}{os.environ['PATH']}"

    installed = person.run("install", "codex", PATH=path)
    found = check(person, "codex", PATH=path)

    what = "Codex 0.99.0 is older than 0.125.0: an agent that stops early is not continued"
    remedy = "npm install -g @openai/codex@latest"
    assert installed.code == 0
    assert f"! {what}" in " ".join(installed.out.split())
    assert ("warning", what, remedy) in found
