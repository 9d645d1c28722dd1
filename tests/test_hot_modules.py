"""The hot modules: what hooks, common verbs and calls over MCP load, which is most of what they cost.

`pyproject.toml` lists them, where it lets them import late. Everything else is ordinary Python. Also: registries import
one member at a time, and documented modules can still be imported under the names that they had.
"""

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.project.source import modules, pyproject
from tildone.app.opening import session_in, store_at
from tildone.app.settings import load
from tildone.base import Registry
from tildone.base.moved import MOVED
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Task
from tildone.plan.ops import Append
from tildone.stores.assignment import ProvidedTools

SLOW = {"argparse", "asyncio", "dataclasses", "inspect", "json", "logging", "pathlib", "re", "subprocess", "typing"}
"""Modules of the standard library that take longer to import than a hook may take."""

STOP = json.dumps({"session_id": "s1", "hook_event_name": "Stop", "last_assistant_message": "I stop."})
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
CALLS = [("initialize", HELLO), ("tools/list", {}), ("tools/call", {"name": "todo", "arguments": {"add": ["Write"]}})]
MCP = "".join(
    json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
    for number, (method, params) in enumerate(CALLS)
)
STARTS = {
    "a silent hook": (["hook", "claude"], STOP, 17),
    "todo add": (["todo", "add", "Write the parser", "Wire it up"], "", 60),
    "the first hook of a session": (["hook", "claude"], STOP, 60),
    "a hook that speaks": (["hook", "claude"], STOP, 46),
    "todo": (["todo"], "", 55),
    "todo start": (["todo", "start", "1"], "", 60),
    "todo done": (["todo", "done", "1"], "", 60),
    "undo": (["undo"], "", 60),
    "log": (["log"], "", 60),
    "MCP: initialize, list, call": (["mcp"], MCP, 85),
    "--version": (["--version"], "", 5),
}
"""What is started, one after the other in one project, and how many modules of tildone it may load."""

PROGRAM = """
import atexit, os, sys
names = lambda: "\\n".join(name for name in sys.modules if name.split(".")[0] == "tildone")
atexit.register(lambda: open(os.environ["LOADED"], "w").write(names()))
from tildone.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The modules of tildone that each start loads, in an interpreter of its own."""
    home = tmp_path_factory.mktemp("home")
    (home / ".git").mkdir()
    names = ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
    folders = dict.fromkeys(names, str(home))
    environ = {**os.environ, **folders, "LOADED": str(home / "loaded")}
    found = {}
    for name, (words, given, _) in STARTS.items():
        command = [sys.executable, "-c", PROGRAM, *words]
        subprocess.run(command, cwd=home, env=environ, input=given, capture_output=True, text=True, check=True)
        found[name] = set((home / "loaded").read_text().split())
    return found


@cache
def hot() -> frozenset[str]:
    """The modules that may import late, as `pyproject.toml` lists them."""
    ignored = pyproject()["tool"]["ruff"]["lint"]["per-file-ignores"]
    files = [file for pattern, rules in ignored.items() if rules == ["PLC0415"] for file in _expanded(pattern)]
    names = (Path(file).relative_to("src").with_suffix("").as_posix().replace("/", ".") for file in files)
    return frozenset(name.removesuffix(".__init__") for name in names)


def _expanded(pattern: str) -> list[str]:
    before, names, after = re.fullmatch(r"(.*?)(?:\{(.*)\})?([^}]*)", pattern).groups()  # type: ignore[union-attr]  # it matches everything
    return [f"{before}{name}{after}" for name in (names or "").split(",")]


def test_what_starts_load_is_listed(loaded: dict[str, set[str]]) -> None:
    """And nothing else: a module that no start loads any more imports at the top."""
    assert set().union(*loaded.values()) == hot()


@pytest.mark.parametrize("start", STARTS)
def test_a_start_loads_few_modules(start: str, loaded: dict[str, set[str]]) -> None:
    assert len(loaded[start]) <= STARTS[start][2], sorted(loaded[start])


def test_hot_modules_import_nothing_slow(loaded: dict[str, set[str]]) -> None:
    """When hooks and verbs load them. Imports for types, and late ones, cost nothing; a server starts once."""
    names = set().union(*(loaded[start] for start in STARTS if not start.startswith("MCP")))
    slow = {(name, found.split(".")[0]) for name in names for found in _at_import(modules()[name].tree.body)}

    assert {(name, found) for name, found in slow if found in SLOW} == set()


def _at_import(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=str(origin)):
                found.add(origin)
            case ast.If(test=ast.Name(id="TYPE_CHECKING" | "MYPY"), orelse=orelse):
                found |= _at_import(orelse)
            case ast.If(body=inner, orelse=orelse) | ast.Try(body=inner, orelse=orelse):
                found |= _at_import(inner) | _at_import(orelse)
            case _:
                pass
    return found


HEAVY = {
    *("argparse", "asyncio", "dataclasses", "inspect", "logging", "mcp", "pathlib", "psycopg", "pydantic", "rich"),
    *("starlette", "textual", "typing", "uvicorn"),
}
SHOW = "import sys; print(*sorted(sys.modules), sep='\\n', file=sys.stderr)"


@pytest.mark.parametrize("module", ["tildone.log.session", "tildone.stores.sqlite.store", "tildone.app.opening"])
def test_modules_of_commands_and_hooks_import_no_heavy_packages(module: str) -> None:
    """In a new interpreter. Each of them imports the package itself, too."""
    assert loaded_by(f"import {module}; {SHOW}") & HEAVY == set()


@pytest.mark.parametrize("words", [["todo"], ["call", "list_todos", "{}"]], ids=" ".join)
def test_running_a_command_imports_no_heavy_packages(words: list[str], tmp_path: Path) -> None:
    """From start to end, including late imports."""
    run = f"""
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), sep='\\n', file=sys.stderr))
sys.argv[1:] = {words!r}
from tildone.cli import main
sys.exit(main())
"""

    assert loaded_by(run, TILDONE_STORE=str(tmp_path / "plans.db"), TILDONE_SESSION="s") & HEAVY == set()


MAX_MODULES_OF_A_HOOK = 100
"""How many modules a hook that continues an agent imports. Each one costs a hook about as much as a query."""


def test_a_hook_that_continues_an_agent_imports_few_modules(tmp_path: Path) -> None:
    """Of the standard library, none that takes long: it decodes events, but needs neither `json` nor `re`."""
    (tmp_path / ".git").mkdir()
    environ = {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    settings = load({}, environ, str(tmp_path))
    session_in(store_at(str(settings.store)), settings.session, BY_HAND).change([Append((Task("One"),))])
    event = json.dumps({"session_id": "s", "cwd": str(tmp_path), "hook_event_name": "Stop"})
    program = f"from tildone.agents.hooks import main; main(['claude']); {SHOW}"

    with ProvidedTools(settings.agents_dir, os.getpid()):
        first, second = (run(program, event, **environ) for _ in range(2))

    assert ["is not done" in answer.stdout for answer in (first, second)] == [True, True]
    modules = set(second.stderr.split()) - set(run(SHOW).stderr.split())
    assert modules & {"json", "re", "threading", "tildone.plan.reduce", "tildone.plan.ops"} == set()
    assert len(modules) <= MAX_MODULES_OF_A_HOOK


def loaded_by(program: str, **environ: str) -> set[str]:
    """Return the packages that are imported when the program ends."""
    return {name.split(".")[0] for name in run(program, **environ).stderr.split()}


def run(program: str, given: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a new interpreter."""
    command = [sys.executable, "-I", "-c", program]
    return subprocess.run(command, env=os.environ | environ, input=given, capture_output=True, text=True, check=True)


def test_a_member_is_imported_on_first_use() -> None:
    show = (
        "import sys; from tildone.base import Registry;"
        "members = Registry('wsgiref', 'BaseHandler', {'handlers': None, 'validate': None});"
        "print('wsgiref.handlers' in sys.modules, members['handlers'].__name__, 'wsgiref.validate' in sys.modules)"
    )

    assert run(show).stdout.split() == ["False", "BaseHandler", "False"]


def test_a_registry_lists_its_members_in_order_without_importing_them() -> None:
    """A name that is not registered is a KeyError even if the module exists."""
    members: Registry[object, int] = Registry("wsgiref", "NOTHING", {"second": 2, "first": 1})

    assert (list(members), members.entries["first"]) == (["second", "first"], 1)
    assert ("first" in members, "third" in members) == (True, False)
    with pytest.raises(KeyError):
        members["handlers"]


def test_a_name_with_a_hyphen_is_a_module_with_an_underscore_and_a_colon_names_what_it_has() -> None:
    names = {"simple-server": None, "util:guess_scheme": None}
    members: Registry[object, None] = Registry("wsgiref", "demo_app", names)

    assert [callable(members[name]) for name in names] == [True, True]


OLD_EXTENSION = """
from tildone.host.extension_api import ExtensionAPI
from tildone.kit.components import ToolBody
from tildone.kit.definition import ToolResult
from tildone.kit.signal import AbortSignal
import tildone.kit.wrapping as wrapping
import tildone.run.host, tildone.run.kit.definition, sys

print(ExtensionAPI is tildone.run.host.ExtensionAPI, AbortSignal is tildone.run.kit.definition.AbortSignal)
print(wrapping is tildone.run.kit.definition, tildone.run.kit.definition.__spec__.name)
"""


def test_an_extension_written_against_the_old_names_works() -> None:
    answer = run(OLD_EXTENSION)

    assert (answer.stderr, answer.stdout.split()) == ("", ["True", "True", "True", "tildone.run.kit.definition"])


def test_every_old_name_is_the_module_of_today_and_no_other_exists() -> None:
    """Each in an interpreter of its own: what is imported before must not matter."""
    for old in MOVED:
        shown = run(f"import sys, {old}; print(sys.modules[{old!r}].__name__)").stdout.strip()
        assert (old, shown) == (old, MOVED[old])
    with pytest.raises(subprocess.CalledProcessError) as missing:
        run("import tildone.kit.nothing")
    assert "No module named 'tildone.kit.nothing'" in missing.value.stderr
