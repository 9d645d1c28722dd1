"""Hooks fail open: a reply or nothing, and exit code 0. A person learns of the trouble once in each conversation."""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from tests.cli.person import Answer
from tests.hooks.agent import (
    OPEN,
    PI,
    WITH_HOOKS,
    HookedAgent,
    Workspace,
    hooks_of,
    in_process,
    in_subprocess,
    plan_of,
    to_json,
)
from tests.suite.forking import PROGRAM
from tests.trusted import write_trusted
from tildone.agents import hooks
from tildone.agents.hooks import answers, context
from tildone.agents.hooks import event as remembered
from tildone.agents.hooks.event import Remembered
from tildone.agents.integrations import HookPoint
from tildone.base import StoreError
from tildone.plan.events import Directive
from tildone.plan.ops import Write
from tildone.stores import summary
from tildone.stores.agents import AgentId, AgentRegistry

PAYLOAD = {"session_id": "s1", "hook_event_name": "Stop", "last_assistant_message": "I stop."}


def error_of_silent_hook(answer: Answer) -> str:
    """Check that the hook fails open, and return the line on standard error."""
    assert (answer.code, answer.out) == (0, ""), answer
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("tildone: ")
    assert answer.err.endswith("; the agent goes on\n")
    assert "Traceback" not in answer.err
    return answer.err


def error_told_to_the_person(answer: Answer) -> str:
    """Check that the hook fails open and that its reply tells the person why; return the line on standard error."""
    problem = answer.err.removeprefix("tildone: ").removesuffix("; the agent goes on\n")
    notice = f"tildone does not work, and the agent goes on without it: {problem}. To check: tildone doctor"
    assert answer.out, answer
    assert answer.json == {"systemMessage": notice}
    return error_of_silent_hook(Answer(answer.code, "", answer.err))


def folder_as_store(workspace: Workspace) -> None:
    Path(workspace.settings.store.location).mkdir(parents=True)


def damaged_store(workspace: Workspace) -> None:
    store = Path(workspace.settings.store.location)
    store.parent.mkdir(parents=True)
    store.write_bytes(b"not a database, but long enough to be taken for one. " * 100)


def agents_not_writable(workspace: Workspace) -> None:
    workspace.plan(*OPEN)
    Path(workspace.settings.agents_dir).write_text("a file\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("broken", "why"),
    [(folder_as_store, "it is a directory"), (damaged_store, "is not a tildone store"), (agents_not_writable, "")],
)
def test_data_that_cannot_be_used(workspace: Workspace, broken: Callable[[Workspace], None], why: str) -> None:
    broken(workspace)

    assert why in error_told_to_the_person(HookedAgent(workspace).call(HookPoint.STOP))


def test_a_store_with_a_missing_event(workspace: Workspace) -> None:
    workspace.plan(*OPEN)
    store = Path(workspace.settings.store.location)
    content = bytearray(store.read_bytes() or b"")
    for leftover in store.parent.glob("*-wal"):
        leftover.unlink()
    content[4096:] = b"\xff" * (len(content) - 4096)
    store.write_bytes(content)

    answer = HookedAgent(workspace).call(HookPoint.STOP)

    assert answer.code == 0
    assert answer.err.count("\n") <= 1


def test_a_hook_that_waits_for_a_store_ends_before_the_watchdog() -> None:
    """It opens a store once, after reading the summary; the rest of the time is for starting the process."""
    assert summary.LOCK_TIMEOUT_MS / 1000 + context.STORE_TIMEOUT_SECONDS < hooks.TIMEOUT_SECONDS / 2


LOCKS = {
    "locked": ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE", "UPDATE sessions SET updated = updated + 1"),
    "written to": ("BEGIN IMMEDIATE",),
}


@pytest.mark.parametrize("how", LOCKS)
def test_a_store_that_another_process_keeps(workspace: Workspace, how: str) -> None:
    """The hook waits only briefly. A nudge that can't be stored is not sent: it would not be counted."""
    workspace.plan(*OPEN)
    HookedAgent(workspace).call(HookPoint.STOP)
    holder = apsw.Connection(workspace.settings.store.location)
    for statement in LOCKS[how]:
        holder.execute(statement)

    error = error_told_to_the_person(HookedAgent(workspace).call_unwatched(HookPoint.STOP))

    holder.close()
    assert "in use by another process" in error
    assert HookedAgent(workspace).call(HookPoint.STOP).out


def test_a_home_where_nothing_can_be_written(workspace: Workspace) -> None:
    """A file in place of the folder: permissions would not stop root."""
    broken = Workspace(workspace.project, workspace.home / "file", workspace.more)
    broken.home.write_text("a file\n", encoding="utf-8")

    answer = HookedAgent(broken).call(HookPoint.STOP)

    assert (answer.code, answer.out) == (0, "")
    assert answer.err.count("\n") <= 1


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nobody can keep root from writing")
def test_a_store_that_is_read_only(workspace: Workspace) -> None:
    workspace.plan(*OPEN)
    store = Path(workspace.settings.store.location)
    store.chmod(0o400)
    store.parent.chmod(0o500)

    error = error_told_to_the_person(HookedAgent(workspace).call(HookPoint.STOP))

    store.parent.chmod(0o700)
    assert "Permission denied" in error


@pytest.mark.parametrize("listens", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_database_that_is_out_of_reach_or_never_answers(workspace: Workspace, *, listens: bool) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        if listens:
            nobody.listen(1)
        url = f"postgresql://me:secret@127.0.0.1:{nobody.getsockname()[1]}/plans"
        there = replace(workspace, more={"TILDONE_STORE": url})

        error = error_told_to_the_person(HookedAgent(there).call_unwatched(HookPoint.STOP))

    assert "secret" not in error


def test_no_home_at_all(workspace: Workspace) -> None:
    done = subprocess.run(
        [PROGRAM, "hook", "claude"],
        input=to_json({**PAYLOAD, "cwd": str(workspace.project)}),
        env={"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(workspace.home)},
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_working_folder_that_was_deleted(workspace: Workspace, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    run = f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); from tildone.cli import main; "
    run += "sys.exit(main(['hook', 'claude', 'Stop']))"

    error_told_to_the_person(in_subprocess([], b'{"x": 1}', workspace.environ, (sys.executable, "-c", run)))


def test_a_working_folder_that_does_not_exist_or_is_invalid(workspace: Workspace) -> None:
    for cwd in ("/no/such/folder", 7, None, ""):
        answer = in_process(["claude"], to_json({**PAYLOAD, "cwd": cwd}), workspace.environ)
        assert answer == Answer(0, "", ""), cwd
    for number, cwd in enumerate(("a\0b", "\ud800")):
        payload = {**PAYLOAD, "cwd": cwd, "session_id": f"s{number}"}
        error_told_to_the_person(in_process(["claude"], to_json(payload), workspace.environ))


def test_an_unknown_coding_agent(workspace: Workspace) -> None:
    for words in ([], ["nobody"], ["nobody", "Stop"], ["--store"], [""]):
        error = error_of_silent_hook(in_subprocess(words, to_json(PAYLOAD), workspace.environ))

        assert all(name in error for name in WITH_HOOKS), words


def test_options_are_applied_before_and_after_the_verb_and_other_arguments_are_ignored(workspace: Workspace) -> None:
    """A mistake in the agent's settings must not stop it."""
    workspace.session_of("ours").change((Write(plan_of(OPEN).phases),))
    store = str(workspace.settings.store)
    payload = to_json({**PAYLOAD, "cwd": str(workspace.home)})
    wrong = ("too", "many", "--verbose", "--colour=no")

    usual = ["claude", "--session", "ours", f"--store={store}"]
    odd = ["claude", "Stop", "--session=ours", "--store", store, *wrong]

    assert all("Write the parser" in in_process(words, payload, workspace.environ).out for words in (usual, odd))
    program = (PROGRAM, "--store", store, "--session", "ours", "hook")
    assert "Write the parser" in in_subprocess(["claude"], payload, workspace.environ, program).out


@pytest.mark.parametrize(
    "error",
    [KeyError("who\nknows"), KeyboardInterrupt(), SystemExit(), MemoryError(), RecursionError(), BrokenPipeError()],
)
def test_any_exception_is_caught_and_reported_with_its_type(
    agent: HookedAgent, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    agent.workspace.plan(*OPEN)

    def broken(*_: object) -> str:
        raise error

    monkeypatch.setattr(answers, "answer", broken)

    assert type(error).__name__ in error_told_to_the_person(agent.report(HookPoint.STOP))


def test_a_package_that_is_missing(workspace: Workspace, tmp_path: Path) -> None:
    workspace.plan(*OPEN)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "apsw.py").write_text("raise ImportError('no such library')\n", encoding="utf-8")
    broken = Workspace(workspace.project, workspace.home, {**workspace.more, "PYTHONPATH": str(tmp_path / "broken")})

    assert "no such library" in error_told_to_the_person(HookedAgent(broken).call(HookPoint.STOP))


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed(workspace: Workspace, closed: str) -> None:
    workspace.plan(*OPEN)
    payload = {**PAYLOAD, "cwd": str(workspace.project)}

    script = ("sh", "-c", f'"$0" hook claude {closed}', PROGRAM)
    answer = in_subprocess([], to_json(payload), workspace.environ, script)

    assert answer.code == 0
    assert answer.err.count("\n") <= 1
    assert "Traceback" not in answer.err


def test_a_nudge_that_cannot_be_written_does_not_count(workspace: Workspace) -> None:
    """The agent has closed the pipe: it does not wait for the reply any more."""
    workspace.plan(*OPEN)
    ours, theirs = os.pipe()
    os.close(ours)

    payload = to_json({**PAYLOAD, "cwd": str(workspace.project)})
    answer = in_subprocess(["claude"], payload, workspace.environ, stdout=theirs)

    os.close(theirs)
    assert answer.code == 0
    assert answer.err.count("\n") == 1
    assert (workspace.session.state.nudges, workspace.session.state.drift) == (0, 0)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no endless file")
@pytest.mark.parametrize("endless", [True, False])
def test_input_that_is_endless_or_never_arrives(workspace: Workspace, *, endless: bool) -> None:
    ours, theirs = os.pipe()
    source = os.open("/dev/zero", os.O_RDONLY) if endless else os.dup(ours)

    answer = in_subprocess(["claude"], b"", workspace.environ, stdin=source)

    for file in (source, theirs, ours):
        os.close(file)
    assert "longer than 5 seconds" in error_of_silent_hook(answer)


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_person_at_a_terminal_is_referred_to_the_help(workspace: Workspace) -> None:
    import pty  # noqa: PLC0415  Windows has none

    ours, theirs = pty.openpty()
    answer = in_subprocess(["claude"], b"", workspace.environ, stdin=theirs)

    os.close(ours)
    os.close(theirs)
    assert "see tildone hook --help" in answer.err
    assert answer.code == 0


def test_help_lists_the_coding_agents_with_hooks(workspace: Workspace) -> None:
    answer = in_subprocess(["--help"], b"", workspace.environ)

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("tildone hook AGENT [EVENT]\n")
    assert all(name in answer.out for name in WITH_HOOKS)


@pytest.mark.skipif(os.name == "nt", reason="there are no named pipes in the file system")
def test_a_hook_ends_before_the_time_limit_of_its_event(workspace: Workspace, tmp_path: Path) -> None:
    """Codex kills a hook at the end of a session after 3 seconds; reading this settings file takes for ever.

    It really waits: the watchdog is to interrupt a call of the system.
    """
    settings = tmp_path / "config" / "tildone" / "config.toml"
    settings.parent.mkdir(parents=True)
    os.mkfifo(settings)

    payload = {**PAYLOAD, "hook_event_name": "SessionEnd", "cwd": str(workspace.project)}
    environ = {**workspace.environ, "XDG_CONFIG_HOME": str(settings.parents[1])}
    answer = in_subprocess(["codex"], to_json(payload), environ)

    assert "longer than 2.5 seconds" in error_of_silent_hook(answer)


HEADLESS = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
AT_A_SCREEN = {"CLAUDE_CODE_ENTRYPOINT": "cli"}


@pytest.fixture
def broken(workspace: Workspace) -> Workspace:
    write_trusted(workspace.project / "tildone.toml", "max_nudges = [", workspace.environ)
    return workspace


def started_in(workspace: Workspace, **environ: str) -> HookedAgent:
    return HookedAgent(Workspace(workspace.project, workspace.home, {**workspace.more, **environ}))


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_every_agent_with_notices_shows_the_problem_once(broken: Workspace, name: str) -> None:
    agent = HookedAgent(broken, WITH_HOOKS[name])
    points = (HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.STOP, HookPoint.STOP)
    known = [point for point in points if point in hooks_of(agent.integration).points.values()]

    answers = [agent.report(point) for point in known]

    hooks = hooks_of(agent.integration)
    first = known.index(hooks.notices_at[0]) if hooks.notices_at else 0
    is_first = [number == first for number in range(len(known))]
    assert ["does not work" in each.out for each in answers] == [
        hooks.notice_reply is not None and it for it in is_first
    ]
    # Gemini CLI shows standard error, and would show the same line at every event.
    assert name != "gemini" or not any(each.err for each in answers)


def test_pi_offers_its_tools_although_the_settings_are_wrong(broken: Workspace) -> None:
    """A call then tells the model what is wrong."""
    agent = HookedAgent(broken, PI)

    tools = agent.report(HookPoint.OFFER_TOOLS).json["tools"]
    call = agent.report(HookPoint.CALL_TOOL, tool="todo", args={"add": ["One"]})

    assert [tool["name"] for tool in tools] == ["todo"]
    assert (call.code, call.out) == (0, "")
    assert "tildone.toml" in call.err


def test_every_conversation_is_told_of_every_problem_and_the_status_line_each_time(broken: Workspace) -> None:
    agents = [HookedAgent(broken, id=name) for name in ("s1", "s2")]
    assert ["does not work" in agent.report(HookPoint.PROMPT).out for agent in agents] == [True, True]
    lines = [agents[0].report(HookPoint.STATUS_LINE).out for _ in range(2)]
    assert [(line.startswith("tildone does not work: "), line.count("\n")) for line in lines] == [(True, 1)] * 2

    write_trusted(broken.project / "tildone.toml", 'gate = "maybe"', broken.environ)

    assert "gate" in agents[0].report(HookPoint.STOP).json["systemMessage"]


def test_where_nothing_can_be_remembered_the_start_of_a_session_tells(
    broken: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "FOLDERS", ())
    nowhere = {name: str(broken.home / "missing") for name in remembered.VARIABLES}
    agent = started_in(broken, **nowhere)

    told = [agent.report(point).out != "" for point in (HookPoint.SESSION_START, HookPoint.STOP, HookPoint.STOP)]

    assert told == [True, False, False]


@pytest.mark.skipif(not hasattr(os, "statvfs"), reason="this system does not say how full a disk is")
@pytest.mark.parametrize("planned", [True, False])
def test_a_full_disk_is_told_when_a_session_starts(
    agent: HookedAgent, monkeypatch: pytest.MonkeyPatch, *, planned: bool
) -> None:
    """Also if there is nothing to write yet. What cannot be written later is the same problem."""
    if planned:
        agent.workspace.plan(*OPEN)
    monkeypatch.setattr(os, "statvfs", lambda _: FullDisk())
    monkeypatch.setattr(AgentRegistry, "get", write_in_vain)

    told = [agent.report(point) for point in (HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.STOP)]

    assert told[0].json["systemMessage"].endswith("can't grow: the disk is full. To check: tildone doctor")
    assert [answer.out for answer in told[1:]] == ["", ""]
    assert os.strerror(errno.ENOSPC) in told[1].err


class FullDisk:
    """What the system says of a full disk."""

    f_blocks, f_bfree, f_bavail = 100, 0, 0


def write_in_vain(*_: object) -> None:
    raise StoreError(f"cannot write /data/agents/a.json: {os.strerror(errno.ENOSPC)}")


@pytest.mark.parametrize("whole_folder", [False, True])
def test_a_deleted_store_is_told(agent: HookedAgent, *, whole_folder: bool) -> None:
    # A new conversation without a plan has lost none.
    assert agent.report(HookPoint.STOP).out == ""
    agent.workspace.plan(*OPEN)
    assert agent.stops()
    store = Path(agent.workspace.settings.store.location)
    (store.parent if whole_folder else store).rename(agent.workspace.home / "elsewhere")

    answer = agent.report(HookPoint.STOP)

    assert "no longer has the plan that an agent was held to here; was it deleted?" in answer.json["systemMessage"]
    assert agent.report(HookPoint.STOP).out == ""


@pytest.mark.parametrize("point", [HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL])
def test_an_unattended_agent_that_was_stopped_says_so_and_one_at_a_screen_ends_in_silence(
    workspace: Workspace, point: HookPoint
) -> None:
    """The person at the screen has seen the notice."""
    workspace.plan(*OPEN)
    workspace.session.set_directive(Directive.STOP)
    ends = []
    for environ in (HEADLESS, AT_A_SCREEN):
        agent = started_in(workspace, **environ)
        agent.report(point, tool_name="Bash", tool_input={})
        ends.append(agent.report(HookPoint.SESSION_END, reason="other"))

    says = "tildone: the agent was stopped by tildone stop. To go on: tildone resume\n"
    assert ends == [Answer(2, "", says), Answer(0, "", "")]


def test_an_unattended_agent_tells_at_the_end_that_it_was_let_go_or_had_trouble(workspace: Workspace) -> None:
    """`claude -p` prints nothing but what a failed hook wrote then."""
    workspace.plan(*OPEN)
    agent = started_in(workspace, **HEADLESS)
    while agent.stops():
        pass
    assert "tildone lets the agent go: " in agent.report(HookPoint.SESSION_END, reason="other").err

    write_trusted(workspace.project / "tildone.toml", "max_nudges = [", workspace.environ)
    agent.report(HookPoint.STOP)
    ends = [agent.report(HookPoint.SESSION_END, reason="other") for _ in range(2)]

    assert [end.code for end in ends] == [2, 0]
    assert ends[0].err.startswith("tildone does not work, and the agent goes on without it: ")
    assert ends[0].err.count("\n") == 1


def test_a_folder_without_space_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "full").write_text("a file, so that nothing can be created in it\n", encoding="utf-8")
    facts = Remembered({"XDG_RUNTIME_DIR": str(tmp_path / "full"), "TMPDIR": str(tmp_path)}, AgentId("claude", "s1"))

    facts.leave("text", "Two\nlines")

    assert facts.knows("text")
    assert [facts.take("text"), facts.take("text")] == ["Two\nlines", ""]
    assert [facts.is_new("fact"), facts.is_new("fact")] == [True, False]


def test_a_folder_that_another_user_made_is_not_used(tmp_path: Path) -> None:
    """Anybody may create a folder of that name among the temporary files: a link, here."""
    others = tmp_path / "others"
    others.mkdir()
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    own.mkdir()
    (shared / f"tildone-{os.getuid()}").symlink_to(others)
    facts = Remembered({"XDG_RUNTIME_DIR": str(shared), "TMPDIR": str(own)}, AgentId("claude", "s1"))

    facts.leave("text", "A notice")

    assert list(others.iterdir()) == []
    assert facts.take("text") == "A notice"
