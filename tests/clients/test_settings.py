"""Settings files that the real coding agents rewrite by their own commands, between install, upgrade and uninstall."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.clients.agents import TIMEOUT_SECONDS, Sandbox, environment
from tests.clients.install import CLIENTS, programs
from tests.integrations import rewrites
from tests.integrations.drill import Drill, read, write
from tildone.agents.doctor import host_version, too_old
from tildone.agents.integrations import INTEGRATIONS
from tildone.log.kept import Finding

pytestmark = pytest.mark.slow

QUIET = {"DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
SEQUENCES: Mapping[str, tuple[int, int]] = {"codex": (8, 24), "claude": (2, 8), "gemini": (1, 2), "opencode": (1, 2)}
"""How many sequences are run for each coding agent: in CI, and in the long form."""

STEPS = 8
KEPT_BY_CLAUDE = ("mcpServers", "a", "hooks", "permissions", "statusLine")
"""What is compared in `.claude.json`: the rest is the time of the first start, an id of the machine, and the like."""


def run(name: str, home: Path, *words: str) -> None:
    """Run a command of a coding agent in a home."""
    sandbox = Sandbox(home / "home", home / "project", "http://127.0.0.1:9")
    sandbox.home.mkdir(exist_ok=True, parents=True)
    done = subprocess.run(
        [name, *words],
        cwd=sandbox.work,
        env=environment(name, sandbox) | QUIET,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    # Removing a server that is not there is an error; Claude Code does not add one again.
    expected = "remove" in words or b"already exists" in done.stderr
    assert done.returncode == 0 or expected, done


def command(name: str, verb: str, file: str, server: str) -> Sequence[str]:
    """The command line of a coding agent that adds or removes a server in a file."""
    scope = "project" if file.startswith("project") else "user"
    if name == "opencode":
        # Without plugins: opencode would download the types of ours first.
        return ("mcp", "list", "--pure")
    if name == "codex":
        return ("mcp", "add", server, "--", "npx", server) if verb == "add" else ("mcp", "remove", server)
    if verb == "remove":
        return ("mcp", "remove", "--scope", scope, server)
    words = ("--", "npx", server) if name == "claude" else ("npx", server)
    return ("mcp", "add", "--scope", scope, server, *words)


class RealDrill(Drill):
    """A sequence in which the coding agent's own commands are run, in both homes."""

    def forms(self, file: str) -> Sequence[str | None]:
        """Only texts that the coding agents accept: Gemini CLI refuses an empty file and a trailing comma."""
        forms = super().forms(file)
        if file.endswith(".toml"):
            return forms
        return [text for text in forms if text is None or text.startswith(('{"', '{\n  "a"'))]

    def host(self) -> None:
        if self.name == "claude":
            servers = [file for file in self.files if file.endswith((".claude.json", ".mcp.json"))]
        else:
            servers = [file for file in self.files if self.name != "codex" or file.startswith("home")]
        file, server = self.random.choice(servers), self.random.choice(("one", "two"))
        verb = self.random.choice(("add", "add", "remove"))
        self.note(f"{self.name} {verb} {server} in {file}")
        for home in (self.ours, self.theirs):
            run(self.name, home, *command(self.name, verb, file, server))
        # Claude Code rewrites its own file at every start.
        homes = (file.partition("/")[0], "home/.claude.json")
        self.rewritten |= {each for each in self.files if each.startswith(homes)}

    @property
    def files(self) -> list[str]:
        return [file for scope in self.scopes for file in self.settings(scope)]

    def finish(self) -> None:
        for scope in self.scopes:
            self.uninstall(scope)
        self.doctor()
        for file in self.files:
            ours, theirs = read(self.ours / file), read(self.theirs / file)
            if file in self.rewritten:
                assert self.compared(file, ours) == self.compared(file, theirs), file
            else:
                assert ours == theirs, f"{file}: {ours!r} instead of {theirs!r}"

    def compared(self, file: str, text: str | None) -> Any:
        data = rewrites.values(file, text)
        if not file.endswith(".claude.json"):
            return data
        return {key: item for key, item in data.items() if key in KEPT_BY_CLAUDE or key.startswith("p")}


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(name, number, marks=[pytest.mark.long] if number >= few else [])
        for name, (few, many) in SEQUENCES.items()
        for number in range(many)
    ],
)
def test_commands_of_the_real_agent_between_ours_leave_everything_of_theirs(
    tmp_path: Path, name: str, number: int
) -> None:
    random = Random(f"real {name} {number}")  # noqa: S311  it selects test cases
    drill = RealDrill(name, random, tmp_path.resolve() / "ours", tmp_path.resolve() / "theirs")
    drill.begin()
    drill.install()
    for step in random.choices(("host", "person", "install", "doctor", "uninstall"), (4, 2, 2, 1, 1), k=STEPS):
        getattr(drill, step)()
    drill.finish()


CODEX_FILES = {
    "ours last": '# top\nmodel = "x" # c\n\n[mcp_servers.zed]\ncommand = "z"\n\n[mcp_servers.tildone]\ncommand = "t"\n',
    "ours first": '[mcp_servers.tildone]\ncommand = "t"\nargs = ["mcp"]\n\n[[hooks.Stop]]\n\n[tools]\n',
    "marked": '# >>> tildone\n[mcp_servers.tildone]\ncommand = "t"\n\n[hooks.state]\n# <<< tildone\n',
    "crlf": 'model = "x"\r\n\r\n[mcp_servers.tildone]\r\ncommand = "t"\r\n',
    "no servers": 'model = "x"',
}


@pytest.mark.parametrize("form", CODEX_FILES)
def test_the_model_of_codex_writes_what_codex_writes(tmp_path: Path, form: str) -> None:
    """Which comments it drops, where it puts the servers, and which line ends it writes."""
    settings = tmp_path / "home" / ".codex" / "config.toml"
    (tmp_path / "project").mkdir()
    write(settings, CODEX_FILES[form])

    run("codex", tmp_path, "mcp", "add", "one", "--", "npx", "one")
    added = read(settings)
    run("codex", tmp_path, "mcp", "remove", "one")
    removed = read(settings)

    assert added == rewrites.codex_add(CODEX_FILES[form], "one")
    assert removed == rewrites.codex_remove(added or "", "one")


def test_the_model_of_claude_writes_what_claude_writes(tmp_path: Path) -> None:
    """In the file of a project, where Claude Code keeps nothing else."""
    settings = tmp_path / "project" / ".mcp.json"
    text = '{"mcpServers": {"tildone": {"command": "tildone", "args": ["mcp"], "alwaysLoad": true}}}\n'
    write(settings, text)

    run("claude", tmp_path, *command("claude", "add", "project/.mcp.json", "one"))
    added = read(settings)
    run("claude", tmp_path, *command("claude", "remove", "project/.mcp.json", "one"))

    assert added == rewrites.json_add(text, "mcpServers", "one")
    assert read(settings) == rewrites.json_remove(added, "mcpServers", "one")


def test_the_model_of_opencode_writes_what_opencode_writes(tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".config" / "opencode" / "opencode.json"
    (tmp_path / "project").mkdir()
    text = '{\n  "mcp": {"tildone": {"type": "local", "command": ["tildone", "mcp"], "enabled": false}}\n}\n'
    write(settings, text)

    run("opencode", tmp_path, "mcp", "list")

    assert read(settings) == rewrites.opencode_start(text, "")


def test_every_agent_has_a_version_that_is_new_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifests of the real packages are found, without starting anything."""
    names = [name for name in CLIENTS if name in INTEGRATIONS and shutil.which(name, path=str(programs(name)))]
    versions: dict[str, str] = {}
    findings: list[Finding] = []
    monkeypatch.setattr(subprocess, "run", None)
    for name in names:
        monkeypatch.setenv("PATH", str(programs(name)))
        versions[name] = host_version(INTEGRATIONS[name])
        findings += too_old(INTEGRATIONS[name])

    assert versions == {name: CLIENTS[name].version for name in names}
    assert findings == []
