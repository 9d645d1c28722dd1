"""The tools in a host, called by a model that follows a script, and the views of their calls and results."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from tests.host.tools.tool_bench import ToolBench, sleeping_processes, unique_duration
from tests.suite.waiting import until_async
from tildone.run.events import AnswerDone
from tildone.run.host import Host
from tildone.run.kit.components import RenderOptions
from tildone.run.kit.defaults import call_component, result_component
from tildone.run.kit.definition import AbortSignal, ToolResult, error_result, markup, text_result, validated
from tildone.run.messages import StopReason, TextBlock, ToolCallBlock, ToolResultMessage, text_of
from tildone.run.model import ChatRequest, assistant_message
from tildone.run.tools.builtin import builtin_tools
from tildone.run.tools.permissions import PermissionPolicy
from tildone.run.transcript import Transcript
from tildone.stores.pi.session_file import header

EXPANDED = RenderOptions(expanded=True)
TITLE = "<toolTitle><bold>{}</bold></toolTitle>"


def call(tool: str, args: Any) -> str:
    [definition] = [each for each in builtin_tools(PermissionPolicy()) if each.name == tool]
    return markup(call_component(definition, args))


def shown(bench: ToolBench, tool: str, result: ToolResult, options: RenderOptions | None = None) -> str:
    return markup(result_component(bench.tools[tool], result, options or RenderOptions(is_error=result.is_error)))


def test_the_tools_can_be_registered() -> None:
    tools = builtin_tools(PermissionPolicy())

    assert [validated(tool).name for tool in tools] == ["read", "write", "edit", "bash"]
    assert [tool.exclusive for tool in tools] == [False, True, True, True]


CALLS: list[tuple[str, Any, str]] = [
    ("read", {"path": "a.py", "limit": 5, "offset": 2}, "Read: <accent>a.py</accent> offset=2 limit=5"),
    ("write", {"path": "a.py", "content": "x\n"}, "Write: <accent>a.py</accent>\n  x"),
    ("edit", {"path": "a.py", "old_text": "x", "new_text": "y", "all": True}, "Edit: <accent>a.py</accent> all=true"),
    ("bash", {"command": "make -j2", "timeout": 5}, "Bash: <accent>make -j2</accent> timeout=5s"),
    ("bash", {"command": "cd x\nmake"}, "Bash\n  cd x\nmake"),
    ("read", {}, "Read"),
    ("write", {"path": "a"}, "Write: <accent>a</accent>"),
    ("edit", None, "Edit"),
    ("bash", "{", "Bash"),
]


def test_a_call_is_one_line_with_long_text_below() -> None:
    """Incomplete arguments are shown, too."""
    said = [re.sub("</?(toolTitle|bold|muted|toolOutput)>", "", call(tool, args)) for tool, args, _ in CALLS]

    assert said == [line for _, _, line in CALLS]


def test_the_beginning_of_a_long_text_is_shown() -> None:
    said = call("write", {"path": "a", "content": "line\n" * 30})

    assert said.count("line") == 8
    assert said.endswith("… (110 B more)</toolOutput>")


WORDS = [("read", "reading"), ("write", "writing"), ("edit", "editing"), ("bash", "running")]


def test_a_partial_result_is_a_fixed_message(bench: ToolBench) -> None:
    partial = RenderOptions(is_partial=True)
    for tool, words in WORDS:
        [line] = {shown(bench, tool, text_result(text), partial) for text in ("", "some", "more")}

        assert line.startswith(f"<muted>{tool.capitalize()}: {words}...</muted>")


def test_the_output_of_a_running_command_is_shown_only_in_the_expanded_view(bench: ToolBench) -> None:
    so_far = text_result("".join(f"{number}\n" for number in range(20)))

    collapsed = shown(bench, "bash", so_far, RenderOptions(is_partial=True))
    expanded = shown(bench, "bash", so_far, RenderOptions(is_partial=True, expanded=True))

    assert collapsed == (
        "<muted>Bash: running...</muted><dim> | </dim><dim>ctrl+o</dim><muted> to show its output</muted>"
    )
    assert expanded.split("\n") == [
        "<muted>Bash: running...</muted>",
        "<toolOutput>12",
        *map(str, range(13, 19)),
        "19</toolOutput>",
    ]


def test_a_failure_shows_its_message(bench: ToolBench) -> None:
    said = {shown(bench, tool, error_result("It is gone")) for tool, _ in WORDS}

    assert said == {"<error>It is gone</error>"}


async def test_a_read_file_is_shown_as_a_preview_or_in_full(bench: ToolBench) -> None:
    (bench.folder / "a").write_text("".join(f"{number}\n" for number in range(20)), encoding="utf-8")
    result = await bench.call("read", path="a")

    collapsed = shown(bench, "read", result).split("\n")
    expanded = shown(bench, "read", result, EXPANDED).split("\n")

    assert (collapsed[0], collapsed[1], collapsed[8]) == ("20 lines", "<toolOutput>0", "7</toolOutput>")
    assert collapsed[9:] == ["", "<muted>12 more lines</muted><dim> | </dim><dim>ctrl+o</dim><muted> to expand</muted>"]
    assert expanded == ["20 lines", "<toolOutput>0", *map(str, range(1, 19)), "19</toolOutput>"]


async def test_a_directory_and_an_image_have_summaries_of_their_own(bench: ToolBench) -> None:
    (bench.folder / "a").touch()
    (bench.folder / "b.gif").write_bytes(b"GIF89a")

    assert shown(bench, "read", await bench.call("read", path=".")).startswith("2 entries\n")
    assert shown(bench, "read", await bench.call("read", path="b.gif")).startswith("image/gif, 6 B\n")


async def test_a_written_file_is_shown_as_one_line(bench: ToolBench) -> None:
    assert shown(bench, "write", await bench.call("write", path="a", content="x\n")) == "Created: 1 line, 2 B"


async def test_an_edit_is_shown_as_a_diff(bench: ToolBench) -> None:
    (bench.folder / "a").write_bytes(b"one\r\ntwo\r\n")

    result = await bench.call("edit", path="a", old_text="two", new_text="2")

    assert shown(bench, "edit", result).split("\n") == [
        "1 place, +1 -1",
        "<error>--- a</error>",
        "<success>+++ a</success>",
        "<accent>@@ -1,2 +1,2 @@</accent>",
        "<dim> one</dim>",
        "<error>-two</error>",
        "<success>+2</success>",
    ]


async def test_the_end_of_the_output_of_a_command_is_shown(bench: ToolBench) -> None:
    result = await bench.bash("seq 20")

    lines = shown(bench, "bash", result).split("\n")

    assert (lines[0], lines[1], lines[8]) == ("Done: 20 lines", "<toolOutput>13", "20</toolOutput>")
    assert lines[10].startswith("<muted>took: </muted>")
    assert "12 more lines" in lines[10]


async def test_a_failed_command_shows_the_failure_first(bench: ToolBench) -> None:
    result = await bench.bash("echo no; exit 2")

    lines = shown(bench, "bash", result).split("\n")

    assert lines[:4] == ["<error>Exit code 2</error>", "<toolOutput>no", "", "[Exit code 2]</toolOutput>"]


async def test_long_output_names_its_file(bench: ToolBench) -> None:
    result = await bench.bash("seq 3000")
    path = result.details["fullOutputPath"]

    assert f"<muted>all of it: </muted><muted>{path}</muted>" in shown(bench, "bash", result)


Calls = list[tuple[str, dict[str, Any]]]


class Scripted:
    """A model that makes these calls, one list per turn, and then stops."""

    api, provider, id = "script", "script", "script"

    def __init__(self, *turns: Calls) -> None:
        self.turns = list(turns)
        self.requests: list[ChatRequest] = []

    async def stream(
        self, request: ChatRequest, _signal: AbortSignal | None = None
    ) -> AsyncGenerator[AnswerDone, None]:
        """The next turn."""
        self.requests.append(request)
        calls = self.turns.pop(0) if self.turns else []
        made = [ToolCallBlock(f"call-{number}", *call) for number, call in enumerate(calls)]
        reason = StopReason.TOOL_USE if calls else StopReason.STOP
        yield AnswerDone(assistant_message(made or [TextBlock("Done")], self, reason, 0))

    async def close(self) -> None:
        """Nothing is open."""


def host_in(folder: Path, policy: PermissionPolicy, *turns: Calls) -> Host:
    ids = iter(range(1000))
    transcript = Transcript(header("s", str(folder), 0), now=lambda: 0, new_id=lambda: f"e{next(ids)}")
    tools = builtin_tools(policy)
    return Host(model=Scripted(*turns), transcript=transcript, cwd=str(folder), now=lambda: 0, tools=tools)


def results(host: Host) -> list[tuple[bool | None, str]]:
    made = [message for message in host.transcript.messages() if isinstance(message, ToolResultMessage)]
    return [(message.is_error, text_of(message)) for message in made]


async def test_an_agent_can_work(folder: Path) -> None:
    """Calls of one turn run in order; errors are reported without a traceback."""
    outside = (folder.parent / "outside.txt").resolve()
    how = "Start with --allow 'rm -rf src' to allow it, or with --allow '*' for every command."
    host = host_in(
        folder,
        PermissionPolicy(allow=("cat *", "false"), allow_write=("src",)),
        [
            ("write", {"path": "src/a.py", "content": "print('one')\n"}),
            ("edit", {"path": "src/a.py", "old_text": "one", "new_text": "two"}),
            ("bash", {"command": "cat src/a.py"}),
        ],
        [
            ("read", {"path": "src/b.py"}),
            ("read", {"path": "../outside.txt"}),
            ("bash", {"command": "rm -rf src"}),
            ("bash", {"command": "false", "timeout": 5}),
            ("edit", {"path": "src/a.py"}),
        ],
    )

    await host.prompt("Go")
    await host.settled()

    beyond = f"../outside.txt, which leads to {outside}, is outside the working directory"
    assert results(host)[:7] == [
        (False, "Created src/a.py: 1 line, 13 B"),
        (False, "Edited src/a.py: 1 place, +1 -1 lines, from line 1 on"),
        (False, "print('two')"),
        (True, "src/b.py does not exist. Did you mean src/a.py?"),
        (True, f"Not allowed: {beyond}\nStart with --outside to allow it."),
        (True, f"Not allowed: rm -rf src\n{how}"),
        (True, "(no output)\n\n[Exit code 1]"),
    ]
    assert [is_error for is_error, _ in results(host)[7:]] == [True]
    assert (folder / "src/a.py").exists()


async def test_aborting_a_turn_ends_its_command(folder: Path) -> None:
    seconds = unique_duration()
    host = host_in(folder, PermissionPolicy(allow=("*",)), [("bash", {"command": f"sleep {seconds} & wait"})])
    await host.prompt("Go")
    await until_async(lambda: sleeping_processes(seconds))

    host.request_abort("enough")
    await host.settled()

    assert sleeping_processes(seconds) == []
    assert results(host) == [(True, "(no output)\n\n[Aborted]")]


async def test_the_system_prompt_describes_the_tools(folder: Path) -> None:
    host = host_in(folder, PermissionPolicy())

    await host.prompt("Go")
    await host.settled()

    model = host.model
    assert isinstance(model, Scripted)
    told = model.requests[0].system
    assert all(f"- {name}: " in told for name in ToolBench(folder).tools)
