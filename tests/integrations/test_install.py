"""Installing tildone into the settings of coding agents and removing it.

Whatever others edit between, and wherever links lead.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from shlex import quote
from types import ModuleType
from typing import Any

import pytest

from tests.cli.person import Person
from tests.integrations import drill
from tests.suite.forking import PROGRAM
from tildone.agents.install import PROJECT, USER, Site, edits_for, jsonc, toml
from tildone.agents.install.files import (
    Backups,
    FileChanged,
    ObjectMember,
    SettingsChange,
    install,
    install_changes,
    uninstall,
    uninstall_changes,
    write_all,
)
from tildone.agents.integrations import INTEGRATIONS
from tildone.agents.integrations.claude import RAISED_CAP
from tildone.base import Refused, UsageError
from tildone.base.files import replace_file
from tildone.plan.gate import Patience

CONFIGS = Path(__file__).parent / "configs"
EVERY = pytest.mark.parametrize("name", tuple(INTEGRATIONS))


@pytest.fixture
def settled(person: Person, name: str) -> Person:
    if (CONFIGS / name).exists():
        shutil.copytree(CONFIGS / name, person.home, dirs_exist_ok=True)
    return person


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def load_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8-sig"))


@EVERY
def test_install_is_idempotent_and_uninstall_restores_every_file(settled: Person, name: str) -> None:
    """A dry run writes nothing."""
    before = files(settled.home)
    planned = settled.says("install", name, "--dry-run")
    assert files(settled.home) == before

    settled.says("install", name, "--no-check")
    once = files(settled.home)
    again = settled.says("install", name, "--no-check")
    twice = files(settled.home)
    settled.says("uninstall", name)

    assert ("tildone" in planned, planned.endswith("nothing was written.\n")) == (True, True)
    assert once != before
    assert twice == once
    assert again.startswith(f"{INTEGRATIONS[name].title} is set up already.\n")
    assert files(settled.home) == before


def test_coding_agents_run_the_program_that_installed(person: Person) -> None:
    """By its absolute path: a coding agent may have another PATH."""
    person.says("install", "claude", "codex", "opencode", "--no-check")

    server = load_json(person.home / ".claude.json")["mcpServers"]["tildone"]
    settings = load_json(person.home / ".claude" / "settings.json")
    codex = tomllib.loads((person.home / ".codex" / "config.toml").read_text())
    opencode = load_json(person.home / ".config" / "opencode" / "opencode.json")
    assert server == {"type": "stdio", "command": str(PROGRAM), "args": ["mcp"], "alwaysLoad": True}
    assert settings["hooks"]["Stop"][0]["hooks"][0]["command"] == f"{quote(str(PROGRAM))} hook claude"
    assert codex["mcp_servers"]["tildone"] == {"command": str(PROGRAM), "args": ["mcp"]}
    assert codex["hooks"]["Stop"][0]["hooks"][0]["command"] == f"{quote(str(PROGRAM))} hook codex"
    assert opencode["mcp"]["tildone"]["command"] == [str(PROGRAM), "mcp"]


@pytest.mark.parametrize(
    ("before", "limit"),
    [
        ("{}", "100"),
        ('{"env": {"A": "1"}}', "100"),
        ('{"env": {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "12"}}', "12"),
        ('{"env": {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "100"}}', "100"),
    ],
)
@pytest.mark.parametrize("changed", [False, True])
def test_the_agents_limit_of_continuations_is_raised_unless_the_person_has_set_it(
    person: Person, before: str, limit: str, *, changed: bool
) -> None:
    """Also if another program has changed the file since, so that the old bytes can't simply be written back."""
    settings = person.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(before, encoding="utf-8")

    person.says("install", "claude", "--no-check")
    installed = settings.read_text(encoding="utf-8")
    if changed:
        settings.write_text(installed + "\n", encoding="utf-8")
    person.says("uninstall", "claude")

    assert json.loads(installed)["env"]["CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"] == limit
    assert Patience().drift < int(RAISED_CAP)
    assert settings.read_text(encoding="utf-8").rstrip("\n") == before


def test_options_of_install_are_options_of_the_server(person: Person) -> None:
    person.says("install", "cursor", "--dialect", "phased", "--session", "team", "--no-hooks", "--no-check")
    servers = load_json(person.home / ".cursor" / "mcp.json")
    assert servers["mcpServers"]["tildone"]["args"] == ["mcp", "--dialect", "phased", "--session", "team"]
    assert not (person.home / ".cursor" / "hooks.json").exists()

    person.says("install", "gemini", "--no-mcp", "--no-check")
    assert "mcpServers" not in load_json(person.home / ".gemini" / "settings.json")


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("claude", ".claude/settings.json", '{"hooks": '),
        ("claude", ".claude/settings.json", '{"hooks": []}'),
        ("claude", ".claude/settings.json", "[]"),
        ("gemini", ".gemini/settings.json", '{"a": 1} {"b": 2}'),
        ("gemini", ".gemini/settings.json", '{"mcpServers": {"tildone": {"command": "somebody-elses"}}}'),
        ("codex", ".codex/config.toml", "[broken"),
        ("codex", ".codex/config.toml", "mcp_servers = 3"),
        ("codex", ".codex/config.toml", '[hooks]\nStop = "mine"\n'),
        ("codex", ".codex/config.toml", '[hooks.Stop]\ncommand = "mine"\n'),
        ("codex", ".codex/config.toml", '[mcp_servers.tildone]\ncommand = "somebody-elses"\n'),
        ("pi", ".pi/agent/extensions/tildone.ts", "// somebody else's"),
        ("cursor", ".cursor/hooks.json", '{"hooks": {"stop": {}}}'),
        ("cursor", ".cursor/hooks.json", b"\xff\xfe{}"),
    ],
)
def test_settings_that_can_not_be_parsed_or_are_not_ours_are_not_changed(
    person: Person, name: str, file: str, text: str | bytes
) -> None:
    path = person.home / file
    path.parent.mkdir(parents=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = files(person.home)

    answer = person.run("install", name)

    assert answer.code == 3
    assert len(answer.err.splitlines()) == 1
    if text == '{"hooks": ':
        assert f"{path} can't be parsed (line 1, column 11: " in answer.err
    assert files(person.home) == before


def test_a_symbolic_link_is_followed(person: Person) -> None:
    """Settings are often links into a repository of dotfiles."""
    real = person.home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text('{"a": 1}\n')
    (person.home / ".claude").mkdir()
    (person.home / ".claude" / "settings.json").symlink_to(real)

    person.says("install", "claude", "--no-check")

    assert (person.home / ".claude" / "settings.json").is_symlink()
    assert "tildone" in real.read_text()


def test_the_original_is_kept_among_tildones_own_data(person: Person) -> None:
    """As it was before the first installation; nothing is left beside the file, and nothing at all after removal."""
    settings = person.home / ".qwen" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"a": 1}')
    settings.chmod(0o640)

    person.says("install", "qwen", "--no-check")
    person.says("install", "qwen", "--dialect", "indexed", "--no-check")

    folder = person.home / ".local" / "share" / "tildone" / "settings-backups"
    [backup] = folder.iterdir()
    assert load_json(backup)["before"] == '{"a": 1}'
    assert load_json(backup)["file"] == str(settings)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]
    person.says("uninstall", "qwen")
    assert not folder.exists()


def test_a_backup_of_an_earlier_version_beside_the_file_is_used_and_removed(person: Person) -> None:
    """It tells that the empty array was there before."""
    settings = person.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooks": {"AfterAgent": [ ]}}')
    person.says("install", "gemini", "--no-check")
    shutil.rmtree(person.home / ".local")
    backup = settings.with_name("settings.json.tildone-backup")
    backup.write_text('{"hooks": {"AfterAgent": [ ]}}')

    person.says("uninstall", "gemini")

    assert settings.read_text() == '{"hooks": {"AfterAgent": [ ]}}'
    assert not backup.exists()


def test_without_a_name_the_coding_agents_are_listed(person: Person) -> None:
    (person.home / ".gemini").mkdir()
    person.says("install", "pi", "--no-check")

    lines = person.says("install").splitlines()

    by_agent = {line.split()[0]: line for line in lines[:-1]}
    assert list(by_agent) == list(INTEGRATIONS)
    assert "installed" in by_agent["pi"]
    assert " found " in by_agent["gemini"]
    assert "not found" in by_agent["qwen"]


def test_all_means_every_coding_agent_that_is_found(person: Person) -> None:
    none = person.says("install", "all", PATH="/nowhere")
    (person.home / ".qwen").mkdir()

    out = person.says("install", "all", PATH="/nowhere")

    assert none.startswith("None of the coding agents that tildone supports was found here.")
    assert "Installed into Qwen Code:" in out
    assert {path.name for path in person.home.iterdir() if path.name.startswith(".")} - {".local"} == {".qwen"}


def test_wrong_arguments_are_usage_errors(person: Person) -> None:
    for argv, why in (
        (("install", "claud"), "did you mean 'claude'"),
        (("install", "claude", "--scope", "global"), "--scope is user or project"),
        (("install", "claude", "--no-mcp", "--no-hooks"), "leave nothing to install"),
        (("install", "claude-desktop", "--scope", "project"), "no project settings"),
        (("install", "codex", "--as-plugin", "x"), "only claude takes a plugin folder"),
        (("uninstall",), "requires AGENT"),
    ):
        answer = person.run(*argv)

        assert answer.code == 2, argv
        assert why in answer.err, argv
        assert files(person.home) == {}, argv


def test_a_plugin_folder_holds_server_hooks_and_command(person: Person) -> None:
    """Writing it twice gives the same."""
    person.says("install", "claude", "--as-plugin", "plugin")
    out = person.says("install", "claude", "--as-plugin", "plugin")

    made = person.folder / "plugin"
    assert load_json(made / ".claude-plugin" / "plugin.json")["name"] == "tildone"
    assert load_json(made / ".mcp.json")["mcpServers"]["tildone"]["command"] == str(PROGRAM)
    assert set(load_json(made / "hooks" / "hooks.json")["hooks"]) >= {"Stop", "SessionStart", "UserPromptSubmit"}
    assert "$ARGUMENTS" in (made / "commands" / "plan.md").read_text()
    assert out.endswith(f"claude --plugin-dir {made}\n")


def test_settings_are_below_the_home_on_every_platform() -> None:
    """A program with a space in its path is quoted as the platform's shell wants it."""
    for platform in ("linux", "darwin", "win32"):
        site = Site("/home/ada", "/home/ada/app", USER, {}, "/opt/my tools/tildone", platform=platform)
        for name in INTEGRATIONS:
            edits = edits_for(INTEGRATIONS[name].configure, site)

            assert edits, (name, platform)
            assert [edit.file for edit in edits if not edit.file.startswith("/home/ada/")] == [], (name, platform)
        quoted = '"/opt/my tools/tildone" hook' if platform == "win32" else "'/opt/my tools/tildone' hook"
        assert site.hook_command("claude").startswith(quoted)


def test_variables_that_move_the_settings_are_respected() -> None:
    """The same ones that the coding agents use themselves."""
    moved = {"CLAUDE_CONFIG_DIR": "/cfg/claude", "CODEX_HOME": "/cfg/codex", "XDG_CONFIG_HOME": "/cfg/xdg"}
    site = Site("/home/ada", "/app", USER, moved, "/bin/tildone", platform="linux")

    places = {
        name: {os.path.dirname(edit.file) for edit in edits_for(INTEGRATIONS[name].configure, site)}
        for name in INTEGRATIONS
    }

    assert places["claude"] == {"/cfg/claude"}
    assert places["codex"] == {"/cfg/codex"}
    assert places["vscode"] == {"/cfg/xdg/Code/User"}
    with pytest.raises(UsageError):
        edits_for(INTEGRATIONS["claude-desktop"].configure, Site("/home/ada", "/app", PROJECT, {}, "/bin/tildone"))


def test_the_output_is_a_few_lines_and_verbose_shows_the_changes(person: Person) -> None:
    settings = person.home / ".gemini" / "settings.json"

    assert person.says("install", "gemini").splitlines() == [
        "Installed into Gemini CLI:",
        f"  {settings}  (new)",
        f"  ✓ Gemini CLI: tools and hooks answer (tildone {version('tildone')})",
        "Next: restart Gemini CLI.",
    ]
    assert person.says("uninstall", "gemini").splitlines() == [
        "Removed from Gemini CLI:",
        f"  {settings}  (removed)",
        "Next: restart Gemini CLI. Plans are kept.",
    ]
    assert '+   "mcpServers": {\n' in person.says("install", "gemini", "--verbose")
    assert '-   "mcpServers": {\n' in person.says("uninstall", "gemini", "--verbose")


@pytest.mark.skipif(os.name == "nt", reason="the folders of an environment are laid out as on Unix")
@pytest.mark.parametrize(
    ("folder", "marker", "permanently"),
    [("archive-v0/x", "", "uv tool install"), (".cache/x", "pipx_metadata.json", "pipx install")],
)
def test_a_temporary_copy_is_not_installed(
    person: Person, tmp_path: Path, folder: str, marker: str, permanently: str
) -> None:
    """Coding agents would run it from a cache that is deleted some day."""
    environment = tmp_path / folder
    venv.create(environment, symlinks=True)
    packages = next(environment.glob("lib/python*/site-packages"))
    packages.joinpath("all.pth").write_text("\n".join(entry for entry in sys.path if entry))
    if marker:
        (environment / marker).touch()

    done = subprocess.run(
        [environment / "bin" / "python", "-m", "tildone", "install", "gemini"],
        cwd=person.folder,
        env=person.environment({}),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert f"install it first: {permanently} 'tildone @" in done.stderr
    assert files(person.home) == {}


def test_a_file_that_another_program_changes_meanwhile_keeps_its_changes(tmp_path: Path) -> None:
    """The change is computed again from the file as it is now."""
    settings = tmp_path / "settings.json"
    settings.write_text('{"a": 1}\n')
    edit = ObjectMember(str(settings), ("mcpServers", "tildone"), {"command": "tildone", "args": ["mcp"]})
    backups = Backups(str(tmp_path / "data"))
    changes = install_changes([edit], backups)
    settings.write_text('{"a": 2}\n')

    with pytest.raises(FileChanged):
        install(changes[0], backups)
    write_all(changes, partial(install, backups=backups), lambda: install_changes([edit], backups))

    installed = load_json(settings)
    assert installed["a"] == 2
    assert installed["mcpServers"]["tildone"]["command"] == "tildone"

    changes = uninstall_changes([edit], backups)
    settings.write_text(settings.read_text().replace('"a": 2', '"a": 3'))
    write_all(changes, partial(uninstall, backups=backups), lambda: uninstall_changes([edit], backups))

    assert load_json(settings) == {"a": 3}


def test_a_file_that_changes_all_the_time_is_left_alone(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text('{"a": 1}\n')
    edit = ObjectMember(str(settings), ("mcpServers", "tildone"), {"command": "tildone", "args": ["mcp"]})

    backups = Backups(str(tmp_path / "data"))

    def interfered() -> list[SettingsChange]:
        changes = install_changes([edit], backups)
        settings.write_text(settings.read_text() + " ")
        return changes

    with pytest.raises(FileChanged, match="another program is changing"):
        write_all(interfered(), partial(install, backups=backups), interfered)

    assert "tildone" not in settings.read_text()


FEW = 12


@pytest.mark.parametrize("name", tuple(INTEGRATIONS))
def test_after_the_last_uninstall_nothing_of_ours_and_everything_of_theirs(tmp_path: Path, name: str) -> None:
    run_all(name, tmp_path.resolve(), range(FEW))


@pytest.mark.slow
@pytest.mark.parametrize("name", tuple(INTEGRATIONS))
def test_after_more_sequences_too(tmp_path: Path, name: str) -> None:
    run_all(name, tmp_path.resolve(), range(FEW, drill.SEQUENCES))


@pytest.mark.parametrize(
    ("name", "module", "remove"),
    [
        ("codex", toml, lambda text, path, removed=toml.remove: removed(text, path).rpartition("\n")[0]),
        ("gemini", jsonc, lambda text, _path: text),
    ],
    ids=["lost", "left"],
)
def test_the_drill_notices_what_is_lost_or_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: ModuleType, remove: Callable[..., str]
) -> None:
    """With an edit that takes one line too many, and with a removal that does nothing."""
    monkeypatch.setattr(module, "remove", remove)

    with pytest.raises(AssertionError, match=f"{name}, sequence"):
        run_all(name, tmp_path, range(drill.SEQUENCES))


def run_all(name: str, folder: Path, numbers: range) -> None:
    for number in numbers:
        drill.run(name, number, folder / str(number))


LINKS = {".claude/settings.json": ".bashrc", ".mcp.json": "servers.json", ".claude": "folder"}


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize("exists", [True, False], ids=["existing", "dangling"])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_link_out_of_the_project_is_refused(person: Person, verb: str, link: str, *, exists: bool) -> None:
    """By name; neither its target nor any other file is changed."""
    target = person.home / LINKS[link]
    if exists and link == ".claude":
        target.mkdir()
        (target / "settings.json").write_text("{}\n")
    elif exists:
        target.write_text("{}\n")
    (person.folder / link).parent.mkdir(exist_ok=True)
    (person.folder / link).symlink_to(target)
    before = content(person.home), content(person.folder)

    options = ["--no-check"] if verb == "install" else []
    answer = person.run(verb, "claude", "--scope", "project", *options)

    assert answer.code == 3
    assert f"{person.folder / link} is a symbolic link to {target}, outside of {person.folder}" in answer.err
    assert (content(person.home), content(person.folder)) == before


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_within_the_project_is_followed(person: Person) -> None:
    (person.folder / "shared").mkdir()
    (person.folder / ".claude").symlink_to("shared")

    person.says("install", "claude", "--scope", "project", "--no-check")

    assert "tildone" in (person.folder / "shared" / "settings.json").read_text()
    person.says("uninstall", "claude", "--scope", "project")
    assert not (person.folder / "shared" / "settings.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_plugin_folder_is_not_left_either(person: Person) -> None:
    (person.folder / "plugin").mkdir()
    (person.folder / "plugin" / "commands").symlink_to(person.home)

    answer = person.run("install", "claude", "--as-plugin", "plugin")

    assert answer.code == 3
    assert content(person.home) == {}


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_folder_that_becomes_a_link_before_it_is_written_is_noticed(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / ".claude").mkdir(parents=True)
    outside.mkdir()
    backups = Backups(str(tmp_path / "data"))
    edit = ObjectMember(str(project / ".claude" / "settings.json"), ("a",), 1)
    [change] = install_changes([edit], backups, str(project))

    (project / ".claude").rmdir()
    (project / ".claude").symlink_to(outside)

    with pytest.raises(Refused, match="is a symbolic link to"):
        install(change, backups)
    assert content(outside) == {}


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_at_the_name_of_a_draft_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name cannot be guessed; if it could, the link would still stay unused."""
    outside = tmp_path / "outside"
    outside.write_text("mine")
    replace_file(str(tmp_path / "settings"), b"x")
    monkeypatch.setattr(os, "urandom", bytes)
    (tmp_path / f".tildone-{'00' * 6}.tmp").symlink_to(outside)

    with pytest.raises(FileExistsError):
        replace_file(str(tmp_path / "settings"), b"y")

    assert (outside.read_text(), (tmp_path / "settings").read_text()) == ("mine", "x")
