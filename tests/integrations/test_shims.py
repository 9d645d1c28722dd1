"""The shims for opencode and pi: events, replies, failures and compaction.

The records of the integrations are complete.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tildone.agents.integrations
from tests.cli.person import Person
from tests.clients.install import programs
from tests.clients.situations import SITUATIONS
from tests.suite.forking import PROGRAM
from tildone.agents.integrations import FIELDS, INTEGRATIONS, HookPoint, TaskAction, all_integrations, names_with_hooks
from tildone.stores.agents import KNOWN

HOSTS = Path(__file__).with_name("shim_agents.mjs")
FILES = {"opencode": ".config/opencode/plugins/tildone.js", "pi": ".pi/agent/extensions/tildone.ts"}
RUNS_TYPES = (22, 18)
STOP = {"hook": "event", "given": [{"event": {"type": "session.idle", "properties": {"sessionID": "main"}}}]}
SETTLE: dict[str, Any] = {"outcome": "completed", "continue": False, "entries": [], "context": {"contextMessages": []}}
TOOL = {"name": "todo", "label": "Todo", "description": "Your plan", "parameters": {}, "snippet": "", "guidelines": []}
NOT_WORKING = "tildone does not work, and the agent goes on without it: "
both = pytest.mark.parametrize("host", FILES)


@dataclass(frozen=True, slots=True)
class Shim:
    """An installed shim, and a program in place of tildone that records its input."""

    host: str
    file: Path
    program: Path

    def set_reply(self, event: str, reply: object) -> None:
        text = reply if isinstance(reply, str) else json.dumps(reply)
        self.program.with_name(f"{event}.answer").write_text(text, encoding="utf-8")

    def run(self, *steps: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """Run steps in a simulated coding agent: the result of each, and the calls that the shim made to the agent."""
        results, calls, _ = self.run_printing(*steps)
        return results, calls

    def run_printing(self, *steps: dict[str, Any]) -> tuple[list[Any], list[Any], str]:
        """Run steps as `run` does, and return what was printed on standard error as well."""
        done = subprocess.run(
            [node(), HOSTS, self.host, self.file],
            input=json.dumps(steps).encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        output = json.loads(done.stdout)
        return output["results"], output["calls"], done.stderr.decode()

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        log = self.program.with_name("calls")
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [(line.partition(" {")[0], json.loads("{" + line.partition(" {")[2])) for line in lines]


def node() -> str:
    for path in (str(programs("node") / "node"), shutil.which("node") or ""):
        if os.access(path, os.X_OK):
            version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
            major, minor = map(int, (re.match(r"v(\d+)\.(\d+)", version) or pytest.fail(version)).groups())
            if (major, minor) >= RUNS_TYPES:
                return path
    pytest.skip("there is no node 22.18 or newer; `python3 do.py clients` brings one")


@pytest.fixture
def shim(person: Person, host: str) -> Shim:
    return installed(person, host)


@pytest.fixture
def opencode(person: Person) -> Shim:
    return installed(person, "opencode")


@pytest.fixture
def pi(person: Person) -> Shim:
    return installed(person, "pi")


def installed(person: Person, host: str, *options: str) -> Shim:
    if os.name == "nt":
        pytest.skip("the program in the place of tildone is a shell script")
    person.says("install", host, "--no-check", *options)
    file, program = person.home / FILES[host], person.home / "bin" / "tildone"
    text = file.read_text(encoding="utf-8")
    assert json.dumps(str(PROGRAM)) in text
    assert "%" not in text
    file.write_text(text.replace(json.dumps(str(PROGRAM)), json.dumps(str(program))), encoding="utf-8")
    program.parent.mkdir()
    here = program.parent
    script = (
        f'#!/bin/sh\nread -r payload\necho "$* $payload" >> {here}/calls\ncat {here}/"$3".answer 2>/dev/null\nexit 0\n'
    )
    program.write_text(script, encoding="utf-8")
    program.chmod(0o755)
    return Shim(host, file, program)


def idle(**info: Any) -> dict[str, Any]:
    """A stop of opencode, after this message."""
    parts = [{"type": "text", "text": "I stop."}, {"type": "text", "text": "aside", "synthetic": True}]
    model = {"providerID": "local", "modelID": "scripted"}
    return {**STOP, "last": {"info": {"role": "assistant", "mode": "build", **model, **info}, "parts": parts}}


def test_opencode_continues_with_the_same_agent_and_model(opencode: Shim) -> None:
    """And our prompt is not reported as the person's."""
    opencode.set_reply("session.idle", {"prompt": "Go on."})

    _, agent_calls = opencode.run(idle())

    model = {"providerID": "local", "modelID": "scripted"}
    body = {"agent": "build", "model": model, "parts": [{"type": "text", "text": "Go on."}]}
    assert agent_calls == [["prompt", {"path": {"id": "main"}, "body": body}]]
    payload = {"sessionID": "main", "directory": "/project", "event": "session.idle", "text": "I stop."}
    payload |= {"status": "completed", "permission_mode": "build"}
    assert opencode.calls == [("hook opencode session.idle", payload)]


def test_opencode_reports_how_a_turn_ended(opencode: Shim) -> None:
    """A summary is not the end of a turn. A prompt that is refused is reported, so it does not count as a nudge."""
    opencode.set_reply("session.idle", {"prompt": "Go on."})
    ends = [idle(error={"name": name}) for name in ("MessageAbortedError", "APIError")]

    _, agent_calls = opencode.run(idle(summary=True, mode="compaction"))
    assert (agent_calls, opencode.calls) == ([], [])
    opencode.run(*({**end, "refuses": True} for end in ends))

    assert [(command.split()[-1], payload.get("status")) for command, payload in opencode.calls] == [
        ("session.idle", "aborted"),
        ("nudge.undelivered", None),
        ("session.idle", "error"),
        ("nudge.undelivered", None),
    ]


def test_a_subagent_is_reported_with_its_parent_and_is_not_continued(opencode: Shim) -> None:
    opencode.set_reply("session.idle", {"prompt": "Go on."})
    message = {"parts": [{"type": "text", "text": "Look around", "id": "prt_1"}], "message": {"id": "m"}}
    starts = {"hook": "chat.message", "given": [{"sessionID": "child", "agent": "explore"}, message]}
    call = {"hook": "tool.execute.before", "given": [{"tool": "tildone_todo", "sessionID": "child"}, {"args": {}}]}
    writes = {"hook": "tool.execute.after", "given": [{"tool": "todowrite", "sessionID": "child", "args": {}}, {}]}
    stops = {"type": "session.idle", "properties": {"sessionID": "child"}}

    _, agent_calls = opencode.run(starts, call, writes, {**idle(), "given": [{"event": stops}]})

    assert agent_calls == []
    subagent = ("main", "child", "explore")
    assert [
        (words.split()[-1], (payload["sessionID"], payload["agentID"], payload["agentType"]))
        for words, payload in opencode.calls
    ] == [("tool.execute.before", subagent), ("tool.execute.after", subagent), ("session.idle", subagent)]


def test_a_prompt_in_opencode_adds_the_plan_once_and_then_what_changed(opencode: Shim) -> None:
    """As a hidden part of the message, after the person's text."""
    opencode.set_reply("session.created", {"context": "The plan."})
    opencode.set_reply("chat.message", {"context": "The news."})
    message = {"parts": [{"type": "text", "text": "Hello", "id": "prt_1"}], "message": {"id": "m"}}
    step = {"hook": "chat.message", "given": [{"sessionID": "main"}, message]}

    [first, second], _ = opencode.run(step, step)

    texts = [[(part["text"], part.get("synthetic")) for part in result["parts"]] for result in (first, second)]
    assert texts == [[("Hello", None), ("The plan.\nThe news.", True)], [("Hello", None), ("The news.", True)]]
    assert [words.split()[-1] for words, _ in opencode.calls] == ["session.created", "chat.message", "chat.message"]


def test_tool_calls_are_refused_after_tildone_stop(opencode: Shim) -> None:
    opencode.set_reply("tool.execute.before", {"halt": "Stopped."})

    [result], _ = opencode.run(
        {"hook": "tool.execute.before", "given": [{"tool": "bash", "sessionID": "main"}, {"args": {}}]}
    )

    assert result == {"thrown": "Stopped."}


@pytest.mark.parametrize(
    ("lease", "said"),
    [("", "tildone: stopped by tildone stop. To go on: tildone resume"), ("r/0/1", "tildone: Another has it.")],
)
def test_a_pi_without_an_interface_says_why_its_tools_are_refused(
    pi: Shim, monkeypatch: pytest.MonkeyPatch, lease: str, said: str
) -> None:
    """The agent of a worker is not stopped by a person, but because its run has passed to another worker."""
    monkeypatch.setenv("TILDONE_LEASE", lease)
    pi.set_reply("tool_call", {"halt": "Another has it."})

    [result], _, printed = pi.run_printing({"hook": "tool_call", "given": {"toolName": "bash"}, "hasUI": False})

    assert result == {"block": True, "reason": "Another has it."}
    assert printed == f"{said}\n"


def test_pi_continues_when_told_to(pi: Shim) -> None:
    pi.set_reply("agent_before_settle", {"prompt": "Go on.", "notice": "A notice."})
    messages = [{"role": "assistant", "content": [{"type": "text", "text": "I stop."}]}, {"role": "user"}]
    before = {"type": "custom", "customType": "x"}
    event = {**SETTLE, "entries": [before], "context": {"contextMessages": messages}}

    [result], agent_calls = pi.run({"hook": "agent_before_settle", "given": event})

    nudge = {"type": "custom_message", "customType": "tildone", "content": "Go on.", "display": True}
    assert result == {"entries": [before, nudge], "continue": True}
    assert agent_calls == [["notify", ["A notice.", "warning"]]]
    assert [payload["text"] for _, payload in pi.calls] == ["I stop."]


def test_pi_is_not_continued_after_an_interruption_or_if_it_continues_anyway(pi: Shim) -> None:
    """A nudge is reported that it has no use for, because the person wrote while the hook ran: it does not count."""
    pi.set_reply("agent_before_settle", {"prompt": "Go on."})
    settle = {"hook": "agent_before_settle", "given": SETTLE}
    changes = ({"outcome": "aborted"}, {"outcome": "error"}, {"continue": True})
    steps = [{**settle, "given": {**SETTLE, **change}} for change in changes]

    results, _ = pi.run(*steps, {**settle, "pending": True})
    assert (results, pi.calls) == ([None] * 4, [])
    [result], _ = pi.run({**settle, "pending": "later"})

    assert result is None
    assert [command for command, _ in pi.calls] == ["hook pi agent_before_settle", "hook pi nudge_undelivered"]


def test_pi_reports_what_the_conversation_has_used(pi: Shim) -> None:
    """Every request counts, also one for a summary. A price that is not known is not reported."""
    usage = {"input": 10, "cacheRead": 4, "cacheWrite": 1, "output": 5, "cost": {"total": 0}}
    entries = [{"message": {"role": "user"}}, {"message": {"role": "assistant", "usage": usage}}, {"usage": usage}]
    priced = [*entries, {"message": {"role": "assistant", "usage": {**usage, "cost": {"total": 0.5}}}}]
    settle = {"hook": "agent_before_settle", "given": SETTLE}

    pi.run(settle, {**settle, "entries": entries}, {**settle, "entries": priced})

    used = [payload.get("usage") for _, payload in pi.calls]
    assert used == [None, {"in": 30, "out": 10}, {"in": 45, "out": 15, "cost": 0.5}]


def test_opencode_reports_what_a_session_and_its_subagents_have_used(opencode: Shim) -> None:
    """A message is reported several times, the last time with all of its tokens."""
    tokens = {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 3, "write": 1}}
    none = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}

    opencode.run(
        used("m1", "main", none),
        idle(),
        used("m1", "main", tokens),
        used("m2", "child", tokens, cost=0.25),
        used("m3", "other", tokens),
        idle(),
    )

    assert [payload.get("usage") for _, payload in opencode.calls] == [None, {"in": 28, "out": 14, "cost": 0.25}]


def used(message: str, session: str, tokens: dict[str, Any], cost: float = 0) -> dict[str, Any]:
    """The event in which opencode reports a message of a model."""
    info = {"id": message, "sessionID": session, "role": "assistant", "tokens": tokens, "cost": cost}
    return {"hook": "event", "given": [{"event": {"type": "message.updated", "properties": {"info": info}}}]}


@both
def test_a_program_that_fails_is_told_once(shim: Shim) -> None:
    shim.program.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    events = {"opencode": [idle(), idle()], "pi": [{"hook": "agent_before_settle", "given": SETTLE}] * 2}

    _, agent_calls = shim.run(*events[shim.host])

    notice = f"{NOT_WORKING}it ends with exit code 3. To check: tildone doctor"
    shown = {
        "opencode": ["toast", {"body": {"message": notice, "variant": "warning"}}],
        "pi": ["notify", [notice, "warning"]],
    }
    assert agent_calls == [shown[shim.host]]


def test_pi_registers_the_offered_tools_and_shows_the_status_line(pi: Shim) -> None:
    """A call without a result is an error for the model: an empty result would look like success."""
    pi.set_reply("tools", {"tools": [TOOL]})
    pi.set_reply("status", "☐ 0/2 · One\n")
    start, call = {"hook": "session_start", "given": {"reason": "startup"}}, {"tool": "todo", "given": {"done": 1}}

    [_, failed], _ = pi.run(start, call)
    pi.set_reply("call", {"text": "ok", "failed": False, "line": "✓ 1/2 · Two"})
    results, agent_calls = pi.run(start, call)

    assert failed == {"thrown": "tildone does not answer"}
    assert results == [None, {"content": [{"type": "text", "text": "ok"}]}]
    assert agent_calls == [["status", ["tildone", "☐ 0/2 · One"]], ["status", ["tildone", "✓ 1/2 · Two"]]]
    assert pi.calls[-1][1]["args"] == {"done": 1}


@both
@pytest.mark.parametrize("wrong", ["nothing", "garbage", "list", "none"])
def test_a_broken_tildone_does_not_disturb_the_coding_agent(shim: Shim, wrong: str) -> None:
    """The program is missing, which the person is told once, or prints nothing or garbage."""
    if wrong == "none":
        shim.program.unlink()
    for event in ("session.idle", "session.created", "chat.message", "tool.execute.before", "tools", "status"):
        shim.set_reply(event, {"garbage": "}{", "list": [1]}.get(wrong, ""))
    message = {"parts": [{"type": "text", "text": "Hello", "id": "prt_1"}], "message": {"id": "m"}}
    steps: dict[str, list[dict[str, Any]]] = {
        "opencode": [
            idle(),
            {"hook": "event", "given": [{"event": {"type": "session.compacted", "properties": {}}}]},
            {"hook": "event", "given": [{"event": {"type": "session.created"}}]},
            {"hook": "chat.message", "given": [{"sessionID": "main"}, message]},
            {"hook": "tool.execute.before", "given": [{"tool": "bash", "sessionID": "main"}, {"args": {}}]},
            {"hook": "tool.execute.after", "given": [{"tool": "todowrite", "sessionID": "main"}, {}]},
        ],
        "pi": [
            {"hook": "session_start", "given": {}},
            {"hook": "before_agent_start", "given": {"prompt": "Hello"}},
            {"hook": "agent_before_settle", "given": SETTLE},
            {"hook": "agent_before_settle", "given": {"outcome": "completed"}},
            {"hook": "tool_call", "given": {"toolName": "bash"}},
            {"hook": "session_compact", "given": {}},
        ],
    }

    results, agent_calls = shim.run(*steps[shim.host])

    notices = [given for name, given in agent_calls if name in ("toast", "notify")]
    assert not [result for result in results if isinstance(result, dict) and "thrown" in result]
    assert not [one for one in agent_calls if one[0] == "prompt"]
    assert [NOT_WORKING in json.dumps(notice) for notice in notices] == ([True] if wrong == "none" else [])


@both
def test_options_of_install_are_passed_to_the_hooks(person: Person, host: str) -> None:
    person.says("install", host, "--dialect", "phased", "--session", 'o"urs')

    text = (person.home / FILES[host]).read_text(encoding="utf-8")

    assert json.dumps(["mcp", "--dialect", "phased", "--session", 'o"urs']) in text


@pytest.mark.parametrize(("without", "results"), [("--no-mcp", [True, False]), ("--no-hooks", [False, True])])
def test_pi_has_the_parts_that_were_installed(person: Person, without: str, results: list[bool]) -> None:
    """Tools and hooks are in one file, so --no-mcp and --no-hooks are read by the shim."""
    shim = installed(person, "pi", without)
    shim.set_reply("tools", {"tools": [TOOL]})
    shim.set_reply("call", {"text": "ok", "failed": False, "line": ""})
    start = {"hook": "session_start", "given": {}}

    [_, *others], _ = shim.run(start, {"hook": "tool_call", "given": {}}, {"tool": "todo", "given": {}})

    assert ["thrown" not in (one or {}) for one in others] == results


SESSION = {"sessionID": "main"}
PLAN = "Your plan:\n1 Write the parser"


def compacting() -> dict[str, Any]:
    return {"hook": "experimental.session.compacting", "given": [SESSION, {"context": []}]}


def completed(text: str) -> dict[str, Any]:
    return {"hook": "experimental.text.complete", "given": [SESSION, {"text": text}]}


def test_a_summary_of_opencode_contains_the_plan(opencode: Shim) -> None:
    """Once, also if the model repeats the summary before, so no later event adds it. Other texts stay."""
    opencode.set_reply("session.created", {"context": PLAN})
    compacted, ends = (json.loads(json.dumps(STOP).replace("idle", name)) for name in ("compacted", "idle"))
    summary = {"text": f"A summary.\n\n{PLAN}"}

    [told, added, _, other, *again], _ = opencode.run(
        compacting(), completed("A summary."), compacted, completed("I work."), compacting(), completed(summary["text"])
    )
    calls = [words.split()[-1] for words, _ in opencode.calls]
    [*_, after_a_failure], _ = opencode.run(compacting(), ends, completed("I work."))

    assert (told, added, other) == ({"context": []}, summary, {"text": "I work."})
    assert again == [{"context": []}, summary]
    assert calls == ["session.created"] * 2
    assert after_a_failure == {"text": "I work."}
    assert [words.split()[-1] for words, _ in opencode.calls][-2:] == ["session.created", "session.compacted"]


def test_a_plan_that_has_changed_is_not_in_a_summary_of_opencode_any_more(opencode: Shim) -> None:
    opencode.set_reply("session.created", {"context": PLAN})
    repeats = completed(f"A summary.\n\n{PLAN}")
    new = "Your plan:\n2 Wire it up"
    changed = {"writes": [str(opencode.program.with_name("session.created.answer")), json.dumps({"context": new})]}

    [*_, summary], _ = opencode.run(compacting(), completed("A summary."), {**compacting(), **changed}, repeats)

    assert summary == {"text": f"A summary.\n\n{new}"}


def test_a_fork_in_opencode_is_reported_with_its_parent(opencode: Shim) -> None:
    """Its metadata, which other programs may use too, is a copy of the parent's, with our note in it."""
    message = {"parts": [{"type": "text", "text": "Hello", "id": "prt_1"}], "message": {"id": "m"}}
    step = {"hook": "chat.message", "given": [{"sessionID": "fork"}, message]}

    _, updates = opencode.run({**step, "last": {"info": {"role": "user", "time": {"created": 7}}}}, step)

    reported = [fields for words, fields in opencode.calls if words.endswith("session.created")]
    assert [(fields["forkedFrom"], fields["forkedBefore"]) for fields in reported] == [("main", 7)]
    assert updates == [["update", {"path": {"id": "fork"}, "body": {"metadata": {"theirs": 1, "tildone": "fork"}}}]]


def test_the_first_request_of_pi_after_a_compaction_contains_the_plan(pi: Shim) -> None:
    """In a request only, not in the conversation: the hook forgets that the model has seen it, and adds it later."""
    pi.set_reply("session_start", {"context": PLAN})
    request = {"hook": "context", "given": {"messages": ["a summary"]}}

    compaction, prompt = (
        {"hook": "session_compact", "given": {}},
        {"hook": "before_agent_start", "given": {"prompt": "Go"}},
    )

    [before, _, after, later], _ = pi.run(request, compaction, request, request)
    calls = [words.split()[-1] for words, _ in pi.calls]
    [*_, after_a_prompt], _ = pi.run(compaction, prompt, request)

    # A prompt after a compaction contains the plan, and the request for it does not contain it once more.
    assert (before, later, after_a_prompt) == (None, None, None)
    [summary, plan] = after["messages"]
    assert summary == "a summary"
    assert (plan["role"], plan["content"], plan["display"]) == ("custom", PLAN, False)
    assert calls == ["session_start", "session_compact"]


FOLDER = Path(tildone.agents.integrations.__file__).parent


def test_every_module_of_a_coding_agent_is_registered() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py") if "INTEGRATION = " in path.read_text(encoding="utf-8")}

    assert {name.replace("-", "_") for name in INTEGRATIONS} == modules


def test_no_two_coding_agents_have_the_same_name_title_or_client_name() -> None:
    for names in (
        [each.name for each in all_integrations()],
        [each.title for each in all_integrations()],
        [name for known in KNOWN.values() if known.mcp for name in known.mcp.names],
    ):
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", tuple(INTEGRATIONS))
def test_a_record_is_complete_and_agrees_with_its_line_in_the_registry(name: str) -> None:
    """Without a stop event there is no gate; without every field a hook would fail with a KeyError."""
    each = INTEGRATIONS[name]
    assert each.name == name
    assert (name in names_with_hooks()) == (each.hooks is not None)
    assert each.notes.keys() <= SITUATIONS.keys()
    assert each.min_versions.keys() <= {"gate", "tools"}
    # Versions are compared part by part.
    assert all(part.isdecimal() for version in each.min_versions.values() for part in version.split("."))
    if each.hooks is None:
        return
    points = set(each.hooks.points.values())
    assert HookPoint.STOP in points
    assert each.hooks.fields.keys() == FIELDS.keys()
    assert each.hooks.time_limits.keys() <= each.hooks.points.keys()
    if points & {HookPoint.TASK_CREATED, HookPoint.TASK_COMPLETED}:
        assert {TaskAction.CREATE, TaskAction.UPDATE} <= each.task_tools.keys()
