"""Events of every coding agent and the replies to them, read in this process and by real ones.

Nothing hidden gets through, and odd input ends well.
"""

import json
import os
import random
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.person import Answer
from tests.dialects.test_safe_texts import HOSTILE, LONG
from tests.hooks.agent import (
    CLAUDE,
    COPILOT,
    CURSOR,
    GEMINI,
    OPEN,
    WITH_HOOKS,
    HookedAgent,
    Workspace,
    hooks_of,
    in_process,
    in_subprocess,
    new_workspace,
    to_json,
)
from tests.hooks.golden import FILES, PROJECT_PLACEHOLDER, golden
from tests.suite.forking import PROGRAM
from tests.views.test_limits import FORBIDDEN
from tildone.agents.hooks import transcript
from tildone.agents.hooks.event import CHUNK_BYTES, MAX_STDIN_BYTES, HookEvent, read
from tildone.agents.integrations import HookPoint, Integration
from tildone.base.ids import now
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, Mark, Note, Numbered
from tildone.plan.text.safe import MAX_HOOK_REPLY, MAX_RESULT
from tildone.stores.agents import AgentId
from tildone.stores.assignment import assign_session, register, subagent_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def event(
    payload: object, integration: Integration = CLAUDE, point: HookPoint = HookPoint.STOP, **environ: str
) -> HookEvent:
    return HookEvent(
        integration, hooks_of(integration), "", point, payload if isinstance(payload, dict) else {}, environ
    )


@given(integration=st.sampled_from([*WITH_HOOKS.values()]), data=st.data())
def test_whatever_an_agent_sends_every_field_has_a_value(integration: Integration, data: st.DataObject) -> None:
    names = [path.split(".")[0] for paths in hooks_of(integration).fields.values() for path in paths.split()]
    payload = data.draw(st.dictionaries(st.sampled_from(names) | st.text(max_size=3), JSON, max_size=6))
    hook_event = event(payload, integration)

    texts = [hook_event.text(field) for field in hooks_of(integration).fields]

    assert all(isinstance(text, str) for text in texts)
    assert (hook_event.will_wake, hook_event.in_plan_mode, hook_event.from_person)[0] in (True, False)
    assert hook_event.agent_id(7).integration == integration.name


def test_a_field_may_be_nested_and_have_several_names() -> None:
    line = event({"workspace": {"current_dir": "/here"}, "cost": {"total_cost_usd": 1.5}})
    cursor = event({"workspace_roots": ["/there"], "session_id": "s"}, CURSOR)

    assert (line.text("cwd"), line.get("cost")) == ("/here", 1.5)
    assert (cursor.text("cwd"), cursor.agent_id(7)) == ("/there", AgentId("cursor", "s"))


def test_a_missing_field_is_empty() -> None:
    for roots in ([], "x", [1]):
        assert event({"workspace_roots": roots}, CURSOR).text("cwd") == "", roots


def test_an_agent_without_a_conversation_id_is_identified_by_its_process() -> None:
    """Some versions send an empty id; agents must not share it."""
    assert event({"session_id": ""}).agent_id(7) == AgentId("claude", pid=7)
    assert event({}, CLAUDE_CODE_SESSION_ID="x").agent_id(7) == AgentId("claude", "x")
    assert event({}, GEMINI, GEMINI_SESSION_ID="y").agent_id(7) == AgentId("gemini", "y")


def test_a_long_conversation_id_is_shortened() -> None:
    assert len(str(event({"session_id": "x" * 10_000}).agent_id(7))) < 100


def test_an_agent_in_a_subfolder_works_on_the_project(tmp_path: Path) -> None:
    """Also if that folder is a repository of its own; outside the project, the working folder counts."""
    below = tmp_path / "project" / "vendored"
    below.mkdir(parents=True)
    (tmp_path / "project2").mkdir()
    project = str(tmp_path / "project")

    folders = [event({"cwd": str(cwd)}, CLAUDE_PROJECT_DIR=project).folder for cwd in (below, tmp_path / "project2")]

    assert folders == [project, str(tmp_path / "project2")]


def test_a_prompt_may_not_come_from_a_person() -> None:
    """It may come from a timer or a background task, or be empty: some agents report a prompt at every step."""

    def from_person(**payload: str) -> bool:
        return event(payload, point=HookPoint.PROMPT).from_person

    assert from_person(prompt="Go on")
    assert from_person(prompt="Go on", source="user")
    assert not from_person(prompt="Go on", source="loop_wakeup")
    assert not from_person(prompt="<task-notification>\n<task-id>a1</task-id>\n</task-notification>")
    assert not from_person(prompt="  ")
    assert not from_person()


def pipe(*pieces: bytes, close: bool = True) -> int:
    ours, theirs = os.pipe()
    for piece in pieces:
        os.write(theirs, piece)
    if close:
        os.close(theirs)
    return ours


def test_reading_ends_with_the_object_even_if_the_pipe_stays_open() -> None:
    payload: list[object] = []
    reading = threading.Thread(
        target=lambda: payload.append(read(pipe(b'{"a": {"b": 1}}\n', close=False))), daemon=True
    )

    reading.start()
    reading.join(10)

    assert payload == [{"a": {"b": 1}}]


def test_an_object_may_arrive_in_chunks_that_look_complete(tmp_path: Path) -> None:
    """If parsing fails at the end of a chunk, reading continues."""
    file = tmp_path / "payload"
    brace = b'{"a": "' + b"x" * (CHUNK_BYTES - 8) + b"}"
    file.write_bytes(brace + b'"}')
    opened = os.open(file, os.O_RDONLY)

    payload = read(opened)

    os.close(opened)
    assert payload is not None
    assert len(payload["a"]) == CHUNK_BYTES - 7


def test_empty_input_is_no_event() -> None:
    assert read(pipe(b"")) is None
    assert read(pipe(b" \r\n")) is None


def test_input_that_is_not_a_json_object_is_refused() -> None:
    for given_bytes in (b"{", b"[1]", b"null", b"}", b"{} {}", b"\xff\xfe", b"{" * 60_000):
        with pytest.raises(ValueError, match="JSON"):
            read(pipe(given_bytes))


def test_a_byte_order_mark_and_invalid_utf_8_are_accepted() -> None:
    assert read(pipe(b'\xef\xbb\xbf{"a": "\xff"}')) == {"a": "\ufffd"}


def test_input_that_is_too_long_is_read_to_its_end_and_refused(tmp_path: Path) -> None:
    """So that the writer does not fail on a closed pipe."""
    file = tmp_path / "payload"
    with file.open("wb") as out:
        out.truncate(MAX_STDIN_BYTES + 1)
    opened = os.open(file, os.O_RDONLY)

    with pytest.raises(ValueError, match="longer than"):
        read(opened)

    assert os.read(opened, 1) == b""
    os.close(opened)


def test_the_reply_has_the_format_of_the_coding_agent(tmp_path: Path) -> None:
    """To the byte: these are other programs' interfaces."""
    wrong = {}
    for each in map(golden, FILES):
        name = f"{each.path.parent.name} {each.path.stem}"
        out, err, after = each.run(new_workspace(tmp_path / name))
        if (out, err, after) != (each.case["stdout"], "", [tuple(task) for task in each.case.get("after", [])]):
            wrong[name] = (out, err, after)

    assert wrong == {}


def test_every_event_of_a_coding_agent_has_a_file() -> None:
    events = {(each.integration.name, each.event) for each in map(golden, FILES)}

    assert {(name, event) for name in WITH_HOOKS for event in hooks_of(WITH_HOOKS[name]).points} - events == set()


def test_every_coding_agent_is_told_to_continue_when_it_stops_with_work_left() -> None:
    told = {
        each.integration.name
        for each in map(golden, FILES)
        if hooks_of(each.integration).points.get(each.event) == HookPoint.STOP and each.case["stdout"]
    }

    assert told == set(WITH_HOOKS)


CORPUS = {
    "nothing": b"",
    "space": b" \r\n\t ",
    "garbage": b"\x00\xff\xfe\x80 not json",
    "half": b'{"session_id": "s1", "hook_ev',
    "null": b"null",
    "list": b"[1, 2, 3]",
    "text": b'"Stop"',
    "number": b"1e999",
    "two": b'{"a": 1}{"b": 2}',
    "not a number": b'{"session_id": NaN, "cost": {"total_cost_usd": Infinity}}',
    "deep": b'{"tool_input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deeper": b'{"a":' * 100_000,
    "wide": b'{"a": [' + b"{}," * 100_000 + b"{}]}",
    "twice": b'{"session_id": "a", "session_id": {"b": 1}, "hook_event_name": "Stop"}',
    "invalid utf-8": b'{"session_id": "\xc3\x28", "hook_event_name": "Stop", "last_assistant_message": "\xff\xff"}',
    "half a pair": b'{"session_id": "\\ud800", "hook_event_name": "Stop", "cwd": "\\udfff"}',
    "utf-16": '{"session_id": "s1"}'.encode("utf-16"),
    "a mark": b'\xef\xbb\xbf{"hook_event_name": "Stop"}',
    "wrong kinds": b'{"session_id": 7, "cwd": [], "hook_event_name": "Stop", "last_assistant_message": {"a": 1}}',
    "another version": b'{"session_id": "s", "hook_event_name": "Stop", "v": 9, "agents": [{"status": null}]}',
    "another event": b'{"session_id": "s", "hook_event_name": "PostQuantumUse"}',
    "huge": b'{"session_id": "s", "hook_event_name": "Stop", "last_assistant_message": "' + b"x" * 5_000_000 + b'"}',
    "huge number": b'{"session_id": "s", "at": ' + b"1" * 100_000 + b"}",
    "a huge name": b'{"session_id": "' + b"s" * 1_000_000 + b'", "hook_event_name": "Stop"}',
}


def is_fine(answer: Answer, *, line: bool = False, warns: bool = False) -> bool:
    """Return whether an answer is as every hook's, whatever its input."""
    if (
        answer.code not in ((0, 2) if warns and answer.err else (0,))
        or answer.err.count("\n") > 1
        or "Traceback" in answer.err
    ):
        return False
    return line or answer.out == "" or isinstance(json.loads(answer.out), dict)


def test_malformed_input_does_no_harm(workspace: Workspace) -> None:
    workspace.plan(*OPEN)
    answers = {(name, "claude"): in_subprocess(["claude", "Stop"], CORPUS[name], workspace.environ) for name in CORPUS}
    for agent, integration in WITH_HOOKS.items():
        event = next(iter(hooks_of(integration).points))
        for name, given_bytes in CORPUS.items():
            answers[name, f"{agent} {event}"] = in_process([agent, event], given_bytes, workspace.environ)

    assert {name: it for name, it in answers.items() if not is_fine(it, warns=name[1] == "copilot agentStop")} == {}


@pytest.mark.parametrize("integration", WITH_HOOKS.values(), ids=WITH_HOOKS)
def test_real_events_with_changed_fields_and_bytes_do_no_harm(workspace: Workspace, integration: Integration) -> None:
    """Reproducible: the seed is the name of the coding agent."""
    chance = random.Random(integration.name)  # noqa: S311  it is to be repeatable
    files = [golden(path) for path in FILES if path.parent.name == integration.name]
    for each in chance.sample(files, min(len(files), 12)):
        payload = json.loads(json.dumps(each.case["stdin"]).replace(PROJECT_PLACEHOLDER, str(workspace.project)))
        event = each.event
        for name in chance.sample(sorted(payload), min(len(payload), 3)):
            payload[name] = chance.choice([None, 7, "", [], {}, [payload[name]], {"x": payload[name]}])
        changed = bytearray(to_json(payload))
        for _ in range(chance.choice([0, 0, 1, 3])):
            changed[chance.randrange(len(changed))] = chance.randrange(256)

        answer = in_process([integration.name, event], bytes(changed), workspace.environ)

        hooks = hooks_of(integration)
        point = hooks.points.get(event)
        assert is_fine(answer, line=point == HookPoint.STATUS_LINE, warns=point in hooks.warnings_at)


def line(kind: str, content: object = "", **more: object) -> bytes:
    return to_json({"type": kind, "data": {"content": content}, **more}) + b"\n"


SAYS, ASKED = "assistant.message", "user.message"
END = to_json({"type": "hook.start", "data": {"input": {"timestamp": 7}}}) + b"\n"
TRANSCRIPTS = {
    "a message": (line(ASKED, "Begin") + line(SAYS, "Working.") + line(SAYS, "Done?") + END, "Done?"),
    "one in parts": (
        line(SAYS, [{"type": "text", "text": "Done"}, {"type": "image"}, {"text": "it?"}]) + END,
        "Done\nit?",
    ),
    "one of a subagent after it": (line(SAYS, "Done?") + line(SAYS, "I looked.", agentId="a1") + END, "Done?"),
    "one of an earlier turn": (line(SAYS, "Old?") + line(ASKED, "Go on") + END, ""),
    "a prompt to a subagent after it": (line(SAYS, "Done?") + line(ASKED, "Look.", agentId="a1") + END, "Done?"),
    "one that is no text": (line(SAYS, {"a": 1}) + END, ""),
    "other things around it": (b"\xff\xfe\n[1]\n7\n" + line(SAYS, "Done?") + b"{}\nnull\n" + END + b'{"ty', "Done?"),
    "a line that was cut": (b'": "x"}\n' + line(SAYS, "Done?") + END, "Done?"),
    "one that is too long": (line(SAYS, "x" * transcript.MAX_BYTES + "?") + END, ""),
    "much before it": (line("tool", "x" * transcript.MAX_BYTES) + line(SAYS, "Done?") + END, "Done?"),
    "nothing": (b"", ""),
}
"""For what is in a transcript, the lines, and the last message in it."""


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that is not there is waited for only in one test."""
    monkeypatch.setattr(transcript, "MAX_WAIT_SECONDS", 0)


def last_message(path: object) -> str:
    described = hooks_of(COPILOT).transcript
    assert described is not None
    return transcript.last_message(event({"transcriptPath": path, "timestamp": 7}, COPILOT), described)


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("what", TRANSCRIPTS)
def test_the_last_message_is_read_from_the_end_of_a_transcript(what: str, tmp_path: Path) -> None:
    lines, message = TRANSCRIPTS[what]
    (tmp_path / "events.jsonl").write_bytes(lines)

    assert last_message(str(tmp_path / "events.jsonl")) == message


@pytest.mark.usefixtures("patience")
def test_what_is_no_transcript_has_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe is not waited for, and a path that depends on the working folder could be another one's."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "events.jsonl").write_bytes(TRANSCRIPTS["a message"][0])
    monkeypatch.chdir(tmp_path)

    odd = [None, 7, "", "events.jsonl", "a\0b", "\ud800", *(str(tmp_path / name) for name in ("gone", "pipe", ""))]

    found = [last_message(path) for path in odd]
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(writer, TRANSCRIPTS["a message"][0])
    found.append(last_message(str(tmp_path / "pipe")))
    os.close(writer)

    assert found == [""] * (len(odd) + 1)


def test_a_subagent_is_continued_at_the_event_that_copilot_cli_listens_to(workspace: Workspace) -> None:
    """Before it, it sends the event of an agent that stops, in vain."""
    parent = assign_session(workspace.agents, AgentId("copilot", "s1"), os.getpid(), now())
    subagent = subagent_of(workspace.agents, parent, "a1", now())
    register(workspace.agents, subagent, "general-purpose")
    workspace.session_of(subagent.session).change([Append((Task("Look"),))])
    agent, stop = HookedAgent(workspace, COPILOT), {"agentId": "a1", "agentType": "general-purpose"}

    answers = [agent.report_event(name, **stop, response="I stop.") for name in ("agentStop", "subagentStop")]

    assert ["is not done" in answer.out for answer in answers] == [False, True]


def test_a_message_that_is_written_after_the_hook_was_called_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copilot CLI writes a transcript some time later, and the message before that of an agent that works on is old."""
    path = tmp_path / "events.jsonl"
    late = [line(SAYS, "Working."), line(SAYS, "Which one?"), END]

    def write(_: float) -> None:
        with path.open("ab") as file:
            file.write(late.pop(0))

    monkeypatch.setattr(transcript, "sleep", write)

    assert last_message(str(path)) == "Which one?"
    assert late == []


@pytest.mark.usefixtures("patience")
def test_an_agent_whose_message_is_in_its_transcript_may_ask_and_a_subagent_says_it_itself(
    workspace: Workspace,
) -> None:
    workspace.plan(*OPEN)
    agent, path = HookedAgent(workspace, COPILOT), workspace.home / "events.jsonl"
    path.write_bytes(line(SAYS, "Which one?") + END)
    stop = {"transcriptPath": str(path), "timestamp": 7}

    asked, said = agent.report(HookPoint.STOP, **stop), agent.report(HookPoint.STOP, **stop, response="I stop.")

    assert (asked.out, "is not done" in said.out) == ("", True)


@pytest.mark.parametrize(("integration", "held"), [(CLAUDE, False), (COPILOT, True)])
def test_a_hook_that_copilot_cli_finds_in_the_settings_of_another_agent_says_nothing(
    workspace: Workspace, integration: Integration, *, held: bool
) -> None:
    """It reads `.claude/settings.json`, too."""
    workspace.plan(*OPEN)
    workspace = replace(workspace, more={"COPILOT_PROJECT_DIR": str(workspace.project)})

    answer = HookedAgent(workspace, integration).report(HookPoint.STOP)

    assert ("is not done" in answer.out) == held
    assert bool([*workspace.agents.all()]) == held


TIMEOUT_SECONDS = 60
COMMANDS = (
    ("todo",),
    ("todo", "--json"),
    ("todo", "next"),
    ("todo", "export", "-"),
    ("export",),
    ("export", "--as", "json"),
    ("export", "--as", "todo.txt"),
    ("log",),
    ("log", "--json"),
    ("blame",),
    ("status",),
    ("call", "todo", "{}"),
    ("call", "todo", "{}", "--json"),
    ("call", "list_todos", "{}"),
    ("call", "list_todos", "{}", "--json"),
    ("call", "todo_write", '{"ops": [{"op": "note", "task": "first", "text": "x"}]}'),
    ("call", "TodoWrite", json.dumps({"summary": HOSTILE, "todos": [{"content": "a", "status": "pending"}]})),
    ("call", "TodoWrite", json.dumps({"summary": HOSTILE, "todos": HOSTILE})),
)
WITH_CONTEXT = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")


def run(workspace: Workspace, *words: str, given: object = None) -> tuple[str, str]:
    answer = subprocess.run(
        [PROGRAM, *words],
        cwd=workspace.project,
        env={**os.environ, **workspace.environ, "NO_COLOR": "1"},
        input=given if isinstance(given, str) else json.dumps(given or {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    return answer.stdout, answer.stderr


def plan(workspace: Workspace, *texts: str) -> None:
    session = workspace.session
    session.change((Append((Task("first"), *map(Task, texts)), phase=f"phase {HOSTILE}"),))
    session.change((Note(Numbered((1,)), f"note {HOSTILE}"), Mark(Numbered((2,)), Status.IN_PROGRESS)))


def test_nothing_that_is_printed_to_a_pipe_hides_or_imitates(workspace: Workspace) -> None:
    plan(workspace, HOSTILE)

    printed = {words: run(workspace, *words) for words in COMMANDS}

    assert [words for words, (out, _) in printed.items() if not out] == []
    assert [words for words, texts in printed.items() if any(map(FORBIDDEN.search, texts))] == []


def test_what_a_pipe_reads_still_has_every_text(workspace: Workspace, tmp_path: Path) -> None:
    plan(workspace, HOSTILE)
    before = workspace.session.plan
    for name, words in (("plan.md", ("export",)), ("plan.json", ("export", "--as", "json"))):
        file = tmp_path / name
        file.write_text(run(workspace, *words)[0], encoding="utf-8")
        session = f"from {name}"
        run(workspace, "import", str(file), "--session", session)

        restored = workspace.session_of(session).plan
        texts = [(phase.name, [(task.text, task.notes) for task in phase.tasks]) for phase in restored.phases]
        assert texts == [(phase.name, [(task.text, task.notes) for task in phase.tasks]) for phase in before.phases]


@pytest.mark.parametrize("dialect", ["brief", "indexed", "phased", "declared"])
def test_what_a_hook_tells_a_model_is_harmless_and_limited(workspace: Workspace, dialect: str) -> None:
    long = LONG[: 2 * MAX_HOOK_REPLY]
    plan(workspace, HOSTILE, long)
    told = []
    for event in WITH_CONTEXT:
        fields = {"session_id": "one", "cwd": str(workspace.project), "hook_event_name": event, "tool_name": "Bash"}
        told.append(run(workspace, "hook", "claude", "--dialect", dialect, given=fields)[0])
        workspace.session.change((Append((Task(f"{event} {HOSTILE}"), Task(f"{event} {long}"))),))
    texts = [value for answer in told if answer for value in strings(json.loads(answer))]

    assert len(texts) >= 4
    assert not [value for value in texts if FORBIDDEN.search(value)]
    assert max(map(len, texts)) <= MAX_HOOK_REPLY


@pytest.mark.parametrize("dialect", ["brief", "indexed", "phased", "declared"])
def test_what_an_mcp_client_reads_is_harmless_and_limited(workspace: Workspace, dialect: str) -> None:
    """Tool results, resources, the prompt, and errors; the bytes of the whole answer, too."""
    plan(workspace, HOSTILE, LONG)
    calls = {
        "brief": ("todo", {}),
        "indexed": ("list_todos", {}),
        "phased": ("todo_write", {"ops": [{"op": "start", "task": "first"}]}),
        "declared": ("TodoWrite", {"summary": HOSTILE, "todos": [{"content": "first", "status": "pending"}]}),
    }
    tool, arguments = calls[dialect]
    info = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    asked = [
        ("initialize", hello),
        ("tools/call", {"name": tool, "arguments": arguments}),
        ("tools/call", {"name": HOSTILE, "arguments": {}}),
        ("prompts/get", {"name": "plan", "arguments": {"task": HOSTILE + LONG}}),
        ("prompts/get", {"name": HOSTILE, "arguments": {}}),
        ("resources/read", {"uri": f"plan://{HOSTILE}"}),
        *(("resources/read", {"uri": f"plan://{name}"}) for name in ("current", "current.json", "log", "log.json")),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(asked)
    ]
    output, _ = run(workspace, "mcp", "--dialect", dialect, given="\n".join(lines) + "\n")
    answers = {answer["id"]: answer for answer in map(json.loads, output.splitlines())}

    assert len(answers) == len(asked)
    assert not FORBIDDEN.search(output)
    for number, answer in answers.items():
        result = answer.get("result", {})
        # Structured content is for programs, and keeps its value.
        read = [value for name, part in result.items() if name != "structuredContent" for value in strings(part)]
        read += strings(answer.get("error", {}).get("message", ""))
        assert not [value for value in read if FORBIDDEN.search(value)], asked[number][0]
        assert sum(map(len, read)) <= 6 * MAX_RESULT, asked[number][0]
    assert max(map(len, output.splitlines())) <= 10 * MAX_RESULT


def strings(data: object) -> list[str]:
    match data:
        case str():
            return [data]
        case dict():
            return [text for item in data.values() for text in strings(item)]
        case list():
            return [text for item in data for text in strings(item)]
        case _:
            return []
