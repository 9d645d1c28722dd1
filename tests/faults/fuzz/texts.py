"""Parsers of texts: plans as files, commands, addresses, settings, shell lines and what is shown."""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.faults.fuzz import odd
from tests.faults.fuzz.odd import SAMPLES, Target
from tests.formats.hostile_plans import FAMILIES
from tildone.agents.install import jsonc, toml
from tildone.app.commands import find_targets
from tildone.app.settings import load_valid
from tildone.app.slash import command
from tildone.app.values import KEYS
from tildone.base import TildoneError
from tildone.cli.parsing import ROOT, parse
from tildone.cli.program.completion import split_line
from tildone.plan.formats import detection, markdown_reader, todotxt
from tildone.plan.formats.detection import parse_file
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.formats.markdown_reader import read_checklist
from tildone.plan.model import Phase, Plan, Rules, Status, Task, numbered
from tildone.plan.questions import asks_person
from tildone.plan.reduce import reduce
from tildone.plan.shell.syntax import split_line as split_command
from tildone.plan.text.safe import printable, printable_lines, single_line
from tildone.plan.text.styles import Role
from tildone.run.kit.drawing import markdown_rows
from tildone.stores import parse_address

CHECKLIST, TODO_TXT, SHELL, ADDRESSES = (SAMPLES[name] for name in ("checklist", "todo_txt", "shell", "addresses"))
COMMANDS, OPTIONS = SAMPLES["commands"], SAMPLES["options"]
CLAUDE = (SAMPLES["claude_list"], SAMPLES["claude_task"])
NOT_READ = (ValueError, RecursionError)
BREAKS_OF_WORDS = " \t\n\"'><=;|&(:"

Draw = Callable[[Random], str]


def targets(folder: Path) -> list[Target]:
    """Return the parsers of texts; `folder` is for settings."""
    return [
        Target("Markdown", like(CHECKLIST), lambda text: (markdown_reader.read(text), read_checklist(text))),
        Target("todo.txt", like(TODO_TXT), todotxt.read),
        Target(
            "lists of Claude Code", like(*CLAUDE), lambda text: parse_file("x.json", detection.CLAUDE, text), NOT_READ
        ),
        Target("format of a file", like(CHECKLIST, TODO_TXT, *CLAUDE), lambda text: detection.detect_format("x", text)),
        Target("plans written and read", plan, _write_and_read),
        Target("settings", like(SAMPLES["settings"]), lambda text: _load(folder, text), weight=2),
        Target(
            "settings in variables", _variables, lambda own: load_valid({}, {"HOME": "/nowhere", **own}, "/"), weight=3
        ),
        Target("store addresses", like(*ADDRESSES), _address),
        Target("shell lines", like(SHELL), _split),
        Target("command lines", _argv, lambda argv: parse(ROOT, argv), (TildoneError,), weight=1),
        Target("completion", like(SHELL, "tildone todo do"), lambda line: split_line(line, BREAKS_OF_WORDS)),
        Target("slash commands", _slash, lambda given: reduce(given[1], command(*given).steps or (), Rules())),
        Target("names of tasks", _named, lambda given: find_targets(*given)),
        Target("settings in JSON", like(SAMPLES["jsonc"]), _edit_json, NOT_READ),
        Target("settings in TOML", like(SAMPLES["toml"]), _edit_toml, (*NOT_READ, TildoneError), weight=2),
        Target("text that is shown", like(CHECKLIST), _show),
    ]


def like(*samples: str) -> Draw:
    """Return what draws texts like the samples."""
    encoded = [sample.encode() for sample in samples]
    words = samples[0].split()

    def draw(luck: Random) -> str:
        if luck.random() < 0.2:
            return odd.text(luck, words)
        return odd.mutated(luck, luck.choice(encoded)).decode("utf-8", luck.choice(("replace", "surrogateescape")))

    return draw


def plan(luck: Random) -> Plan:
    """Return a plan with odd texts."""
    pieces, statuses = luck.choice([*FAMILIES.values()]), list(Status)

    def words() -> str:
        return "".join(luck.choices(pieces, k=luck.randrange(1, 4)))

    def task() -> Task:
        return Task(words() or "x", luck.choice(statuses), tuple(words() for _ in range(luck.choice((0, 0, 1, 2)))))

    phases = (Phase(words(), tuple(task() for _ in range(luck.randrange(4)))) for _ in range(luck.randrange(3)))
    return numbered(Plan(tuple(phases)))


def _write_and_read(given: Plan) -> None:
    written = read_checklist(lossless_checklist(given))
    todotxt.read(todotxt.write(given).text)
    assert len(written.plan.tasks) == len(given.tasks)


def _load(folder: Path, text: str) -> None:
    (folder / "tildone.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    load_valid({}, {"HOME": str(folder)}, str(folder))


def _variables(luck: Random) -> dict[str, str]:
    names = luck.sample(KEYS, 3)
    return {f"TILDONE_{name.upper()}": _in_environment(odd.text(luck, ("1", "on", *ADDRESSES))) for name in names}


def _in_environment(text: str) -> str:
    """Return a text as a process gets it from its environment."""
    return os.fsdecode(text.encode("utf-8", "replace").replace(b"\0", b""))


def _address(text: str) -> None:
    address = parse_address(text)
    assert str(parse_address(str(address))) == str(address)
    assert isinstance(address.redacted, str)


def _split(line: str) -> None:
    for windows in (False, True):
        split_command(line, windows=windows)


def _argv(luck: Random) -> list[str]:
    words = (*(verb.name for verb in ROOT.verbs), *COMMANDS, *OPTIONS)
    return [odd.word(luck, words) for _ in range(luck.randrange(1, 6))]


def _slash(luck: Random) -> tuple[str, Plan]:
    given = plan(luck)
    texts = [task.text for task in given.tasks]
    return f"{odd.word(luck, COMMANDS)} {odd.text(luck, (*COMMANDS, *texts))}", given


def _named(luck: Random) -> tuple[Plan, list[str]]:
    given = plan(luck)
    words = ("1", "#2", "1-3", "9" * 20, *(task.text for task in given.tasks))
    return given, [odd.word(luck, words) for _ in range(luck.randrange(4))]


def _edit_json(text: str) -> None:
    jsonc.get(jsonc.put(text, ("mcpServers", "tildone"), {"command": "tildone"}), ("mcpServers",))
    jsonc.remove(text, ("mcpServers", "other"))


def _edit_toml(text: str) -> None:
    toml.get(toml.merge(text, ("mcp_servers", "tildone"), {"command": "tildone"}), ("mcp_servers",))
    toml.remove(text, ("mcp_servers", "other"))


def _show(text: str) -> None:
    list(markdown_rows(text, Role.TEXT))
    asks_person(text)
    single_line(text)
    for shown in (printable(text), *printable_lines(text)):
        assert "\x1b" not in shown
