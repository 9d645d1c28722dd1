"""A person learns that tildone does not work: once in each conversation, in the way of their coding agent."""

import errno
import os
from pathlib import Path

import pytest

from tests.hooks.agent import OPEN, WITH_HOOKS, HookedAgent, Workspace, hooks_of
from tests.trusted import write_trusted
from tildone.agents.hooks import event as remembered
from tildone.agents.hooks.event import Remembered
from tildone.agents.integrations import HookPoint
from tildone.agents.integrations.gemini import INTEGRATION as GEMINI
from tildone.agents.integrations.pi import INTEGRATION as PI
from tildone.base.errors import StoreError
from tildone.plan.events import Directive
from tildone.stores.agents import AgentId, AgentRegistry

HEADLESS = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
AT_A_SCREEN = {"CLAUDE_CODE_ENTRYPOINT": "cli"}


@pytest.fixture
def broken(workspace: Workspace) -> Workspace:
    """A workspace with settings that cannot be parsed."""
    write_trusted(workspace.project / "tildone.toml", "max_nudges = [", workspace.environ)
    return workspace


def started_in(workspace: Workspace, **environ: str) -> HookedAgent:
    """Claude Code, started with these environment variables."""
    return HookedAgent(Workspace(workspace.project, workspace.home, {**workspace.more, **environ}))


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_every_agent_with_notices_shows_the_problem_once(broken: Workspace, name: str) -> None:
    agent = HookedAgent(broken, WITH_HOOKS[name])
    points = (HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.STOP, HookPoint.STOP)
    known = [point for point in points if point in hooks_of(agent.integration).points.values()]

    told = ["does not work" in agent.report(point).out for point in known]

    has_notices = hooks_of(agent.integration).notice_reply is not None
    assert told == [has_notices] + [False] * (len(known) - 1)


def test_an_agent_that_shows_standard_error_is_given_none(broken: Workspace) -> None:
    """It would show the same line at every event."""
    agent = HookedAgent(broken, GEMINI)

    errors = [agent.report(point).err for point in (HookPoint.PROMPT, HookPoint.STOP)]

    assert errors == ["", ""]


def test_pi_offers_its_tools_although_the_settings_are_wrong(broken: Workspace) -> None:
    """A call then tells the model what is wrong."""
    agent = HookedAgent(broken, PI)

    tools = agent.report(HookPoint.OFFER_TOOLS).json["tools"]
    call = agent.report(HookPoint.CALL_TOOL, tool="todo", args={"add": ["One"]})

    assert [tool["name"] for tool in tools] == ["todo"]
    assert (call.code, call.out) == (0, "")
    assert "tildone.toml" in call.err


def test_every_conversation_is_told(broken: Workspace) -> None:
    told = ["does not work" in HookedAgent(broken, id=name).report(HookPoint.PROMPT).out for name in ("s1", "s2")]

    assert told == [True, True]


def test_another_problem_is_told_too(broken: Workspace) -> None:
    agent = HookedAgent(broken)
    agent.report(HookPoint.STOP)

    write_trusted(broken.project / "tildone.toml", 'gate = "maybe"', broken.environ)

    assert "gate" in agent.report(HookPoint.STOP).json["systemMessage"]


def test_where_nothing_can_be_remembered_the_start_of_a_session_tells(
    broken: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "FOLDERS", ())
    nowhere = {name: str(broken.home / "missing") for name in remembered.VARIABLES}
    agent = started_in(broken, **nowhere)

    told = [agent.report(point).out != "" for point in (HookPoint.SESSION_START, HookPoint.STOP, HookPoint.STOP)]

    assert told == [True, False, False]


def test_the_status_line_tells_it_too(broken: Workspace) -> None:
    line = HookedAgent(broken).report(HookPoint.STATUS_LINE).out

    assert line.startswith("tildone does not work: ")
    assert line.count("\n") == 1


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


def test_a_deleted_store_is_told(agent: HookedAgent) -> None:
    agent.workspace.plan(*OPEN)
    assert agent.stops()

    Path(agent.workspace.settings.store.location).unlink()

    answer = agent.report(HookPoint.STOP)
    assert "no longer has the plan that an agent was held to here; was it deleted?" in answer.json["systemMessage"]
    assert agent.report(HookPoint.STOP).out == ""


def test_a_data_folder_that_was_deleted_as_a_whole_is_told(agent: HookedAgent) -> None:
    agent.workspace.plan(*OPEN)
    assert agent.stops()

    data = Path(agent.workspace.settings.store.location).parent
    data.rename(data.with_name("elsewhere"))

    assert "no longer has the plan" in agent.report(HookPoint.STOP).json["systemMessage"]


def test_a_new_conversation_without_a_plan_has_lost_none(agent: HookedAgent) -> None:
    assert agent.report(HookPoint.STOP).out == ""


def test_an_unattended_agent_tells_it_at_the_end_of_its_session(broken: Workspace) -> None:
    """`claude -p` prints nothing but what a failed hook wrote then."""
    agent = started_in(broken, **HEADLESS)
    agent.report(HookPoint.STOP)

    ends = [agent.report(HookPoint.SESSION_END, reason="other") for _ in range(2)]

    assert [end.code for end in ends] == [2, 0]
    assert ends[0].err.startswith("tildone does not work, and the agent goes on without it: ")
    assert ends[0].err.count("\n") == 1


@pytest.mark.parametrize("point", [HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL])
def test_an_unattended_agent_that_was_stopped_says_so(workspace: Workspace, point: HookPoint) -> None:
    workspace.plan(*OPEN)
    workspace.session.set_directive(Directive.STOP)
    agent = started_in(workspace, **HEADLESS)
    agent.report(point, tool_name="Bash", tool_input={})

    end = agent.report(HookPoint.SESSION_END, reason="other")

    assert (end.code, end.err) == (2, "tildone: the agent was stopped by tildone stop. To go on: tildone resume\n")


def test_an_unattended_agent_that_was_let_go_says_so(workspace: Workspace) -> None:
    workspace.plan(*OPEN)
    agent = started_in(workspace, **HEADLESS)
    while agent.stops():
        pass

    assert "tildone lets the agent go: " in agent.report(HookPoint.SESSION_END, reason="other").err


def test_an_agent_at_a_screen_ends_in_silence(workspace: Workspace) -> None:
    """Its person has seen the notice."""
    workspace.plan(*OPEN)
    workspace.session.set_directive(Directive.STOP)
    agent = started_in(workspace, **AT_A_SCREEN)
    agent.report(HookPoint.BEFORE_TOOL, tool_name="Bash", tool_input={})

    end = agent.report(HookPoint.SESSION_END, reason="other")

    assert (end.code, end.out, end.err) == (0, "", "")


def test_a_folder_without_space_is_skipped(tmp_path: Path) -> None:
    """The next one is used."""
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
