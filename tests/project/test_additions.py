"""Adding a thing of each kind that grows: one new module or folder and one line, in a copy of the source.

This is the proof of the table in docs/contributing.md. Each addition is written as a contributor would write it, and
used through the command line, MCP and the generated documentation.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.project.source import ROOT

ADDITIONS = Path(__file__).parent / "additions"
TIMEOUT_SECONDS = 60
MAX_FILES_OF_A_FIELD = 15


class Checkout:
    """A copy of the source, and an empty project and home to use it in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.home = root / "home"
        self.touched: set[str] = set()
        self.project.mkdir()
        self.home.mkdir()

    @property
    def environ(self) -> dict[str, str]:
        # HOME and the XDG folders, so that nothing of this machine's is read or written.
        folders = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"), str(self.home))
        paths = os.pathsep.join([str(self.root / "src"), str(self.root)])
        return {**os.environ, **folders, "PYTHONPATH": paths, "NO_COLOR": "1", "COLUMNS": "100"}

    def add(self, name: str, to: str) -> None:
        """Copy a module or folder of `additions/` into the source."""
        source, target = ADDITIONS / name, self.root / "src" / "tildone" / to
        self.touched.add(to)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)

    def insert(self, line: str, *, before: str, into: str) -> None:
        """Insert one line into a file of the source, before the line that begins with a text."""
        path = self.root / "src" / "tildone" / into
        self.touched.add(into)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        [at] = [number for number, each in enumerate(lines) if each.startswith(before)]
        path.unlink()  # a hard link
        path.write_text("".join([*lines[:at], f"{line}\n", *lines[at:]]), encoding="utf-8")

    def tildone(self, *words: str, stdin: str = "", status: int = 0) -> str:
        """Run the command line and return what it printed."""
        return self.python("-m", "tildone", *words, stdin=stdin, status=status)

    def python(self, *words: str, stdin: str = "", status: int = 0, cwd: Path | None = None) -> str:
        given: dict[str, Any] = {"input": stdin, "encoding": "utf-8", "env": self.environ, "timeout": TIMEOUT_SECONDS}
        folder, command = cwd or self.project, [sys.executable, *words]
        answer = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False, **given)
        assert answer.returncode == status, answer.stdout + answer.stderr
        return str(answer.stdout)

    def generated(self, page: str) -> str:
        """Return a generated page of the documentation, as `python3 do.py docs` would write it."""
        return self.python("-c", f"import {page}; print({page}.page())", cwd=self.root)

    def mcp(self, *requests: tuple[str, dict[str, Any]], words: tuple[str, ...] = ()) -> list[Any]:
        """Send requests to `tildone mcp` on its standard input and return their results."""
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        asked = [("initialize", hello), *requests]
        lines = [{"id": number, "method": method, "params": params} for number, (method, params) in enumerate(asked)]
        lines.insert(1, {"method": "notifications/initialized"})
        command = [sys.executable, "-m", "tildone", "mcp", *words]
        results: dict[int, Any] = {}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.project, env=self.environ, text=True
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write("".join(f"{json.dumps({'jsonrpc': '2.0'} | line)}\n" for line in lines))
            server.stdin.flush()
            while len(results) < len(asked):
                answer = json.loads(server.stdout.readline())
                if "id" in answer:
                    results[answer["id"]] = answer["result"]
            server.stdin.close()
        return [results[number] for number in range(1, len(asked))]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parts of the checkout that the program and its generated documentation are made from."""
    scratch = tmp_path_factory.mktemp("source")
    unwanted = shutil.ignore_patterns("vectors", "golden", ".venv", ".clients", "*.pyc.*")
    for folder in ("src", "docs", "tests", "bench", "examples"):
        shutil.copytree(ROOT / folder, scratch / folder, ignore=unwanted)
    for file in ("pyproject.toml", "README.md", "CHANGELOG.md", "do.py"):
        shutil.copy(ROOT / file, scratch)
    return scratch


@pytest.fixture
def checkout(copied: Path, tmp_path: Path) -> Iterator[Checkout]:
    root = tmp_path / "checkout"
    shutil.copytree(copied, root, copy_function=os.link)
    yield Checkout(root)
    shutil.rmtree(root)


def test_a_coding_agent_is_a_module_and_a_line(checkout: Checkout) -> None:
    checkout.add("toy_integration.py", "agents/integrations/toy.py")
    entry = '    "toy": Known("toy", marks=("TOY",), mcp=McpClient(names=("toy",))),'
    checkout.insert(entry, before='    "zed"', into="stores/agents.py")
    settings = checkout.home / ".toy" / "settings.json"
    settings.parent.mkdir()
    checkout.tildone("todo", "append", "Work", "Write the parser")

    assert "Toy" in checkout.tildone("install", "toy")
    assert "tildone" in json.loads(settings.read_text())["mcpServers"]
    assert "toy" in checkout.tildone("install", "--help")
    assert "Toy" in checkout.tildone("doctor")
    event = json.dumps({"session_id": "s", "cwd": str(checkout.project), "hook_event_name": "Halted"})
    assert json.loads(checkout.tildone("hook", "toy", "Halted", stdin=event))["decision"] == "block"
    assert "| Toy |" in checkout.generated("tests.clients.integrations_page")


def test_a_dialect_is_a_folder_and_a_line(checkout: Checkout) -> None:
    checkout.add("toy_dialect", "plan/dialects/toy")
    checkout.insert(
        '        "toy": DialectEntry(("toy_plan",)),', before='        "brief"', into="plan/dialects/__init__.py"
    )
    plan = checkout.project / "plan.md"
    plan.write_text("- [ ] Say hello: `echo hello > said`\n- [ ] Check: `grep hello said`\n")

    assert "2 lines" in checkout.tildone("call", "toy_plan", '{"lines": ["One", "x Two"]}')
    assert "toy" in checkout.tildone("--help")
    [tools] = checkout.mcp(("tools/list", {}), words=("--dialect", "toy"))
    [tool] = tools["tools"]
    assert tool["name"] == "toy_plan"
    assert tool["annotations"]["idempotentHint"] is True
    assert tool["outputSchema"]["required"] == ["lines"]
    assert "All 2 tasks" in checkout.tildone("run", "plan.md", "--dialect", "toy", "--allow", "*", "--mode", "print")


def test_a_store_is_a_module_and_a_line(checkout: Checkout) -> None:
    checkout.add("toy_store.py", "stores/toy.py")
    line = '        "toy": AddressForm(("toy",), "toy:FILE", "a file that a test adds"),'
    checkout.insert(line, before='        "pi"', into="stores/__init__.py")

    checkout.tildone("todo", "append", "Work", "Write the parser", "--store", "toy:plans")

    assert (checkout.project / "plans.toy").exists()
    assert "Write the parser" in checkout.tildone("todo", "--store", "toy:plans")
    assert "toy:FILE" in checkout.tildone("--help")
    assert "plans" in checkout.tildone("doctor", "--store", "toy:plans")
    call = ("tools/call", {"name": "todo", "arguments": {}})
    [result] = checkout.mcp(call, words=("--store", f"toy:{checkout.project / 'plans'}"))
    assert "Write the parser" in result["content"][0]["text"]


def test_a_verb_is_a_module_and_a_row(checkout: Checkout) -> None:
    checkout.add("toy_verb.py", "cli/maintenance/toy.py")
    row = '        "toy": Verb("toy WORD…", "Print words in reverse order."),'
    checkout.insert(row, before='        "doctor"', into="cli/maintenance/__init__.py")

    assert checkout.tildone("toy", "one", "two") == "two one\n"
    assert "Print words in reverse order." in checkout.tildone("--help")
    assert "tildone toy WORD…" in checkout.tildone("help", "toy")
    listed = "import sys; from tests.project.cli_reference import verbs; print(*verbs(sys.stdin.read()))"
    reference = checkout.python("-c", listed, stdin=checkout.tildone("--help"), cwd=checkout.root)
    assert "toy" in reference.split()
    checkout.tildone("toy", status=2)


def test_a_page_of_the_board_is_a_module_and_a_row(checkout: Checkout) -> None:
    """The server answers at its address, and hands the browser the same row."""
    pytest.importorskip("starlette")
    checkout.add("toy_page.js", "screens/board/static/toy.js")
    row = '    BoardPage("/toys", "toy.js", "Toys", "cards", "y"),'
    checkout.insert(row, before='    BoardPage("/stats"', into="screens/board/pages.py")
    board = [sys.executable, "-m", "tildone", "board", "--no-open", "--port", "0"]

    with subprocess.Popen(
        board, stdout=subprocess.PIPE, cwd=checkout.project, env=checkout.environ, text=True
    ) as server:
        assert server.stdout is not None
        address = urlsplit(server.stdout.readline().split()[-1]).netloc
        frame = content(address, "/toys")
        [module] = re.findall(r'modulepreload" href="(/a/[^"]*/toy.js)"', frame)
        assert "toys" in content(address, module)
        server.terminate()

    [table] = re.findall(r'data-pages="([^"]*)"', frame)
    told = {"path": "/toys", "module": "toy.js", "name": "Toys", "icon": "cards", "key": "y", "only_with": ""}
    assert told in json.loads(unescape(table))


def content(address: str, path: str) -> str:
    with closing(HTTPConnection(address, timeout=TIMEOUT_SECONDS)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read().decode()


def test_a_status_is_a_member(checkout: Checkout) -> None:
    """It states its own facts; lists, history, Markdown and schemas are derived from them."""
    line = '    PAUSED = "paused", "‖", "p", "pause", "waiting"'
    checkout.insert(line, before="    BLOCKED =", into="plan/model.py")
    (checkout.project / "plan.md").write_text("- [p] Wait for spring\n- [ ] Dig\n")

    checkout.tildone("todo", "import", "plan.md")

    assert "‖ #1 Wait for spring" in checkout.tildone("todo")
    assert "- [p] Wait for spring" in checkout.tildone("todo", "export", "-")
    call = ("tools/call", {"name": "todo", "arguments": {"pause": 2}})
    tools, result = checkout.mcp(("tools/list", {}), call)
    assert "pause IDs" in tools["tools"][0]["description"]
    assert not result.get("isError")
    assert "paused" in checkout.tildone("log")
    assert "‖ #2 Dig" in checkout.tildone("todo")


TAGS = """    "tags": WordField(
        thing="tags",
        words="tags",
        shown="tagged",
        none="Has no tags",
        op="tag",
        key="t",
        question="Which tags has it?",
        hint="Words, separated by spaces.",
    ),"""
READ_BACK = """
import json, sys
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.formats.markdown_reader import read
from tildone.screens.board.data import plan_data
from tildone.screens.board.pages import word_fields
from tildone.screens.widgets.plan import order_rows
plan = read(sys.stdin.read()).plan
assert read(lossless_checklist(plan)).plan == plan
[row] = order_rows(plan, plan.tasks[0])
print(json.dumps([row.spans[-1].text, plan_data(plan)["phases"][0]["tasks"][0]["tags"], word_fields()[0]["name"]]))
"""


def test_a_field_of_a_task_is_a_row(checkout: Checkout) -> None:
    """It is stored, told, written as Markdown, taken back and shown, and people and models set it."""
    checkout.insert("    tags: tuple[str, ...] = ()", before='    __uncompared__ = ("from_user"', into="plan/model.py")
    checkout.insert(TAGS, before='    "touches": WordField(', into="plan/model.py")
    kind = '    TAGS_SET = ("set the tags of", "set the tags of {} tasks")'
    checkout.insert(kind, before="    FILES_SET", into="plan/history/changes.py")
    function = "def tags(args: ParsedArgs) -> int:\n    return touches(args)\n\n"
    checkout.insert(function, before="def touches(", into="cli/plan/changing.py")
    verb = '        "changing:tags": Verb("tags TASK [TAG…]", "Say which tags a task has.", '
    verb += 'options=(Option("none", "", "No tags."), JSON)),'
    checkout.insert(verb, before='        "changing:touches"', into="cli/plan/__init__.py")
    checkout.insert('    "task.tags": "t",', before='    "task.touches"', into="base/keys.py")
    key = '    ScreenKey("task.tags", "set its tags", "words(\'tags\')", Pane.PLAN),'
    checkout.insert(key, before='    ScreenKey("task.touches"', into="screens/watch/actions.py")
    checkout.tildone("todo", "add", "Dig", "Plant")

    assert "Tagged garden, two words: #1 Dig" in checkout.tildone("todo", "tags", "1", "garden", "two words")
    checkout.tildone("todo", "tags", "1", status=2)
    [result] = checkout.mcp(("tools/call", {"name": "todo", "arguments": {"tags": "2 shade"}}))
    assert not result.get("isError")
    told = json.loads(checkout.tildone("todo", "--json"))
    assert [task["tags"] for task in told["tasks"]] == [["garden", "two words"], ["shade"]]
    markdown = checkout.tildone("todo", "export", "-")
    assert "(tags garden 'two words')" in markdown
    assert "set the tags of" in checkout.tildone("log")
    shown = json.loads(checkout.python("-c", READ_BACK, stdin=markdown))
    assert shown == ["tagged garden, two words", ["garden", "two words"], "tags"]
    checkout.tildone("undo")
    assert "tags" not in json.loads(checkout.tildone("todo", "--json"))["tasks"][1]
    assert len(checkout.touched) <= MAX_FILES_OF_A_FIELD
