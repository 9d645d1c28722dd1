"""Discoverable tools: they are in requests once the model has found them, and `find_tools` finds them."""

from tests.host.records import Json
from tests.host.test_host import Script, extend, host_with, talk, tool
from tildone.run.extension import AgentStartReply, BeforeAgentStart
from tildone.run.model import ChatRequest

HIDDEN = tool(
    "todo_write",
    discoverable=True,
    prompt_snippet="Plan work in phases",
    prompt_guidelines=("Plan first.",),
)
OTHER = tool("weather", discoverable=True, prompt_snippet="Look up the weather")


def names(request: ChatRequest) -> list[str]:
    return [spec.name for spec in request.tools]


def search_text(request: ChatRequest) -> str:
    return next(spec.description for spec in request.tools if spec.name == "find_tools")


def results(told: list[Json]) -> list[Json]:
    return [event["result"] for event in told if event["type"] == "tool_execution_end"]


async def test_a_discoverable_tool_is_in_no_request_before_it_is_found() -> None:
    """Neither the tool nor its snippet and guidelines; the search names it with its purpose."""
    model = Script()
    host, _ = host_with(model, tool("look"), HIDDEN)

    await talk(host)

    [request] = model.requests
    assert names(request) == ["look", "find_tools"]
    assert "todo_write" not in request.system
    assert "Plan first." not in request.system
    assert "- todo_write: Plan work in phases" in search_text(request)


async def test_a_tool_that_was_found_is_in_the_next_request_and_all_later_ones() -> None:
    """With its lines in the system prompt. The search is offered as long as another tool can be found."""
    model = Script([("find_tools", {"query": "Phases"})], "now I can plan", "still")
    host, told = host_with(model, tool("look"), HIDDEN, OTHER)

    await talk(host)
    await talk(host)

    for request in model.requests[1:]:
        assert names(request) == ["look", "todo_write", "find_tools"]
        assert "- todo_write: Plan work in phases" in request.system
        assert "Plan first." in request.system
        assert "todo_write" not in search_text(request)
    [found] = results(told)
    assert found["details"] == {"found": ["todo_write"]}
    assert "todo_write: Does todo_write." in found["content"][0]["text"]


async def test_the_search_is_not_offered_when_everything_is_found() -> None:
    model = Script([("find_tools", {"query": "plan"})])
    host, _ = host_with(model, HIDDEN)

    await talk(host)

    assert names(model.requests[1]) == ["todo_write"]


async def test_a_search_without_a_match_names_what_can_be_found() -> None:
    """Nothing is found by it; a part in the middle of a word is no match."""
    model = Script([("find_tools", {"query": "rite 3d"})])
    host, told = host_with(model, HIDDEN, OTHER)

    await talk(host)

    [answer] = results(told)
    assert answer["content"][0]["text"] == "No tool matches 'rite 3d'. Tools that can be found: todo_write, weather"
    assert answer["details"] == {"found": []}
    assert names(model.requests[1]) == ["find_tools"]


async def test_a_search_is_repeated_after_everything_was_found() -> None:
    """A model may search again; it gets the same answer."""
    model = Script([("find_tools", {"query": "plan"})], [("find_tools", {"query": "plan"})])
    host, told = host_with(model, HIDDEN)

    await talk(host)

    first, second = results(told)
    assert first == second


async def test_the_best_matches_come_first_and_their_number_is_bounded() -> None:
    tools = [tool(f"job{i:02}", discoverable=True, prompt_snippet="Run a job") for i in range(30)]
    best = tool("night", discoverable=True, prompt_snippet="Run a job at night")
    model = Script([("find_tools", {"query": "job at night"})])
    host, told = host_with(model, *tools, best)

    await talk(host)

    [answer] = results(told)
    assert answer["details"]["found"] == ["night", *(f"job{i:02}" for i in range(9))]
    assert "21 more match" in answer["content"][0]["text"]
    assert "and 11 more" in search_text(model.requests[0])


async def test_a_tool_that_is_called_without_a_search_is_executed_and_counts_as_found() -> None:
    model = Script([("todo_write", {})])
    host, told = host_with(model, HIDDEN)

    await talk(host)

    assert results(told)[0]["content"][0]["text"] == "todo_write ran"
    assert names(model.requests[1]) == ["todo_write"]


async def test_what_was_found_belongs_to_the_branch() -> None:
    """Back at a point before the search, the tool has to be found again."""
    model = Script([("find_tools", {"query": "plan"})])
    host, _ = host_with(model, HIDDEN)
    await talk(host)
    leaf = host.transcript.leaf

    await host.turn_to(host.transcript.entries[0].id)
    await talk(host)
    await host.turn_to(leaf)
    await talk(host)

    assert [names(request) for request in model.requests[-2:]] == [["find_tools"], ["todo_write"]]


async def test_an_inactive_tool_cannot_be_found() -> None:
    model = Script([("find_tools", {"query": "plan"})])
    host, told = host_with(model, tool("look"), HIDDEN)
    extend(host, lambda api: api.set_active_tools(["look"]))

    await talk(host)

    assert names(model.requests[0]) == ["look"]
    assert "unknown tool 'find_tools'" in results(told)[0]["content"][0]["text"]


async def test_a_system_prompt_of_an_extension_stays() -> None:
    model = Script([("find_tools", {"query": "plan"})])
    host, _ = host_with(model, HIDDEN)
    extend(host, lambda api: api.on(BeforeAgentStart, lambda *_: AgentStartReply(system_prompt="Mine.")))

    await talk(host)

    assert [request.system for request in model.requests] == ["Mine.", "Mine."]


async def test_an_extension_may_replace_the_search() -> None:
    model = Script([("find_tools", {})])
    host, told = host_with(model, HIDDEN, tool("find_tools"))

    await talk(host)

    assert names(model.requests[0]) == ["find_tools"]
    assert results(told)[0]["content"][0]["text"] == "find_tools ran"
