"""The guide to tools, section by section: what happens when a tool is called in a host."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from docs.examples.repo_tree import repo_tree
from tests.host import records as messages
from tests.host.records import Json
from tests.host.test_host import Script, extend, host_with, talk
from tests.host.tools.tool_bench import marked_processes, unique_duration
from tests.suite.waiting import until_async
from tildone.plan.text.amounts import format_size
from tildone.run.host import ExtensionAPI, ExtensionContext, Host
from tildone.run.kit.definition import (
    AbortSignal,
    Delegate,
    ImageContent,
    Invocation,
    OnUpdate,
    TextContent,
    ToolDefinition,
    ToolResult,
    TruncationResult,
    dispatch_by_action,
    keep_tail,
    send_update,
    text_result,
    wrap_tool,
)
from tildone.run.tools.builtin import builtin_tools
from tildone.run.tools.permissions import PermissionPolicy

ANYTHING = {"type": "object", "properties": {"query": {"type": "string"}}}


def my_tool(execute: Any, **fields: Any) -> ToolDefinition:
    return ToolDefinition("my_tool", "My Tool", "Does it.", ANYTHING, execute, **fields)


async def called(tool: ToolDefinition, **arguments: Any) -> tuple[Json, list[Json]]:
    """Call the tool in a host; return the event of its end and all events."""
    host, told = host_with(Script([(tool.name, arguments)], "done"), tool)
    await talk(host)
    return ended(told), told


def ended(told: list[Json]) -> Json:
    [event] = [event for event in told if event["type"] == "tool_execution_end"]
    return event


async def test_execute_signature_five_arguments_in_order() -> None:
    """The id of the call, the arguments, the signal before the callback, and the context of the host."""
    given = list[Any]()

    async def execute(*five: Any) -> ToolResult:
        given.extend(five)
        return text_result("ok")

    await called(my_tool(execute), query="yak")

    assert given[:2] == ["c0", {"query": "yak"}]
    assert isinstance(given[2], AbortSignal)
    assert callable(given[3])
    assert isinstance(given[4], ExtensionContext)


async def test_execute_signature_the_callback_may_be_missing() -> None:
    async def execute(_id: str, _params: Any, _signal: Any, on_update: OnUpdate | None, _ctx: Any) -> ToolResult:
        send_update(on_update, text_result("half"))
        return text_result("whole")

    assert (await execute("call_1", {}, None, None, None)).text == "whole"


async def test_tool_overrides_and_delegation_a_built_in_tool_is_wrapped(tmp_path: Path) -> None:
    """All five arguments reach the original, in their order, and the model is offered the tool once."""
    await asyncio.to_thread((tmp_path / "a.txt").write_text, "hello\n", "utf-8")
    seen = list[Invocation]()
    model = Script([("read", {"path": "a.txt"})], "done")
    host, told = host_with(model, *builtin_tools(PermissionPolicy()))
    host.cwd = str(tmp_path)

    async def around(call: Invocation, delegate: Delegate) -> ToolResult:
        seen.append(call)
        inner = await delegate(call)
        return text_result(f"{inner.text} (seen)")

    def override(api: ExtensionAPI) -> None:
        original = api.tool("read")
        assert original is not None
        api.register_tool(wrap_tool(original, around))

    extend(host, override)
    await talk(host)

    assert [spec.name for spec in model.requests[0].tools].count("read") == 1
    assert "hello" in ended(told)["result"]["content"][0]["text"]
    assert ended(told)["result"]["content"][0]["text"].endswith("(seen)")
    assert [(call.tool_call_id, call.params) for call in seen] == [("c0", {"path": "a.txt"})]
    assert isinstance(seen[0].signal, AbortSignal)


async def test_return_value_content_is_for_the_model_and_details_for_the_renderer() -> None:
    async def execute(*_five: Any) -> ToolResult:
        return ToolResult((TextContent("[1]"), ImageContent("aGk=", "image/png")), {"results": [1]})

    model = Script([("my_tool", {})], "done")
    host, told = host_with(model, my_tool(execute))
    await talk(host)

    answered = messages.shown(model.requests[1].messages)[-1]
    assert answered["content"] == [
        {"type": "text", "text": "[1]"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    ]
    assert ended(told)["result"]["details"] == {"results": [1]}


async def test_return_value_details_are_optional() -> None:
    async def execute(*_five: Any) -> ToolResult:
        return ToolResult((TextContent("ok"),))

    end, _ = await called(my_tool(execute))

    assert (end["result"]["content"], end["isError"]) == ([{"type": "text", "text": "ok"}], False)


async def test_error_handling_an_exception_is_a_failed_call_with_empty_details() -> None:
    async def execute(*_five: Any) -> ToolResult:
        raise LookupError("No results found. Try a different query.")

    end, _ = await called(my_tool(execute))

    assert end["isError"]
    assert end["result"] == {
        "content": [{"type": "text", "text": "No results found. Try a different query."}],
        "details": {},
    }


async def test_streaming_updates_are_published_before_the_result() -> None:
    async def execute(_id: str, _params: Any, _signal: Any, on_update: OnUpdate | None, _ctx: Any) -> ToolResult:
        for step in (1, 2):
            send_update(on_update, text_result(f"part {step}", {"progress": step / 2}))
        return text_result("all", {"complete": True})

    _, told = await called(my_tool(execute))

    streamed = [event for event in told if event["type"].startswith("tool_execution")]
    assert [event["type"].removeprefix("tool_execution_") for event in streamed] == ["start", "update", "update", "end"]
    assert [event["partialResult"]["details"]["progress"] for event in streamed[1:3]] == [0.5, 1.0]
    assert streamed[3]["result"]["details"] == {"complete": True}


class Client:
    """A client that passes the signal on to what it awaits, as the guide asks."""

    def __init__(self, api: ExtensionAPI) -> None:
        self._api = api

    async def search(self, seconds: str, signal: AbortSignal | None) -> str:
        result = await self._api.exec("sleep", [seconds], signal=signal)
        if signal is not None:
            signal.raise_if_aborted()
        return result.stdout


async def test_abort_signal_reaches_the_program_that_a_tool_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the client to `api.exec`: the process is gone, and the call is aborted."""
    duration = unique_duration()
    monkeypatch.setenv("MARK", duration)
    host, told = host_with(Script([("my_tool", {})]))
    host.cwd = "/"

    def extension(api: ExtensionAPI) -> None:
        client = Client(api)

        async def execute(_id: str, _params: Any, signal: AbortSignal | None, *_others: Any) -> ToolResult:
            return text_result(await client.search("7777", signal))

        api.register_tool(my_tool(execute))

    extend(host, extension)
    await host.prompt("go")
    await until_async(lambda: marked_processes(duration))
    await pressing_escape(host)

    assert marked_processes(duration) == []
    assert ended(told)["isError"]
    assert ended(told)["result"]["content"][0]["text"] == "Error: aborted"


async def pressing_escape(host: Host) -> None:
    host.request_abort("Escape")
    async with asyncio.timeout(30):
        await host.settled()


async def test_output_truncation_keeps_the_most_recent_lines() -> None:
    text = "".join(f"line {number}\n" for number in range(5000))

    async def execute(*_five: Any) -> ToolResult:
        kept = keep_tail(text, max_bytes=50_000, max_lines=2000)
        return text_result(kept.content, {"truncated": kept.truncated, "size": format_size(kept.total_bytes)})

    end, _ = await called(my_tool(execute))

    shown = end["result"]["content"][0]["text"]
    assert shown.startswith("line 3000\n")
    assert shown.endswith("line 4999\n")
    assert end["result"]["details"] == {"truncated": True, "size": "47.7 KB"}


def test_truncation_result_fields() -> None:
    assert keep_tail("ä\nb\n", max_lines=1) == TruncationResult(
        content="b\n", truncated=True, total_lines=2, total_bytes=5, output_lines=1, output_bytes=2
    )
    assert keep_tail("b\n") == TruncationResult("b\n", False, 1, 2, 1, 2)  # noqa: FBT003  the fields in their order


async def start(_id: str, params: Any, _signal: Any, on_update: OnUpdate | None, _ctx: Any) -> ToolResult:
    send_update(on_update, text_result("starting"))
    return text_result(f"started {params['name']}", {"sessionId": "s1", "pid": 1})


async def listing(*_five: Any) -> ToolResult:
    return text_result("s1")


PROCESSES = ToolDefinition(
    "processes",
    "Processes",
    "Manage processes.",
    {
        "type": "object",
        "required": ["action"],
        "properties": {"action": {"type": "string"}, "name": {"type": "string"}},
    },
    dispatch_by_action({"start": start, "list": listing}),
)


@pytest.mark.parametrize(
    ("arguments", "text", "is_error"),
    [
        ({"action": "start", "name": "web"}, "started web", False),
        ({"action": "list"}, "s1", False),
        ({"action": "fly"}, "Unknown action: fly; known are start, list", True),
    ],
)
async def test_multi_action_tools_delegate_to_the_function_of_the_action(
    arguments: Json, text: str, *, is_error: bool
) -> None:
    end, _ = await called(PROCESSES, **arguments)

    assert (end["result"]["content"][0]["text"], end["isError"]) == (text, is_error)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("hello\n", encoding="utf-8")
    return tmp_path


async def test_full_example_runs_in_a_host(repository: Path) -> None:
    end, told = await called(repo_tree(repository), path="", depth="1")

    assert end["result"]["content"][0]["text"] == "src/\nREADME.md (6 B)"
    assert [entry["path"] for entry in end["result"]["details"]["entries"]] == ["src", "README.md"]
    assert [event["type"] for event in told].count("tool_execution_update") == 1


async def test_full_example_reports_what_could_not_be_found(repository: Path) -> None:
    end, _ = await called(repo_tree(repository), path="nowhere")

    assert end["isError"]
    assert 'Could not find the folder "nowhere"' in end["result"]["content"][0]["text"]
