"""Runs and their subagents against real providers' wire formats, served on loopback."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer, Turn
from tests.host.test_host import Script
from tests.rpc.client import Client
from tests.run.plan_calls import call
from tests.run.run_workspace import (
    ALLOW_ALL,
    ANTHROPIC,
    CHAT,
    WRITE,
    conversation_entries,
    conversation_files,
    edit,
    json_lines,
    provider_environment,
    run_model,
    start,
    statuses,
    write_plan,
)
from tests.suite.forking import starting
from tests.trusted import write_trusted
from tildone.app.settings import Settings
from tildone.plan.model import Plan
from tildone.run.hosting import open_conversations, open_host
from tildone.run.model import Model
from tildone.run.shell_model import ShellModel
from tildone.run.tools.permissions import PermissionPolicy
from tildone.stores import parse_address
from tildone.stores.agents import is_running
from tildone.stores.memory import MemoryStore

both_formats = pytest.mark.parametrize("spec", [CHAT, ANTHROPIC])


@both_formats
def test_a_model_works_through_a_task_with_the_tools(person: Person, spec: str) -> None:
    greeting = (call("write", path="greeting.txt", content="hello\n"), call("bash", command="cat greeting.txt"))
    script = [WRITE, edit("start", 0, 1), *greeting, edit("complete", 0, 1), {"text": "The greeting is written."}]
    with ModelServer(*script) as server, starting():
        options = ("--model", spec, *ALLOW_ALL, "--allow-write", "greeting.txt", "--session", "s")
        answer = person.run("run", "Write a greeting", *options, **provider_environment(server))

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("❯ Write a greeting\n+ Added 2: One; Two\n")
    assert re.search(r"\nThe greeting is written\.\nTook .* · \d+ in · \d+ out\nHow it went: ", answer.out)
    assert (person.folder / "greeting.txt").read_text(encoding="utf-8") == "hello\n"
    assert len(server.requests) == len(script)
    assert "completed #1 “One”" in person.says("log", "--session", "s")


def test_an_error_ends_the_run_and_is_reported_and_a_broken_or_rate_limited_request_is_retried(person: Person) -> None:
    """An invalid key is not a transient failure."""
    script: list[Turn] = [WRITE, {"error": 401, "message": "no such key"}]
    slow_down: Turn = {"error": 429, "retry_after": 0, "message": "slow down"}
    broken: Turn = {"text": "Only half of", "cut": 3}
    with ModelServer(*script, broken, {"text": "The whole answer."}, slow_down, {"text": "Here I am."}) as server:
        claude = ("run", "Go", "--model", ANTHROPIC, "--mode", "print")
        answer, again = (person.run(*claude, **provider_environment(server)) for _ in range(2))
        limited = person.says("run", "Go", "--model", CHAT, **provider_environment(server))

    assert (answer.code, answer.out) == (1, "")
    assert "no such key" in answer.err
    assert (again.code, again.out) == (0, "The whole answer.\n")
    assert limited.count("slow down") == 1
    assert "retrying (1 of 3)\nHere I am.\n" in limited
    assert len(server.requests) == 6


def test_a_model_is_named_by_the_environment_or_the_project(person: Person) -> None:
    write_trusted(person.folder / "tildone.toml", f'model = "{CHAT}"\n', person.environment({}))
    with ModelServer({"text": "One."}, {"text": "Two."}) as server:
        run = ("run", "Go", "--mode", "print")
        one = person.says(*run, **provider_environment(server))
        two = person.says(*run, **provider_environment(server), TILDONE_MODEL=ANTHROPIC)

    assert (one, two) == ("One.\n", "Two.\n")
    assert [asked.path for asked in server.requests] == ["/v1/chat/completions", "/v1/messages"]


def test_a_plan_file_is_sent_to_the_model(person: Person) -> None:
    """A plan that only a model understands needs no commands."""
    name = write_plan(person, "# Research\n- [ ] Think about it\n")
    answer, server = run_model(person, name, "--mode", "print", script=(edit("complete", 0), {"text": "I thought."}))

    assert (answer.code, answer.err) == (0, "")
    told = next(message["content"] for message in server.requests[0].messages if message["role"] == "user")
    assert (told if isinstance(told, str) else told[0]["text"]) == (
        "Work through this plan, task by task. It is in your todo list:\n\n# Research\n- [ ] Think about it"
    )


def test_a_task_is_read_from_standard_input_and_its_usage_stored_in_the_conversation(person: Person) -> None:
    """Without built-in tools, a model has only the plan and no subagents."""
    with ModelServer({"text": "Done."}) as server:
        argv = ("run", "-", "--no-builtin-tools", "--mode", "print", "--model", CHAT)
        answer = person.run(*argv, given="Do this,\nand that\n", **provider_environment(server))

    assert (answer.code, answer.out, answer.err) == (0, "Done.\n", "")
    [request] = server.requests
    assert "Do this,\\nand that" in json.dumps(request.messages)
    assert names_of_tools(server) == [{"write_todos", "list_todos", "edit_todos"}]
    entries = conversation_entries(conversation_files(person)[0])
    [_, said] = [entry["message"] for entry in entries if entry.get("message")]
    assert (said["usage"]["input"], said["usage"]["output"]) == (10, 5)


def test_the_cost_is_shown_where_the_price_is_known(person: Person) -> None:
    unknown, _ = run_model(person, "Go", script=({"text": "Hi."},))
    prices = "[prices]\nscripted = { input = 1000, output = 1000 }\n"
    write_trusted(person.folder / "tildone.toml", prices, person.environment({}))
    known, _ = run_model(person, "Go", script=({"text": "Hi."},))

    assert re.search(r"^Took \S+ s · 10 in · 5 out$", unknown.out, re.MULTILINE)
    assert re.search(r"^Took \S+ s · 10 in · 5 out · \$0\.015$", known.out, re.MULTILINE)


TASK = call("task", description="count the files", prompt="Count the files here.")
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}


def yields(text: str) -> Turn:
    return call("yield", result=text)


def names_of_tools(server: ModelServer) -> list[set[str]]:
    bodies = [request.body for request in server.requests]
    return [{tool.get("name") or tool["function"]["name"] for tool in body.get("tools", ())} for body in bodies]


@both_formats
def test_a_subagent_works_and_its_report_is_the_result(person: Person, spec: str) -> None:
    """It has the tools of the run and its own conversation, in a file that names its parent's."""
    write_plan(person, "x", "one.txt")
    script = [TASK, call("bash", command="ls"), yields("There is 1 file: one.txt"), {"text": "One file."}]
    with ModelServer(*script) as server:
        answer = person.run("run", "Count", "--model", spec, *ALLOW_ALL, **provider_environment(server))

    assert (answer.code, answer.err) == (0, "")
    assert "Task: count the files\n" in answer.out
    assert "There is 1 file: one.txt" in answer.out
    assert len(server.requests) == 4
    own, inherited = names_of_tools(server)[:2]
    assert own >= {"read", "write", "edit", "bash", "write_todos", "task"}
    assert "yield" not in own
    assert inherited == own - {"task"} | {"yield"}
    asked = json.dumps(server.requests[1].messages)
    assert "Count the files here." in asked
    assert "one.txt" not in asked
    [child] = person.home.rglob("subagents/*.jsonl")
    header, *entries = conversation_entries(child)
    assert Path(header["parentSession"]).parent == child.parent.parent
    assert [entry["message"]["role"] for entry in entries if entry["type"] == "message"][:2] == ["user", "assistant"]


def test_continue_goes_on_with_the_agents_conversation_not_with_a_subagents(person: Person) -> None:
    """Even if the subagent wrote last."""
    run_model(person, "Count", script=(TASK, {"text": "1"}, {"text": "One."}))
    [child] = person.home.rglob("subagents/*.jsonl")
    os.utime(child, (2_000_000_000, 2_000_000_000))

    _, server = run_model(person, "--continue", "And now?", script=({"text": "Again."},))

    said = [str(message["content"]) for message in server.requests[0].messages if message["role"] == "user"]
    assert (said[0], said[-1]) == ("Count", "And now?")


def test_a_subagents_list_is_its_own_and_its_parent_and_the_person_see_it(person: Person) -> None:
    """The parent's plan is unchanged; a subagent that stops with open tasks is continued until its list is done."""
    own_list = call("write_todos", mode="replace", todos=[{"text": "List files"}, {"text": "Count"}])
    script = [
        *(WRITE, TASK, own_list, {"text": "That is enough."}, edit("start", 0), edit("complete", 0), yields("2")),
        *(edit("start", 0, 1), edit("complete", 0, 1), {"text": "Done."}),
    ]
    answer, server = run_model(person, "Count", "--session", "s", script=script)

    assert (answer.code, answer.err) == (0, "")
    assert len(server.requests) == len(script)
    assert statuses(person, "s") == "✓✓"
    result = json.dumps(server.requests[7].messages[-1], ensure_ascii=False)
    assert "The subagent's list:" in result
    assert re.search(r"\[x\] List files.*\[ \] Count", result)
    shown = person.says("status", "--session", "s")
    assert shown == "✓ 2/2\n  subagent count the files: 1/2 (ended)\n    ✓ #1 List files\n    – #2 Count\n"
    [own] = re.findall(r"s#sub:\S+", person.says("sessions"))
    kinds = [event["kind"] for event in json.loads(person.says("log", "--session", own, "--json"))["events"]]
    assert kinds.count("nudged") == 1


def test_the_usage_of_subagents_is_part_of_the_run(person: Person) -> None:
    """In its summary, in its events, and in the figures of a client that continues it."""
    script = [{**turn, "usage": USAGE} for turn in (TASK, yields("1"), {"text": "One."})]
    answer, _ = run_model(person, "Count", script=script)
    lines, server = run_model(person, "Count", "--mode", "json", script=script)

    assert re.search(r"Took .* · 3\.0k in · 300 out", answer.out)
    [reported] = [line for line in json_lines(lines.out) if line["type"] == "subagent_usage"]
    assert reported["usage"]["input"] == 1000
    with start(person, "run", "--continue", "--mode", "rpc", **provider_environment(server)) as process:
        assert Client(process).get("get_session_stats")["tokens"]["total"] == 3300


def test_the_requests_of_subagents_count_towards_the_bounds_of_the_run(person: Person) -> None:
    """A subagent that never ends is stopped with its parent. A model that fails in one is a failed result."""
    failing: Turn = {"error": 401, "message": "no such key"}
    answer, server = run_model(person, "Count", script=(TASK, failing, {"text": "I see."}))

    told = json.dumps(server.requests[2].messages[-1])
    assert (answer.code, "the subagent's model failed" in told, "no such key" in told) == (0, True, True)

    endless: Turn = {**call("bash", command="true"), "repeat": True}
    answer, server = run_model(person, "Count", *ALLOW_ALL, TILDONE_MAX_REQUESTS="7", script=(TASK, endless))

    assert answer.code != 0
    assert len(server.requests) == 7


def test_todo_write_is_found_first_and_is_not_a_subagents(person: Person) -> None:
    """In the phased dialect a subagent has neither the tool nor a search for it."""
    plan = call("todo_write", ops=[{"op": "init", "list": [{"phase": "A", "items": ["One"]}]}])
    done = call("todo_write", ops=[{"op": "done"}])
    script = [call("find_tools", query="todo list"), plan, TASK, yields("1"), done, {"text": "Done."}]
    answer, server = run_model(person, "Count", "--dialect", "phased", "--session", "s", script=script)

    assert (answer.code, answer.err) == (0, "")
    assert statuses(person, "s") == "✓"
    first, second, _, child, *_ = names_of_tools(server)
    assert "find_tools" in first - second
    assert "todo_write" in second - first
    assert child == {"read", "write", "edit", "bash", "yield"}


@pytest.mark.skipif(os.name == "nt", reason="needs signals and a named pipe")
def test_an_interrupted_run_stops_its_subagents_and_their_commands(person: Person) -> None:
    os.mkfifo(person.folder / "begun")
    endless = call("bash", command="echo $$ > begun; exec sleep 600")
    with ModelServer(TASK, endless) as server:
        argv = ("run", "Count", "--model", CHAT, *ALLOW_ALL)
        with start(person, *argv, **provider_environment(server)) as run:
            pid = int((person.folder / "begun").read_text(encoding="utf-8"))
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=60)

    assert run.returncode == 130
    assert not is_running(pid)
    assert len(server.requests) == 2


def test_the_shell_driver_has_no_subagents(tmp_path: Path) -> None:
    """A language model in the same place has them."""
    settings = Settings(parse_address(str(tmp_path / "plans.db")), "s", str(tmp_path), agents_dir=str(tmp_path))
    kept = open_conversations(settings, str(tmp_path), kept=False)
    here, policy = str(tmp_path), PermissionPolicy()

    def tools(model: Model) -> set[str]:
        about = (settings, MemoryStore(), kept.new())
        return set(open_host(*about, cwd=here, model=model, mode="print", policy=policy, conversations=kept).tools)

    assert tools(ShellModel(Plan, lambda: 0)) >= {"bash", "todo"}
    assert "task" not in tools(ShellModel(Plan, lambda: 0))
    assert "task" in tools(Script())
