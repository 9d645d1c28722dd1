"""No command line, JSON argument or environment variable ends in a traceback."""

import contextlib
import io
import itertools
import json
import os
import random
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tildone.cli import main
from tildone.cli.parsing import ROOT
from tildone.cli.table import Verb
from tildone.plan.dialects import DIALECTS

HOSTILE = (
    *("1e999", "-1e999", "9" * 5000, "-" + "9" * 5000, "0", "-1", "1.5", "NaN", "Infinity", "²", "١٢", "lone \ud800"),
    *("\udcff", "nul \x00 inside", "\x1b[2J", "\u202e", "[" * 20_000, "{}", "a" * 5000, "a/" * 600, "/", ".", ".."),
    *("~no-such-user", "%s%n{}{0}", "jsonl:\x00", "postgresql://[", "HEAD~" + "9" * 5000, "HEAD~1e999", "@" * 200, "="),
    *("--", "-x", " ", "", "#" + "9" * 5000, "1,2,3", "99999999999999999999"),
)
NUMBERS = ("1e999", "-1e999", "9" * 5000, "-0", "1e-999", "0.5", "99999999999999999999", "-1", "1e19", "2", "1E400")
SKIPPED = {"mcp", "board", "run", "complete-words", "work"}
"""Verbs that serve or run until they are ended; their options are below."""

ENDLESS = {"watch", "fix"}
RUNS, DOCUMENTS, SEED = 12, 60, 20261116


def verbs(parent: Verb, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Verb]]:
    for verb in parent.verbs:
        if verb.groups:
            yield from verbs(verb, (*words, verb.name))
        elif verb.name not in SKIPPED and (*words, verb.name) != ("fleet", "watch"):
            yield (*words, verb.name), verb


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person with a plan, in whose name nothing else on this machine is found."""
    for name in [name for name in os.environ if name.startswith(("TILDONE_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name, value in {"PATH": str(tmp_path), "EDITOR": "false", "VISUAL": "false", "TILDONE_USER": "Ada"}.items():
        monkeypatch.setenv(name, value)
    return settle(tmp_path / "first", monkeypatch)


def settle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a new home and project, and make a plan."""
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    assert run("todo", "add", "one", "two", "three") == ""
    return folder


def run(*argv: str, given: str = "") -> str:
    """Run a command in this process; return the traceback that it ends with, or empty text."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2))
    stdin = io.TextIOWrapper(io.BytesIO(given.encode("utf-8", "surrogatepass")), encoding="utf-8")
    before = sys.stdin
    sys.stdin = stdin
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(argv))
    except SystemExit:
        return ""
    except BaseException:  # noqa: BLE001  each one is a finding
        return traceback.format_exc()
    finally:
        sys.stdin = before
    err.flush()
    assert isinstance(err.buffer, io.BytesIO)
    told = err.buffer.getvalue().decode()
    return told if "Traceback" in told or not 0 <= code < 256 else ""


def findings(commands: Iterable[list[str]]) -> list[tuple[list[str], str]]:
    """The commands that end in a traceback, each with it."""
    return [(argv, told) for argv in commands if (told := run(*argv))]


def test_hostile_words_and_options_are_refused_or_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for words, verb in verbs(ROOT):
        settle(tmp_path / " ".join(words), monkeypatch)
        chance = random.Random(f"{SEED} {words}")  # noqa: S311  it is to be repeatable
        left_out = ENDLESS | {"help", "version"}
        options = [option for option in (*ROOT.options, *verb.options) if option.name not in left_out]
        for _ in range(RUNS):
            count = chance.randint(verb.min_args, max(verb.min_args, min(verb.max_args, 3)))
            argv = [*words, *(chance.choice(HOSTILE) for _ in range(count))]
            for option in chance.sample(options, min(len(options), chance.choice((0, 1, 1, 2)))):
                argv += [f"--{option.name}={chance.choice(HOSTILE)}" if option.metavar else f"--{option.name}"]
            if told := run(*argv, given=chance.choice(HOSTILE)):
                found.append((argv, told))

    assert found == []


def test_every_option_takes_or_refuses_hostile_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for words, verb in verbs(ROOT):
        settle(tmp_path / " ".join(words), monkeypatch)
        command = [*words, *["x"] * verb.min_args]
        options = [f"--{option.name}" for option in verb.options if option.metavar]
        found += findings([*command, option, value] for option in options for value in HOSTILE)

    assert found == []


def test_servers_and_runs_with_hostile_options_are_not_started() -> None:
    """Without names of people, no board is started for other machines."""
    ports = ("1e999", "-1", "9" * 5000, "65536", "99999999999999999999", "²", "nul \x00 inside", "lone \ud800")
    of_board = ("--port", "--base-path", "--public-url", "--user-header", "--trusted-proxy")
    of_run = ("--max-nudges", "--mode", "--fork", "--resume", "--session-dir", "--allow")

    assert findings(["mcp", "--http", "--port", value] for value in ports) == []
    board, run = ["board", "--host", "192.0.2.1"], ["run", "--model", "none"]
    commands = [*((board, option) for option in of_board), *((run, option) for option in of_run)]
    assert findings([*command, option, value] for command, option in commands for value in HOSTILE) == []


def documents(chance: random.Random) -> Iterator[str]:
    """JSON texts that no model should send."""
    keys = (
        *("action", "indices", "todos", "mode", "ops", "op", "items"),
        *("text", "status", "task", "phase", "list", "add"),
    )

    def value(depth: int) -> str:
        kind = chance.randrange(8 if depth else 5)
        if kind == 0:
            return chance.choice(NUMBERS)
        if kind == 1:
            return json.dumps(chance.choice(HOSTILE))
        if kind == 2:
            return chance.choice(("null", "true", "false", "NaN", "Infinity", "-Infinity", '"\\ud800"', '"\\u0000"'))
        if kind in {3, 4}:
            return json.dumps(chance.choice(("complete", "start", "replace", "done", "append", "init", "pending", "1")))
        if kind == 5:
            return f"[{','.join(value(depth - 1) for _ in range(chance.randrange(4)))}]"
        members = (f"{json.dumps(chance.choice(keys))}:{value(depth - 1)}" for _ in range(chance.randrange(5)))
        return f"{{{','.join(members)}}}"

    while True:
        yield value(4)


EXACT = (
    *('{"action":1e999,"indices":[0]}', '{"action":"complete","indices":[1e999]}'),
    *('{"action":"complete","indices":[99999999999999999999]}', f'{{"action":"complete","indices":[{"9" * 5000}]}}'),
    *('{"mode":"insert","index":1e999,"todos":[{"text":"a"}]}', '{"mode":1e999,"todos":1e999}'),
    *('{"todos":[{"content":1e999,"status":1e999}]}', '{"ops":[{"op":1e999}]}', '{"ops":[{"op":"done","task":1e999}]}'),
    *('{"done":1e999}', '{"done":[1e999]}', '{"add":[1e999],"done":"1e999"}', '{"start":' + "9" * 5000 + "}"),
    *('{"start":"' + "9" * 5000 + '"}', "1e999", "[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000, "\x00", "\ud800"),
)


def test_hostile_arguments_of_a_tool_are_refused_or_taken() -> None:
    found = []
    for dialect, tool in sorted({(name, tool.name) for name in DIALECTS for tool in DIALECTS[name].tools}):
        chance = random.Random(f"{SEED} {tool}")  # noqa: S311  it is to be repeatable
        for text in (*EXACT, *itertools.islice(documents(chance), DOCUMENTS)):
            more = ["--json"] if chance.random() < 0.3 else []
            found += findings([["call", tool, text, "--dialect", dialect, *more]])

    assert found == []


SETTINGS = (
    *("TILDONE_MAX_NUDGES", "TILDONE_MAX_COST", "TILDONE_COUNTDOWN", "TILDONE_STORE", "TILDONE_SESSION"),
    *("TILDONE_DIALECT", "TILDONE_GATE", "TILDONE_USER", "TILDONE_SESSION_DIR"),
    *("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"),
)
TERMINAL = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM")


def test_hostile_environment_variables_are_refused_or_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In the root folder, root would create a store.
    values = [value for value in HOSTILE if "\x00" not in value and "\ud800" not in value and value != "/"]
    found = []
    for variable in (*SETTINGS, *TERMINAL):
        settle(tmp_path / variable, monkeypatch)
        commands = [["todo", "start", "1"]] if variable in SETTINGS else [["log"], ["help", "log"]]
        with monkeypatch.context() as patch:
            for value in values:
                patch.setenv(variable, value)
                found += [(variable, value, *each) for each in findings(commands)]
            found += [(variable, values[-1], *each) for each in findings([["doctor", "--json"]])]

    assert found == []
