"""Our entries in settings files of coding agents.

Everything else keeps its bytes, and earlier versions' entries are recognised.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.person import Person
from tests.integrations.drill import USER_ONLY
from tests.integrations.test_checks import check
from tests.suite.forking import PROGRAM
from tildone.agents import doctor as host_version
from tildone.agents.doctor import too_old
from tildone.agents.install.files import is_our_hook, is_our_server, program_in
from tildone.agents.install.jsonc import InvalidJson, prune, put
from tildone.agents.install.jsonc import append as append_jsonc
from tildone.agents.install.jsonc import get as get_jsonc
from tildone.agents.install.jsonc import remove as remove_jsonc
from tildone.agents.install.jsonc import scan as scan_jsonc
from tildone.agents.install.toml import append, get, merge, remove, scan, table_lines, value_text, without_markers
from tildone.agents.integrations import INTEGRATIONS
from tildone.base import Refused

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


def test_inline_tables_are_edited_and_restored_to_the_byte(person: Person, settings: Path) -> None:
    """Also after a change by others, so that the old bytes cannot simply be written back; other forms are drilled."""
    text = "mcp_servers = { }\nhooks = {Stop = [{hooks = [{type = 'command', command = 'say'}]}]}\n"
    settings.write_text(text)
    install(person)
    settings.write_text(f"# mine\n{settings.read_text()}")
    installed = load(settings)

    person.says("uninstall", "codex")

    assert settings.read_text() == f"# mine\n{text}"
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


OF_A_TOOL = '\n[mcp_servers.tildone.tools.todo]\napproval_mode = "approve"\n'
THEIR_HOOK = '[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "say"\n'
NEXT = "\n[[hooks.SessionStart]]"
EDITS: dict[str, tuple[Callable[[str], str], str]] = {
    "a comment between our lines": (lambda text: text.replace("args = ", "# why\nargs = "), "# why\n"),
    # Codex refuses to start with a server that has settings and no command.
    "settings of our tool": (lambda text: f"{text}{OF_A_TOOL}\n[other]\na = 1\n", "\n[other]\na = 1\n"),
    "a hook in our group": (lambda text: text.replace(NEXT, THEIR_HOOK + NEXT), f"\n[[hooks.Stop]]\n{THEIR_HOOK}"),
}
"""What a person makes of the file after the installation, and what is left of it after the removal."""


@pytest.mark.parametrize("edit", EDITS)
def test_what_a_person_wrote_among_our_lines_stays(person: Person, settings: Path, edit: str) -> None:
    change, left = EDITS[edit]
    install(person)
    settings.write_text(change(settings.read_text()))

    person.says("uninstall", "codex")

    assert settings.read_text() == left


def test_nothing_is_changed_where_nothing_is_ours(person: Person, settings: Path) -> None:
    text = '[mcp_servers.tildone]\ncommand = "somebody-elses"\n\n[hooks]\nStop = []\n'
    settings.write_text(text)

    out = person.says("uninstall", "codex")

    assert out == "Codex has no tildone in its settings.\n"
    assert settings.read_text() == text
    assert os.listdir(settings.parent) == ["config.toml"]


SERVER = ("mcp_servers", "tildone")
STOP = ("hooks", "Stop")
ENTRY = {"command": "/bin/tildone", "args": ["mcp"]}
GROUP = {"hooks": [{"type": "command", "command": "/bin/tildone hook codex"}]}

VALUES = (
    "1",
    "-2.5e3",
    "true",
    '"a # b"',
    "'c:\\d'",
    '"""\n[not.a.table] \\\n  x = "1" ""\n"""',
    "'''\n# no comment ' ''\n'''",
    "1979-05-27 07:32:00",
    "[ 1, # one\n  2, ]",
    "[\n  [1], [], # }\n]",
    '{ a.b = 1, "c d" = [ { e = "]" } ] }',
    "{}",
)
keys = st.sampled_from(["a", "b-c", '"d e"', "'f.g'", "h . i"])
blanks = st.sampled_from(["", "\n", "# a comment [x]\n", "  # indented\n\n"])
servers = st.sampled_from(
    ["", "[mcp_servers]\n", "[mcp_servers.zed]\ncommand = 'zed'\n", "[ mcp_servers . 'zed' ] # z\n"]
)
hooks = st.sampled_from(
    ["", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'say'\n[[ hooks.Stop ]] # two\n", "[hooks]\n"]
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A text with keys of the root, tables and arrays of tables, in any order, with comments between them."""

    def pairs() -> str:
        names = draw(st.lists(keys, max_size=3, unique=True))
        return "".join(f"{draw(blanks)}{name} = {draw(st.sampled_from(VALUES))}\n" for name in names)

    names = draw(st.lists(st.sampled_from(["t1", "'t 2'", "t3.x"]), max_size=3, unique=True))
    tables = [f"{draw(blanks)}[{name}] # table\n{pairs()}" for name in names]
    tables += [draw(blanks) + draw(servers), draw(blanks) + draw(hooks)]
    text = pairs() + "".join(draw(st.permutations(tables))) + draw(blanks)
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = text.replace("\n", newline)
    return draw(st.sampled_from(["", "\ufeff"])) + text


@given(documents())
def test_statements_cover_the_text_in_order_and_have_the_paths_of_the_values(text: str) -> None:
    statements = scan(text)

    assert [each.start for each in statements] == sorted(each.start for each in statements)
    assert all(one.end <= other.start for one, other in pairwise(statements))
    for each in statements:
        if each.node is not None:
            literal = text[each.node.start : each.node.end]
            assert tomllib.loads(f"v = {literal}")["v"] == get(text, each.path)


@given(documents())
def test_remove_undoes_merge_and_append_to_the_byte(text: str) -> None:
    """In either order, and after a change of the entry."""
    number = len(get(text, STOP) or [])
    added = append(merge(text, SERVER, ENTRY), STOP, GROUP)
    changed = merge(merge(added, SERVER, {"command": "/opt/tildone", "more": {"a": [1]}}), (*STOP, number), {"m": 1})

    assert get(added, SERVER) == ENTRY
    assert get(added, (*STOP, number)) == GROUP
    assert remove(remove(added, SERVER), (*STOP, number)) == text
    assert remove(remove(changed, (*STOP, number)), SERVER) == text
    # An entry that is there is not written again.
    assert merge(added, SERVER, ENTRY) == added


def test_members_are_set_in_the_form_that_the_entry_has() -> None:
    for text, after in (
        ('[mcp_servers.tildone]\n  command = "x" # why\n', '[mcp_servers.tildone]\n  command = "y" # why\n  n = 1\n'),
        (
            'mcp_servers.tildone.command = "x"\na = 1',
            'mcp_servers.tildone.command = "y"\nmcp_servers.tildone.n = 1\na = 1',
        ),
        ('[mcp_servers]\ntildone = {command = "x"}', '[mcp_servers]\ntildone = {command = "y", n = 1}'),
        ('[mcp_servers.tildone]\ncommand = "x"', '[mcp_servers.tildone]\ncommand = "y"\nn = 1'),
    ):
        assert merge(text, SERVER, {"command": "y", "n": 1}) == after, text


def test_a_path_through_something_else_is_refused() -> None:
    for text in ("mcp_servers = 1", "mcp_servers = [1]", "[[mcp_servers]]\na = 1"):
        with pytest.raises(Refused):
            merge(text, SERVER, ENTRY)


def test_markers_are_removed_and_strings_that_look_like_them_are_not() -> None:
    text = 'a = """\n# >>> tildone\n"""\n# >>> tildone, joined\nb = 1\n# <<< tildone'

    assert without_markers(text) == 'a = """\n# >>> tildone\n"""\nb = 1\n'


@given(
    st.recursive(
        st.integers() | st.text() | st.booleans(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_what_is_written_is_read_back(data: object) -> None:
    assert tomllib.loads(f"v = {value_text(data)}")["v"] == data
    if isinstance(data, dict):
        assert tomllib.loads("\n".join(table_lines(["t"], data)))["t"] == data


def test_a_server_is_ours_if_it_runs_tildone() -> None:
    ours: list[Any] = [
        {"command": "/x/tildone", "args": ["mcp"]},
        {"command": "uvx", "args": ["--from", "tildone[mcp]", "tildone", "mcp"]},
        {"command": ["C:\\bin\\tildone.exe", "mcp"]},
        {"command": "python", "args": ["-m", "tildone", "mcp", "--session", "x"]},
    ]
    theirs: list[Any] = [
        {"command": "/x/my-tildone", "args": ["mcp"]},
        {"command": "npx", "args": ["mcp-of", "/home/tildone/files"]},
        {"url": "http://127.0.0.1/tildone/mcp"},
        "mcp__tildone",
    ]

    assert [each for each in (*ours, *theirs) if is_our_server(each)] == ours


def test_a_hook_is_ours_if_it_runs_tildone() -> None:
    programs = {
        "/x/tildone hook claude": "/x/tildone",
        "'/my tools/tildone' hook claude StatusLine": "/my tools/tildone",
        '"C:\\my tools\\tildone.exe" hook codex': "C:\\my tools\\tildone.exe",
        "shopt -s execfail 2>/dev/null; exec tildone hook gemini; exit 0": "tildone",
    }
    theirs = ("say tildone hooked me", "my-tildone hook x", "echo tildone")

    assert [line for line in (*programs, *theirs) if is_our_hook({"command": line})] == [*programs]
    assert {line: program_in(line) for line in programs} == programs


PATH = ("mcp Servers", "tildone")

gaps = st.sampled_from(["", " ", "\n", "\n    ", "\r\n\t", " // why\n", "/* a\nb */", " /* } */ "])
scalars = st.sampled_from(["1", "-2.5e3", "true", "null", '"x"', '"\\u00e9 // not a comment"', '"a\\"b"'])


@st.composite
def objects(draw: st.DrawFn) -> str:
    """The text of an object, with white space and comments wherever they are allowed."""

    def gap() -> str:
        return str(draw(gaps))

    def value(depth: int) -> str:
        kind = draw(st.sampled_from(["scalar", "object", "array"] if depth else ["scalar"]))
        return draw(scalars) if kind == "scalar" else container(kind, depth - 1)

    def container(kind: str, depth: int) -> str:
        opening, closing = "{}" if kind == "object" else "[]"
        names: list[str] = draw(st.lists(st.sampled_from("abcd"), max_size=3, unique=True))
        children = [f'{gap()}"{name}"{gap()}:{gap()}' if kind == "object" else gap() for name in names]
        text = ",".join(f"{child}{value(depth)}{gap()}" for child in children)
        trailing = f",{gap()}" if children and draw(st.sampled_from("yn")) == "y" else ""
        return f"{opening}{text}{trailing}{gap() if not children else ''}{closing}"

    return f"{gap()}{container('object', 2)}{gap()}"


def stripped(text: str) -> str:
    return "".join(text.split())


@given(objects())
def test_put_adds_the_value_and_keeps_every_character(text: str) -> None:
    before = scan_jsonc(text).data

    after = put(text, PATH, ENTRY)

    assert scan_jsonc(after).data == before | {PATH[0]: {PATH[1]: ENTRY}}
    rest = iter(stripped(after))
    assert all(char in rest for char in stripped(text))
    assert put(after, PATH, ENTRY) == after


@given(objects(), st.sampled_from("abcd"))
def test_remove_undoes_put_and_removes_any_other_member(text: str, name: str) -> None:
    """Except for white space."""
    data = scan_jsonc(text).data
    after = append_jsonc(put(text, PATH, ENTRY), ("hooks", "Stop"), ENTRY)

    back = prune(remove_jsonc(after, PATH), PATH[:1])
    back = prune(remove_jsonc(back, ("hooks", "Stop", 0)), ("hooks", "Stop"))

    assert scan_jsonc(back).data == data
    assert stripped(back) == stripped(text)
    assert scan_jsonc(remove_jsonc(text, (name,))).data == {key: item for key, item in data.items() if key != name}


@given(st.dictionaries(st.text(max_size=3), st.recursive(st.integers() | st.text(max_size=4), st.lists, max_leaves=4)))
def test_plain_json_is_parsed_as_json_does(data: dict[str, Any]) -> None:
    for indent in (None, 2):
        assert scan_jsonc(json.dumps(data, indent=indent)).data == data


INVALID = ("", "{", "}", "{]", "[1, 2", '{"a" 1}', '{"a": }', "{a: 1}", '{"a": 1 "b": 2}', "{} {}", "/* {}", "[" * 999)


@pytest.mark.parametrize("text", [*INVALID, '{"a": "b\n"}'])
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidJson, match="line "):
        scan_jsonc(text)


def test_of_duplicate_members_the_last_counts() -> None:
    """As in `json`."""
    text = '{"a": 1, "a": 2}'

    assert get_jsonc(text, ("a",)) == 2
    assert put(text, ("a",), 3) == '{"a": 1, "a": 3}'


def test_a_value_of_the_wrong_type_on_the_path_is_named() -> None:
    with pytest.raises(InvalidJson, match=r"a\.b is not an object"):
        put('{"a": {"b": 1}}', ("a", "b", "c"), 1)
    with pytest.raises(InvalidJson, match=r"a is not an array"):
        append_jsonc('{"a": {}}', ("a",), 1)


WITH_PROJECT = [name for name in INTEGRATIONS if name not in USER_ONLY]


def warnings(person: Person, name: str) -> list[tuple[str, str]]:
    return [(what, remedy) for status, what, remedy in check(person, name) if status == "warning"]


EARLIER: dict[str, tuple[str, str, str, str]] = {
    "gemini": (".gemini/settings.json", r"shopt -s execfail 2>/dev/null; exec |; exit 0", "", "would stop the agent"),
    "copilot": (".copilot/hooks/tildone.json", r" \|\| true", "", "would stop the agent"),
    "opencode": (".config/opencode/plugins/tildone.js", "callHook", "runHook", "tildone.js is another version's"),
    "pi": (".pi/agent/extensions/tildone.ts", "callHook", "runHook", "tildone.ts is another version's"),
    "claude": (".claude.json", r',\s*"alwaysLoad": true', "", "the server's entry has no alwaysLoad"),
    "cursor --scope project": (".cursor/mcp.json", '"tildone",', f'"{PROGRAM}",', "a path of this machine"),
}
"""For each coding agent a settings file, what stands there, what an earlier version wrote instead, and what is said."""


@pytest.mark.parametrize("words", EARLIER)
def test_what_an_earlier_version_wrote_is_reported_with_its_remedy(person: Person, words: str) -> None:
    """A hook line that fails, another shim, an entry without a key, and a path of this machine in a shared file."""
    name, *options = words.split()
    file, pattern, earlier, said = EARLIER[words]
    person.says("install", name, *options, "--no-check")
    settings = (person.folder if options else person.home) / file
    text = settings.read_text()
    settings.write_text(re.sub(pattern, lambda _: earlier, text))
    assert settings.read_text() != text

    [(what, remedy)] = warnings(person, name)
    person.says(*remedy.split()[1:], "--no-check")

    assert said in what
    assert remedy == f"tildone install {words}"
    assert warnings(person, name) == []
    assert settings.read_text() == text


@pytest.mark.parametrize("name", WITH_PROJECT)
def test_files_of_a_project_name_no_path_of_this_machine(person: Person, name: str) -> None:
    """They run the tildone on the PATH, the person learns that others need it, and no backup is in the project.

    The person's own settings stay as they are.
    """
    config = person.folder / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text("model = 'x'\n")

    out = person.says("install", name, "--scope", "project", "--no-check")

    texts = {path.name: path.read_text() for path in person.folder.rglob("*") if path.is_file()}
    assert any("tildone" in text for text in texts.values())
    assert not [file for file, text in texts.items() if str(PROGRAM.parent) in text or str(person.home) in text]
    assert not [file for file in texts if "backup" in file]
    assert "Everyone who uses these files needs tildone on their PATH" in out
    for prompt in INTEGRATIONS[name].prompts.get("project", ()):
        assert f"{INTEGRATIONS[name].title} will ask {prompt}." in out
    person.says("uninstall", name, "--scope", "project")
    assert [path for path in person.folder.rglob("*") if path.is_file()] == [config]
    assert config.read_text() == "model = 'x'\n"
    assert [path for path in person.home.rglob("*") if path.is_file()] == []


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
