"""The tools in a host, called by a model that follows a script, and the views of their calls and results."""

import re
from pathlib import Path
from typing import Any

from tests.host.test_host import Script, host_with, ran, talk
from tests.host.tools.tool_bench import ToolBench, sleeping_processes, unique_duration
from tests.suite.waiting import until_async
from tildone.run.host import Host
from tildone.run.kit.components import RenderOptions
from tildone.run.kit.defaults import call_component, result_component
from tildone.run.kit.definition import ToolResult, error_result, markup, text_result, validated
from tildone.run.messages import text_of
from tildone.run.tools.builtin import builtin_tools
from tildone.run.tools.permissions import PermissionGuard, PermissionPolicy

EXPANDED = RenderOptions(expanded=True)


def call(tool: str, args: Any) -> str:
    [definition] = [each for each in builtin_tools(PermissionGuard(PermissionPolicy())) if each.name == tool]
    return re.sub("</?(toolTitle|bold|muted|toolOutput)>", "", markup(call_component(definition, args)))


def shown(bench: ToolBench, tool: str, result: ToolResult, options: RenderOptions | None = None) -> str:
    return markup(result_component(bench.tools[tool], result, options or RenderOptions(is_error=result.is_error)))


def test_the_tools_can_be_registered() -> None:
    tools = builtin_tools(PermissionGuard(PermissionPolicy()))

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
    """Incomplete arguments are shown, too, and the beginning of a long text."""
    long = call("write", {"path": "a", "content": "line\n" * 30})

    assert [(tool, args, call(tool, args)) for tool, args, _ in CALLS] == CALLS
    assert (long.count("line"), long.endswith("… (110 B more)")) == (8, True)


WORDS = {"read": "reading", "write": "writing", "edit": "editing", "bash": "running"}


def test_a_partial_result_is_a_fixed_message(bench: ToolBench) -> None:
    partial = RenderOptions(is_partial=True)
    for tool, words in WORDS.items():
        [line] = {shown(bench, tool, text_result(text), partial) for text in ("", "some", "more")}

        assert line.startswith(f"<muted>{tool.capitalize()}: {words}...</muted>")


def test_the_output_of_a_running_command_is_shown_only_in_the_expanded_view(bench: ToolBench) -> None:
    so_far = text_result("".join(f"{number}\n" for number in range(20)))
    running, tail = "<muted>Bash: running...</muted>", "\n".join(map(str, range(12, 20)))
    hint = "<dim> | </dim><dim>ctrl+o</dim><muted> to show its output</muted>"

    assert [shown(bench, "bash", so_far, RenderOptions(is_partial=True, expanded=full)) for full in (False, True)] == [
        f"{running}{hint}",
        f"{running}\n<toolOutput>{tail}</toolOutput>",
    ]


def test_a_failure_shows_its_message(bench: ToolBench) -> None:
    assert {shown(bench, tool, error_result("It is gone")) for tool in WORDS} == {"<error>It is gone</error>"}


async def test_a_read_file_is_shown_as_a_preview_or_in_full(bench: ToolBench) -> None:
    (bench.folder / "a").write_text("".join(f"{number}\n" for number in range(20)), encoding="utf-8")
    result = await bench.call("read", path="a")

    collapsed = shown(bench, "read", result).split("\n")
    expanded = shown(bench, "read", result, EXPANDED).split("\n")

    assert (collapsed[0], collapsed[1], collapsed[8]) == ("20 lines", "<toolOutput>0", "7</toolOutput>")
    assert collapsed[9:] == ["", "<muted>12 more lines</muted><dim> | </dim><dim>ctrl+o</dim><muted> to expand</muted>"]
    assert expanded == ["20 lines", "<toolOutput>0", *map(str, range(1, 19)), "19</toolOutput>"]


async def test_directories_images_and_written_files_have_summaries_of_their_own(bench: ToolBench) -> None:
    written = await bench.call("write", path="a", content="x\n")
    (bench.folder / "b.gif").write_bytes(b"GIF89a")

    assert shown(bench, "write", written) == "Created: 1 line, 2 B"
    assert shown(bench, "read", await bench.call("read", path=".")).startswith("2 entries\n")
    assert shown(bench, "read", await bench.call("read", path="b.gif")).startswith("image/gif, 6 B\n")


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
    """A failure comes first, and the file of a long output is named."""
    lines = shown(bench, "bash", await bench.bash("seq 20")).split("\n")
    failed = shown(bench, "bash", await bench.bash("echo no; exit 2")).split("\n")
    long = await bench.bash("seq 3000")

    assert (lines[0], lines[1], lines[8]) == ("Done: 20 lines", "<toolOutput>13", "20</toolOutput>")
    assert lines[10].startswith("<muted>took: </muted>")
    assert "12 more lines" in lines[10]
    assert failed[:4] == ["<error>Exit code 2</error>", "<toolOutput>no", "", "[Exit code 2]</toolOutput>"]
    path = long.details["fullOutputPath"]
    assert f"<muted>all of it: </muted><muted>{path}</muted>" in shown(bench, "bash", long)


Calls = list[tuple[str, dict[str, Any]]]


def host_in(folder: Path, policy: PermissionPolicy, *turns: Calls) -> Host:
    host, _ = host_with(Script(*turns), *builtin_tools(PermissionGuard(policy)))
    host.cwd = str(folder)
    return host


def results(host: Host) -> list[tuple[bool | None, str]]:
    return [(message.is_error, text_of(message)) for message in host.transcript.tool_results()]


async def test_an_agent_can_work(folder: Path) -> None:
    """Calls of one turn run in order; errors are reported without a traceback."""
    outside = (folder.parent / "outside.txt").resolve()
    beyond = f"../outside.txt, which leads to {outside}, is outside the working directory"
    how = "Start with --allow 'rm -rf src' to allow it, or with --allow '*' for every command."
    made: list[tuple[str, dict[str, Any], bool, str]] = [
        ("write", {"path": "src/a.py", "content": "print('one')\n"}, False, "Created src/a.py: 1 line, 13 B"),
        (
            "edit",
            {"path": "src/a.py", "old_text": "one", "new_text": "two"},
            False,
            "Edited src/a.py: 1 place, +1 -1 lines, from line 1 on",
        ),
        ("bash", {"command": "cat src/a.py"}, False, "print('two')"),
    ]
    failed: list[tuple[str, dict[str, Any], bool, str]] = [
        ("read", {"path": "src/b.py"}, True, "src/b.py does not exist. Did you mean src/a.py?"),
        ("read", {"path": "../outside.txt"}, True, f"Not allowed: {beyond}\nStart with --outside to allow it."),
        ("bash", {"command": "rm -rf src"}, True, f"Not allowed: rm -rf src\n{how}"),
        ("bash", {"command": "false", "timeout": 5}, True, "(no output)\n\n[Exit code 1]"),
    ]
    policy = PermissionPolicy(allow=("cat *", "false"), allow_write=("src",))
    wrong: Calls = [*(call[:2] for call in failed), ("edit", {"path": "src/a.py"})]
    host = host_in(folder, policy, [call[:2] for call in made], wrong)

    await talk(host)

    *known, (is_error, _) = results(host)
    assert (known, is_error) == ([call[2:] for call in (*made, *failed)], True)
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


async def test_the_system_prompt_describes_the_tools() -> None:
    model = Script()
    await ran(model, *builtin_tools(PermissionGuard(PermissionPolicy())))

    assert [name for name in WORDS if f"- {name}: " not in model.requests[0].system] == []
