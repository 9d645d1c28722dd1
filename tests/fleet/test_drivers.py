"""How agents are started: what their command lines and environments contain."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet import workers
from tests.fleet.agents import wait_for
from tests.fleet.runs import SESSION, HeldRun, hold
from tests.fleet.workers import Bench
from tests.plans import plan_of
from tests.suite.waiting import until
from tildone.base import Refused, replace
from tildone.base.secrets import is_secret
from tildone.fleet.drivers import AGENTS
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch, providers_of
from tildone.plan.dialects.native import FENCED, STILL_FENCED
from tildone.plan.runs import LEASE_VARIABLE, TRANSCRIPT_VARIABLE, Asked, LeaseState, RunReleased

SECRETS = (
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY"),
    *("GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "SSH_AUTH_SOCK"),
)
VALUES = dict.fromkeys(SECRETS, "hidden") | {"DATABASE_URL": "postgresql://me:hidden@db/app"}
MODELS = {"run": "mistral:large", "opencode": "openai/gpt-5", "pi": "google/gemini-2.5-flash"}
OPENAI, GEMINI = {"OPENAI_API_KEY"}, {"GEMINI_API_KEY"}
GIVEN = {
    "shell": set[str](),
    "run": {"MISTRAL_API_KEY"},
    "claude": {"ANTHROPIC_API_KEY"},
    "codex": OPENAI,
    "opencode": OPENAI,
    "gemini": GEMINI,
    "pi": GEMINI,
}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[HeldRun]:
    held = hold(tmp_path, plan_of("one", "two"))
    yield held
    held.store.close()


def test_an_agent_gets_the_secrets_of_its_provider_only(run: HeldRun) -> None:
    clean = {name: text for name, text in run.environ.items() if not is_secret(name, text)}
    known = clean | VALUES | {"JAVA_HOME": "/java"}

    launches = {
        agent: AGENTS[agent](replace(run.context("*", model=MODELS.get(agent, "")), environ=known)) for agent in AGENTS
    }

    given = {agent: {name for name in SECRETS if name in launch.environ} for agent, launch in launches.items()}
    assert given == GIVEN
    assert {launch.environ["JAVA_HOME"] for launch in launches.values()} == {"/java"}
    assert "hidden" not in str([launch.arguments for launch in launches.values()])


def test_an_agent_is_told_the_plan_of_the_run_and_its_own_folder_not_that_of_the_worker(run: HeldRun) -> None:
    context = run.context("*", "make *")
    told = {"TILDONE_STORE": run.address, "TILDONE_SESSION": "plan", "TILDONE_CHECK_ALLOW": "*\nmake *"}
    told["PWD"] = context.folder

    for agent in AGENTS:
        environ = AGENTS[agent](replace(context, environ={**context.environ, "PWD": "/worker"})).environ
        assert {name: environ[name] for name in told} == told, agent


def test_nothing_is_written_to_the_repository(run: HeldRun) -> None:
    for agent in AGENTS:
        AGENTS[agent](run.context("*"))

    assert list((run.folder / "work").iterdir()) == []
    others = {path.relative_to(run.folder).parts[:4] for path in run.folder.rglob("*") if path.is_file()}
    assert {each for each in others if "plans.db" not in each[0]} <= {("data", "tildone", "fleet", "agents")}


def test_variables_with_which_the_store_is_opened_are_kept_and_those_of_a_conversation_are_not(run: HeldRun) -> None:
    given = {"PGPASSWORD": "x", "PATH": "/bin", "CLAUDE_CODE_SESSION_ID": "5f0c", "CLAUDECODE": "1"}
    context = replace(run.context("*"), environ=given)

    assert not given.keys() - {"PATH"} & AGENTS["claude"](context).environ.keys()
    assert AGENTS["shell"](replace(context, store="postgresql://db/plans")).environ["PGPASSWORD"] == "x"


def after(word: str, arguments: tuple[str, ...]) -> str:
    return arguments[arguments.index(word) + 1]


def test_agents_may_run_only_what_the_worker_allows(run: HeldRun) -> None:
    """Codex runs commands in its sandbox. pi, and Gemini CLI where the repository names commands, are refused."""
    some, everything = run.context("make *", "ls"), run.context("*")

    rules = [json.loads(after("--settings", AGENTS["claude"](each).arguments)) for each in (some, everything)]
    shell = [[rule for rule in each["permissions"]["allow"] if rule.startswith("Bash")] for each in rules]
    assert shell == [["Bash(make *)", "Bash(ls)"], ["Bash"]]
    assert after("--sandbox", AGENTS["codex"](some).arguments) == "workspace-write"
    assert after("--sandbox", AGENTS["codex"](everything).arguments) == "danger-full-access"
    # Codex gives a server few other variables.
    options = [word for word in AGENTS["codex"](some).arguments if word.startswith("mcp_servers.")]
    [server] = [tomllib.loads(option)["mcp_servers"]["tildone"] for option in options]
    assert {"TILDONE_STORE", "TILDONE_SESSION", "TILDONE_LEASE", "TILDONE_CHECK_ALLOW"} <= set(server["env_vars"])
    settings = json.loads(AGENTS["opencode"](some).environ["OPENCODE_CONFIG_CONTENT"])
    assert settings["permission"]["bash"] == {"*": "deny", "make *": "allow", "ls": "allow"}
    own = Path(some.folder) / ".gemini" / "settings.json"
    own.parent.mkdir()
    own.write_text("{}", encoding="utf-8")
    for agent in ("pi", "gemini"):
        with pytest.raises(Refused, match=r"--allow '\*'"):
            AGENTS[agent](some)
        AGENTS[agent](everything)


def test_gemini_gets_a_home_with_the_settings_of_the_person_and_ours(run: HeldRun) -> None:
    """It passes over settings of the machine that do not belong to root. The credentials are those of the person."""
    own = run.folder / ".gemini"
    own.mkdir()
    settings = '{"security": {"auth": {"selectedType": "oauth"}}, "hooksConfig": {"enabled": false} /* mine */}'
    (own / "settings.json").write_text(settings, encoding="utf-8")
    (own / "oauth_creds.json").write_text("{}", encoding="utf-8")
    (own / "tmp").mkdir()

    AGENTS["gemini"](run.context("*"))
    launch = AGENTS["gemini"](run.context("*"))

    home = Path(launch.environ["GEMINI_CLI_HOME"]) / ".gemini"
    text = (home / "settings.json").read_text(encoding="utf-8")
    assert "/* mine */" in text
    found = json.loads(text.replace("/* mine */", ""))
    assert found["security"] == {"auth": {"selectedType": "oauth"}}
    assert found["hooksConfig"] == {"enabled": True}
    assert "tildone" in found["mcpServers"]
    assert set(found["hooks"]) >= {"AfterAgent", "BeforeTool"}
    assert (home / "oauth_creds.json").resolve() == own / "oauth_creds.json"
    assert not (home / "tmp").exists()
    assert (own / "settings.json").read_text(encoding="utf-8") == settings


def test_without_a_provider_all_of_them_are_meant() -> None:
    assert providers_of("openai-chat:gpt-5") == ("openai",)
    assert providers_of("google-gla:gemini") == ("google",)
    assert {"anthropic", "openai", "mistral"} <= set(providers_of("gpt-5"))


HALT = {"continue": False, "stopReason": FENCED}
CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"}


def tildone(run: HeldRun, given: str, *words: str, note: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a command as an agent of the run does."""
    known = {"TILDONE_STORE": run.address, "TILDONE_SESSION": SESSION, LEASE_VARIABLE: str(run.lease.fence)}
    command = [sys.executable, "-m", "tildone", *words]
    # What hooks remember about a conversation is below the folder of the test.
    environ = {**run.environ, **known, "XDG_RUNTIME_DIR": str(run.folder), TRANSCRIPT_VARIABLE: str(note or "")}
    folder = run.context().folder
    return subprocess.run(command, input=given, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def event(run: HeldRun, name: str, **more: object) -> dict[str, object]:
    return {"hook_event_name": name, "session_id": "c1", "cwd": run.context().folder, **more}


def hook(run: HeldRun, agent: str, name: str, **more: object) -> Any:
    """Return the reply to an event, and check that nothing else was said."""
    done = tildone(run, json.dumps(event(run, name, **more)), "hook", agent)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout) if done.stdout else None


def test_the_turn_ends_and_no_tool_is_called_any_more(run: HeldRun) -> None:
    assert hook(run, "claude", "PreToolUse", **CALL) is None
    run.pass_on()

    before = hook(run, "claude", "PreToolUse", **CALL)
    after = hook(run, "claude", "PostToolUse", **CALL, tool_response="")
    codex = hook(run, "codex", "PreToolUse", **CALL)

    denied = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": FENCED}
    assert before == {**HALT, "hookSpecificOutput": denied}
    assert after == {"continue": False, "stopReason": STILL_FENCED}
    assert codex == {"hookSpecificOutput": denied}


def test_an_agent_is_told_once_why_and_refused_in_few_words_after_that(run: HeldRun) -> None:
    """Other conversations are told as well."""
    run.pass_on()

    prompts = [hook(run, "codex", "UserPromptSubmit", prompt="Go on.") for _ in range(2)]
    calls = [hook(run, "codex", "PreToolUse", **CALL) for _ in range(2)]
    other = hook(run, "claude", "UserPromptSubmit", prompt="Go on.", session_id="c2")
    another = hook(run, "claude", "PostToolUse", **CALL, tool_response="", session_id="c3")

    assert prompts[1] is None
    assert [each["hookSpecificOutput"]["additionalContext"] for each in (prompts[0], other)] == [FENCED] * 2
    assert [call["hookSpecificOutput"]["permissionDecisionReason"] for call in calls] == [STILL_FENCED] * 2
    assert another == HALT


def test_hooks_note_where_the_transcript_is(run: HeldRun) -> None:
    """If they can."""
    note = run.folder / "note"
    for path, file in (("/t/one.jsonl", note), ("/t/two.jsonl", note), ("/t", run.folder / "missing" / "note")):
        done = tildone(run, json.dumps(event(run, "PreToolUse", transcript_path=path)), "hook", "claude", note=file)
        assert (done.returncode, done.stderr) == (0, "")
        assert not file.parent.exists() or file.read_text(encoding="utf-8") == path


def test_an_agent_that_stops_is_not_nudged(run: HeldRun) -> None:
    nudged = hook(run, "claude", "Stop")
    run.pass_on()
    events = len(run.events)

    assert nudged["decision"] == "block"
    assert hook(run, "claude", "Stop") is None
    assert hook(run, "claude", "SessionEnd", reason="other") is None
    assert len(run.events) == events


def test_a_tool_of_pi_answers_with_it(run: HeldRun) -> None:
    run.pass_on()
    payload = {"event": "call", "sessionID": "c1", "directory": run.context().folder, "tool": "todo", "args": {}}

    done = tildone(run, json.dumps(payload), "hook", "pi")

    assert json.loads(done.stdout) == {"text": FENCED, "failed": True, "line": ""}


def test_a_call_over_mcp_is_refused_with_it_and_later_ones_in_few_words(run: HeldRun) -> None:
    run.pass_on()
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    call = {"name": "todo", "arguments": {"done": [1]}}
    asked = [("initialize", client), ("tools/call", call), ("tools/call", call)]
    lines = [{"jsonrpc": "2.0", "id": n, "method": name, "params": params} for n, (name, params) in enumerate(asked)]

    done = tildone(run, "".join(f"{json.dumps(line)}\n" for line in lines), "mcp")

    answers = {answer.get("id"): answer for answer in map(json.loads, done.stdout.splitlines())}
    first, again = (answers[number]["result"] for number in (1, 2))
    assert (first["isError"], again["isError"]) == (True, True)
    assert FENCED in first["content"][0]["text"]
    assert STILL_FENCED in again["content"][0]["text"]
    assert FENCED not in again["content"][0]["text"]
    assert run.tasks == [("one", "pending"), ("two", "pending")]


ONE_TASK = 'echo >> starts; n=$(wc -l < starts); [ "$n" -gt {most} ] || {python} -m tildone todo done "$n"'
"""A command that completes one task at each start, at most so many in all."""


def early(context: AgentContext) -> AgentLaunch:
    own = {"TILDONE_STORE": context.store, "TILDONE_SESSION": context.session}
    return AgentLaunch(("sh", "-c", context.model), {**context.environ, **own}, stops_early=True)


def refusing(_context: AgentContext) -> AgentLaunch:
    raise Refused("it runs every command")


@pytest.fixture(autouse=True)
def _agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "AGENTS", {"early": early, "refusing": refusing})


def starts(bench: Bench) -> int:
    return len((bench.folder / "home" / "folders" / bench.run / "starts").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("most", "state", "expected"), [(3, LeaseState.DONE, 3), (1, LeaseState.FAILED, 2)])
def test_it_is_started_until_a_start_does_nothing(bench: Bench, most: int, state: LeaseState, expected: int) -> None:
    """All under one lease; what did nothing once would do so again."""
    bench.add(ONE_TASK.format(most=most, python=sys.executable), "early", tasks=3)

    with bench.worker(agents=("early",)):
        lease = bench.becomes(LeaseState.DONE, LeaseState.FAILED)

    assert lease.state is state
    assert (starts(bench), lease.epoch) == (expected, 1)


def test_an_agent_with_an_open_question_is_not_started_again(bench: Bench, tmp_path: Path) -> None:
    bench.add(f"{ONE_TASK.format(most=3, python=sys.executable)}; {wait_for(tmp_path / 'go')}", "early", tasks=3)

    with bench.worker(agents=("early",)):
        lease = until(lambda: bench.lease().is_held and bench.lease())
        bench.leases.append(lease.fence, Asked(bench.run, 0, "q1", "question", "Which one?"), "e1")
        (tmp_path / "go").touch()
        bench.becomes(LeaseState.WAITING)

    assert starts(bench) == 1


def test_a_worker_that_cannot_hold_an_agent_to_its_rules_gives_the_run_back(bench: Bench) -> None:
    """Another worker may have other rules. It is no failure."""
    bench.add("", "refusing")

    with bench.worker(agents=("refusing",)):
        [released] = until(lambda: bench.facts(RunReleased))

    assert (released.why, released.fails) == ("not permitted here: it runs every command", 0)
