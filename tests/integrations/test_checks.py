"""`install` and `doctor` start what they configured as the coding agent does.

Say whether it works, and find settings that silence it.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import CTRL_C, Answer, Person
from tests.suite.forking import PROGRAM
from tildone.agents.doctor import examine, own_listings
from tildone.agents.doctor.probe import HOOKS, TOOLS, Launch, configured_launches, expected_launches, probe_all
from tildone.agents.install import PROJECT, USER, Site, edits_for
from tildone.agents.install import files as files_silencers
from tildone.agents.install.files import Backups, install, install_changes
from tildone.agents.integrations import INTEGRATIONS

EVERY = pytest.mark.parametrize("name", tuple(INTEGRATIONS))
THIS = version("tildone")

Found = tuple[str, str, str]


@pytest.fixture
def person(person: Person) -> Person:
    if os.name == "nt":
        pytest.skip("the commands are shell scripts")
    return person


def agents(answer: Answer, *, listings: bool = False) -> list[Found]:
    """What doctor says of the agents: what their own programs say of our server, or all the rest."""
    found = [
        (each["status"], each["message"], each["remedy"]) for each in answer.json["checks"] if each["name"] == "agents"
    ]
    return [each for each in found if (" mcp list" in each[1]) == listings]


def check(person: Person, name: str, **environ: str) -> list[Found]:
    return agents(person.run("doctor", name, "--json", **environ))


LISTINGS = {
    "is connected": (
        "printf 'Configured:\\n\\033[32m✓\\033[0m tildone: mcp (stdio) - Connected\\n'",
        "ok",
        "✓ tildone: mcp (stdio) - Connected",
    ),
    "fails": ("echo '✗ tildone: mcp - Failed to connect'", "warning", "✗ tildone: mcp - Failed to connect"),
    "is disconnected": ("echo 'tildone  Disconnected'", "warning", "tildone Disconnected"),
    "is not listed": ("echo 'No MCP servers: see tildone.example'", "warning", "no server tildone"),
    "has no such verb": ("echo 'unknown command' >&2; exit 2", "warning", "exit code 2: unknown command"),
    "hangs": ("sleep 100", "warning", "no answer within 1 seconds"),
    "can't be started": (None, "warning", "it cannot be started: Exec format error"),
}


@pytest.mark.parametrize("case", LISTINGS)
def test_what_an_agent_itself_says_of_the_server_is_told(
    person: Person, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    script, status, said = LISTINGS[case]
    person.says("install", "qwen", "--no-check")
    path = put_in_place(person, f"#!/bin/sh\n{script}\n" if script else "\0", "qwen")
    monkeypatch.setattr("tildone.agents.doctor.probe.LISTING_SECONDS", 1.0)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")

    listed = own_listings([INTEGRATIONS["qwen"], INTEGRATIONS["pi"]], str(person.folder))

    assert [(each.severity.value, each.what) for each in listed.values()] == [
        (status, f"Qwen Code: qwen mcp list says: {said}")
    ]


def test_an_agent_whose_program_is_not_here_is_not_asked(person: Person) -> None:
    person.says("install", "qwen", "--no-check")

    assert agents(person.run("doctor", "qwen", "--json"), listings=True) == [
        ("ok", "Qwen Code: qwen is not on the PATH, so it was not asked: qwen mcp list", "")
    ]
    person.says("uninstall", "qwen")
    person.says("install", "qwen", "--no-mcp", "--no-check")
    assert agents(person.run("doctor", "qwen", "--json"), listings=True) == []


def put_in_place(person: Person, script: str | None, name: str = "tildone") -> Path:
    """A command of the person's own, which the settings files name after `rename`; None means that there is none."""
    path = person.folder / "my tøols" / name
    path.parent.mkdir(exist_ok=True)
    if script is not None:
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)
    return path


def rename(person: Person, new: Path, old: Path = PROGRAM) -> None:
    """Have the settings files name another program, quoted for a shell where they quote it."""
    for path in person.home.rglob("*"):
        if path.is_file() and "tildone-backup" not in path.name:
            text = path.read_text(encoding="utf-8")
            # In a line for a shell, then as a word of its own.
            text = text.replace(f"{old} hook", f"'{new}' hook")
            # Some writers escape what is not ASCII.
            escaped = json.dumps(str(old)).strip('"')
            path.write_text(text.replace(str(old), str(new)).replace(escaped, str(new)), encoding="utf-8")


@EVERY
def test_what_was_installed_answers_and_what_was_broken_does_not(person: Person, name: str) -> None:
    """In a path with a space and a letter that is not ASCII; the remedy is the command that mends it."""
    title = INTEGRATIONS[name].title
    person.says("install", name, "--no-check")
    wrapper = put_in_place(person, f'#!/bin/sh\nexec "{PROGRAM}" "$@"\n')
    rename(person, wrapper)
    before = files(person)

    [alive] = [found for found in check(person, name) if "is silenced" not in found[1]]
    wrapper.unlink()
    dead = person.run("doctor", name, "--json")

    assert alive[0] == "ok"
    assert alive[1].startswith(f"{title}: tools")
    assert alive[1].endswith(f" answer (tildone {THIS})")
    assert dead.code == 5
    problems = [found for found in agents(dead) if found[0] == "problem"]
    assert problems
    assert all(str(wrapper) in message or "not found" in message for _, message, _ in problems)
    assert {remedy for _, _, remedy in problems} == {f"tildone install {name}"}
    assert files(person) == before


def files(person: Person) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(person.home.rglob("*")) if path.is_file()}


BROKEN = {
    "fails": ("#!/bin/sh\necho 'first'; echo 'boom: it broke' >&2; exit 3\n", "unexpected output: first"),
    "fails silently": ("#!/bin/sh\nexit 3\n", "it ends with exit code 3"),
    "complains": ("#!/bin/sh\necho one >&2; echo 'boom: it broke' >&2; exit 1\n", "boom: it broke"),
    "does nothing": ("#!/bin/sh\nexit 0\n", "it ends without an answer"),
    "prints garbage": ("#!/bin/sh\necho 'Welcome!'; exec cat >/dev/null\n", "unexpected output: Welcome!"),
    "prints without end": ("#!/bin/sh\nexec yes\n", "unexpected output: y"),
    "prints other JSON": ("#!/bin/sh\necho '{\"a\": 1}'\n", "it ends without an answer"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_command_that_is_not_tildone_is_dead(person: Person, broken: str) -> None:
    """The reason is the last line that it writes to standard error, or what it does instead of answering."""
    script, reason = BROKEN[broken]
    person.says("install", "claude", "--no-check")
    rename(person, put_in_place(person, script))

    answer = person.run("doctor", "claude", "--json")

    assert answer.code == 5
    problems = agents(answer)
    assert {status for status, _, _ in problems} == {"problem"}
    if broken == "prints other JSON":
        assert any("unexpected output: {" in message for _, message, _ in problems)
    else:
        assert [message for _, message, _ in problems] == [
            f"Claude Code: tools, hooks and status line do not answer: {reason}"
        ]


def test_an_own_status_line_is_kept_and_the_person_told_how_to_show_the_plan_in_it(person: Person) -> None:
    """The command that is named works, with the input that a status line gets."""
    settings = person.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"statusLine": {"type": "command", "command": "my-line"}}', encoding="utf-8")
    person.says("todo", "add", "Write the parser")

    said = person.says("install", "claude")

    assert "  ✓ Claude Code keeps your own status line\n    → to show the plan in it, give its input to: " in said
    assert "my-line" in settings.read_text(encoding="utf-8")
    command = said.partition("give its input to: ")[2].partition("\n")[0]
    given = json.dumps({"session_id": "s1", "cwd": str(person.folder)}).encode()
    line = subprocess.run(
        ["sh", "-c", command], input=given, env=person.environment({}), capture_output=True, check=True
    )
    assert line.stdout.decode() == "☐ 0/1 · #1 Write the parser\n"
    assert "keeps your own status line" in person.says("doctor", "claude")
    person.says("install", "gemini")
    settings.write_text('{"statusLine": {"type": "command", "command": "my-line"}}', encoding="utf-8")
    assert "status line" not in person.says("install", "claude", "--no-hooks")


def test_codex_says_once_that_it_asks_for_trust(person: Person) -> None:
    said = person.says("install", "codex")

    assert said.count("trust") == 1
    assert said.endswith("    → start codex and open /hooks\nNext: restart Codex.\n")
    person.says("uninstall", "codex")
    assert "Codex will ask whether you trust the new hooks" in person.says("install", "codex", "--no-check")


def test_a_file_that_is_not_executable_is_dead(person: Person) -> None:
    person.says("install", "gemini", "--no-hooks", "--no-check")
    wrapper = put_in_place(person, "#!/bin/sh\n")
    wrapper.chmod(0o644)
    rename(person, wrapper)

    [(status, what, _)] = check(person, "gemini")

    assert (status, what) == ("problem", f"Gemini CLI: tools do not answer: {wrapper} is not executable")


def test_an_environment_that_was_removed_is_dead(person: Person, tmp_path: Path) -> None:
    """Its command is still there, but its Python is not, as after an upgrade of Python."""
    environment = tmp_path / "my vønv"
    venv.create(environment, symlinks=True)
    packages = next(environment.glob("lib/python*/site-packages"))
    packages.joinpath("all.pth").write_text("\n".join(entry for entry in sys.path if entry), encoding="utf-8")
    command = put_in_place(
        person, f"#!{tmp_path}/link/bin/python\nimport sys\nfrom tildone.cli import main\nsys.exit(main())\n"
    )
    (tmp_path / "link").symlink_to(environment)
    person.says("install", "gemini", "--no-check")
    rename(person, command)
    alive = check(person, "gemini")

    shutil.rmtree(environment)
    dead = check(person, "gemini")

    assert [status for status, _, _ in alive] == ["ok"]
    assert [status for status, _, _ in dead] == ["problem", "problem"]
    assert f"{command} cannot run: its interpreter {tmp_path}/link/bin/python does not exist" in dead[0][1]


def test_a_command_that_never_answers_is_given_up(person: Person) -> None:
    """With everything that it started; an answer to another command is not lost."""
    note = person.folder / "pid"
    hangs = put_in_place(person, f"#!/bin/sh\nsleep 600 & echo $! > '{note}'; wait\n")
    server, hook = Launch(TOOLS, (str(hangs), "mcp")), Launch(HOOKS, f"'{hangs}' hook gemini", "AfterAgent")
    answers = Launch(HOOKS, 'echo \'{"tildone":"1"}\'', "Stop")

    results = probe_all([server, answers, hook], str(person.folder), timeout=3)

    assert results[server].reason == results[hook].reason == "no answer within 3 seconds"
    assert results[answers].version == "1"
    assert ends(int(note.read_text()))


def ends(pid: int) -> bool:
    """Whether a process that was killed ends. Nobody may have collected its exit code yet."""
    for _ in range(1_000_000):
        try:
            os.kill(pid, 0)
            if ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except ProcessLookupError:
            return True
        except FileNotFoundError:
            continue
    return False


def test_ctrl_c_ends_the_check_at_once(person: Person) -> None:
    """Not only after the time limit of what hangs. Meanwhile, the terminal shows what is going on."""
    person.says("install", "gemini", "--no-hooks", "--no-check")
    note = person.folder / "pid"
    rename(person, put_in_place(person, f"#!/bin/sh\necho $$ > '{note}'; exec sleep 600\n"))

    terminal = person.at_terminal("doctor", "gemini")
    terminal.until("checking the agents: 0 %, 0 of 1 commands")
    terminal.type(CTRL_C)

    assert terminal.end().code == 130
    assert ends(int(note.read_text()))


def test_another_version_is_reported_and_is_no_problem(person: Person) -> None:
    person.says("install", "qwen", "--no-mcp", "--no-check")
    rename(person, put_in_place(person, '#!/bin/sh\ncat >/dev/null; echo \'{"tildone":"0.0.7"}\'\n'))

    answer = person.run("doctor", "qwen", "--json")

    assert answer.code == 0
    message = "Qwen Code: hooks and status line answer (tildone 0.0.7); tools are not installed; this is tildone"
    assert agents(answer) == [("warning", f"{message} {THIS}", "tildone install qwen --no-mcp")]


@pytest.mark.parametrize("script", [None, "#!/there/is/no/python\n"], ids=["no program", "no interpreter"])
def test_a_hook_of_gemini_cli_does_not_fail_if_the_program_is_gone(person: Person, script: str | None) -> None:
    """Gemini CLI would refuse to run the agent. Doctor finds it dead all the same."""
    person.says("install", "gemini", "--no-mcp", "--no-check")
    rename(person, put_in_place(person, script))

    for line in gemini_lines(person):
        done = subprocess.run(["bash", "-c", line], input=b"{}", capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (0, b"")
    [(status, what, _)] = check(person, "gemini")
    assert (status, "hooks do not answer: " in what, "/tildone" in what) == ("problem", True, True)


def test_a_hook_of_gemini_cli_is_the_process_that_gemini_cli_starts(person: Person) -> None:
    """It kills only that one, and a child that is left would keep it waiting."""
    person.says("install", "gemini", "--no-mcp", "--no-check")
    rename(person, put_in_place(person, "#!/bin/sh\necho $$\n"))

    for line in gemini_lines(person):
        with subprocess.Popen(["bash", "-c", line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            said, _ = process.communicate()
        assert int(said) == process.pid


def gemini_lines(person: Person) -> list[str]:
    """Return the command lines of our hooks, which Gemini CLI runs in bash."""
    settings = json.loads((person.home / ".gemini" / "settings.json").read_text(encoding="utf-8"))
    return [groups[0]["hooks"][0]["command"] for groups in settings["hooks"].values()]


def test_an_installation_that_does_not_answer_is_not_a_success(person: Person) -> None:
    (person.home / ".local" / "share" / "tildone" / "tildone.db").mkdir(parents=True)

    answer = person.run("install", "gemini")

    assert answer.code == 1
    assert "✗ Gemini CLI: hooks do not answer: " in answer.out
    assert "tildone.db" in answer.out
    assert "Next:" not in answer.out


def test_hooks_that_are_set_for_some_events_only_are_reported(person: Person) -> None:
    person.says("install", "codex", "--no-check")
    settings = person.home / ".codex" / "config.toml"
    text = settings.read_text()
    settings.write_text(text.replace("[[hooks.Stop]]", "[[hooks.Other]]").replace("hooks.Stop.", "hooks.Other."))

    found = check(person, "codex")[0]

    assert found == ("warning", "Codex is set up in part: no hook is set for Stop", "tildone install codex")


def test_the_remedy_repeats_the_options_of_the_installation(person: Person) -> None:
    options = ("--scope", "project", "--dialect", "phased", "--session", "my team", "--no-hooks")
    person.says("install", "cursor", *options, "--no-check")
    settings = person.folder / ".cursor" / "mcp.json"
    settings.write_text(settings.read_text().replace('"command": "tildone"', '"command": "/old/bin/tildone"'))

    (status, what, remedy), _ = check(person, "cursor")

    assert (status, what) == ("problem", "Cursor in this project: tools do not answer: /old/bin/tildone does not exist")
    assert remedy == "tildone install cursor --scope project --dialect phased --session 'my team' --no-hooks"


def test_the_environment_and_the_folder_of_a_server_are_those_of_its_settings(person: Person) -> None:
    """As the coding agent starts it; only the store is another one."""
    person.says("install", "gemini", "--no-hooks", "--no-check")
    note = person.folder / "note"
    script = f'#!/bin/sh\necho "$MINE $PWD $TILDONE_STORE" > "{note}"\nexec "{PROGRAM}" "$@"\n'
    rename(person, put_in_place(person, script))
    settings = person.home / ".gemini" / "settings.json"
    data = json.loads(settings.read_text())
    data["mcpServers"]["tildone"] |= {"env": {"MINE": "yes", "TILDONE_STORE": "/theirs.db"}, "cwd": str(person.home)}
    settings.write_text(json.dumps(data))

    [(status, _, _)] = check(person, "gemini")

    mine, folder, store = note.read_text().split()
    assert (status, mine, folder) == ("ok", "yes", str(person.home))
    assert store != "/theirs.db"


def test_a_check_changes_nothing(person: Person) -> None:
    person.says("install", "claude", "pi", "opencode", "--no-check")
    before = files(person)

    assert person.run("doctor").code == 0

    assert files(person) == before
    assert os.listdir(person.folder) == [".git"]
    assert not (person.home / ".local").exists()


def test_a_probe_of_a_plan_with_open_tasks_leaves_it_alone(person: Person) -> None:
    """Even if other agents are at work: a real stop event would be answered, and counted."""
    todos = {"mode": "replace", "todos": [{"text": "one"}]}
    person.says("call", "write_todos", json.dumps(todos), "--dialect", "indexed")
    start = {"hook_event_name": "SessionStart", "session_id": "a", "cwd": str(person.folder)}
    assert person.says("hook", "claude", given=json.dumps(start))
    person.says("install", "claude")
    log, data = person.says("log"), files(person)

    assert [status for status, _, _ in check(person, "claude")] == ["ok"]

    assert person.says("log") == log
    assert {path for path in files(person) if "agents" in path} == {path for path in data if "agents" in path}


@pytest.mark.skipif(os.name == "nt", reason="the commands are shell scripts")
@EVERY
def test_reading_back_gives_what_was_written(tmp_path: Path, name: str) -> None:
    """A program with a space and a quote in its path; CRLF and a byte order mark change nothing."""
    home, program = tmp_path / "home", "/my tøols/it's/tildone"
    site = Site(str(home), str(tmp_path / "p"), USER, {}, program, ("mcp", "--session", 'a "b"'))
    edits = edits_for(INTEGRATIONS[name].configure, site)
    expected = expected_launches(edits)
    backups = Backups(str(tmp_path / "data"))
    for change in install_changes(edits, backups):
        install(change, backups)
    for path in home.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))

    assert configured_launches(edits) == expected
    assert all(program in launch.text or "'\"'\"'" in launch.text for launch in expected)


def test_a_settings_file_that_cannot_be_parsed_is_a_problem(person: Person) -> None:
    person.says("install", "gemini", "zed", "--no-check")
    settings = person.home / ".gemini" / "settings.json"
    settings.write_text(settings.read_text() + "}")

    answer = person.run("doctor", "gemini", "zed", "--json")

    assert answer.code == 5
    (status, what, _), alive = agents(answer)
    assert status == "problem"
    assert f"{settings} cannot be parsed: line " in what
    assert alive[0] == "ok"


def test_a_broken_file_without_tildone_is_not_our_problem(person: Person) -> None:
    """The coding agent reports it itself."""
    settings = person.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{")

    assert check(person, "gemini") == [
        ("ok", "Gemini CLI is here; tildone is not installed in it", "tildone install gemini")
    ]


def test_doctor_lists_the_agents_that_are_here_without_tildone(person: Person) -> None:
    (person.home / ".qwen").mkdir()

    found = agents(person.run("doctor", "--json", PATH=str(PROGRAM.parent)))

    assert found == [("ok", "Qwen Code is here; tildone is not installed in it", "tildone install qwen")]


def test_an_unknown_agent_is_a_usage_error(person: Person) -> None:
    answer = person.run("doctor", "claud")

    assert (answer.code, "did you mean 'claude'" in answer.err) == (2, True)


@pytest.mark.skipif(os.name == "nt", reason="the commands are shell scripts")
def test_entries_of_a_wrong_type_start_nothing(tmp_path: Path) -> None:
    site = Site(str(tmp_path), str(tmp_path), USER, {}, "/bin/tildone")
    edits = edits_for(INTEGRATIONS["gemini"].configure, site)
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    wrong: list[Any] = [None, [], "text", {"command": 7}, {"command": ["mcp tildone", 7]}]
    for data in (*wrong, {"command": None, "args": "tildone mcp"}):
        settings.write_text(
            json.dumps({"mcpServers": {"tildone": data}, "hooks": {"AfterAgent": data, "BeforeAgent": [data]}})
        )

        launches: list[Launch] = configured_launches(edits)

        assert all(isinstance(launch.command, str) for launch in launches), data


def site(tmp_path: Path, scope: str = USER, environ: Mapping[str, str] | None = None) -> Site:
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True, exist_ok=True)
    return Site(str(tmp_path / "home"), str(project), scope, environ or {}, "/bin/tildone")


def silencers(name: str, here: Site) -> list[str]:
    integration = INTEGRATIONS[name]
    backups = Backups(os.path.join(here.home, "data"))
    for change in files_silencers.install_changes(edits_for(integration.configure, here), backups):
        files_silencers.install(change, backups)
    return examined(name, here)


def examined(name: str, here: Site) -> list[str]:
    found = examine(INTEGRATIONS[name], here)
    assert found is not None
    assert all(each.remedy for each in found.silencers)
    return [each.what for each in found.silencers]


def write(file: Path, settings: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(settings if isinstance(settings, str) else json.dumps(settings))


HOOKS_OFF, LEFT_ON = '{"disableAllHooks": true}', '{"disableAllHooks": false}'
GEMINI_OFF, GEMINI_ON = '{"hooksConfig": {"enabled": false}}', '{"hooksConfig": {"enabled": true}}'
WRONG_TYPES = ("", "[]", "{", '{"hooksConfig": 7, "mcp": [], "disableAllHooks": "yes"}', "\ufeff{}")
SILENCING: list[tuple[str, dict[str, str], str]] = [
    *((name, {}, "") for name in INTEGRATIONS if name != "codex"),
    ("claude", {".claude/settings.json": HOOKS_OFF}, "all hooks are disabled in "),
    ("claude", {"project/.claude/settings.local.json": HOOKS_OFF}, "all hooks are disabled in "),
    ("claude", {".claude/settings.json": HOOKS_OFF, "project/.claude/settings.json": LEFT_ON}, ""),
    ("gemini", {".gemini/settings.json": GEMINI_OFF}, "hooks are disabled in "),
    ("gemini", {"project/.gemini/settings.json": GEMINI_OFF}, "hooks are disabled in "),
    ("gemini", {".gemini/settings.json": GEMINI_OFF, "project/.gemini/settings.json": GEMINI_ON}, ""),
    ("gemini", {".gemini/settings.json": '{"hooksConfig": {"disabled": ["tildone"]}}'}, "our hooks are disabled in "),
    ("gemini", {".gemini/settings.json": '{"mcp": {"excluded": ["tildone"]}}'}, "the server is excluded in "),
    ("gemini", {".gemini/settings.json": '{"mcp": {"allowed": ["other"]}}'}, "allows other MCP servers only"),
    ("gemini", {".gemini/trustedFolders.json": '{"HOME": "DO_NOT_TRUST"}'}, "Gemini CLI does not trust this folder"),
    ("gemini", {".gemini/trustedFolders.json": '{"HOME": "DO_NOT_TRUST", "HOME/project": "TRUST_FOLDER"}'}, ""),
    ("pi", {".pi/agent/settings.json": '{"extensions": ["-extensions/tildone.ts"]}'}, "the extension is disabled in "),
    ("opencode", {"project/opencode.json": '{"mcp": {"tildone": {"enabled": false}}}'}, "the server is disabled in "),
    *(("claude", {"project/.claude/settings.local.json": text}, "") for text in WRONG_TYPES),
    *(("gemini", {"project/.gemini/settings.json": text}, "") for text in WRONG_TYPES),
]
"""A coding agent, settings of the user or, overriding these, of the project, and how they silence us, if they do."""


@pytest.mark.parametrize(("name", "files", "what"), SILENCING)
def test_a_setting_that_silences_us_is_found_and_no_other(
    tmp_path: Path, name: str, files: dict[str, str], what: str
) -> None:
    """Settings of a wrong type silence nothing: the coding agent reports them itself."""
    for file, text in files.items():
        write(tmp_path / "home" / file, text.replace("HOME", str(tmp_path / "home")))

    found = silencers(name, site(tmp_path))

    assert [what in each for each in found] == ([True] if what else [])


def test_a_server_that_is_disabled_or_rejected_in_one_project_only(tmp_path: Path) -> None:
    """Claude Code keeps the one in its own state, and the other in the project."""
    here = site(tmp_path)
    write(tmp_path / "home" / ".claude.json", {"projects": {here.project: {"disabledMcpServers": ["tildone"]}}})
    assert silencers("claude", here) == ["the server is disabled in this project"]

    write(tmp_path / "home" / "project" / ".claude" / "settings.local.json", {"disabledMcpjsonServers": ["tildone"]})
    rejected, _ = silencers("claude", site(tmp_path, PROJECT))

    assert rejected.startswith("the server is rejected in ")


def test_a_project_that_pi_does_not_trust(tmp_path: Path) -> None:
    here, own, silenced = site(tmp_path, PROJECT), tmp_path / "home" / ".pi" / "agent", []
    for trust, settings in (
        ({}, {}),
        ({here.project: False}, {"defaultProjectTrust": "always"}),
        ({here.project: True}, {}),
        ({}, {"defaultProjectTrust": "always"}),
    ):
        write(own / "trust.json", trust)
        write(own / "settings.json", settings)
        silenced.append(bool(silencers("pi", here)))

    assert silenced == [True, True, False, False]


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
