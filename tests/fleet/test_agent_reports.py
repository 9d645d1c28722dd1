"""What agents report in their output: tokens, cost and refusals, recorded in the log; and their last words."""

import json
from pathlib import Path

import pytest

from tests.fleet import workers
from tests.fleet.workers import Bench
from tildone.app.transcripts import item_text, items_of, last_words
from tildone.fleet.agent_reports import WHY_REFUSED, AgentReport, ReadReport, claude_report, codex_report, gemini_report
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch
from tildone.plan.events import UNKNOWN, AgentUsage, Author
from tildone.plan.history.usage import plan_usage
from tildone.plan.runs import AgentEnded, CommandRefused, LeaseState, RunEnded

MODELS = {
    "opus": {"inputTokens": 10, "cacheReadInputTokens": 200, "cacheCreationInputTokens": 30, "outputTokens": 5},
    "haiku": {"inputTokens": 1, "outputTokens": 2},
}
DENIALS = [
    {"tool_name": "Bash", "tool_input": {"command": "make it", "description": "Make it"}},
    {"tool_name": "Bash", "tool_input": {"command": "make it"}},
    {"tool_name": "Write", "tool_input": {"file_path": "/etc/x"}},
]
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Finished.",
    "session_id": "c1",
    "total_cost_usd": 0.1234567,
    "modelUsage": MODELS,
    "permission_denials": DENIALS,
}
SAYS = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "I give\nup."}]}}
CALL = {"type": "tool_use", "name": "Bash", "input": {"command": "make it"}}
CALLS = {"type": "assistant", "message": {"role": "assistant", "content": [CALL]}}
TOLD = {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "refused"}]}}
USED = AgentUsage(241, 7, 0.123457)


def test_the_result_of_claude_has_the_tokens_of_all_models_the_cost_and_what_was_refused() -> None:
    lines = ["a warning", '"result"', json.dumps({**RESULT, "total_cost_usd": 9}), json.dumps(RESULT), json.dumps(SAYS)]

    report = claude_report(lines)

    refused = ("make it", "make it", 'Write {"file_path": "/etc/x"}')
    assert report == AgentReport(Author(agent="claude:c1", model="opus"), USED, refused)


@pytest.mark.parametrize("result", [{}, {"session_id": 7}, {"session_id": ""}])
def test_without_a_conversation_there_is_no_report(result: dict[str, object]) -> None:
    assert claude_report([json.dumps({"type": "result", **result}), '["result"]', '{"result"']) is None


def test_members_of_other_types_are_passed_over() -> None:
    odd = {"modelUsage": {"opus": 1, "haiku": {"inputTokens": "x"}}, "total_cost_usd": "1", "permission_denials": [1]}

    report = claude_report([json.dumps(RESULT | odd)])

    assert report == AgentReport(Author(agent="claude:c1", model="opus"), UNKNOWN)
    assert claude_report([json.dumps(RESULT | {"modelUsage": [], "permission_denials": 1, "total_cost_usd": True})])


CODEX = [
    {"type": "thread.started", "thread_id": "t1"},
    {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "I make it."}},
    {"type": "item.started", "item": {"id": "2", "type": "command_execution", "command": "make"}},
    {
        "type": "item.completed",
        "item": {"id": "2", "type": "command_execution", "command": "make", "aggregated_output": "made"},
    },
    {"type": "turn.completed", "usage": {"input_tokens": 20, "cached_input_tokens": 5, "output_tokens": 10}},
]
GEMINI = [
    {"type": "init", "session_id": "g1", "model": "flash"},
    {"type": "message", "role": "assistant", "content": "I make", "delta": True},
    {"type": "message", "role": "assistant", "content": " it.", "delta": True},
    {"type": "tool_use", "tool_name": "shell", "parameters": {"command": "make"}},
    {"type": "tool_result", "output": "made"},
    {"type": "result", "stats": {"total_tokens": 30, "input_tokens": 20, "output_tokens": 10}},
]


@pytest.mark.parametrize(
    ("read", "entries", "author", "call"),
    [
        (codex_report, CODEX, Author(agent="codex:t1"), 'call: command_execution {"command": "make"}'),
        (gemini_report, GEMINI, Author(agent="gemini:g1", model="flash"), 'call: shell {"command": "make"}'),
    ],
)
def test_codex_and_gemini_report_tokens_and_say_what_they_did(
    read: ReadReport, entries: list[object], author: Author, call: str
) -> None:
    lines = [json.dumps(entry) for entry in entries]

    assert read(lines) == AgentReport(author, AgentUsage(20, 10))
    assert read(lines[1:]) is None
    assert [item_text(item) for item in items_of(lines)] == ["assistant: I make it.", call, "result: made"]


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "turn.failed", "error": {"message": "no quota"}},
        {"type": "error", "message": "no quota"},
        {"type": "item.completed", "item": {"type": "error", "message": "no quota"}},
        {"type": "result", "status": "error", "error": {"type": "Quota", "message": "no quota"}},
        {"type": "message", "role": "assistant", "content": "no", "delta": True},
    ],
)
def test_what_goes_wrong_in_codex_and_gemini_is_said(entry: object) -> None:
    [item] = items_of([json.dumps(entry)])

    assert item_text(item) in ("error: no quota", "assistant: no")


def reporting(context: AgentContext) -> AgentLaunch:
    """An agent that prints what the file `said` has, and ends with the exit code that its model names."""
    return AgentLaunch(("sh", "-c", f"cat ../../../said; exit {context.model}"), context.environ, report=claude_report)


@pytest.fixture
def bench(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(workers, "AGENTS", {"reporting": reporting})
    return bench


def test_what_an_agent_used_and_was_refused_is_recorded_once_when_it_ends(bench: Bench) -> None:
    long = {"tool_name": "Bash", "tool_input": {"command": "x" * 2000}}
    result = {**RESULT, "permission_denials": [*DENIALS, long]}
    (bench.folder / "said").write_text("".join(f"{json.dumps(entry)}\n" for entry in (SAYS, result)))
    bench.add("0", "reporting")

    with bench.worker(agents=("reporting",)):
        bench.becomes(LeaseState.FAILED)

    events = list(bench.store.events("s"))
    [ended] = [event for event in events if isinstance(event.fact, AgentEnded)]
    assert (ended.author, ended.usage) == (Author(agent="claude:c1", model="opus"), USED)
    assert plan_usage(events, 0).total == USED
    refused = bench.facts(CommandRefused)
    assert [fact.text for fact in refused] == ["make it", 'Write {"file_path": "/etc/x"}', "x" * 1000]
    assert {(fact.run, fact.hand, fact.why, fact.by) for fact in refused} == {(bench.run, 0, WHY_REFUSED, "")}
    kinds = [type(event.fact) for event in events]
    assert kinds.index(CommandRefused) < kinds.index(AgentEnded) < kinds.index(RunEnded)


def test_what_was_refused_before_is_not_recorded_again(bench: Bench) -> None:
    (bench.folder / "said").write_text(json.dumps(RESULT))
    bench.add("0", "reporting")

    with bench.worker(agents=("reporting",)):
        bench.becomes(LeaseState.FAILED)
        bench.leases.requeue(bench.run)
        bench.becomes(LeaseState.OPEN)
        bench.becomes(LeaseState.FAILED)

    assert len(bench.facts(AgentEnded)) == 2
    assert len(bench.facts(CommandRefused)) == 2
    assert plan_usage(bench.store.events("s"), 0).total == USED


def test_a_failure_has_the_last_words_of_the_agent_in_place_of_json(bench: Bench) -> None:
    entries = (SAYS, CALLS, TOLD, SAYS, CALLS, TOLD)
    (bench.folder / "said").write_text("".join(f"{json.dumps(entry)}\n" for entry in entries) + "a warning\n")
    bench.add("0", "reporting")

    with bench.worker(agents=("reporting",)):
        bench.becomes(LeaseState.FAILED)

    [ended] = bench.facts(RunEnded)
    assert ended.why.splitlines() == ["the agent ended with 2 open tasks", "assistant: I give", "up.", "a warning"]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"result": "API Error: 500"}, "error: API Error: 500"),
        ({"errors": ["one", "two"]}, "error: one\ntwo"),
        ({"subtype": "error_max_turns"}, "error: error_max_turns"),
        ({"is_error": False, "result": "Fine."}, "assistant: I give"),
    ],
)
def test_an_error_in_the_result_is_the_last_word(tmp_path: Path, result: dict[str, object], expected: str) -> None:
    output = tmp_path / "output"
    output.write_text(f"{json.dumps(SAYS)}\n{json.dumps({'type': 'result', 'is_error': True, **result})}\n1\n[2]\n")

    assert last_words(str(output), 40) == [*expected.splitlines(), *["up."] * expected.startswith("a"), "1", "[2]"]
