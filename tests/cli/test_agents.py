"""What a person does about agents.

Answers them, pauses and stops them, shares plans with them, and sees which extensions `tildone run` would load.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.run.extension_workspace import install_package
from tests.suite.forking import PROGRAM
from tildone.app.opening import open_session, open_store
from tildone.app.settings import load
from tildone.base import replace as replace_value
from tildone.base.ids import now
from tildone.log.needs import Need
from tildone.log.presence import AT_WORK_MS, Presence
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND, dialect_named
from tildone.plan.events import Author, Bound
from tildone.plan.text.amounts import describe_bound
from tildone.stores.agents import Agent, AgentId, AgentRegistry, start_time
from tildone.stores.assignment import end, register, subagent_id, subagent_of

NOBODY = "No agent waits for an answer.\n"
QUESTION = Need(
    "4f0c11", "s", "command", "rm -r build\n\x1b[2Jls", ("once", "always", "no"), 1, "tildone:a", "Run this?"
)
CHOICE = Need("77aa00", "s", "select", "Which?", ("left side", "right side"), 2)


@pytest.fixture
def person(person: Person) -> Person:
    """Somebody who says where their plans are kept, so that we can find them, too."""
    environ = {**person.environ, "XDG_DATA_HOME": str(person.home / "data"), "TILDONE_USER": "Ada"}
    return replace(person, environ=environ)


def store_of(person: Person) -> Store:
    return open_store(load({}, person.environ, str(person.folder)))


def asked(person: Person, *needs: Need) -> Store:
    store = store_of(person)
    store.records.beat(Presence("tildone:a", "s", beat=now()))
    for need in needs:
        store.records.ask(replace_value(need, since=now() - 150_000 + need.since))
    return store


def test_without_a_question_nobody_waits(person: Person) -> None:
    """And no store is created."""
    assert person.says("answer") == NOBODY
    assert person.run("answer", "--json").json == {"version": 1, "questions": []}
    assert not (person.home / "data" / "tildone" / "tildone.db").exists()


def test_questions_are_listed_whole_and_printable(person: Person) -> None:
    asked(person, QUESTION, CHOICE)

    said = person.says("answer")

    assert said.startswith("4f0c11  session 's', tildone:a, 2 minutes ago\n  Run this?\n  rm -r build\n")
    assert said.count("  Careful: it deletes files.\n") == 1
    assert "\x1b" not in said
    assert "  To answer: tildone answer 4f0c11 once|always|no\n77aa00  " in said
    assert person.says("answer", "77") == said[said.index("77aa00") :]


def test_a_question_whose_agent_is_gone_is_not_listed(person: Person) -> None:
    store = asked(person, QUESTION, CHOICE)
    store.records.beat(Presence("tildone:a", "s", beat=now() - AT_WORK_MS))

    assert person.says("answer").startswith("77aa00  ")
    assert [each["id"] for each in person.run("answer", "--json").json["questions"]] == ["77aa00"]


def test_an_answer_is_told_to_the_agent_with_the_persons_name(person: Person) -> None:
    store = asked(person, QUESTION)

    assert person.says("answer", "4f0", "once") == "Answered 4f0c11: once\n"

    found = store.records.need("4f0c11")
    assert found is not None
    assert (found.answer, found.answered_by) == ("once", "Ada")
    assert found.answered_at > found.since
    assert person.says("answer") == NOBODY


def test_what_cannot_be_answered_says_why(person: Person) -> None:
    store = asked(person, QUESTION, CHOICE)
    for words, code, said in (
        (["4f0c11", "yes"], 2, "the answer to 4f0c11 is once or always or no, not 'yes'"),
        (["ff", "no"], 4, "there is no open question 'ff'; to list them: tildone answer"),
        (["ff"], 4, "there is no open question 'ff'"),
        (["", "no"], 2, "2 open questions begin with ''"),
    ):
        assert said in person.refused(code, "answer", *words), words
        assert len(store.records.needs()) == 2, words


def test_the_second_of_two_answers_is_told_who_was_first(person: Person) -> None:
    """Two real processes answer at the same time."""
    asked(person, QUESTION)
    command = [sys.executable, "-m", "tildone", "answer", "4f0c11"]
    both = [
        subprocess.Popen(
            [*command, word],
            cwd=person.folder,
            env=person.environment({"TILDONE_USER": name}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for word, name in (("once", "Ada"), ("no", "Bob"))
    ]
    told = [process.communicate(timeout=60) for process in both]

    codes = [process.returncode for process in both]
    assert sorted(codes) == [0, 3]
    winner, loser = ("Ada", told[1]) if codes[0] == 0 else ("Bob", told[0])
    decided = store_of(person).records.need("4f0c11")
    assert decided is not None
    assert decided.answered_by == winner
    assert f"the question 4f0c11 was answered by {winner} at 20" in loser[1]


def test_json_has_every_field(person: Person) -> None:
    asked(person, CHOICE)

    [told] = person.run("answer", "77", "2", "--json").json["questions"]

    assert (told["id"], told["session"], told["kind"], told["text"]) == ("77aa00", "s", "select", "Which?")
    assert (told["options"], told["answer"], told["answered_by"]) == (["left side", "right side"], "right side", "Ada")
    assert told["answered_at"] > told["since"] > 0


SHARED = "agents share one plan; each is held to its own tasks and to those that nobody has taken.\n"
SEPARATE = "each agent has a plan of its own; the first one works on the project's.\n"


def registry(person: Person) -> AgentRegistry:
    settings = load({}, person.environ, str(person.folder))
    return AgentRegistry(settings.agents_dir, settings.project)


def at_work(person: Person, key: str, session: str | None = None) -> Agent:
    """Have an agent at work in the person's project: this very process."""
    agents, pid = registry(person), os.getpid()
    agent = Agent(AgentId.parse(key), session or agents.project, "r", pid, now(), start_time(pid))
    agents.save(agent)
    return agent


def calls(person: Person, session: str, agent: str, **arguments: object) -> None:
    """A call of our tool by an agent."""
    settings = replace_value(load({}, person.environ, str(person.folder)), session=session)
    reply = open_session(settings, dialect_named("brief"), agent=lambda: Author(agent=agent)).call("todo", arguments)
    assert not reply.failed, reply


def test_sharing_is_switched_and_told_and_another_word_changes_nothing(person: Person) -> None:
    assert person.refused(2, "share", "yes") == "tildone: sharing is on or off, not 'yes'\n"
    assert person.says("share").startswith(f"In {person.folder}, {SEPARATE}")

    where = f"In {person.folder}, "

    assert person.says("share") == f"{where}{SEPARATE}To change it: tildone share on\n"
    assert person.says("share", "on") == where + SHARED
    told = person.run("share", "--json").json
    assert told == {"version": 1, "project": str(person.folder), "shared": True, "changed": False}
    assert person.says("share") == f"{where}{SHARED}To change it: tildone share off\n"
    assert person.says("share", "off") == where + SEPARATE


def test_agents_at_work_keep_their_plans_and_are_named(person: Person) -> None:
    at_work(person, "claude:1a2b3c4d5e6f")
    at_work(person, "codex:9f8e7d6c5b4a", f"{person.folder}#codex:9f8e7d6c5b4a")

    said = person.says("share", "on")

    assert said.endswith("until they start a new conversation: codex 5b4a, which have plans of their own.\n")


def test_agents_that_share_the_plan_still_share_it_after_sharing_was_ended(person: Person) -> None:
    person.says("share", "on")
    at_work(person, "claude:1a2b3c4d5e6f")
    at_work(person, "codex:9f8e7d6c5b4a")

    said = person.says("share", "off")

    assert "claude 5e6f" in said
    assert "codex 5b4a" in said
    assert said.endswith("which share the project's plan.\n")


def test_a_registry_that_cannot_be_written_is_an_error(person: Person) -> None:
    data = person.home / "data" / "tildone"
    data.mkdir(parents=True)
    (data / "agents").write_text("in the way", encoding="utf-8")

    assert person.refused(5, "share", "on").startswith(f"tildone: cannot change {data}")


def test_todo_and_status_show_who_shares_the_plan_and_who_works_on_what(person: Person) -> None:
    calls(person, str(person.folder), "claude:1a2b3c4d5e6f", add=["One", "Two"])
    calls(person, str(person.folder), "claude:1a2b3c4d5e6f", start=1)
    at_work(person, "claude:1a2b3c4d5e6f")
    at_work(person, "codex:9f8e7d6c5b4a")

    listed, status = person.says("todo"), person.says("status")
    shared_by = person.run("todo", "--json").json["shared_by"]

    *_, last = listed.splitlines()
    assert sorted(last.removeprefix("shared by ").split(", ")) == ["claude 5e6f (#1)", "codex 5b4a"]
    assert "  claude 5e6f: 2 of 2 tasks open; works on #1\n" in status
    assert "  The plan is shared: " in status
    expected = [{"agent": "claude:1a2b3c4d5e6f", "tasks": [1]}, {"agent": "codex:9f8e7d6c5b4a", "tasks": []}]
    assert sorted(shared_by, key=lambda each: str(each["agent"])) == expected
    assert person.run("status", "--json").json["shared_by"] == shared_by


def test_a_plan_with_one_agent_is_shown_as_before(person: Person) -> None:
    person.says("todo", "add", "One")
    at_work(person, "claude:s1")

    assert "shared" not in person.says("todo") + person.says("status") + person.says("todo", "--json")


def test_lists_of_subagents_are_shown_below_the_plan(person: Person) -> None:
    """One line in `todo`, the whole list in `status`; one without tasks is not shown, and hostile text is harmless."""
    agents, parent = registry(person), at_work(person, "claude:s1")
    person.says("todo", "add", "One")
    for own, kind in (("a1", "Explore"), ("a2", "\x1b[31mred"), ("a3", "idle")):
        register(agents, subagent_of(agents, parent, own, now()), kind)
    for own in ("a1", "a2"):
        calls(person, f"{person.folder}#sub:{own}", f"claude:s1/{own}", add=["Look", "Listen"])
    calls(person, f"{person.folder}#sub:a1", "claude:s1/a1", done=[1, 2])
    end(agents, subagent_id(parent.id, "a2"), now())

    listed, status = person.says("todo"), person.says("status")

    assert listed.splitlines()[0] == "– #1 One"
    assert sorted(listed.splitlines()[1:]) == ["subagent Explore: 2/2", "subagent ␛[31mred: 0/2 (ended)"]
    assert "  subagent Explore: 2/2\n    ✓ #1 Look\n    ✓ #2 Listen\n" in status
    assert "1 of 1 tasks open" in status
    assert "\x1b" not in status + listed
    [explore] = [each for each in person.run("todo", "--json").json["subagents"] if each["name"] == "Explore"]
    assert explore == {"name": "Explore", "session": f"{person.folder}#sub:a1", "closed": 2, "total": 2, "ended": None}


def test_a_subagents_list_is_a_session_with_a_title_and_is_paused_through_its_parent(person: Person) -> None:
    calls(person, f"{person.folder}#sub:a1", "claude:s1/a1", add=["Look"])

    assert f"{person.folder.name} (subagent a1)" in person.says("sessions")

    agents, parent = registry(person), at_work(person, "claude:s1")
    register(agents, subagent_of(agents, parent, "a1", now()))

    assert "Active here: 1 agent.\n" in person.says("stop")


def test_an_installation_may_share_the_plan(person: Person) -> None:
    assert f"In {person.folder}, agents share one plan" in person.says("install", "claude", "--share", "--no-check")
    assert person.run("share", "--json").json["shared"] is True


PAUSED = "An agent that reaches the end of its turn is not told to go on; until then it keeps working.\n"
STOPPED = "An agent ends its turn before its next tool call, or after the one that is running.\n"
NONE_ACTIVE = "No active agent is known here; this applies to the next one.\n"


def test_pause_stop_and_resume_say_what_happens_when_and_how_to_go_back(person: Person) -> None:
    assert person.says("pause") == (
        f"Paused: {person.folder}.\n{PAUSED}{NONE_ACTIVE}To keep agents on their plan again: tildone resume\n"
    )
    assert person.says("pause").startswith(f"Already paused: {person.folder}.\n")

    assert person.says("stop") == (
        f"Stopped: {person.folder}.\n{STOPPED}{NONE_ACTIVE}To let agents work again: tildone resume\n"
    )
    said = person.says("resume")
    assert said.startswith(
        f"Resumed: {person.folder}.\nAgents are kept on their plan, and all counters start again at 0."
    )
    assert person.says("resume").startswith("Nothing was paused or stopped: ")


def test_every_agent_at_work_in_the_project_is_meant_and_named(person: Person) -> None:
    person.says("todo", "append", "One")
    person.says("todo", "append", "Two", "--session", "theirs")
    at_work(person, "claude:s1")
    at_work(person, "codex:s2", "theirs")

    said = person.says("stop")

    assert "Active here: 2 agents.\n" in said
    assert "  claude s1: 1 of 1 tasks open\n" in said
    assert "  codex s2: 1 of 1 tasks open\n" in said
    courses = [person.run("status", "--json", *which).json["directive"] for which in ((), ("--session", "theirs"))]
    assert courses == ["stop", "stop"]


def test_a_session_that_is_named_is_the_only_one_meant(person: Person) -> None:
    person.says("todo", "append", "Two", "--session", "theirs")
    at_work(person, "claude:s1")
    at_work(person, "codex:s2", "theirs")

    said = person.says("pause", "--session", "theirs")

    assert said.startswith("Paused: session 'theirs'.\n")
    assert "claude" not in said
    assert person.run("status", "--json").json["directive"] == "go"
    assert person.run("status", "--json", "--session", "theirs").json["directive"] == "pause"


def test_the_plan_does_not_change_and_the_log_tells_who_did_it(person: Person) -> None:
    person.says("todo", "append", "One")

    person.says("pause")
    person.says("todo", "append", "Two")

    assert person.run("status", "--json").json["directive"] == "pause"
    assert [event["kind"] for event in person.run("log", "--json").json["events"]][1] == "directive_set"


def test_status_is_a_line_and_who_is_at_work(person: Person) -> None:
    person.says("todo", "append", "Write the parser")
    at_work(person, "claude:s1")
    person.says("pause")

    said = person.says("status")

    assert said == (
        "☐ 0/1 · #1 Write the parser · paused\nPaused. To resume: tildone resume\n  claude s1: 1 of 1 tasks open\n"
    )
    assert person.says("status", "--line") == "☐ 0/1 · #1 Write the parser · paused\n"


def test_status_and_log_say_which_bound_let_an_agent_go(person: Person) -> None:
    """And how to go on."""
    for bound in Bound:
        named = ("--session", f"at {bound.value}")
        person.says("todo", "add", "One", *named)
        settings = load({"session": named[1]}, person.environ, str(person.folder))
        open_session(settings, BY_HAND).let_go(bound, 7)

        said, logged = person.says("status", *named), person.says("log", *named)

        why = describe_bound(bound, 7)
        assert f"The agent was let go: {why}.\nTo hold it to its plan again: tildone resume" in said
        assert f"gave up: {why}" in logged
        assert person.run("status", "--json", *named).json["tripped"] is True


def test_status_without_a_plan_is_a_sentence_or_an_empty_line_and_takes_no_words(person: Person) -> None:
    assert person.says("status") == f"No tasks in {person.folder}. Add one with: tildone todo add TEXT\n"
    assert person.says("status", "--line") == "\n"

    answers = [person.run(verb, "now") for verb in ("pause", "resume", "stop", "status")]

    assert [answer.code for answer in answers] == [2, 2, 2, 2]


def test_status_as_data(person: Person) -> None:
    person.says("todo", "append", "One")
    at_work(person, "claude:s1")

    data = person.run("status", "--json").json

    assert data["agents"] == [
        {"id": "claude:s1", "session": str(person.folder), "pid": os.getpid(), "line": "☐ 0/1 · #1 One"}
    ]
    assert (data["line"], data["directive"], data["nudges"], data["tripped"]) == ("☐ 0/1 · #1 One", "go", 0, False)


def test_an_agent_that_has_gone_is_not_at_work_and_no_name_moves_the_screen(person: Person) -> None:
    settings = load({}, person.environ, str(person.folder))
    AgentRegistry(settings.agents_dir, settings.project).save(
        Agent(AgentId("claude", "s1"), settings.session, pid=2**22 + 1, last_active=now())
    )

    assert NONE_ACTIVE in person.says("pause")

    at_work(person, "claude:\x1b[2Jx\ny")

    said = person.says("status")

    assert "\x1b" not in said
    assert len(said.splitlines()) == 3


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says which process started another")
def test_an_agent_is_recognised_by_its_process_too(person: Person, tmp_path: Path) -> None:
    """Of a coding agent that tells its shells nothing: here a script with its name, which runs the command."""
    person.run("todo", "add", "One")
    person.run("stop")
    script = tmp_path / "opencode.py"
    script.write_text(
        "import os, subprocess, sys\n"
        "from tildone.stores.agents import AgentId\n"
        "from tildone.stores.agents import start_time\n"
        "from tildone.stores.agents import Agent, AgentRegistry\n"
        "from tildone.app.settings import load\n"
        "from tildone.base.ids import now\n"
        "settings, pid = load({}, os.environ, os.getcwd()), os.getpid()\n"
        "agents = AgentRegistry(settings.agents_dir, settings.project)\n"
        "agent = Agent(AgentId('opencode', 'o1'), agents.project, 'r', pid, now(), start_time(pid))\n"
        "agents.save(agent)\n"
        "sys.exit(subprocess.run(['sh', '-c', '\"$0\" resume; exit $?', sys.argv[1]]).returncode)\n",
        encoding="utf-8",
    )

    inside = subprocess.run(
        [sys.executable, script, str(PROGRAM)],
        cwd=person.folder,
        env=person.environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (inside.returncode, inside.stderr) == (
        3,
        "tildone: only a person can resume an agent: this is the shell of opencode o1\n",
    )
    assert person.run("resume").code == 0


TOOLS = """\
from tildone.kit.definition import ToolDefinition, text_result
from tildone.kit.wrapping import wrap_tool


async def execute(tool_call_id, params, signal, on_update, ctx):
    return text_result("42")


async def show(arguments, ctx):
    ctx.ui.notify("42")


def extension(api):
    api.register_tool(ToolDefinition("answer", "Answer", "Answers.", {"type": "object"}, execute))
    api.register_tool(wrap_tool(api.tool("bash"), description="Run it."))
    api.register_command("answer", "Answer.", show)
"""


@pytest.fixture
def tools(person: Person) -> Path:
    file = person.folder / "tools.py"
    file.write_text(TOOLS, encoding="utf-8")
    return file


def test_without_extensions_it_says_how_to_add_one(person: Person) -> None:
    said = person.says("extensions")

    assert said.startswith("There are no extensions. To add one:\n  tildone run --extension FILE.py ")
    assert 'extensions = ["FILE.py"]' in said
    assert person.run("extensions", "--json").json == {"version": 1, "extensions": []}


def test_each_is_listed_with_its_origin_and_what_it_adds(person: Person, tools: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "quiet.py").write_text("def plug_in(api):\n    pass\n", encoding="utf-8")
    install_package(site, "quiet-tools", "1.2", "quiet = quiet:plug_in")
    settings = person.home / ".config" / "tildone" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"extensions = ['{tools}']\n", encoding="utf-8")

    said = person.says("extensions", PYTHONPATH=str(site))

    assert said.splitlines() == [
        "✓ quiet  from quiet-tools 1.2",
        "    quiet:plug_in",
        "    no tools and no commands",
        f"✓ tools.py  from {settings}",
        f"    {tools}:extension",
        "    tools: bash (replaces the one before), answer; commands: /answer",
    ]


def test_one_that_fails_is_listed_with_the_error_and_its_place(person: Person, tools: Path) -> None:
    broken = person.folder / "broken.py"
    broken.write_text("import os\n1 / 0\n", encoding="utf-8")

    answer = person.run("extensions", "--extension", "broken.py", "--extension", tools.name)

    assert (answer.code, answer.err) == (1, "")
    assert answer.out.splitlines()[:3] == [
        "✗ broken.py  from --extension",
        f"    {broken}, line 2: ZeroDivisionError: division by zero",
        "✓ tools.py  from --extension",
    ]


def test_json_has_the_same(person: Person, tools: Path) -> None:
    answer = person.run("extensions", "--extension", "tools.py", "--extension", "none.py:plug_in", "--json")

    assert (answer.code, answer.json["version"]) == (1, 1)
    assert answer.json["extensions"] == [
        {
            "name": "tools.py",
            "origin": "option",
            "named_by": "--extension",
            "target": str(tools),
            "function": "extension",
            "tools": ["bash", "answer"],
            "replaced": ["bash"],
            "commands": ["answer"],
            "error": None,
        },
        {
            "name": "none.py:plug_in",
            "origin": "option",
            "named_by": "--extension",
            "target": str(person.folder / "none.py"),
            "function": "plug_in",
            "tools": [],
            "replaced": [],
            "commands": [],
            "error": f"{person.folder / 'none.py'}: No such file or directory",
        },
    ]


def test_nothing_is_stored(person: Person, tools: Path) -> None:
    person.says("extensions", "--extension", str(tools), "--no-extensions")

    assert [path for path in person.home.rglob("*") if path.is_file()] == []


def test_the_tools_are_those_of_the_plans_dialect(person: Person) -> None:
    """An extension that wraps a tool of the plan finds it as in a run."""
    (person.folder / "wraps.py").write_text(
        "def extension(api):\n    api.register_tool(api.tool('write_todos'))\n    assert api.tool('read')\n", "utf-8"
    )

    assert person.run("extensions", "--extension", "wraps.py").code == 0
    assert person.run("extensions", "--extension", "wraps.py", "--dialect", "phased").code == 1
