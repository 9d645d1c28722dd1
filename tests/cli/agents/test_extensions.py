"""`tildone extensions`: which extensions `tildone run` would load, from where, and what they add."""

from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.run.extension_workspace import install_package

TOOLS = """\
from tildone.kit.definition import ToolDefinition, text_result
from tildone.kit.wrapping import wrap_tool


async def execute(tool_call_id, params, signal, on_update, ctx):
    return text_result("42")


async def show(arguments, ctx):
    ctx.ui.notify("42")


def extension(api):
    api.register_tool(ToolDefinition("answer", "Answer", "Answers.", {"type": "object"}, execute))
    api.register_tool(wrap_tool(api.tool("bash"), description="Run it."))
    api.register_command("answer", "Answer.", show)
"""


@pytest.fixture
def tools(person: Person) -> Path:
    file = person.folder / "tools.py"
    file.write_text(TOOLS, encoding="utf-8")
    return file


def test_without_extensions_it_says_how_to_add_one(person: Person) -> None:
    said = person.says("extensions")

    assert said.startswith("There are no extensions. To add one:\n  tildone run --extension FILE.py ")
    assert 'extensions = ["FILE.py"]' in said
    assert person.run("extensions", "--json").json == {"version": 1, "extensions": []}


def test_each_is_listed_with_its_origin_and_what_it_adds(person: Person, tools: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "quiet.py").write_text("def plug_in(api):\n    pass\n", encoding="utf-8")
    install_package(site, "quiet-tools", "1.2", "quiet = quiet:plug_in")
    settings = person.home / ".config" / "tildone" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"extensions = ['{tools}']\n", encoding="utf-8")

    said = person.says("extensions", PYTHONPATH=str(site))

    assert said.splitlines() == [
        "✓ quiet  from quiet-tools 1.2",
        "    quiet:plug_in",
        "    no tools and no commands",
        f"✓ tools.py  from {settings}",
        f"    {tools}:extension",
        "    tools: bash (replaces the one before), answer; commands: /answer",
    ]


def test_one_that_fails_is_listed_with_the_error_and_its_place(person: Person, tools: Path) -> None:
    broken = person.folder / "broken.py"
    broken.write_text("import os\n1 / 0\n", encoding="utf-8")

    answer = person.run("extensions", "--extension", "broken.py", "--extension", tools.name)

    assert (answer.code, answer.err) == (1, "")
    assert answer.out.splitlines()[:3] == [
        "✗ broken.py  from --extension",
        f"    {broken}, line 2: ZeroDivisionError: division by zero",
        "✓ tools.py  from --extension",
    ]


def test_json_has_the_same(person: Person, tools: Path) -> None:
    answer = person.run("extensions", "--extension", "tools.py", "--extension", "none.py:plug_in", "--json")

    assert (answer.code, answer.json["version"]) == (1, 1)
    assert answer.json["extensions"] == [
        {
            "name": "tools.py",
            "origin": "option",
            "named_by": "--extension",
            "target": str(tools),
            "function": "extension",
            "tools": ["bash", "answer"],
            "replaced": ["bash"],
            "commands": ["answer"],
            "error": None,
        },
        {
            "name": "none.py:plug_in",
            "origin": "option",
            "named_by": "--extension",
            "target": str(person.folder / "none.py"),
            "function": "plug_in",
            "tools": [],
            "replaced": [],
            "commands": [],
            "error": f"{person.folder / 'none.py'}: No such file or directory",
        },
    ]


def test_nothing_is_stored(person: Person, tools: Path) -> None:
    person.says("extensions", "--extension", str(tools), "--no-extensions")

    assert [path for path in person.home.rglob("*") if path.is_file()] == []


def test_the_tools_are_those_of_the_plans_dialect(person: Person) -> None:
    """An extension that wraps a tool of the plan finds it as in a run."""
    (person.folder / "wraps.py").write_text(
        "def extension(api):\n    api.register_tool(api.tool('write_todos'))\n    assert api.tool('read')\n", "utf-8"
    )

    assert person.run("extensions", "--extension", "wraps.py").code == 0
    assert person.run("extensions", "--extension", "wraps.py", "--dialect", "phased").code == 1
