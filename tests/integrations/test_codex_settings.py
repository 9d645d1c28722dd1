"""Our entries in Codex's `config.toml`, which Codex rewrites: they are known by what they are."""

import os
import tomllib
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from tests.cli.person import Person
from tests.suite.forking import PROGRAM

THEIRS = """\
# my settings
model = "x"  # fast
notify = [ 'say', "done", ]

[mcp_servers.zed] # theirs
command = 'zed'
env = { A = "1" }

[[hooks.Stop]]
matcher = ".*"
[[hooks.Stop.hooks]]
type = "command"
command = "say tildone is done"

[profiles."a.b"]
text = \"\"\"
# >>> tildone
[mcp_servers.tildone]
\"\"\"
"""

CODEX_ADDED = """
[hooks.state]

[hooks.state."/home/ada/.codex/config.toml:stop:1:0"]
trusted_hash = "sha256:abc"

[projects."/work"]
trust_level = "trusted"
"""


@pytest.fixture
def settings(person: Person) -> Path:
    path = person.home / ".codex" / "config.toml"
    path.parent.mkdir()
    return path


def install(person: Person, *options: str) -> str:
    return person.says("install", "codex", "--no-check", *options)


def load(settings: Path) -> dict[str, Any]:
    return tomllib.loads(settings.read_bytes().decode("utf-8-sig"))


FORMS = {
    "usual": THEIRS,
    "crlf": THEIRS.replace("\n", "\r\n"),
    "no final newline": THEIRS.rstrip("\n"),
    "byte order mark": f"\ufeff{THEIRS}",
    "blank lines at the end": f"{THEIRS}\n\n",
    "a comment at the end": f"{THEIRS}# the end",
    "inline tables": "mcp_servers = { }\nhooks = {Stop = [{hooks = [{type = 'command', command = 'say'}]}]}\n",
    "inline arrays": "[hooks]\nStop = [\n  # one\n  {hooks = [{type = 'command', command = 'say'}]}, # two\n]\n",
    "dotted keys": "mcp_servers.zed.command = 'zed'\nhooks.state.x.trusted_hash = 'y'\n",
    "empty parents": "[mcp_servers]\n[hooks]\n",
    "empty": "",
}


@pytest.mark.parametrize("form", FORMS)
def test_install_adds_our_entries_and_uninstall_takes_them_away_to_the_byte(
    person: Person, settings: Path, form: str
) -> None:
    """Also after others have changed the file meanwhile, so that its old bytes cannot simply be written back."""
    before = FORMS[form].encode()
    settings.write_bytes(before)
    install(person)
    installed = load(settings)
    newline = b"\r\n" if form == "crlf" else b"\n"
    mark = b"\xef\xbb\xbf" if form == "byte order mark" else b""
    comment = b"# mine" + newline
    settings.write_bytes(mark + comment + settings.read_bytes().removeprefix(mark))
    doctor = person.says("install", "codex", "--no-check")

    person.says("uninstall", "codex")

    assert settings.read_bytes() == mark + comment + before.removeprefix(mark)
    assert doctor.startswith("Codex is set up already.")
    assert installed["mcp_servers"]["tildone"]["command"] == str(PROGRAM)
    assert installed["hooks"]["Stop"][-1]["hooks"][0]["command"] == f"{quote(str(PROGRAM))} hook codex"


def test_what_codex_adds_is_kept_through_upgrade_and_removal(person: Person, settings: Path) -> None:
    """Trust is by the position of a hook, so ours is updated where it is."""
    settings.write_text(THEIRS)
    install(person)
    settings.write_text(settings.read_text() + CODEX_ADDED)
    added = load(settings)
    settings.write_text(settings.read_text().replace(str(PROGRAM), "/old/bin/tildone"))

    install(person, "--dialect", "phased")
    upgraded = load(settings)
    person.says("uninstall", "codex")

    assert upgraded["mcp_servers"]["tildone"]["args"] == ["mcp", "--dialect", "phased"]
    assert upgraded["hooks"] == added["hooks"]
    assert upgraded["projects"] == added["projects"]
    assert settings.read_text() == THEIRS + CODEX_ADDED


MARKED = """\
{before}# >>> tildone{joined}
[mcp_servers.tildone]
command = "/old/bin/tildone"
args = ["mcp"]

[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = "/old/bin/tildone hook codex"
timeout = 10
{inside}# <<< tildone
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("ending", ["\n", ""])
def test_a_file_with_markers_of_an_earlier_version_is_migrated(
    person: Person, settings: Path, newline: str, ending: str
) -> None:
    """The markers vanish, and Codex's tables between them stay."""
    theirs = f"model = 'x'{ending}"
    text = MARKED.format(
        before=f"{theirs}\n" if ending else f"{theirs}\n\n", joined="" if ending else ", joined", inside=CODEX_ADDED
    )
    settings.write_bytes(text.replace("\n", newline).encode())
    settings.with_name("config.toml.tildone-backup").write_bytes(theirs.replace("\n", newline).encode())

    install(person)
    migrated = settings.read_text()
    person.says("uninstall", "codex")

    assert ">>>" not in migrated
    assert "<<<" not in migrated
    assert tomllib.loads(migrated)["hooks"]["state"] == tomllib.loads(CODEX_ADDED)["hooks"]["state"]
    left = settings.read_bytes().decode()
    assert left == (theirs.rstrip("\n") + "\n" + CODEX_ADDED).replace("\n", newline)


@pytest.mark.parametrize("lost", ["# >>> tildone\n", "# <<< tildone\n"])
def test_a_file_that_lost_one_marker_can_be_installed_into_and_uninstalled_from(
    person: Person, settings: Path, lost: str
) -> None:
    """`codex mcp add` writes the servers anew, without the comment above the first of them."""
    settings.write_text(MARKED.format(before="", joined="", inside="").replace(lost, ""))

    install(person)
    installed = load(settings)
    person.says("uninstall", "codex")

    assert installed["mcp_servers"]["tildone"]["command"] == str(PROGRAM)
    assert [len(groups) for event, groups in installed["hooks"].items() if event == "Stop"] == [1]
    assert not settings.exists()


def test_an_entry_that_was_rewritten_is_recognised_and_what_was_added_to_it_stays(
    person: Person, settings: Path
) -> None:
    """As one line, with dotted keys, with more members: it is updated in place, and removed as a whole."""
    settings.write_text(
        "[mcp_servers]\n"
        'tildone = { command = "/old/tildone", args = ["mcp"], startup_timeout_sec = 30 }\n'
        'zed = { command = "zed" }\n\n'
        "[[hooks.Stop]]\n"
        'hooks = [{ type = "command", command = "say" }, { type = "command", command = "/old/tildone hook codex" }]\n'
    )

    install(person)
    installed = load(settings)
    person.says("uninstall", "codex")

    assert installed["mcp_servers"]["tildone"] == {"command": str(PROGRAM), "args": ["mcp"], "startup_timeout_sec": 30}
    assert [hook["command"] for hook in installed["hooks"]["Stop"][0]["hooks"]] == [
        "say",
        f"{quote(str(PROGRAM))} hook codex",
    ]
    assert len(installed["hooks"]["Stop"]) == 1
    assert settings.read_text() == (
        '[mcp_servers]\nzed = { command = "zed" }\n\n[[hooks.Stop]]\nhooks = [{ type = "command", command = "say" }]\n'
    )


def test_a_person_hook_in_our_group_stays(person: Person, settings: Path) -> None:
    install(person)
    theirs = '[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "say"\n'
    text = settings.read_text()
    end = text.index("\n[[hooks.SessionStart]]")
    settings.write_text(text[:end] + theirs + text[end:])

    person.says("uninstall", "codex")

    assert load(settings) == {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}}


def test_comments_between_our_lines_stay(person: Person, settings: Path) -> None:
    install(person)
    settings.write_text(settings.read_text().replace("args = ", "# why\nargs = "))

    person.says("uninstall", "codex")

    assert settings.read_text() == "# why\n"


def test_settings_of_a_tool_of_ours_go_with_the_server(person: Person, settings: Path) -> None:
    """Codex refuses to start with a server that has settings and no command."""
    install(person)
    with settings.open("a") as file:
        file.write('\n[mcp_servers.tildone.tools.todo]\napproval_mode = "approve"\n\n[other]\na = 1\n')

    person.says("uninstall", "codex")

    assert settings.read_text() == "\n[other]\na = 1\n"


def test_nothing_is_changed_where_nothing_is_ours(person: Person, settings: Path) -> None:
    text = '[mcp_servers.tildone]\ncommand = "somebody-elses"\n\n[hooks]\nStop = []\n'
    settings.write_text(text)

    out = person.says("uninstall", "codex")

    assert out == "Codex has no tildone in its settings.\n"
    assert settings.read_text() == text
    assert os.listdir(settings.parent) == ["config.toml"]
