"""Tools of extensions: results of any kind, programs that they run, and tools that a model has to find first."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.host import records as messages
from tests.host.records import Json
from tests.host.test_host import Script, extend, host_with, of_kind, ran, talk, tool
from tests.host.tools.tool_bench import marked_processes, unique_duration
from tests.suite.waiting import until_async
from tildone.run.extension import AgentStartReply, BeforeAgentStart, ReplaceResult, ToolCallRequest, ToolResultReady
from tildone.run.host import ABORT_GRACE_SECONDS, ExtensionAPI, Host
from tildone.run.kit.definition import AbortController, AbortSignal, ImageContent, TextContent, ToolResult, text_result
from tildone.run.model import ChatRequest
from tildone.run.tools import commands as command_exec
from tildone.run.tools.commands import ExecResult
from tildone.run.tools.files import ToolFailure

HI = (TextContent("hi"),)


async def ended(run: Any) -> tuple[Json, list[Json]]:
    """Call a tool in a host; return the event of its end, and all events."""
    host, told = await ran(Script([("look", {})], "fine"), tool("look", run))
    assert messages.text_of(messages.said_in(host.transcript)[-1]) == "fine"
    json.dumps(told)
    json.dumps([entry.record for entry in host.transcript.entries], allow_nan=False)
    [event] = of_kind(told, "tool_execution_end")
    return event, told


async def ended_with(returned: Any) -> Json:
    async def run(*_: Any) -> Any:
        return returned

    return (await ended(run))[0]


def said(event: Json) -> tuple[bool, str]:
    """Return whether a call has failed, and the text of its result."""
    return event["isError"], event["result"]["content"][0]["text"]


NO_RESULT = "a tool must return a ToolResult, not a "
NO_CONTENT = "the content of a result must be"
NO_LINES = "what a result tells must be a tuple of lines"


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ("text", f"{NO_RESULT}str"),
        (None, f"{NO_RESULT}NoneType"),
        ({"content": []}, f"{NO_RESULT}dict"),
        (ToolResult("text"), NO_CONTENT),  # type: ignore[arg-type]  # what tools may do
        (ToolResult(None), NO_CONTENT),  # type: ignore[arg-type]  # the same
        (ToolResult(("text",)), NO_CONTENT),  # type: ignore[arg-type]  # the same
        (ToolResult((TextContent(5),)), NO_CONTENT),  # type: ignore[arg-type]  # the same
        (ToolResult((ImageContent(b"x", "image/png"),)), NO_CONTENT),  # type: ignore[arg-type]  # the same
        (ToolResult((), told="a line"), NO_LINES),  # type: ignore[arg-type]  # the same
        (ToolResult((), told=("a line", 3)), NO_LINES),  # type: ignore[arg-type]  # the same
    ],
)
async def test_something_that_is_not_a_result_is_a_failed_call(returned: Any, problem: str) -> None:
    is_error, text = said(await ended_with(returned))

    assert (is_error, problem in text) == (True, True)


async def test_details_that_json_cannot_represent_are_converted() -> None:
    """The call has not failed: the tool has done its work. Other details are passed on as they are."""
    circular: Json = {}
    circular["me"] = circular
    pair = {"pair": (1, 2)}

    odd = {"set": {1}, 5: (1, 2.5), "nan": float("nan"), "type": int, "ok": [None, True, "x"], "circular": circular}
    event = await ended_with(ToolResult(HI, odd))
    image = [TextContent("hi"), ImageContent("aGk=", "image/png")]
    plain = await ended_with(ToolResult(image, pair))  # type: ignore[arg-type]  # a list works, too

    details = event["result"]["details"]
    assert not event["isError"]
    assert "…" in json.dumps(details.pop("circular"), ensure_ascii=False)
    assert details == {"set": [1], "5": [1, 2.5], "nan": None, "type": "<class 'int'>", "ok": [None, True, "x"]}
    assert plain["result"]["details"] is pair


async def test_updates_are_checked_and_converted_too() -> None:
    async def run(_params: Any, _signal: Any, on_update: Any) -> ToolResult:
        on_update(ToolResult(HI, {"set": {1}}))
        on_update({"output": "half"})
        return text_result("not reached")

    event, told = await ended(run)

    [update] = of_kind(told, "tool_execution_update")
    assert update["partialResult"]["details"] == {"set": [1]}
    assert said(event) == (True, f"{NO_RESULT}dict")


async def cancelled_work() -> None:
    work = asyncio.ensure_future(asyncio.Event().wait())
    work.cancel()
    await work


async def test_a_tool_whose_own_work_is_cancelled_fails_and_the_run_goes_on() -> None:
    event, _ = await ended(lambda *_: cancelled_work())

    assert said(event) == (True, "Error: cancelled")


async def test_the_result_of_an_extension_is_checked_too() -> None:
    text: Any = "mine"
    model = Script([("look", {})])
    _, told = await ran(model, tool("look"), plug=lambda api: api.on(ToolResultReady, lambda *_: ReplaceResult(text)))

    [event] = of_kind(told, "tool_execution_end")
    assert said(event) == (True, f"Error: {NO_RESULT}str")


async def begun_turn(run: Any = None, *, plug: Any = None) -> tuple[Host, list[Json]]:
    """Return a host in which a tool, or a handler before it, is at work for ever; both are given an event to set."""
    begun = asyncio.Event()
    look = tool("look", None if run is None else lambda *given: run(begun, *given))
    host, told = host_with(Script([("look", {})]), look, abort_grace=GRACE if plug else ABORT_GRACE_SECONDS)
    if plug:
        extend(host, lambda api: api.on(ToolCallRequest, lambda *_: plug(begun)))
    await host.prompt("go")
    await begun.wait()
    return host, told


async def wait_for_ever(begun: asyncio.Event, *_: Any) -> Any:
    begun.set()
    await asyncio.Event().wait()


async def test_work_that_the_abort_signal_cancels_is_an_aborted_call() -> None:
    """Also if the tool passes the cancellation on."""

    async def run(begun: asyncio.Event, _params: Any, signal: AbortSignal, _on_update: Any) -> None:
        work = asyncio.ensure_future(asyncio.Event().wait())
        signal.on_abort(work.cancel)
        begun.set()
        await work

    host, told = await begun_turn(run)
    host.request_abort("Escape")
    async with asyncio.timeout(30):
        await host.settled()

    [event] = of_kind(told, "tool_execution_end")
    assert said(event) == (True, "Error: aborted")


GRACE = 0.01


async def forever(updates: list[Any], *, cleans_up: bool) -> None:
    """Ignore cancellation until there is an update; with `cleans_up`, end at the first."""
    while not updates:
        try:
            await asyncio.sleep(GRACE)
        except asyncio.CancelledError:
            if cleans_up:
                raise


@pytest.mark.parametrize("cleans_up", [True, False])
async def test_a_call_that_ignores_the_abort_is_cancelled_and_then_left_behind(*, cleans_up: bool) -> None:
    """It is answered as aborted, the next call is not made, and what it reports later is dropped."""
    begun, over, updates = asyncio.Event(), asyncio.Event(), list[Any]()

    async def deaf(_params: Any, _signal: Any, on_update: Any) -> ToolResult:
        begun.set()
        try:
            await forever(updates, cleans_up=cleans_up)
            on_update(text_result("still there"))
            raise ValueError("too late")
        finally:
            over.set()

    model = Script([("deaf", {}), ("look", {})], "never")
    tools = tool("deaf", deaf, exclusive=True), tool("look", exclusive=True)
    host, told = host_with(model, *tools, abort_grace=GRACE)
    await host.prompt("go")
    await begun.wait()

    await host.abort()

    assert over.is_set() == cleans_up
    updates.append(1)
    await over.wait()
    await asyncio.sleep(0)
    assert of_kind(told, "tool_execution_update") == []
    assert [said(event) for event in of_kind(told, "tool_execution_end")] == [(True, "Error: aborted")] * 2
    assert messages.said_in(host.transcript)[-1]["stopReason"] == "aborted"
    assert len(model.requests) == 1


async def test_a_handler_that_ignores_the_abort_does_not_hold_up_the_call() -> None:
    """Such as one that asks the person."""
    host, told = await begun_turn(plug=wait_for_ever)

    await host.abort()

    [event] = of_kind(told, "tool_execution_end")
    assert said(event) == (True, "Error: aborted")


async def test_a_run_that_is_cancelled_while_a_tool_works_stays_cancelled() -> None:
    host, told = await begun_turn(wait_for_ever)
    task = host.task
    assert task is not None
    task.cancel()
    await asyncio.wait({task}, timeout=30)

    assert task.cancelled()
    assert of_kind(told, "tool_execution_end") == []


HIDDEN = tool("todo_write", discoverable=True, prompt_snippet="Plan work in phases", prompt_guidelines=("Plan first.",))
PLAN = [("find_tools", {"query": "plan"})]
OTHER = tool("weather", discoverable=True, prompt_snippet="Look up the weather")


def names(request: ChatRequest) -> list[str]:
    return [spec.name for spec in request.tools]


def search_text(request: ChatRequest) -> str:
    return next(spec.description for spec in request.tools if spec.name == "find_tools")


def results(told: list[Json]) -> list[Json]:
    return [event["result"] for event in of_kind(told, "tool_execution_end")]


def words(result: Json) -> str:
    text: str = result["content"][0]["text"]
    return text


async def test_a_discoverable_tool_is_in_no_request_before_it_is_found() -> None:
    """Neither the tool nor its snippet and guidelines; the search names it with its purpose."""
    model = Script()
    await ran(model, tool("look"), HIDDEN)

    [request] = model.requests
    assert names(request) == ["look", "find_tools"]
    assert [part in request.system for part in ("todo_write", "Plan first.")] == [False, False]
    assert "- todo_write: Plan work in phases" in search_text(request)


async def test_a_tool_that_was_found_is_in_the_next_request_and_all_later_ones() -> None:
    """With its lines in the system prompt. The search is offered as long as another tool can be found."""
    model = Script([("find_tools", {"query": "Phases"})], "now I can plan", "still")
    host, told = await ran(model, tool("look"), HIDDEN, OTHER)
    await talk(host)

    for request in model.requests[1:]:
        assert names(request) == ["look", "todo_write", "find_tools"]
        assert "- todo_write: Plan work in phases" in request.system
        assert "Plan first." in request.system
        assert "todo_write" not in search_text(request)
    [found] = results(told)
    assert found["details"] == {"found": ["todo_write"]}
    assert "todo_write: Does todo_write." in words(found)


async def test_the_search_is_not_offered_when_everything_is_found() -> None:
    """A model may search again; it gets the same answer."""
    model = Script(PLAN, PLAN)
    _, told = await ran(model, HIDDEN)

    first, second = results(told)
    assert names(model.requests[1]) == ["todo_write"]
    assert first == second


async def test_a_search_without_a_match_names_what_can_be_found() -> None:
    """Nothing is found by it; a part in the middle of a word is no match."""
    model = Script([("find_tools", {"query": "rite 3d"})])
    _, told = await ran(model, HIDDEN, OTHER)

    [answer] = results(told)
    assert words(answer) == "No tool matches 'rite 3d'. Tools that can be found: todo_write, weather"
    assert (answer["details"], names(model.requests[1])) == ({"found": []}, ["find_tools"])


async def test_the_best_matches_come_first_and_their_number_is_bounded() -> None:
    tools = [tool(f"job{i:02}", discoverable=True, prompt_snippet="Run a job") for i in range(30)]
    best = tool("night", discoverable=True, prompt_snippet="Run a job at night")
    model = Script([("find_tools", {"query": "job at night"})])
    _, told = await ran(model, *tools, best)

    [answer] = results(told)
    assert answer["details"]["found"] == ["night", *(f"job{i:02}" for i in range(9))]
    assert "21 more match" in answer["content"][0]["text"]
    assert "and 11 more" in search_text(model.requests[0])


async def test_a_tool_that_is_called_without_a_search_is_executed_and_counts_as_found() -> None:
    model = Script([("todo_write", {})])
    _, told = await ran(model, HIDDEN)

    assert (words(results(told)[0]), names(model.requests[1])) == ("todo_write ran", ["todo_write"])


async def test_an_inactive_tool_cannot_be_found() -> None:
    model = Script(PLAN)
    _, told = await ran(model, tool("look"), HIDDEN, plug=lambda api: api.set_active_tools(["look"]))

    assert names(model.requests[0]) == ["look"]
    assert "unknown tool 'find_tools'" in words(results(told)[0])


async def test_a_system_prompt_of_an_extension_stays() -> None:
    model, mine = Script(PLAN), AgentStartReply(system_prompt="Mine.")
    await ran(model, HIDDEN, plug=lambda api: api.on(BeforeAgentStart, lambda *_: mine))

    assert [request.system for request in model.requests] == ["Mine.", "Mine."]


async def test_an_extension_may_replace_the_search() -> None:
    model = Script([("find_tools", {})])
    _, told = await ran(model, HIDDEN, tool("find_tools"))

    assert (names(model.requests[0]), words(results(told)[0])) == (["find_tools"], "find_tools ran")


async def test_what_was_found_belongs_to_the_branch() -> None:
    """Back at a point before the search, the tool has to be found again."""
    model = Script(PLAN)
    host, _ = await ran(model, HIDDEN)
    leaf = host.transcript.leaf

    await host.turn_to(host.transcript.entries[0].id)
    await talk(host)
    await host.turn_to(leaf)
    await talk(host)

    assert [names(request) for request in model.requests[-2:]] == [["find_tools"], ["todo_write"]]


Exec = Callable[..., Awaitable[ExecResult]]


@pytest.fixture
def execute(tmp_path: Path) -> Exec:
    host, _ = host_with(Script())
    host.cwd = str(tmp_path)
    apis = list[ExtensionAPI]()
    extend(host, apis.append)
    return apis[0].exec


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> str:
    """A value in the environment of everything that the test starts."""
    duration = unique_duration()
    monkeypatch.setenv("MARK", duration)
    return duration


@pytest.mark.parametrize(
    ("command", "arguments", "result"),
    [
        ("sh", ["-c", "echo out; echo err >&2; exit 3"], ExecResult("out\n", "err\n", 3, killed=False)),
        ("printf", ["%s|", "a b", "$HOME", "*; x"], ExecResult("a b|$HOME|*; x|", "", 0, killed=False)),
        ("printf", [r"a\377\303\244"], ExecResult("a\ufffdä", "", 0, killed=False)),
        ("cat", [], ExecResult("", "", 0, killed=False)),
    ],
)
async def test_there_is_no_shell_and_no_input(
    execute: Exec, command: str, arguments: list[str], result: ExecResult
) -> None:
    """Arguments are passed as they are, and bytes that are not UTF-8 are replaced. A signal may be given."""
    assert await execute(command, arguments, signal=AbortController().signal, timeout=60) == result


async def test_the_working_directory_is_that_of_the_host_or_given(execute: Exec, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    assert (await execute("ls")).stdout == "sub\n"
    assert (await execute("ls", ["-d", "../sub"], cwd="sub")).stdout == "../sub\n"
    assert (await execute("pwd", cwd="/")).stdout == "/\n"


async def test_secrets_are_not_in_the_environment(execute: Exec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "hidden")
    monkeypatch.setenv("ACME_REGION", "north")

    assert (await execute("sh", ["-c", "echo $ACME_API_KEY-$ACME_REGION"])).stdout == "-north\n"


async def test_output_is_bounded_and_the_program_runs_to_its_end(
    execute: Exec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_exec, "MAX_OUTPUT_BYTES", 10)
    program = "import sys; print('x' * 300_000); print('e' * 300_000, file=sys.stderr); sys.exit(4)"
    bounded = ExecResult("x" * 10, "e" * 10, 4, killed=False, truncated=True)

    assert await execute(sys.executable, ["-c", program]) == bounded


async def test_a_timeout_kills_the_whole_process_tree(execute: Exec, marked: str) -> None:
    """What was written until then is kept."""
    result = await execute("sh", ["-c", "echo begun; setsid sleep 7777 & sleep 7777"], timeout=2)

    assert (result.stdout, result.killed) == ("begun\n", True)
    assert result.code < 0
    await until_async(lambda: not marked_processes(marked))


async def test_a_program_may_choose_its_exit_code_when_it_is_ended(execute: Exec) -> None:
    result = await execute("bash", ["-c", "trap 'echo bye; exit 7' TERM; sleep 7777 & wait"], timeout=2)

    assert result == ExecResult("bye\n", "", 7, killed=True)


async def test_an_abort_kills_the_whole_process_tree(execute: Exec, marked: str) -> None:
    controller = AbortController()
    running = asyncio.ensure_future(execute("sh", ["-c", "sleep 7777 & sleep 7777"], signal=controller.signal))
    await until_async(lambda: len(marked_processes(marked)) >= 2)

    controller.abort()

    assert (await running).killed
    await until_async(lambda: not marked_processes(marked))


async def test_a_program_is_not_started_after_an_abort(execute: Exec, tmp_path: Path) -> None:
    controller = AbortController()
    controller.abort()

    result = await execute("touch", ["there"], signal=controller.signal)

    assert (result.killed, result.stdout) == (True, "")
    assert not (tmp_path / "there").exists()


async def test_background_processes_are_not_waited_for(execute: Exec, marked: str) -> None:
    """They keep both pipes open."""
    async with asyncio.timeout(30):
        result = await execute("sh", ["-c", "sleep 7777 & echo $!"])

    assert (result.code, result.killed) == (0, False)
    assert marked_processes(marked) == [int(result.stdout)]
    await execute("kill", [result.stdout.strip()])


@pytest.mark.parametrize(("command", "cwd"), [("no-such-program", None), ("true", "no-such-folder")])
async def test_a_program_that_cannot_be_started_is_an_error(execute: Exec, command: str, cwd: str | None) -> None:
    with pytest.raises(ToolFailure, match=r"cannot be started|is not there"):
        await execute(command, cwd=cwd)
