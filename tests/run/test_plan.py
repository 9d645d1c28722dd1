"""A plan whose tasks carry commands runs for real, without any model, and leaves a session that can be read."""

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.run.run_workspace import (
    ALLOW_ALL,
    conversation_files,
    json_lines,
    statuses,
    write_plan,
)
from tests.suite.forking import PROGRAM, starting
from tildone.plan.dialects import DIALECTS

ROOT = Path(__file__).parents[2]

THREE = "- [ ] First: `echo one`\n- [ ] Second: `sh second.sh`\n- [ ] Third: `echo three`\n"

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


def test_a_run_in_a_pipe_is_plain_lines(person: Person) -> None:
    """Each call shows the plan after it."""
    name = write_plan(person, "- [ ] Say hello: `echo hello`\n- [x] Be there\n")

    with starting():
        out = person.says("run", name, *ALLOW_ALL, "--session", "s")

    took = "  took: "
    shown = [re.sub(r"^(  took: |Took ).*", r"\1", line) for line in out.splitlines()]
    assert shown == [
        "❯ Work through this plan, task by task. It is in your todo list: … (4 more lines)",
        "Todo: start=1",
        "  ● #1 Say hello: `echo hello`",
        "  ✓ #2 Be there",
        "Bash: echo hello",
        "  Done: 1 line",
        "  hello",
        took,
        "Todo: done=1",
        "  ✓ #1 Say hello: `echo hello`",
        "  ✓ #2 Be there",
        "All 2 tasks are done.",
        "Took ",
        "How it went: tildone log --session s",
    ]


@every_dialect
def test_a_command_that_fails_stops_the_run_and_continue_finishes_it(person: Person, dialect: str) -> None:
    """Completed tasks are not repeated, the failed one is retried, and the others follow."""
    name = write_plan(person, THREE)
    write_plan(person, "echo broken; exit 3\n", "second.sh")

    failed = person.run("run", name, *ALLOW_ALL, "--dialect", dialect)
    left = statuses(person)
    write_plan(person, "echo mended\n", "second.sh")
    mended = person.run("run", "--continue")

    assert (failed.code, failed.err) == (1, "")
    assert "✗ #2 Second failed: Exit code 3\n$ sh second.sh\n" in failed.out
    assert "\nTo go on: tildone run --continue\nHow it went: tildone log\n" in failed.out
    assert left == "✓●–"
    assert mended.code == 0
    assert [line for line in mended.out.splitlines() if line.startswith("Bash: ")] == [
        "Bash: sh second.sh",
        "Bash: echo three",
    ]
    assert len(conversation_files(person)) == 1
    assert statuses(person) == "✓✓✓"


def test_a_plan_with_new_tasks_is_continued(person: Person) -> None:
    """Tasks are identified by their text: new ones are run, completed ones are not repeated."""
    name = write_plan(person, "- [ ] A: `echo a >> done`\n- [ ] B: `false`\n")
    person.run("run", name, *ALLOW_ALL)
    write_plan(person, "- [ ] Before: `echo before >> done`\n- [ ] A: `echo a >> done`\n- [ ] B: `echo b >> done`\n")

    answer = person.run("run", name, *ALLOW_ALL)

    assert answer.code == 0
    assert answer.err.startswith("tildone: 1 open task of the plan so far replaced by plan.md; to bring them back: ")
    assert (person.folder / "done").read_text(encoding="utf-8") == "a\nbefore\nb\n"


def test_tasks_that_are_already_checked_are_not_run(person: Person) -> None:
    name = write_plan(person, "- [x] Old: `touch old`\n- [-] Never mind\n- [ ] New: `touch new`\n")

    out = person.says("run", name, *ALLOW_ALL, "--session", "s")

    assert out.count("Bash: ") == 1
    assert not (person.folder / "old").exists()
    assert statuses(person, "s") == "✓✗✓"


def test_several_commands_of_a_task_run_in_order(person: Person) -> None:
    name = write_plan(person, "- [ ] Both: `echo 1 >> f`\n  > Why it is done.\n  > $ echo 2 >> f\n  > $ cat f\n")

    out = person.says("run", name, *ALLOW_ALL)

    assert "  1\n  2\n" in out


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


def test_without_permission_a_headless_run_names_the_flag_that_gives_it(person: Person) -> None:
    name = write_plan(person, "- [ ] Look: `ls -l | wc -l`\n- [ ] Rest: `true`\n")

    answer = person.run("run", name, "--session", "s")

    assert answer.code == 1
    assert "✗ #1 Look failed: Not allowed: ls -l; wc -l\nStart with --allow 'ls *' --allow 'wc *'" in answer.out
    assert statuses(person, "s") == "●–"


def test_patterns_allow_only_matching_commands(person: Person) -> None:
    name = write_plan(person, "- [ ] Look: `ls | wc -l`\n- [ ] Write: `touch new`\n")

    answer = person.run("run", name, "--allow", "ls", "--allow=wc *", "--session", "s")

    assert answer.code == 1
    assert statuses(person, "s") == "✓●"
    assert not (person.folder / "new").exists()


def test_what_a_pattern_covers_is_said_when_it_is_given(person: Person) -> None:
    name = write_plan(person, "- [ ] Look: `git -c alias.x='!touch made' x`\n")

    answer = person.run("run", name, "--allow", "git *", "--mode", "print")

    assert answer.code == 1
    assert answer.err.splitlines()[0] == (
        "tildone: allowed: --allow 'git *': this command with any arguments in place of *, "
        "without arguments that run other programs or write other files, unless the pattern names them"
    )
    assert "Not allowed: git -c alias.x='!touch made' x" in answer.err
    assert not (person.folder / "made").exists()


def test_what_the_patterns_of_checks_allow_is_said_too(person: Person) -> None:
    name = write_plan(person, "- [ ] Look: `ls`\n")

    person.sets('check_allow = ["npm run *", "ls"]\n')

    answer = person.run("run", name, "--allow", "ls", "--mode", "print")

    told = "tildone: check_allow 'npm run *' allows more than it looks like: npm run may run other programs"
    assert [line for line in answer.err.splitlines() if "check_allow" in line] == [told]


def test_a_command_gets_a_secret_variable_only_if_it_is_passed(person: Person) -> None:
    """Its value is redacted in the output and in the conversation; --continue passes it again."""
    name = write_plan(person, '- [ ] Look: `echo "[$PGPASSWORD]" > seen; cat seen; test -e ready`\n')
    seen = person.folder / "seen"
    environ = {"PGPASSWORD": "a-password-of-this-test"}

    person.run("run", name, *ALLOW_ALL, "--mode", "print", **environ)
    held = seen.read_text(encoding="utf-8")
    answer = person.run("run", name, *ALLOW_ALL, "--pass-env", "PGPASSWORD", **environ)
    passed = seen.read_text(encoding="utf-8")
    seen.unlink()
    again = person.run("run", "--continue", "--mode", "print", **environ)

    assert (held, passed, seen.read_text(encoding="utf-8")) == (
        "[]\n",
        "[a-password-of-this-test]\n",
        "[a-password-of-this-test]\n",
    )
    assert "allowed as before: --pass-env PGPASSWORD\n" in again.err
    assert "[[redacted]]" in answer.out
    stored = "".join(file.read_text(encoding="utf-8") for file in conversation_files(person))
    assert "a-password" not in answer.out + answer.err + stored


def test_a_pattern_that_is_not_one_for_a_command_is_refused(person: Person) -> None:
    name = write_plan(person, "- [ ] Look: `true`\n")

    answer = person.run("run", name, "--allow", "true; false")

    assert (answer.code, answer.out) == (2, "")
    assert "'true; false' is not a pattern for one command: give --allow once for each" in answer.err


def test_print_mode_prints_the_last_answer_and_nothing_else(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `echo a`\n- [ ] B: `echo b`\n")

    with starting():
        assert person.says("run", name, *ALLOW_ALL, "--mode", "print") == "All 2 tasks are done.\n"


def test_print_mode_reports_failure_on_standard_error(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `exit 7`\n")

    answer = person.run("run", name, *ALLOW_ALL, "--mode", "print")

    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "tildone: #1 A failed: Exit code 7\n$ exit 7\nTo go on: tildone run --continue\n"


def test_the_command_that_goes_on_works_for_a_program_that_is_not_on_path(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `exit 7`\n")

    answer = person.run("run", name, *ALLOW_ALL, "--mode", "print", PATH=os.defpath)

    assert answer.err.endswith(f"To go on: {shlex.quote(str(PROGRAM))} run --continue\n")


def test_json_mode_is_the_header_and_every_event(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `echo a`\n")

    with starting():
        told = json_lines(person.says("run", name, *ALLOW_ALL, "--mode", "json"))

    header, *events = told
    assert (header["type"], header["version"], header["cwd"]) == ("session", 3, str(person.folder))
    kinds = [event["type"] for event in events]
    assert (kinds[0], kinds[-2:]) == ("agent_start", ["agent_end", "agent_settled"])
    calls = [event["toolName"] for event in events if event["type"] == "tool_execution_end"]
    assert calls == ["todo", "bash", "todo"]
    assert {"toolcall_delta", "text_delta"} <= {
        event["assistantMessageEvent"]["type"] for event in events if event["type"] == "message_update"
    }


def test_a_plan_may_be_larger_than_the_lists_of_its_dialect(person: Person) -> None:
    """The declared list holds ten items of sixty characters, but these are in the plan already."""
    tasks = [f"- [ ] Task {number} has a text that is longer than that of a list: `true`\n" for number in range(11)]
    name = write_plan(person, "# One\n" + "".join(tasks[:5]) + "# Two\n" + "".join(tasks[5:]))

    out = person.says("run", name, *ALLOW_ALL, "--dialect", "declared", "--mode", "print")

    assert out == "All 11 tasks are done.\n"
    assert [phase.splitlines()[0] for phase in person.says("todo").split("\n\n")] == ["One 5/5", "Two 6/6"]


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (("run", "gone.md"), "there is no plan gone.md"),
        (("run", "Do it"), "which model? Name one with --model"),
        (("run", "Do it", "--model", "shell"), "the shell model works through a plan"),
        (("run", "Do it", "--model", "gpt-5"), "name a model as provider:model"),
        (("run", "--mode", "print", "--model", "openai-chat:x"), "there is nothing to do"),
        (("run", "--mode", "json"), "there is nothing to do"),
        (("run", "--continue"), "there is nothing to do"),
        (("run", "empty.md"), "there is no task in empty.md"),
        (("run", "--restart"), "--restart takes a plan file over again"),
        (("run", "--mode", "prnt"), "there is no mode 'prnt'; did you mean 'print'?"),
        (("run", "plan.md", "--continue", "--resume", "x"), "--continue and --resume name different conversations"),
        (("run", "plan.md", "--no-session", "--continue"), "continues a stored conversation; --no-session stores none"),
        (("run", "plan.md", "--max-nudges", "few"), "max-nudges must be a whole number"),
        (
            ("run", "Do it", "--mode", "rpc", "--model", "openai-chat:x"),
            "in rpc mode the client says what is to be done",
        ),
        (("run", "--model", "openai-chat:x"), "there is nothing to do"),
    ],
)
def test_invalid_arguments_are_usage_errors(person: Person, argv: tuple[str, ...], complaint: str) -> None:
    write_plan(person, "- [ ] A: `true`\n")
    write_plan(person, "# Nothing\n", "empty.md")

    answer = person.run(*argv, OPENAI_API_KEY="none")

    assert answer.code in {2, 4}
    assert complaint in answer.err
