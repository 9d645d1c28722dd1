"""A plan whose tasks carry commands runs for real, without any model.

The driver that finds the commands of tasks.
"""

import asyncio
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import do
from tests.cli.person import Person
from tests.host import records as messages
from tests.host.records import Message
from tests.plans import plan_of
from tests.run.run_workspace import ALLOW_ALL, conversation_files, json_lines, statuses, write_plan
from tests.suite.forking import PROGRAM, starting
from tildone.plan.dialects import DIALECTS
from tildone.plan.model import Plan, Status, Task, flat
from tildone.run.kit.definition import AbortController, Aborted
from tildone.run.model import ChatRequest, ModelFailure, ToolSpec
from tildone.run.shell_model import ShellModel, commands_of, tasks_without_command, title_of

ROOT = Path(__file__).parents[2]

every_dialect = pytest.mark.parametrize("dialect", list(DIALECTS))


@every_dialect
def test_the_example_runs_and_its_log_shows_it(person: Person, dialect: str) -> None:
    """The test of the demo runs it as it is. Here it does not count slowly."""
    text = (ROOT / "examples" / "hello.md").read_text(encoding="utf-8")
    name = write_plan(person, text.replace("sleep 1", "true"))

    out = person.says("run", name, *ALLOW_ALL, "--dialect", dialect, "--session", "hello")

    assert "Hello from a plan that runs itself." in out
    assert re.search(r"All 6 tasks are done\.\nTook \d.*\nHow it went: tildone log --session hello\n$", out)
    assert "\x1b" not in out
    assert "completed #6 “Check the greeting and remove it”" in person.says("log", "--session", "hello")
    assert statuses(person, "hello") == "✓✓✓✓✓✓"
    memory = ["memory"] if dialect == "declared" else []
    assert sorted(path.name for path in person.folder.iterdir()) == [".git", *memory, name]


def test_the_demo_shows_the_log_of_its_run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(do, "prepare", lambda _: 0)

    with starting():
        assert do.demo() == 0

    shown = capfd.readouterr().out
    assert "$ tildone run examples/hello.md --allow '*' --session hello\n" in shown
    assert "All 6 tasks are done.\n" in shown
    assert "completed #6 “Check the greeting and remove it”" in shown.split("$ tildone log --session hello")[1]


def test_a_run_in_a_pipe_is_plain_lines(person: Person) -> None:
    """Each call shows the plan after it."""
    name = write_plan(person, "- [ ] Say hello: `echo hello`\n- [x] Be there\n")

    with starting():
        out = person.says("run", name, *ALLOW_ALL, "--session", "s")

    assert re.sub(r"^(  took: |Took ).*", r"\1", out, flags=re.MULTILINE) == (
        "❯ Work through this plan, task by task. It is in your todo list: … (4 more lines)\n"
        "▸ Started: Say hello: `echo hello`\n  ● #1 Say hello: `echo hello`\n  ✓ #2 Be there\n"
        "Bash: echo hello\n  Done: 1 line\n  hello\n  took: \n"
        "✓ Done: Say hello: `echo hello`\n  ✓ #1 Say hello: `echo hello`\n  ✓ #2 Be there\n"
        "All 2 tasks are done.\nTook \nHow it went: tildone log --session s\n"
    )


@every_dialect
def test_a_command_that_fails_stops_the_run_and_continue_finishes_it(person: Person, dialect: str) -> None:
    """Completed tasks are not repeated, the failed one is retried, and the others follow."""
    name = write_plan(person, "- [ ] First: `echo one`\n- [ ] Second: `sh second.sh`\n- [ ] Third: `echo three`\n")
    write_plan(person, "echo broken; exit 3\n", "second.sh")

    failed = person.run("run", name, *ALLOW_ALL, "--dialect", dialect)
    left = statuses(person)
    write_plan(person, "echo mended\n", "second.sh")
    mended = person.run("run", "--continue")

    assert (failed.code, failed.err) == (1, "")
    assert "✗ #2 Second failed: Exit code 3\n$ sh second.sh\n" in failed.out
    assert "\nTo go on: tildone run --continue\nHow it went: tildone log\n" in failed.out
    assert (left, mended.code, statuses(person)) == ("✓●–", 0, "✓✓✓")
    assert re.findall(r"^Bash: (.*)", mended.out, re.MULTILINE) == ["sh second.sh", "echo three"]
    assert len(conversation_files(person)) == 1


@every_dialect
def test_what_is_blocked_holds_what_comes_after_it_in_its_phase(person: Person, dialect: str) -> None:
    tasks = "- [!] Ask: `touch asked`\n- [ ] Deploy: `touch deployed`\n\n## Two\n\n- [ ] Other: `touch other`\n"
    name = write_plan(person, f"## One\n\n{tasks}")

    held = person.run("run", name, *ALLOW_ALL, "--dialect", dialect, "--session", "s")

    assert (held.code, statuses(person, "s")) == (1, "!–✓")
    assert [path for path in ("asked", "deployed", "other") if (person.folder / path).exists()] == ["other"]


def test_a_plan_with_new_tasks_is_continued(person: Person) -> None:
    """Tasks are identified by their text: new ones are run, completed ones are not repeated."""
    name = write_plan(person, "- [ ] A: `echo a >> done`\n- [ ] B: `false`\n")
    person.run("run", name, *ALLOW_ALL)
    write_plan(person, "- [ ] Before: `echo before >> done`\n- [ ] A: `echo a >> done`\n- [ ] B: `echo b >> done`\n")

    answer = person.run("run", name, *ALLOW_ALL)

    assert answer.code == 0
    assert answer.err.startswith("tildone: 1 open task of the plan so far replaced by plan.md; to bring them back: ")
    assert (person.folder / "done").read_text(encoding="utf-8") == "a\nbefore\nb\n"


def test_open_tasks_are_run_with_all_their_commands_in_order(person: Person) -> None:
    """Those that are closed already are not."""
    both = "- [ ] Both: `echo 1 >> f`\n  > Why it is done.\n  > $ echo 2 >> f\n  > $ cat f\n"
    name = write_plan(person, f"- [x] Old: `touch old`\n- [-] Never mind\n{both}")

    out = person.says("run", name, *ALLOW_ALL, "--session", "s")

    assert (out.count("Bash: "), "  1\n  2\n" in out) == (3, True)
    assert not (person.folder / "old").exists()
    assert statuses(person, "s") == "✓✗✓"


def test_a_plan_that_needs_a_model_names_its_tasks_and_changes_nothing(person: Person) -> None:
    name = write_plan(person, "# Todo\n- [ ] Fine: `touch ran`\n- [ ] Think about it\n- [x] Done\n- [ ] Rest\n")

    answer = person.run("run", name, *ALLOW_ALL)

    assert answer.code == 2
    assert answer.err.splitlines() == [
        "tildone: 2 tasks have no command:",
        "  #2 Think about it",
        "  #4 Rest",
        "End each with its command in `backticks`, or name a model that does the work: --model PROVIDER:NAME",
    ]
    assert conversation_files(person) == []
    assert statuses(person) == ""
    assert not (person.folder / "ran").exists()


def test_patterns_allow_only_matching_commands(person: Person) -> None:
    """Without a terminal, the flag that gives permission is named."""
    name = write_plan(person, "- [ ] Look: `ls -l | wc -l`\n- [ ] Write: `touch new`\n")

    neither = person.run("run", name)
    assert (neither.code, statuses(person)) == (1, "●–")
    assert "✗ #1 Look failed: Not allowed: ls -l; wc -l\nStart with --allow 'ls *' --allow 'wc *'" in neither.out

    first = person.run("run", name, "--allow", "ls -l", "--allow=wc *")
    assert (first.code, statuses(person)) == (1, "✓●")
    assert "✗ #2 Write failed: Not allowed: touch new" in first.out
    assert not (person.folder / "new").exists()


def test_what_a_pattern_covers_is_said_when_it_is_given(person: Person) -> None:
    """Also what the patterns of checks allow."""
    name = write_plan(person, "- [ ] Look: `git -c alias.x='!touch made' x`\n")
    person.sets('check_allow = ["npm run *", "ls"]\n')

    answer = person.run("run", name, "--allow", "git *", "--mode", "print")

    assert answer.code == 1
    assert (
        "tildone: allowed: --allow 'git *': this command with any arguments in place of *, "
        "without arguments that run other programs or write other files, unless the pattern names them"
    ) in answer.err.splitlines()
    told = "tildone: check_allow 'npm run *' allows more than it looks like: npm run may run other programs"
    assert [line for line in answer.err.splitlines() if "check_allow" in line] == [told]
    assert "Not allowed: git -c alias.x='!touch made' x" in answer.err
    assert not (person.folder / "made").exists()


def test_a_command_gets_a_secret_variable_only_if_it_is_passed(person: Person) -> None:
    """Its value is redacted in the output and in the conversation; --continue passes it again."""
    name = write_plan(person, '- [ ] Look: `echo "[$PGPASSWORD]" >> seen; cat seen; test -e ready`\n')
    environ = {"PGPASSWORD": "a-password-of-this-test"}

    person.run("run", name, *ALLOW_ALL, "--mode", "print", **environ)
    answer = person.run("run", name, *ALLOW_ALL, "--pass-env", "PGPASSWORD", **environ)
    again = person.run("run", "--continue", "--mode", "print", **environ)

    passed = "[a-password-of-this-test]\n"
    assert (person.folder / "seen").read_text(encoding="utf-8") == f"[]\n{passed}{passed}"
    assert "allowed as before: --pass-env PGPASSWORD\n" in again.err
    assert "[[redacted]]" in answer.out
    stored = "".join(file.read_text(encoding="utf-8") for file in conversation_files(person))
    assert "a-password" not in answer.out + answer.err + stored


def test_print_mode_prints_the_last_answer_and_reports_failure_on_standard_error(person: Person) -> None:
    """The command that goes on works for a program that is not on PATH, too."""
    both = write_plan(person, "- [ ] A: `echo a`\n- [ ] B: `echo b`\n", "both.md")
    with starting():
        assert person.says("run", both, *ALLOW_ALL, "--mode", "print") == "All 2 tasks are done.\n"
    name = write_plan(person, "- [ ] A: `exit 7`\n")

    answer = person.run("run", name, *ALLOW_ALL, "--mode", "print")
    off_path = person.run("run", name, "--restart", *ALLOW_ALL, "--mode", "print", PATH=os.defpath)

    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "tildone: #3 A failed: Exit code 7\n$ exit 7\nTo go on: tildone run --continue\n"
    assert off_path.err.endswith(f"To go on: {shlex.quote(str(PROGRAM))} run --continue\n")


def test_json_mode_is_the_header_and_every_event(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `echo a`\n")

    with starting():
        header, *events = json_lines(person.says("run", name, *ALLOW_ALL, "--mode", "json"))

    assert (header["type"], header["version"], header["cwd"]) == ("session", 3, str(person.folder))
    kinds = [event["type"] for event in events]
    assert (kinds[0], kinds[-2:]) == ("agent_start", ["agent_end", "agent_settled"])
    calls = [event["toolName"] for event in events if event["type"] == "tool_execution_end"]
    assert calls == ["todo", "bash", "todo"]
    updates = {event["assistantMessageEvent"]["type"] for event in events if event["type"] == "message_update"}
    assert updates >= {"toolcall_delta", "text_delta"}


def test_a_plan_may_be_larger_than_the_lists_of_its_dialect(person: Person) -> None:
    """The declared list holds ten items of sixty characters, but these are in the plan already."""
    tasks = [f"- [ ] Task {number} has a text that is longer than that of a list: `true`\n" for number in range(11)]
    name = write_plan(person, "# One\n" + "".join(tasks[:5]) + "# Two\n" + "".join(tasks[5:]))

    out = person.says("run", name, *ALLOW_ALL, "--dialect", "declared", "--mode", "print")

    assert out == "All 11 tasks are done.\n"
    assert [phase.splitlines()[0] for phase in person.says("todo").split("\n\n")] == ["One 5/5", "Two 6/6"]


MODEL = ("--model", "openai-chat:x")
INVALID = {
    ("gone.md",): "there is no plan gone.md",
    ("Do it",): "which model? Name one with --model",
    ("Do it", "--model", "shell"): "the shell model works through a plan",
    ("Do it", "--model", "gpt-5"): "name a model as provider:model",
    ("--mode", "print", *MODEL): "there is nothing to do",
    ("--mode", "json"): "there is nothing to do",
    ("--continue",): "there is nothing to do",
    ("empty.md",): "there is no task in empty.md",
    ("--restart",): "--restart takes a plan file over again",
    ("--mode", "prnt"): "there is no mode 'prnt'; did you mean 'print'?",
    ("plan.md", "--continue", "--resume", "x"): "--continue and --resume name different conversations",
    ("plan.md", "--no-session", "--continue"): "continues a stored conversation; --no-session stores none",
    ("plan.md", "--max-nudges", "few"): "max-nudges must be a whole number",
    ("Do it", "--mode", "rpc", *MODEL): "in rpc mode the client says what is to be done",
    MODEL: "there is nothing to do",
    ("Do it", "--model", "anthropic:x"): "anthropic models cannot be reached: set ANTHROPIC_API_KEY in the environment",
    ("plan.md", "--allow", "true; false"): "'true; false' is not a pattern for one command: give --allow once",
}


def test_invalid_arguments_are_usage_errors(person: Person) -> None:
    write_plan(person, "- [ ] A: `true`\n")
    write_plan(person, "# Nothing\n", "empty.md")

    keys = {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": ""}
    answers = {argv: person.run("run", *argv, **keys) for argv in INVALID}

    assert [argv for argv, answer in answers.items() if answer.code not in {2, 4} or answer.out] == []
    assert {argv: answers[argv].err for argv, complaint in INVALID.items() if complaint not in answers[argv].err} == {}
    assert conversation_files(person) == []


BRIEF = ("todo", "bash")


def test_a_command_is_in_backticks_at_the_end_or_in_the_notes() -> None:
    """Only tasks that could be worked on need one."""
    found = {
        "Say hello: `echo hello`": ("#1 Say hello", ("echo hello",)),
        "Say hello – `echo hello`": ("#1 Say hello", ("echo hello",)),
        "`make test`": ("#1 make test", ("make test",)),
        "Show `x` with `cat x`": ("#1 Show `x` with", ("cat x",)),
        "Ticks: ``echo `date` ``": ("#1 Ticks", ("echo `date`",)),
        "No command: `here` it is not": ("#1 No command: `here` it is not", ()),
        "Empty: ` `": ("#1 Empty", ()),
    }
    tasks = {text: Task(text, number=1) for text in found}
    noted = Task("Make: `first`", notes=("Slowly.\n$ make", "$ make check\n$ "))
    plan = flat(Task("a"), Task("b: `b`"), Task("c", Status.COMPLETED), Task("d", Status.BLOCKED), Task("e"))

    assert {text: (title_of(task), commands_of(task)) for text, task in tasks.items()} == found
    assert commands_of(noted) == ("first", "make", "make check")
    assert [title_of(task) for task in tasks_without_command(plan)] == ["#1 a", "#5 e"]


class Talk:
    """A conversation with the shell driver in which the test supplies the plan and the tool results."""

    def __init__(self, *tasks: Task | str, tools: tuple[str, ...] = BRIEF, taken: frozenset[int] = frozenset()) -> None:
        self.plan: Plan = flat(*(task if isinstance(task, Task) else Task(task) for task in tasks))
        self.model = ShellModel(lambda: self.plan, lambda: 0, lambda: taken)
        self.tools = tuple(ToolSpec(name, "", {}) for name in tools)
        self.told: list[Message] = [messages.user("Go", 0)]

    def next(self) -> dict[str, Any]:
        """The block that the model answers with."""
        answer: Message = asyncio.run(self._deltas())[-1]["message"]
        self.told.append(answer)
        [block] = answer["content"]
        return dict(block)

    def call(self) -> tuple[str, Any]:
        """The call that the model answers with."""
        block = self.next()
        return block["name"], block["arguments"]

    def gives(self, text: str = "", details: dict[str, Any] | None = None, *, error: bool = False) -> None:
        """The result of the call."""
        [call] = messages.tool_calls(self.told[-1])
        self.told.append(messages.tool_result(call["id"], call["name"], text, details or {}, is_error=error, at=0))

    def becomes(self, *statuses: Status) -> None:
        """The plan after the call, and its result."""
        self.plan = flat(*(Task(task.text, status) for task, status in zip(self.plan.tasks, statuses, strict=True)))
        self.gives("ok")

    async def _deltas(self) -> list[Message]:
        request = ChatRequest("", [messages.model_message(each) for each in self.told], self.tools)
        return [messages.delta(event) async for event in self.model.stream(request)]


def test_it_searches_once_for_the_tools_of_a_dialect_that_have_to_be_found() -> None:
    """The plan is checked afterwards as at the start of a run."""
    talk = Talk("A: `a`", tools=("bash", "find_tools"))

    assert talk.call() == ("find_tools", {"query": "todo"})
    talk.gives("Found 1 tool")
    with pytest.raises(ModelFailure, match="needs the todo tools"):
        talk.next()
    talk.tools = tuple(ToolSpec(name, "", {}) for name in ("todo_write", "bash"))
    assert talk.call() == ("todo_write", {"ops": [{"op": "start", "task": "A: `a`"}]})
    talk.told.pop()
    talk.plan = flat(*talk.plan.tasks, Task("B"))
    with pytest.raises(ModelFailure, match="#2 B"):
        talk.next()


def test_a_task_in_progress_comes_first_and_one_that_somebody_else_works_on_is_left_alone() -> None:
    assert Talk("A: `a`", Task("B: `b`", Status.IN_PROGRESS)).call() == ("bash", {"command": "b"})

    talk = Talk(Task("A: `a`", Status.IN_PROGRESS), "B: `b`", taken=frozenset({1}))

    assert talk.call() == ("todo", {"do": "start 2"})
    talk.becomes(Status.IN_PROGRESS, Status.COMPLETED)
    with pytest.raises(ModelFailure, match="nothing more can be done here: #1 is in progress elsewhere"):
        talk.next()


def test_two_tasks_with_the_same_command_both_run_and_one_of_several_continues_where_it_failed() -> None:
    talk = Talk("A: `make`", "B: `make`")
    talk.next()
    talk.becomes(Status.IN_PROGRESS, Status.PENDING)
    talk.next()
    talk.gives()
    talk.next()
    talk.becomes(Status.COMPLETED, Status.IN_PROGRESS)

    assert talk.call() == ("bash", {"command": "make"})

    talk = Talk(Task("A: `a`", Status.IN_PROGRESS, ("$ b",)))
    talk.next()
    talk.gives()
    talk.next()
    talk.gives(details={"summary": "Exit code 1"}, error=True)
    talk.told.append(messages.user("Again", 0))

    assert talk.call() == ("bash", {"command": "b"})


def test_a_failed_command_is_tried_again_only_when_somebody_speaks() -> None:
    talk = Talk(Task("A: `a`", Status.IN_PROGRESS))
    talk.next()
    talk.gives(details={"summary": "Exit code 2"}, error=True)
    reminder = messages.user("<system-reminder>\nTodos: A\n</system-reminder>", 0)

    talk.told.append(reminder)
    with pytest.raises(ModelFailure, match=r"#1 A failed: Exit code 2\n\$ a") as failure:
        talk.next()
    talk.told.append(messages.user("Again", 0))

    assert not failure.value.transient
    assert talk.call() == ("bash", {"command": "a"})


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ([("no 1", True)], "todo refused the call: no 1"),
        (2 * [("Nothing happened.", False)], r"todo did not do what it was told: Nothing happened\."),
    ],
)
def test_a_plan_tool_that_refuses_or_does_nothing_ends_it(results: list[tuple[str, bool]], reason: str) -> None:
    """The same call would be made for ever."""
    talk = Talk("A: `a`")
    for text, error in results:
        talk.next()
        talk.gives(text, error=error)

    with pytest.raises(ModelFailure, match=reason):
        talk.next()


def test_a_task_without_command_that_somebody_adds_later_is_named_at_the_end() -> None:
    talk = Talk("A: `a`")
    talk.next()
    talk.plan = flat(Task("A: `a`", Status.IN_PROGRESS), Task("Think"))
    talk.gives("ok")

    assert talk.call() == ("bash", {"command": "a"})
    talk.gives()
    talk.next()
    talk.becomes(Status.COMPLETED, Status.PENDING)
    with pytest.raises(ModelFailure, match="#2 Think"):
        talk.next()


def test_nothing_is_run_if_the_plan_cannot_be_worked_through() -> None:
    blocked = Talk(Task("A: `a`", Status.BLOCKED), Task("B", Status.BLOCKED))
    for talk, reason in (
        (Talk("A: `a`", tools=("bash",)), "needs the todo tools"),
        (Talk("A: `a`", "Think"), r"a task has no command:\n  #2 Think\n.*--model PROVIDER:NAME"),
        (blocked, "nothing more can be done here: #1 and #2 are blocked"),
    ):
        with pytest.raises(ModelFailure, match=reason):
            talk.next()


def test_answers_come_in_pieces_and_stop_when_told_to() -> None:
    model = ShellModel(lambda: plan_of("A: `a`"), lambda: 0)
    tools = tuple(ToolSpec(name, "", {}) for name in ("write_todos", "list_todos", "edit_todos", "bash"))
    request = ChatRequest("", [messages.model_message(messages.user("Go", 0))], tools)
    controller = AbortController()
    kinds: list[str] = []

    async def listen() -> None:
        async for delta in model.stream(request, controller.signal):
            kinds.append(messages.delta(delta)["type"])
            if len(kinds) == 3:
                controller.abort()

    with pytest.raises(Aborted):
        asyncio.run(listen())

    assert kinds == ["toolcall_start", "toolcall_delta", "toolcall_delta"]
