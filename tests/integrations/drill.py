"""Random sequences of installing, upgrading, checking and removing, among rewrites by coding agents and people.

Every sequence is applied to two homes: in one tildone is installed and removed, in the other it never is. At the end,
tildone is removed, and both are compared: files that only tildone and the person changed are equal to the byte, files
that the coding agent has written anew have equal values, and nothing of tildone is left.

    python -m tests.integrations.drill [--sequences N] [AGENT ...]
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.integrations import rewrites
from tildone.agents.doctor import examine
from tildone.agents.install import PROJECT, USER, Site, edits_for, files
from tildone.agents.install.files import LEGACY_SUFFIX, Backups, WholeFile
from tildone.agents.integrations import INTEGRATIONS

SEQUENCES = 60
STEPS = 14
PROGRAMS = ("/usr/local/bin/tildone", "/opt/my tools/tildone", "/home/ada/.venv/bin/tildone")
SERVERS = ("one", "two", "three")

TOML = (
    None,
    "",
    'model = "x"\n',
    'model = "x"',
    '\ufeffmodel = "x"  # fast\n',
    '# top\nmodel = "x"\n\n[tools]\nweb = true\n\n[profiles.a]\nx = 1\n# tail\n',
    '[mcp_servers.zed] # theirs\ncommand = "zed"\nenv = { A = "1" }\n\n[tools]\nweb = true\n',
    (
        '[[hooks.Stop]]\nmatcher = ".*"\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "say tildone"\n'
        "\n[tools]\nweb = 1\n"
    ),
    '[hooks]\nStop = [ {hooks = [{type = "command", command = "say"}]}, ]\n\n[profiles.a]\nx = 1\n',
    "mcp_servers = {}\n[tools]\nweb = true\n\n\n",
    "[mcp_servers]\n[hooks]\n",
    'mcp_servers.zed.command = "zed"\n[hooks.state."a:stop:0:0"]\ntrusted_hash = "sha256:x"\n',
    'text = """\n[mcp_servers.tildone]\n# >>> tildone\n"""\r\n[tools]\r\nweb = true\r\n',
)
JSON = (
    None,
    "",
    "{}",
    "{ }\n",
    '{"a": 1}',
    '{"a": 1, "mcpServers": {"zed": {"command": "zed"}}}\n',
    '{\n  "a": 1,\n  "hooks": {},\n  "mcpServers": {},\n  "mcp": { }\n}\n',
    (
        '{\n\t"a": 1,\n\t"hooks": {\n\t\t"Stop": [\n'
        '\t\t\t{"hooks": [{"type": "command", "command": "say tildone"}]}\n\t\t]\n\t}\n}'
    ),
    '\ufeff{\r\n    "a": 1,\r\n    "permissions": {"allow": ["Bash(tildone mcp:*)"]}\r\n}\r\n',
)
JSONC = (
    '// top\n{\n  // why\n  "a": 1, // one\n  "b": [1, 2,],\n}\n',
    '{\n  /* servers */\n  "mcpServers": {\n    // none yet\n  },\n  "a": 1\n}\n',
)
WITH_COMMENTS = ("gemini", "opencode", "kilo", "zed", "vscode")
SERVERS_AT = {
    "opencode": "mcp",
    "kilo": "mcp",
    "crush": "mcp",
    "amp": "amp.mcpServers",
    "zed": "context_servers",
    "vscode": "servers",
}
USER_ONLY = ("claude-desktop", "cline")
ONE_ARRAY = '[[hooks]]\nevent = "Stop"\ncommand = "say tildone"\n\n[tools]\nweb = 1\n'


@dataclass
class Drill:
    """One sequence for one coding agent: `ours` is the home with tildone, `theirs` the one without."""

    name: str
    random: Random
    ours: Path
    theirs: Path
    installed: dict[str, str] = field(default_factory=dict)
    rewritten: set[str] = field(default_factory=set)
    line_ends: dict[str, str] = field(default_factory=dict)
    counter: int = 0
    log: list[str] = field(default_factory=list)

    def site(self, scope: str, program: str = PROGRAMS[0]) -> Site:
        word = program if scope == USER else "tildone"
        return Site(str(self.ours / "home"), str(self.ours / "project"), scope, {}, word, platform="linux")

    @property
    def backups(self) -> Backups:
        return Backups(str(self.ours / "data"))

    @property
    def scopes(self) -> tuple[str, ...]:
        return (USER,) if self.name in USER_ONLY else (USER, PROJECT)

    def settings(self, scope: str) -> list[str]:
        """The settings files of others that an installation edits, below a home."""
        edits = edits_for(INTEGRATIONS[self.name].configure, self.site(scope))
        names = [os.path.relpath(edit.file, self.ours) for edit in edits if not isinstance(edit, WholeFile)]
        return [*dict.fromkeys(names)]

    def begin(self) -> None:
        for home in (self.ours, self.theirs):
            (home / "project").mkdir(parents=True)
        for scope in self.scopes:
            for file in self.settings(scope):
                text = self.random.choice(self.forms(file))
                if text is not None:
                    for home in (self.ours, self.theirs):
                        write(home / file, text)

    def forms(self, file: str) -> Sequence[str | None]:
        if self.name == "kimi" and file.endswith(".toml"):
            return [text for text in TOML if "hooks" not in (text or "")] + [ONE_ARRAY]
        return TOML if file.endswith(".toml") else JSON + (JSONC if self.name in WITH_COMMENTS else ())

    def install(self) -> None:
        scope, program = self.random.choice(self.scopes), self.random.choice(PROGRAMS)
        self.note(f"install {scope} {program}")
        self.install_at(scope, program)

    def install_at(self, scope: str, program: str) -> None:
        edits = edits_for(INTEGRATIONS[self.name].configure, self.site(scope, program))
        for change in files.install_changes(edits, self.backups):
            files.install(change, self.backups)
        assert files.install_changes(edits, self.backups) == []
        self.installed[scope] = program

    def uninstall(self, scope: str | None = None) -> None:
        scope = scope or self.random.choice(self.scopes)
        self.note(f"uninstall {scope}")
        edits = edits_for(INTEGRATIONS[self.name].configure, self.site(scope))
        for change in files.uninstall_changes(edits, self.backups):
            files.uninstall(change, self.backups)
        files.forget(edits, self.backups)
        self.installed.pop(scope, None)

    def doctor(self) -> None:
        """What is installed is found, complete and up to date; what is not is not."""
        for scope in self.scopes:
            found = examine(INTEGRATIONS[self.name], self.site(scope, self.installed.get(scope, PROGRAMS[0])))
            assert (found is not None) == (scope in self.installed), "doctor does not see what is installed"
            if found is not None:
                assert not found.problem
                assert not found.outdated
                assert found.launches == found.expected

    def earlier_version(self) -> None:
        """An installation by a version that wrote markers; the next one of ours migrates it."""
        file = self.ours / "home" / ".codex" / "config.toml"
        text = read(file)
        if (
            self.name != "codex"
            or USER in self.installed
            or "mcp_servers =" in (text or "")
            or "Stop =" in (text or "")
        ):
            return
        self.note("an earlier version installs")
        if text is not None:
            write(file.with_name(file.name + LEGACY_SUFFIX), text)
        write(file, rewrites.marked(text or "", PROGRAMS[0]))
        self.install_at(USER, PROGRAMS[0])

    def host(self) -> None:
        """A command of the coding agent, or a start of it, which writes a file anew."""
        file = self.random.choice([file for scope in self.scopes for file in self.settings(scope)] or [""])
        verb, name = self.random.choice(("add", "add", "remove", "start")), self.random.choice(SERVERS)
        if self.name == "kimi" and file.endswith(".toml"):
            # No command of it adds a server there.
            return
        # The first start of opencode adds nothing to an empty file.
        if not file or (self.name == "opencode" and verb == "start" and not (read(self.theirs / file) or "").strip()):
            return
        self.note(f"the agent: {verb} {name} in {file}")
        self.change(file, lambda text: host_rewrite(self.name, verb, text, name, file), create=verb != "remove")
        self.rewritten.add(file)

    def person(self) -> None:
        file = self.random.choice([file for scope in self.scopes for file in self.settings(scope)] or [""])
        text = read(self.theirs / file) if file else None
        if not text or not rewrites.values(file, text):
            return
        self.counter += 1
        newline = self.line_ends.get(file, "\r\n" if "\r\n" in text else "\n")
        edits = [*(self.toml_edits(text, newline) if file.endswith(".toml") else self.json_edits(text, newline))]
        what, change = self.random.choice(edits)
        self.line_ends[file] = {"crlf": "\r\n", "lf": "\n"}.get(what, newline)
        self.note(f"the person: {what} in {file}")
        if what == "move ours":
            change_file(self.ours / file, change)
        else:
            self.change(file, change)

    def toml_edits(self, text: str, newline: str) -> Iterator[tuple[str, Callable[[str], str]]]:
        number, anchor = self.counter, self.random.choice(("", "[tools]", "[profiles.a]", "x = 1"))
        yield "comment", lambda text: rewrites.comment_above(text, anchor, f"# note {number}", newline)
        yield "append", lambda text: rewrites.appended(text, f"\n[notes.n{number}]\na = {number}\n", newline)
        yield "comment at the end", lambda text: rewrites.appended(text, f"# end {number}\n", newline)
        if "\n" in text:
            yield "crlf", rewrites.to_crlf
            yield "lf", rewrites.to_lf
        yield "reorder", lambda text: rewrites.moved(text, "[profiles.a]\nx = 1\n", "[tools]\n")
        yield "move ours", self.with_ours_moved

    def json_edits(self, text: str, newline: str) -> Iterator[tuple[str, Callable[[str], str]]]:
        number = self.counter
        if "\n" in text:
            yield "crlf", rewrites.to_crlf
        yield "member", lambda text: text.replace("{", f'{{"p{number}": {number}, ', 1)
        if self.name in WITH_COMMENTS and '"a": 1' in text:
            yield "comment", lambda text: rewrites.comment_above(text, '"a": 1', f"  // note {number}", newline)
            yield "comment at the top", lambda text: rewrites.comment_above(text, "", f"// note {number}", newline)

    def with_ours_moved(self, text: str) -> str:
        blocks = rewrites.our_blocks(text)
        return rewrites.moved(text, self.random.choice(blocks), "[tools]\n") if blocks else text

    def change(self, file: str, change: Callable[[str], str], *, create: bool = False) -> None:
        for home in (self.ours, self.theirs):
            if create and not (home / file).exists():
                write(home / file, "" if file.endswith(".toml") else "{}")
            change_file(home / file, change)

    def finish(self) -> None:
        for scope in self.scopes:
            self.uninstall(scope)
        self.doctor()
        left = {str(path.relative_to(self.ours)) for path in self.ours.rglob("*") if path.is_file()}
        known = {file for scope in self.scopes for file in self.settings(scope)}
        assert left <= known, f"left behind: {left - known}"
        for file in known:
            ours, theirs = read(self.ours / file), read(self.theirs / file)
            if file in self.rewritten:
                assert rewrites.values(file, ours) == rewrites.values(file, theirs), file
            else:
                assert ours == theirs, f"{file}: {ours!r} instead of {theirs!r}"

    def note(self, what: str) -> None:
        self.log.append(what)


def host_rewrite(name: str, verb: str, text: str, server: str, file: str) -> str:
    """What a command of a coding agent makes of a settings file."""
    if file.endswith(".toml"):
        return {"add": rewrites.codex_add, "remove": rewrites.codex_remove, "start": rewrites.codex_start}[verb](
            text, server
        )
    if verb == "start":
        return (rewrites.opencode_start if name == "opencode" else rewrites.json_start)(text, server)
    servers = SERVERS_AT.get(name, "mcpServers")
    return (rewrites.json_add if verb == "add" else rewrites.json_remove)(text, servers, server)


def read(path: Path) -> str | None:
    return path.read_bytes().decode() if path.is_file() else None


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def change_file(path: Path, change: Callable[[str], str]) -> None:
    text = read(path)
    if text is not None:
        write(path, change(text))


STEP_WEIGHTS: Mapping[str, int] = {
    "install": 4,
    "uninstall": 2,
    "doctor": 2,
    "host": 4,
    "person": 5,
    "earlier_version": 1,
}


def run(name: str, number: int, folder: Path) -> None:
    """Run one sequence, which the name and the number determine.

    Raises:
        AssertionError: a file is not as it should be; the message lists the steps.
    """
    random = Random(f"{name} {number}")  # noqa: S311  it selects test cases
    drill = Drill(name, random, folder / "ours", folder / "theirs")
    try:
        drill.begin()
        for step in random.choices([*STEP_WEIGHTS], [*STEP_WEIGHTS.values()], k=STEPS):
            getattr(drill, step)()
        drill.finish()
    except Exception as error:
        steps = "\n  ".join(drill.log)
        raise AssertionError(f"{name}, sequence {number}: {type(error).__name__}: {error}\n  {steps}") from error


def main(argv: Sequence[str]) -> int:
    """Run sequences for the named coding agents, or for all of them, and print how many there were."""
    parser = argparse.ArgumentParser(prog="python -m tests.integrations.drill", description=__doc__.split("\n")[0])
    parser.add_argument("--sequences", type=int, default=SEQUENCES, help="for each coding agent (default %(default)s)")
    parser.add_argument("agents", nargs="*", metavar="AGENT")
    options = parser.parse_args(argv)
    for name in options.agents or INTEGRATIONS:
        began = time.monotonic()
        for number in range(options.sequences):
            with tempfile.TemporaryDirectory() as folder:
                run(name, number, Path(folder).resolve())
        print(
            f"{name}: {options.sequences:,} sequences of {STEPS} steps ({time.monotonic() - began:.0f} s)", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
