"""The terminal mode in plain lines: messages, the person's commands, long results, interruptions and leaving."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.cli.person import CTRL_C, Person, Terminal
from tests.host.models.model_server import ModelServer, Turn
from tests.rpc.client import EXTENSION
from tests.rpc.test_walk import OWN_COMMANDS
from tests.run.plan_calls import call
from tests.run.run_workspace import ALLOW_ALL, CHAT, WRITE, edit, provider_environment, statuses, write_plan
from tests.run.screens import at_terminal, model_at_terminal, screen
from tests.suite.forking import starting
from tests.suite.waiting import until
from tildone.cli.run.setup import split_words
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.formats.markdown_reader import read_checklist
from tildone.plan.model import Phase, Plan, Status, Task

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")

CTRL_D = b"\x04"
COUNTING = "Auto-continuing in 3s"
STOPS: Turn = {"text": "I stop here.", "repeat": True}


def processes(marker: str) -> list[int]:
    """Return the processes whose command line contains the marker."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


def test_a_plan_is_worked_through_in_lines(person: Person) -> None:
    """Nothing is drawn: there is no control character in the output."""
    name = write_plan(person, "- [ ] Say hello: `echo hello`\n- [ ] Count: `echo 1; echo 2`\n")

    with starting():
        answer = at_terminal(person, name, *ALLOW_ALL, "--session", "s").end()

    assert answer.code == 0
    shown = screen(answer.out)
    assert [shown[-4], *shown[-2:]] == ["All 2 tasks are done.", "How it went: tildone log --session s", ""]
    assert re.fullmatch(r"Took \d+\.\d s", shown[-3])
    assert [line for line in shown if line.startswith("Bash: ")] == ["Bash: echo hello", "Bash: echo 1; echo 2"]


def test_ctrl_c_ends_a_command_and_its_processes(person: Person) -> None:
    marker = f"tildone-{os.getpid()}"
    forks = f"for i in 1 2; do (trap '' HUP; sleep 600; echo {marker}) & done; touch started; sleep 600; echo {marker}"
    name = write_plan(person, f"- [ ] Hang: `{forks}`\n- [ ] Never: `touch never`\n")
    terminal = at_terminal(person, name, *ALLOW_ALL, "--session", "s")
    until((person.folder / "started").exists)

    answer = terminal.end(CTRL_C)

    assert answer.code == 130
    assert processes(marker) == []
    assert "✗ Interrupted" in answer.out
    assert statuses(person, "s") == "●–"
    assert not (person.folder / "never").exists()


@pytest.mark.parametrize(
    ("mode", "number"),
    [*((mode, signal.SIGTERM) for mode in ("terminal", "print", "json", "rpc")), ("terminal", signal.SIGHUP)],
)
def test_a_terminated_program_leaves_no_process_running(person: Person, mode: str, number: int) -> None:
    """Commands have process sessions of their own, so the program must end them."""
    marker = f"tildone-{mode}-{number}-{os.getpid()}"
    name = write_plan(person, f"- [ ] Hang: `touch started; sleep 600; echo {marker}`\n")
    terminal = at_terminal(person, name, *ALLOW_ALL, "--mode", mode)
    if mode == "rpc":
        terminal.type(b'{"type": "prompt", "message": "Go"}\n')
    until((person.folder / "started").exists)

    terminal.process.send_signal(number)
    answer = terminal.end()

    assert answer.code == 128 + number
    assert processes(marker) == []


@pytest.mark.parametrize("options", [("--mode", "print"), ()], ids=["print", "full screen"])
def test_a_tool_that_does_not_stop_does_not_keep_the_program(person: Person, options: tuple[str, ...]) -> None:
    """One ignores the signal and its cancellation, the other is in a thread."""
    with ModelServer({"tools": [["stubborn", {}], ["threaded", {}]]}) as server:
        given = ("run", "Go", "--model", CHAT, "--extension", EXTENSION, *options)
        terminal = person.at_terminal(*given, **provider_environment(server))
        until((person.folder / "at_work").exists)
        terminal.process.send_signal(signal.SIGTERM)
        answer = terminal.end()

    assert answer.code == 128 + signal.SIGTERM


def test_a_line_interrupts_the_countdown_and_is_sent_instead(person: Person) -> None:
    script: tuple[Turn, ...] = (WRITE, {"text": "I stop here."}, {"text": "You spoke.", "ends": "stop"})
    with model_at_terminal(person, *script) as (server, terminal):
        terminal.until(COUNTING)
        terminal.say("Wait for me", "You spoke.")
        terminal.until_after("You spoke.", COUNTING)
        terminal.type(CTRL_C)
        terminal.until_after(COUNTING, "> ")
        answer = terminal.end(CTRL_D)

    assert answer.code == 0
    assert len(server.requests) == 3
    assert any("Wait for me" in text for text in texts(server.requests[-1].messages))
    assert "❯ Wait for me" in answer.out


def test_in_the_countdown_enter_alone_interrupts_it_and_ctrl_c_leaves_a_run_that_had_its_task(person: Person) -> None:
    with model_at_terminal(person, WRITE, STOPS, TILDONE_COUNTDOWN="600") as (server, terminal):
        terminal.until("Auto-continuing in 600s")
        terminal.type(b"\r")
        terminal.until_after("Auto-continuing", "\n> ")
        answer = terminal.end(CTRL_D)

    assert (answer.code, len(server.requests)) == (0, 2)

    with model_at_terminal(person, WRITE, STOPS) as (_, terminal):
        terminal.until(COUNTING)
        answer = terminal.end(CTRL_C)

    assert answer.code == 130
    assert "To go on: tildone run --continue" in answer.out


def test_the_countdown_continues_the_agent_and_is_one_line(person: Person) -> None:
    script: tuple[Turn, ...] = (WRITE, {"text": "I stop here."}, edit("complete", 0, 1), {"text": "Done."})
    with model_at_terminal(person, *script) as (_, terminal):
        answer = terminal.end()

    assert answer.code == 0
    assert [second for second in "321" if f"Auto-continuing in {second}s" in answer.out] == ["3"]
    assert "✓ Done 2: One; Two" in screen(answer.out)


def test_a_line_typed_during_a_turn_is_sent_before_the_next_request(person: Person) -> None:
    slow: Turn = {**call("list_todos"), "hold": 1}
    with model_at_terminal(person, slow, {"text": "Heard."}) as (server, terminal):
        assert server.held.wait(30)
        terminal.say("Use tabs, naïve one", "naïve one\r\n")
        time.sleep(0.2)
        server.release()
        answer = terminal.end()

    assert answer.code == 0
    assert "Use tabs, naïve one" in str(server.requests[1].messages[-1])


def test_ctrl_c_closes_a_request_that_hangs(person: Person) -> None:
    with model_at_terminal(person, WRITE, {"text": "Never finished", "hold": 2}, STOPS) as (server, terminal):
        assert server.held.wait(30)
        answer = terminal.end(CTRL_C)

    assert answer.code == 130
    assert server.requests[1].left.wait(10)
    assert len(server.requests) == 2


@pytest.mark.parametrize("environ", [{}, {"TERM": "dumb"}], ids=["plain", "dumb"])
def test_without_a_task_the_person_types_prompts_until_they_leave(person: Person, environ: Any) -> None:
    """Also pasted lines, with the line ends of Windows, which are one message."""
    answers: list[Turn] = [{"text": f"{n} answer."} for n in ("First", "Second", "Third")]
    with conversation(person, *answers, **environ) as (server, terminal):
        terminal.until("\n> ")
        for typed, shown in (("", "> \r\n"), ("On\x1b[Ae", "First answer.")):
            terminal.say(typed, shown)
            terminal.until_after(shown, "> ")
        terminal.say("Twö \\", "\\\r\n")
        time.sleep(0.2)
        terminal.say("and more", "Second answer.")
        terminal.until_after("Second answer.", "> ")
        terminal.say("one\r\ntwo\nthree", "Third answer.")
        answer = terminal.end(CTRL_D)

    assert answer.code == 0
    first, second, third = (str(asked.messages[-1]["content"]) for asked in server.requests)
    assert (first, second, third.split()) == ("One", "Twö \nand more", ["one", "two", "three"])


def test_narrow_terminals_get_narrow_lines_and_all_of_a_task(person: Person) -> None:
    tasks = "- [ ] A task with a rather long text that has to be wrapped: `true`\n- [ ] B: `echo a long line, too`\n"
    run = (write_plan(person, tasks), *ALLOW_ALL, "--session", "s", "--restart")
    narrow, wider = (at_terminal(replace(person, columns=columns), *run).end() for columns in (12, 30))

    assert (narrow.code, wider.code) == (0, 0)
    assert screen(narrow.out, columns=12)
    shown = "\n".join(screen(wider.out, columns=30))
    assert "  ✓ #1 A task with a rather\n  long text that has to be\n  wrapped: `true`\n  ● #2 B:" in shown


def test_print_mode_shows_progress_on_standard_error_and_no_key_is_offered_where_none_works(person: Person) -> None:
    run = (write_plan(person, "- [ ] A: `seq 20`\n"), "--restart", *ALLOW_ALL)

    lines, printed = (at_terminal(person, *run, *mode).end() for mode in ((), ("--mode", "print")))

    assert (lines.code, printed.code) == (0, 0)
    assert printed.out.startswith("tildone: allowed: --allow '*': every command\n")
    assert printed.out.endswith("\n✓ Done: A: `seq 20`\n  ✓ #1 A: `seq 20`\nThe task is done.\n")
    assert "Bash: seq 20" in printed.out
    assert all("12 more lines" in answer.out and "ctrl+o" not in answer.out for answer in (lines, printed))


def test_the_lines_of_a_streamed_answer_are_shown_once_and_early(person: Person) -> None:
    """What a model writes cannot control the terminal."""
    with model_at_terminal(person, {"text": "First line.\nSecond\x1b[2J line.", "hold": 5}) as (server, terminal):
        terminal.until("First line.")
        server.release()
        shown = screen(terminal.end().out)

    assert shown[shown.index("❯ Go") :][:3] == ["❯ Go", "First line.", "Second␛[2J line."]


@contextmanager
def conversation(
    person: Person, *script: Turn, argv: tuple[str, ...] = (), **environ: str
) -> Iterator[tuple[ModelServer, Terminal]]:
    """Start a run in which the person types every prompt."""
    with model_at_terminal(person, *script, argv=argv, **environ) as (server, terminal):
        terminal.until("say what is to be done")
        yield server, terminal


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [str(message["content"]) for message in messages if message["role"] == "user"]


def test_help_lists_the_commands_and_typos_get_suggestions(person: Person) -> None:
    with conversation(person, {"text": "First."}, {"text": "Second."}) as (server, terminal):
        terminal.say("/help", "//TEXT")
        terminal.say("/modle x", "There is no command /modle; did you mean '/model'?")
        terminal.say("/zzzz", "There is no command /zzzz; /help lists them")
        terminal.say("//help me", "First.")
        terminal.say("/usr/bin/env is missing", "Second.")
        answer = terminal.end(CTRL_D)

    listed = [line.split()[0] for line in screen(answer.out) if line.startswith("/") and "  " in line]
    assert listed == [*(f"/{name}" for name in OWN_COMMANDS), "/quit", "/expand", "/copy", "//TEXT"]
    assert [texts(asked.messages)[-1] for asked in server.requests] == ["/help me", "/usr/bin/env is missing"]


def test_the_plan_can_be_changed_and_changed_back(person: Person) -> None:
    with conversation(person, {"text": "Seen."}, EDITOR="sed -i s/milk/bread/") as (server, terminal):
        terminal.say("/todo add Buy milk, don't forget", "0 of 1 closed")
        terminal.say('/todo add "Call the bank"', "0 of 2 closed")
        terminal.say("/todo done bank", "1 of 2 closed")
        terminal.say("/undo", "Undid:")
        terminal.say("/todo edit", "bread")
        terminal.say("/todo nonsense", "nonsense")
        terminal.say("Go", "Seen.")
        terminal.until_after("Seen.", COUNTING)
        terminal.type(CTRL_C)
        terminal.until_after(COUNTING, "> ")
        answer = terminal.end(CTRL_C)

    assert answer.code == 130
    assert "Buy bread, don't forget" in str(server.requests[0].messages)
    assert "Call the bank" in str(server.requests[0].messages)
    assert "\x1b[2J" not in answer.out


FIRST, SECOND, THIRD = Task("one", Status.COMPLETED, ("why",)), Task("two", Status.IN_PROGRESS), Task("three")
PHASES: dict[str, tuple[Phase, ...]] = {
    "flat": (Phase("", (FIRST, SECOND)),),
    "first": (Phase("", (FIRST, SECOND)), Phase("B", (THIRD,))),
    "middle": (Phase("A", (FIRST,)), Phase("", (SECOND,)), Phase("B", (THIRD,))),
    "several": (Phase("", (FIRST,)), Phase("", (SECOND,)), Phase(""), Phase("", (THIRD,))),
    "empty": (Phase(""), Phase("Todos", (FIRST, SECOND)), Phase("B")),
}


@pytest.mark.parametrize("where", PHASES)
def test_a_plan_of_phases_is_the_same_after_it_was_exported_and_imported_or_edited(person: Person, where: str) -> None:
    """Also phases without a name, which are not those of tasks above the first heading."""
    phases = PHASES[where]

    def stored() -> tuple[Phase, ...]:
        return read_checklist(person.says("todo", "export", "-", "--session", "s")).plan.phases

    write_plan(person, lossless_checklist(Plan(phases), all_headings=True))
    with conversation(person, argv=("--dialect", "phased", "--session", "s"), EDITOR="touch") as (_, terminal):
        terminal.say("/todo import plan.md", "Imported plan.md: ")
        assert stored() == phases
        terminal.say("/todo edit", "Saved: ")
        assert stored() == phases
        terminal.say("/todo export out.md", "Wrote the plan to out.md")
        terminal.say("/todo rm", "Removed")
        terminal.say("/todo import out.md", "Imported out.md: ")
        terminal.end(CTRL_D)

    assert stored() == phases


def test_an_editor_that_cannot_be_run_ends_nothing(person: Person) -> None:
    """A plan that is not stored is not changed from here."""
    with conversation(person, argv=("--no-session",)) as (_, terminal):
        terminal.say("/todo", "The plan of this run is not stored")
        assert terminal.end(b"/quit\r").code == 0

    with conversation(person, {"text": "Seen."}, EDITOR='vi "') as (_, terminal):
        terminal.say("/todo add Buy milk", "0 of 1 closed")
        terminal.say("/todo edit", "Nothing was edited")
        terminal.say("Go", "Seen.")
        assert terminal.end(b"/quit\r").code == 0


def test_another_model_can_answer(person: Person) -> None:
    """After an error the old one goes on. The choice holds for the rest of the conversation."""
    with conversation(person, {"text": "First."}, {"text": "Second."}) as (server, terminal):
        terminal.say("/model", "openai-chat:scripted; /model PROVIDER:NAME switches to another")
        terminal.say("/model nonsense", "scripted goes on answering")
        terminal.say("One", "First.")
        terminal.say("/model anthropic:another", "another answers from now on")
        terminal.say("Two", "Second.")
        answer = terminal.end(CTRL_D)
        again = person.run("run", "Three", "--continue", "--mode", "print", **provider_environment(server))

    assert (answer.code, again.code) == (0, 0)
    assert [asked.body["model"] for asked in server.requests] == ["scripted", "another", "another"]
    assert len(server.requests[1].messages) == 3


def test_a_new_conversation_keeps_the_plan(person: Person) -> None:
    first: Turn = {"text": "First.", "ends": "stop"}
    with conversation(person, WRITE, first, edit("complete", 0, 1), {"text": "Second."}) as (server, terminal):
        terminal.say("Remember this", "First.")
        terminal.say("/clear", "A new conversation begins. This conversation works on the project's plan")
        terminal.say("Go on", "Second.")
        answer = terminal.end(CTRL_D)

    assert answer.code == 0
    asked = json.dumps(server.requests[2].messages)
    assert ("Remember this" in asked, "Two" in asked) == (False, True)


def test_a_conversation_is_replaced_by_a_summary(person: Person) -> None:
    """A summary that fails or is interrupted leaves the conversation as it is."""
    failing: Turn = {"error": 400, "message": "no summary today"}
    hanging: Turn = {"text": "Never finished", "hold": 1}
    summary: list[Turn] = [{"text": "They want tabs."}, {"text": "Third."}]
    script = [WRITE, {"text": "First."}, failing, hanging, {"text": "Second."}, *summary]
    with conversation(person, *script, argv=("--max-nudges", "0")) as (server, terminal):
        terminal.say("/compact", "There is nothing to compact")
        terminal.say("Use tabs", "limit reached")
        terminal.say("/compact", "Nothing was compacted: 400")
        terminal.say("/compact")
        assert server.held.wait(30)
        terminal.type(CTRL_C)
        terminal.until("Nothing was compacted: it was interrupted")
        terminal.say("Go on", "Second.")
        terminal.until_after("Second.", "limit reached")
        terminal.say("/compact", "The conversation is replaced by a summary of it")
        terminal.say("Go on", "Third.")
        answer = terminal.end(CTRL_D)

    assert "Use tabs" in json.dumps(server.requests[4].messages)
    summarised, after = server.requests[5], json.dumps(server.requests[6].messages)
    assert "Summarise the conversation so far." in str(summarised.messages[-1])
    assert "tools" not in summarised.body
    assert "They want tabs." in after
    assert "- [ ] One" in after
    assert "Use tabs" not in after
    assert answer.code in {0, 1}
    assert "To go on: tildone run --continue" in screen(answer.out)


def test_words_of_a_command() -> None:
    words = {
        "": [],
        "done 3": ["done", "3"],
        "add Buy milk": ["add", "Buy milk"],
        'add "Buy milk" "Call the bank"': ["add", "Buy milk", "Call the bank"],
        "add --phase Shop Milk": ["add", "--phase", "Shop", "Milk"],
        "note 3 don't": ["note", "3", "don't"],
        "add don't": ["add", "don't"],
    }
    assert {typed: split_words(typed) for typed in words} == words


EXPANDED, COLLAPSED = (f"Results are shown {how} from now on" for how in ("expanded", "collapsed"))
COUNT = call("bash", command="seq 20")


def test_results_are_shown_in_full_until_they_are_collapsed_again(person: Person) -> None:
    """The newest collapsed one is written again."""
    answers: list[Turn] = [{"text": text} for text in ("All of it.", "Once more.", "The last.")]
    script = [COUNT, call("bash", command="true"), answers[0], COUNT, answers[1], COUNT, answers[2]]
    with model_at_terminal(person, *script, argv=ALLOW_ALL) as (_, terminal):
        terminal.until("> ")
        for typed, awaited in [
            ("Go", "All of it."),
            ("/expand", EXPANDED),
            ("More", "Once more."),
            ("/expand", COLLAPSED),
            ("And more", "The last."),
        ]:
            terminal.say(typed, awaited)
            terminal.until_after(awaited, "\r\n> ")
        answer = terminal.end(b"/quit\r")

    shown = screen(answer.out)
    again, more, collapsed = shown.index(EXPANDED), shown.index("❯ More"), shown.index(COLLAPSED)
    assert "  12" not in shown[:again]
    assert any(line.endswith("12 more lines") for line in shown[:again])
    numbers = [f"  {number}" for number in range(1, 21)]
    assert shown[again + 1 : again + 23] == ["Bash: seq 20", "  Done: 20 lines", *numbers]
    assert ("  1" in shown[more:collapsed], "  1" in shown[collapsed:]) == (True, False)


def test_the_shell_driver_has_nothing_to_compact(person: Person) -> None:
    os.mkfifo(person.folder / "gate")
    terminal = at_terminal(person, write_plan(person, "- [ ] Wait: `cat gate`\n"), *ALLOW_ALL)
    terminal.until("Bash: cat gate")
    terminal.say("/compact", "There is nothing to compact: the shell driver reads the plan")
    (person.folder / "gate").write_bytes(b"")

    assert terminal.end().code == 0
