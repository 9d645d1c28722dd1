"""Settings of a coding agent that keep it from running what is installed. Real clients confirm most of them."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tildone.agents.doctor import examine
from tildone.agents.install import PROJECT, USER, Site, edits_for, files
from tildone.agents.install.backups import Backups
from tildone.agents.integrations import INTEGRATIONS


def site(tmp_path: Path, scope: str = USER, environ: Mapping[str, str] | None = None) -> Site:
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True, exist_ok=True)
    return Site(str(tmp_path / "home"), str(project), scope, environ or {}, "/bin/tildone")


def silencers(name: str, here: Site) -> list[str]:
    """What silences an installation at a site."""
    integration = INTEGRATIONS[name]
    backups = Backups(os.path.join(here.home, "data"))
    for change in files.install_changes(edits_for(integration.configure, here), backups):
        files.install(change, backups)
    return examined(name, here)


def examined(name: str, here: Site) -> list[str]:
    found = examine(INTEGRATIONS[name], here)
    assert found is not None
    assert all(remedy for _, remedy in found.silencers)
    return [what for what, _ in found.silencers]


def write(file: Path, settings: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(settings if isinstance(settings, str) else json.dumps(settings))


def test_a_plain_installation_is_not_silenced(tmp_path: Path) -> None:
    for name in [name for name in INTEGRATIONS if name != "codex"]:
        assert silencers(name, site(tmp_path)) == [], name


@pytest.mark.parametrize(
    ("name", "file", "settings", "what"),
    [
        ("claude", ".claude/settings.json", {"disableAllHooks": True}, "all hooks are disabled in "),
        ("claude", "project/.claude/settings.local.json", {"disableAllHooks": True}, "all hooks are disabled in "),
        ("gemini", ".gemini/settings.json", {"hooksConfig": {"enabled": False}}, "hooks are disabled in "),
        ("gemini", "project/.gemini/settings.json", {"hooksConfig": {"enabled": False}}, "hooks are disabled in "),
        ("gemini", ".gemini/settings.json", {"hooksConfig": {"disabled": ["tildone"]}}, "our hooks are disabled in "),
        ("gemini", ".gemini/settings.json", {"mcp": {"excluded": ["tildone"]}}, "the server is excluded in "),
        ("gemini", ".gemini/settings.json", {"mcp": {"allowed": ["other"]}}, "allows other MCP servers only"),
        ("pi", ".pi/agent/settings.json", {"extensions": ["-extensions/tildone.ts"]}, "the extension is disabled in "),
        ("opencode", "project/opencode.json", {"mcp": {"tildone": {"enabled": False}}}, "the server is disabled in "),
    ],
)
def test_a_setting_that_disables_us_is_found(tmp_path: Path, name: str, file: str, settings: object, what: str) -> None:
    """In the user's own settings, or in those of the project, which override them."""
    write(tmp_path / "home" / file, settings)

    [found] = silencers(name, site(tmp_path))

    assert what in found


@pytest.mark.parametrize(
    ("name", "user", "project"),
    [
        ("claude", (".claude/settings.json", {"disableAllHooks": True}), {"disableAllHooks": False}),
        (
            "gemini",
            (".gemini/settings.json", {"hooksConfig": {"enabled": False}}),
            {"hooksConfig": {"enabled": True}},
        ),
    ],
)
def test_the_projects_settings_override_the_users(
    tmp_path: Path, name: str, user: tuple[str, object], project: object
) -> None:
    write(tmp_path / "home" / user[0], user[1])
    write(tmp_path / "home" / "project" / user[0], project)

    assert silencers(name, site(tmp_path)) == []


def test_a_server_that_is_disabled_in_one_project_only(tmp_path: Path) -> None:
    """Claude Code keeps that in its own state."""
    here = site(tmp_path)
    write(tmp_path / "home" / ".claude.json", {"projects": {here.project: {"disabledMcpServers": ["tildone"]}}})

    assert silencers("claude", here) == ["the server is disabled in this project"]


def test_a_server_of_the_project_that_was_rejected(tmp_path: Path) -> None:
    write(tmp_path / "home" / "project" / ".claude" / "settings.local.json", {"disabledMcpjsonServers": ["tildone"]})

    [found] = silencers("claude", site(tmp_path, PROJECT))

    assert found.startswith("the server is rejected in ")


def test_a_folder_that_is_not_trusted(tmp_path: Path) -> None:
    """The decision for the nearest folder counts."""
    here = site(tmp_path)
    folders = tmp_path / "home" / ".gemini" / "trustedFolders.json"
    write(folders, {str(tmp_path / "home"): "DO_NOT_TRUST"})
    assert silencers("gemini", here) == ["Gemini CLI does not trust this folder"]

    write(folders, {str(tmp_path / "home"): "DO_NOT_TRUST", here.project: "TRUST_FOLDER"})
    assert silencers("gemini", here) == []


@pytest.mark.parametrize(
    ("trust", "default", "silenced"),
    [(None, None, True), (False, "always", True), (True, None, False), (None, "always", False)],
)
def test_a_project_that_pi_does_not_trust(
    tmp_path: Path, *, trust: bool | None, default: str | None, silenced: bool
) -> None:
    here = site(tmp_path, PROJECT)
    write(tmp_path / "home" / ".pi" / "agent" / "trust.json", {here.project: trust} if trust is not None else {})
    write(tmp_path / "home" / ".pi" / "agent" / "settings.json", {"defaultProjectTrust": default} if default else {})

    assert bool(silencers("pi", here)) is silenced


def test_a_variable_that_disables_plugins(tmp_path: Path) -> None:
    assert silencers("opencode", site(tmp_path, USER, {"OPENCODE_PURE": "1"})) == ["$OPENCODE_PURE disables plugins"]


UNTRUSTED = "Codex does not run hooks that you have not trusted"

CODEX_HASHES = {
    "pre_tool_use": "917bc99c7e691de016c2f7ba384060af7c8870faa77318a4975660f53ace571f",
    "post_tool_use": "5b0135488e88914e03d6f77458293a71c57c81083c0b45080c72626744bcceab",
    "pre_compact": "6ace3abf68186264528d51fe2776d26bf78373abe905ba4dcf7994ea528422b9",
    "session_start": "bd97f8a89e5513ddac01f29507f822c351016ba6c39568fe9f81079d21e6dc52",
    "session_end": "b2d0ff50a2eed610724e08fb24b085b3bd79d7fdf3c06ccfe730e2716ce97c8b",
    "user_prompt_submit": "b52612d8a410d247ffeaa22fb5aa7f7b48c89ae919f8cfa6feaca1ed3e606b57",
    "subagent_stop": "b2e3706377287b9a8604f83f5bc87ace1aeb9a82bc0ca1985185ecc29d764837",
    "stop": "c9f023e6a61b70cc2018301cceb9b4a4d44b13155bf305365e5b59f25842695b",
}
"""As Codex 0.166 reports them for the hooks that are installed here."""


def test_hooks_that_codex_has_not_been_told_to_trust(tmp_path: Path) -> None:
    """Codex stores a hash of each hook; a change of a hook makes it untrusted again."""
    here = site(tmp_path)
    settings = tmp_path / "home" / ".codex" / "config.toml"
    assert silencers("codex", here) == [UNTRUSTED]

    installed = settings.read_text()
    states = [
        f'[hooks.state."{settings}:{event}:0:0"]\ntrusted_hash = "sha256:{digest}"\n'
        for event, digest in CODEX_HASHES.items()
    ]
    trusted = installed + "".join(states)
    settings.write_text(trusted)
    assert silencers("codex", here) == []

    settings.write_text(trusted.replace('command = "/bin/tildone hook', 'command = "/bin/tildone  hook'))
    assert examined("codex", here) == [UNTRUSTED]
    settings.write_text(trusted + "enabled = false\n")
    assert examined("codex", here) == [UNTRUSTED]
    settings.write_text("[features]\nhooks = false\n" + trusted)
    assert examined("codex", here) == [f"hooks are disabled in {settings}"]
    settings.write_text(trusted.replace("[mcp_servers.tildone]", "[mcp_servers.tildone]\nenabled = false"))
    assert examined("codex", here) == [f"the server is disabled in {settings}"]


def test_a_project_that_codex_does_not_trust(tmp_path: Path) -> None:
    here = site(tmp_path, PROJECT)
    assert "Codex does not trust this project yet" in silencers("codex", here)

    write(tmp_path / "home" / ".codex" / "config.toml", f'[projects."{here.project}"]\ntrust_level = "trusted"\n')
    assert silencers("codex", here) == [UNTRUSTED]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"hooksConfig": 7, "mcp": [], "disableAllHooks": "yes"}', "\ufeff{}"])
@pytest.mark.parametrize(("name", "file"), [("claude", "settings.local.json"), ("gemini", "settings.json")])
def test_settings_of_a_wrong_type_silence_nothing(tmp_path: Path, name: str, file: str, text: str) -> None:
    """The coding agent reports them itself."""
    write(tmp_path / "home" / "project" / f".{name}" / file, text)

    assert silencers(name, site(tmp_path)) == []
