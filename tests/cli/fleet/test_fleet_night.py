"""What a person finds in the morning: what waited, failed or conflicted, and what the results say of it.

Real workers on both stores, whose agents are the shell agent.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.fleet.conftest import Operator
from tests.fleet.repositories import git, project
from tests.plans import plan_of
from tests.suite.waiting import until
from tildone.base import UsageError, replace
from tildone.base.ids import now
from tildone.cli.fleet.results import since_when
from tildone.fleet.notices import PersonNotices
from tildone.log.lease_rules import KILLS_ITS_WORKER, MAX_LOSSES
from tildone.log.needs import Need
from tildone.plan.events import PlanChanged
from tildone.plan.runs import (
    OTHERS_HAVE_IT,
    Answered,
    Asked,
    CommandRefused,
    LeaseState,
    NewRun,
    Published,
    RunEnded,
    RunReleased,
    Work,
    WorkOutcome,
)
from tildone.plan.text.amounts import DAY, HOUR, MINUTE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers need Linux")


def test_what_waits_or_is_denied_holds_what_comes_after_it(machine: Operator, tmp_path: Path) -> None:
    """What is approved goes on in its order; a denial ends the run as failed, with what was not done."""
    log = tmp_path / "log"
    runs = []
    for name in ("approved", "denied"):
        steps = [f"Prepare: `echo prepare {name} >> {log}`", f"Ask: `touch {tmp_path / name}`"]
        machine.plan(f"{name}.md", *steps, f"Deploy: `echo deploy {name} >> {log}`")
        runs.append(machine.add(f"{name}.md"))
    approved, denied = runs
    with machine.working("--slots", "2", "--allow", "sh -c *", "--allow", "echo *", "--ask", "touch *"):
        until(lambda: {machine.lease(run).state for run in runs} == {LeaseState.WAITING})
        asked = machine.json("approve")["questions"]
        assert {each["text"] for each in asked} == {f"touch {tmp_path / name}" for name in ("approved", "denied")}
        assert "deploy" not in log.read_text()

        machine.fleet("approve", approved)
        machine.fleet("approve", denied, "--deny", "--reason", "not here")
        until(lambda: not any(machine.lease(run).state.is_active for run in runs))

    assert [machine.lease(run).state for run in runs] == [LeaseState.DONE, LeaseState.FAILED]
    assert sorted(log.read_text().splitlines()) == ["deploy approved", "prepare approved", "prepare denied"]
    assert not (tmp_path / "denied").exists()
    [failed] = machine.json("results")["needs"]
    command = f"touch {tmp_path / 'denied'}"
    assert (failed["run"], failed["state"], failed["closed"], failed["total"]) == (denied, "failed", 1, 3)
    assert failed["why"].startswith(f"denied by Ada: {command} (not here); not done: #2 Ask: `{command}`, #3 Deploy: ")


def test_a_denial_is_forgotten_when_the_run_is_retried(machine: Operator, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    machine.plan("a.md", f"Ask: `touch {mark}`")
    run = machine.add("a.md")
    with machine.working("--allow", "echo *", "--ask", "touch *"):
        machine.becomes(run, LeaseState.WAITING)
        machine.fleet("approve", run, "--deny")
        machine.becomes(run, LeaseState.FAILED)
        machine.fleet("retry", run)
        machine.becomes(run, LeaseState.WAITING)
        machine.fleet("approve", run)
        machine.becomes(run, LeaseState.DONE)

    assert mark.exists()


def test_hands_that_ask_for_the_same_are_answered_together(operator: Operator) -> None:
    operator.plan("a.md", "one", "two")
    run = operator.add("a.md", "--hands", "2")
    for lease in operator.take_all(2):
        operator.leases.append(lease.fence, Asked(run, lease.hand, "q1", "command", "make"), f"e{lease.hand}")
        operator.leases.close(lease.fence, WorkOutcome.WAITING)

    assert [each["text"] for each in operator.json("approve")["questions"]] == ["make"]
    operator.fleet("approve", run)

    assert [fact.hand for fact in operator.facts(run, Answered)] == [0, 1]
    assert {view.lease.state for view in operator.leases.look(run)} == {LeaseState.OPEN}


@pytest.mark.parametrize("has_repository", [True, False])
def test_a_failure_that_would_be_the_same_is_not_repeated_and_others_as_often_as_the_worker_says(
    machine: Operator, tmp_path: Path, *, has_repository: bool
) -> None:
    count, noise = tmp_path / "count", f"seq -f 'a line of the output without a reason {'.' * 50} %g' 100"
    machine.plan("same.md", f"Try: `echo x >> {count}; {noise}; echo it is broken; exit 3`")
    same = machine.add("same.md", *(["--repo", str(project(tmp_path, "repository"))] if has_repository else []))
    with machine.working("--allow", "*", "--retries", "0"):
        machine.becomes(same, LeaseState.FAILED)
    [never] = machine.facts(same, RunEnded)
    assert (count.read_text(), machine.facts(same, RunReleased)) == ("x\n", [])

    machine.fleet("retry", same)
    delays = "import sys; from tildone.log import lease_rules; lease_rules.FIRST_DELAY_MS = 1; import runpy; "
    program = [sys.executable, "-c", f"{delays}runpy.run_module('tildone', run_name='__main__')"]
    with machine.working("--allow", "*", program=program) as worker:
        machine.becomes(same, LeaseState.FAILED)
        worker.terminate()
        told = worker.communicate()[1].decode()

    again = machine.facts(same, RunEnded)[-1]
    assert count.read_text() == "x\n" * 3
    assert never.why.splitlines()[0] == "the agent ended with exit code 1"
    assert again.why.splitlines()[0].endswith("; the attempt before has failed on the same files")
    assert "it is broken" in again.why
    [line] = [each for each in told.splitlines() if f"run {same} is queued again: " in each]
    assert line.rpartition(" (")[2] == "2 of 5)"


def test_a_worker_says_when_it_tries_again_what_git_has_failed(machine: Operator, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    subprocess.run(["git", "init", "-q", empty], check=True)
    run = machine.add("a.md", "--repo", str(empty))
    with machine.working("--allow", "*") as worker:
        until(lambda: machine.facts(run, RunReleased))
        worker.terminate()
        told = worker.communicate()[1].decode()

    line = next(each for each in told.splitlines() if f"run {run} is queued again: git failed" in each)
    assert re.search(r"has no commit yet; next try at \d\d:\d\d:\d\d$", line)


def test_the_commit_of_a_run_is_one_that_a_reviewer_can_use_and_its_working_tree_is_gone(
    machine: Operator, tmp_path: Path
) -> None:
    repo = project(tmp_path, "repository")
    tasks = "- [ ] Write it\n  $ sed -i s,one,two, parser.py\n\n## End\n\n- [ ] # Done? `true`\n"
    text = f"# Fix the parser\n\nWhy not.\n\n## Work\n\n{tasks}"
    (machine.folder / "a.md").write_text(text, encoding="utf-8")
    _, out, _ = machine.run("fleet", "add", "a.md", "--repo", str(repo), "--json")
    run = json.loads(out)["runs"][0]["run"]
    with machine.working("--allow", "*"):
        machine.becomes(run, LeaseState.DONE)
        home = machine.folder.parent / "home" / ".local" / "share" / "tildone" / "fleet"
        report = home / "reports" / f"{run}.md"
        until(report.exists)

    subject, blank, *body = git(repo, "log", "-1", "--format=%B", f"tildone/{run}").splitlines()
    assert (subject, blank) == ("Fix the parser", "")
    assert body[0] == "- [x] Write it (sed -i s,one,two, parser.py: passed)"
    assert body[1] == "- [x] Done? `true`"
    assert [line.partition(":")[0] for line in body[3:]] == ["Duration", "Run"]
    assert list((home / "worktrees").iterdir()) == []
    assert git(repo, "for-each-ref", "refs/tildone/") == ""
    [done] = machine.json("results")["done"]
    base = git(repo, "rev-parse", "HEAD")
    changed = {name: done[name] for name in ("title", "base", "files", "added", "removed", "branch")}
    assert changed == {
        "title": "Fix the parser",
        "base": base,
        "files": 1,
        "added": 1,
        "removed": 1,
        "branch": f"tildone/{run}",
    }
    shown = subprocess.run(["sh", "-c", done["commands"]["diff"]], check=True, capture_output=True, text=True).stdout
    assert "+two" in shown
    written = report.read_text(encoding="utf-8")
    assert written.startswith(f"# Fix the parser\n\n- Run: `{run}`\n")
    assert "## Log" in written
    assert "1 file +1 −1" in machine.fleet("results")


def test_what_a_run_was_stays_when_its_plan_is_run_again(operator: Operator) -> None:
    operator.plan("a.md", "one", "two")
    first = operator.add("a.md")
    lease = operator.take()
    for number in ("1", "2"):
        assert operator.run("todo", "done", number, "--session", lease.session)[0] == 0
    operator.leases.close(lease.fence, WorkOutcome.DONE)
    operator.add("a.md", "--restart")

    rows = {row["run"]: row["closed"] for row in operator.json("ls", "--all")["runs"]}

    assert rows[first] == 2
    assert sorted(rows.values()) == [0, 2]
    assert operator.json("show", first)["result"]["closed"] == 2


def end(operator: Operator, run: str, outcome: WorkOutcome, why: str = "", made: Published | None = None) -> None:
    [lease] = operator.take_all(1, f"here/{run}/a")
    assert lease.run == run
    operator.leases.close(lease.fence, outcome, why, made)


def test_the_results_name_what_needs_a_person_with_what_to_type(operator: Operator) -> None:
    failed = operator.add("failed.md")
    end(operator, failed, WorkOutcome.FAILED, "the agent ended with exit code 1\n<b>&lt; [a](b)\nlast line\x1b[2J")
    done = operator.add("done.md")
    lease = operator.take()
    refused = CommandRefused(done, 0, "rm -rf /", "not permitted here")
    operator.leases.append(lease.fence, refused, "refused")
    operator.leases.close(lease.fence, WorkOutcome.DONE, "", Published("b" * 40, "c" * 40, 3, 20, 4))
    asking = operator.add("asking.md")
    lease = operator.take()
    operator.asks(lease, "q1", "question", "Which one?")
    operator.leases.close(lease.fence, WorkOutcome.WAITING)
    conflict = operator.add("conflict.md")
    lease = operator.take()
    operator.asks(lease, "q2", "conflict", "what hand 2 has done conflicts\nTo merge it: git merge x")
    operator.leases.close(lease.fence, WorkOutcome.WAITING)
    queued = operator.add("queued.md")

    data, shown = operator.json("results"), operator.fleet("results")
    markdown = operator.fleet("results", "--markdown")

    assert {each["run"]: each["state"] for each in data["needs"]} == {
        failed: "failed",
        asking: "waiting",
        conflict: "conflict",
    }
    assert [each["run"] for each in data["done"]] == [done]
    assert [each["run"] for each in data["queued"]] == [queued]
    assert data["running"] == data["over"] == []
    by_run = {each["run"]: each for each in data["needs"]}
    assert by_run[failed]["commands"]["retry"] == f"tildone fleet retry {failed}"
    assert by_run[asking]["commands"]["answer"] == f"tildone fleet answer {asking}"
    assert by_run[conflict]["commands"]["merged"] == f"tildone fleet answer {conflict} merged"
    assert by_run[conflict]["commands"]["discard"] == f"tildone fleet answer {conflict} discard"
    assert f"{'c' * 12}..tildone/{done}" in shown
    assert "TEXT" in operator.fleet("answer", asking)
    assert "merged|discard" in operator.fleet("answer", conflict)
    assert data["done"][0]["refused"] == [{"text": "rm -rf /", "why": "not permitted here", "by": None}]
    for text in (shown, markdown):
        assert "\x1b" not in text
        assert text.index(failed) < text.index(done)
        for words in ("3 need you, 1 done, 1 queued", "last line", "Which one?", "To merge it: git merge x"):
            assert words in text.replace("\\", "")
        assert "rm -rf /" in text.replace("\\", "")
    assert markdown.startswith("# Since ")
    assert r"  - \<b\>\&lt; \[a\]\(b\)" in markdown
    assert "was refused “rm -rf /”" in operator.fleet("show", done)
    assert "        last line" in operator.fleet("show", failed)
    assert operator.json("show", failed)["result"]["state"] == "failed"


def test_only_the_newest_run_of_a_plan_or_a_schedule_needs_a_person_until_it_is_given_up(operator: Operator) -> None:
    first = operator.add("a.md")
    end(operator, first, WorkOutcome.FAILED, "no")
    second = operator.add("a.md")
    names = ["nightly-20260101-0300-abcdef", "nightly-20260102-0300-abcdeg"]
    end(operator, second, WorkOutcome.FAILED, "no")
    for name in names:
        operator.leases.add(NewRun(name, name, Work()), [PlanChanged(plan_of("one"))])
        end(operator, name, WorkOutcome.FAILED, "no")

    data = operator.json("results")

    assert [each["run"] for each in data["needs"]] == [names[1], second]
    assert (data["needs"][0]["schedule"], data["needs"][0]["earlier"]) == ("nightly", 1)
    assert [each["run"] for each in data["over"]] == [first]
    assert operator.fleet("cancel", second) == f"{second} is cancelled.\n"
    assert [each["run"] for each in operator.json("results")["needs"]] == [names[1]]

    operator.fleet("retry", names[0])
    lease = operator.take()
    operator.asks(lease, "q1", "command", "make")
    operator.leases.close(lease.fence, WorkOutcome.WAITING)
    operator.fleet("retry", names[1])
    end(operator, names[1], WorkOutcome.DONE)
    data = operator.json("results")
    assert [each["run"] for group in ("needs", "done") for each in data[group]] == [names[0], names[1]]


def test_what_a_run_is_done_with_is_told_and_not_what_was_before(operator: Operator) -> None:
    """Neither lost workers nor earlier failures are reasons of a run that is done; one that is queued has one."""
    done = operator.add("a.md", "--hands", "2")
    first, second = operator.take_all(2)
    operator.leases.close(first.fence, WorkOutcome.FAILED, "it is broken")
    operator.leases.close(second.fence, WorkOutcome.DONE, "what hand 2 has done is left out")
    assert operator.json("results")["needs"][0]["why"] == "it is broken"
    operator.fleet("retry", done)
    end(operator, done, WorkOutcome.DONE, OTHERS_HAVE_IT)
    plain = operator.add("b.md")
    operator.leases.release(operator.take().fence, "drained")
    end(operator, plain, WorkOutcome.DONE)
    queued = operator.add("c.md")
    operator.leases.close(operator.take().fence, WorkOutcome.REFUSED, "not permitted here: the command make")

    data, shown = operator.json("results"), operator.fleet("results")

    assert {each["run"]: each["why"] for group in ("done", "queued") for each in data[group]} == {
        done: "what hand 2 has done is left out",
        plain: None,
        queued: "not permitted here: the command make",
    }
    assert "what hand 2 has done is left out" in shown
    assert "not permitted here: the command make" in shown


def test_what_a_person_types_cannot_be_forged_and_fetches_the_branch_of_a_remote_repository(operator: Operator) -> None:
    """Commits in the log are those of whoever writes to the store."""
    address = "https://example.org/it's.git"
    commands: list[dict[str, str]] = []
    for made in (Published("c" * 40, "b" * 40, 1, 1, 1), Published("$(id)"), Published("c" * 40, "; id", 1)):
        run = operator.add(f"{len(commands)}.md", "--repo", address)
        end(operator, run, WorkOutcome.DONE, "", made)
        [found] = [each for each in operator.json("results")["done"] if each["run"] == run]
        commands.append({name: text.replace(run, "RUN") for name, text in found["commands"].items()})

    fetch = f"git fetch {shlex.quote(address)} tildone/RUN && git"
    assert [(each.get("diff"), each.get("merge")) for each in commands] == [
        (f"{fetch} diff {'b' * 12}..FETCH_HEAD", f"{fetch} merge FETCH_HEAD"),
        (None, None),
        (f"{fetch} log FETCH_HEAD", f"{fetch} merge FETCH_HEAD"),
    ]


def test_a_hand_is_named_as_it_is_listed(operator: Operator) -> None:
    run = operator.add("a.md", "--hands", "2")
    operator.take_all(2)

    assert f"{run}/2" in operator.fleet("ls")
    assert [hand["hand"] for hand in operator.json("show", f"{run}/2")["hands"]] == [2]
    assert [row["hand"] for row in operator.json("ls")["runs"]] == [1, 2]
    assert "has no hand 3" in operator.refused(4, "fleet", "show", f"{run}/3")
    assert "cancel is for all hands of a run" in operator.refused(2, "fleet", "cancel", f"{run}/2")


def test_results_without_runs_say_so(operator: Operator) -> None:
    assert "has no runs yet. To queue one: tildone fleet add PLAN" in operator.fleet("results")
    run = operator.add()
    end(operator, run, WorkOutcome.DONE)

    assert "1 done" in operator.fleet("results", "--since", "1h")
    assert "no runs. Earlier ones: --since 30d" in operator.fleet("results", "--since", "0m")
    assert operator.json("results", "--since", "0m")["done"] == []
    operator.refused(2, "fleet", "results", "--since", "yesterday")
    operator.refused(2, "fleet", "results", "--json", "--markdown")


def test_since_when() -> None:
    at = now()
    assert since_when("2h", at) == at - 2 * HOUR
    assert since_when("3d", at) == at - 3 * DAY
    for hour in (0, 12, 23):
        assert at - DAY - HOUR <= since_when(f"{hour}:30", at) <= at
    assert since_when("2026-01-31", at) + 18 * HOUR == since_when("2026-01-31 18:00", at)
    for wrong in ("", "25:00", "x", "-1h", "1y", "99999h"):
        with pytest.raises(UsageError):
            since_when(wrong, at)


def test_a_command_of_the_person_is_told_what_needs_them_and_that_no_run_goes_on(
    machine: Operator, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    command = f'printf \'%s|%s|%s\\n\' \\"$TILDONE_NOTICE\\" \\"$TILDONE_RUN\\" \\"$TILDONE_TEXT\\" >> {told}'
    machine.configure(f'engine = "table"\nnotify = "{command}"')
    machine.plan("a.md", f"Ask: `touch {tmp_path / 'it'}`")
    run = machine.add("a.md")
    with machine.working("--allow", "echo *", "--ask", "touch *", "--until-idle") as worker:
        machine.becomes(run, LeaseState.WAITING)
        assert worker.wait() == 0

    lines = sorted(line.split("|") for line in told.read_text().splitlines())
    assert lines == [
        ["needs", run, f"{run} asks: touch {tmp_path / 'it'}"],
        ["over", run, "No run goes on: 1 needs you"],
    ]


def test_what_an_agent_at_work_asks_is_told_once(operator: Operator, tmp_path: Path) -> None:
    run, told = operator.add(), tmp_path / "told"
    lease = operator.take()
    operator.store.records.ask(Need("n1", lease.session, "command", "make $(id)", since=now()))
    operator.store.records.ask(Need("n2", "another", "command", "rm", since=now()))
    notices = PersonNotices(f'echo "$TILDONE_TEXT" >> {told}', operator.store, operator.leases, print)

    for _ in range(2):
        notices.look(lease)
    notices.close()
    PersonNotices("", operator.store, operator.leases, print).look(lease)

    assert told.read_text() == f"{run} asks: make $(id)\n"


def test_a_run_whose_workers_were_lost_is_told_and_what_is_left_is_counted_as_in_the_results(
    machine: Operator, tmp_path: Path
) -> None:
    """Two hands of which one needs a person are one run. Nobody works on a run that has ended its workers."""
    told = tmp_path / "told"
    notices = PersonNotices(f'echo "$TILDONE_TEXT" >> {told}', machine.store, machine.leases, print)
    run = machine.add("a.md", "--hands", "2")
    first, second = machine.take_all(2)
    machine.leases.close(second.fence, WorkOutcome.DONE)
    machine.asks(first, "q1", "conflict", "it conflicts\nTo merge it: git merge x")
    notices.ended(machine.leases.close(first.fence, WorkOutcome.WAITING) or first, "it conflicts")
    notices.close()

    assert sorted(told.read_text().splitlines()) == ["No run goes on: 1 needs you", f"{run} asks: it conflicts"]

    told.unlink()
    machine.configure(f'engine = "table"\nnotify = "echo \\"$TILDONE_TEXT\\" >> {told}"')
    lost = machine.add("b.md")
    machine.leases.configure(
        replace(machine.leases.settings(), lease=2000, heartbeat=400, renewal=800, margin=100, reaper=100)
    )
    for number in range(MAX_LOSSES - 1):
        machine.take(f"elsewhere/{number}/a")
        until(lambda: machine.leases.reap(MINUTE))
    machine.take("elsewhere/9/a")
    with machine.working():
        machine.becomes(lost, LeaseState.FAILED)
        until(lambda: told.exists() and len(told.read_text().splitlines()) == 2)

    assert f"{lost} has failed: {KILLS_ITS_WORKER}" in told.read_text().splitlines()


def test_a_command_of_the_person_that_fails_is_told_by_the_worker(operator: Operator) -> None:
    operator.add()
    said: list[str] = []
    notices = PersonNotices("exit 7", operator.store, operator.leases, said.append)

    notices.ended(replace(operator.take(), state=LeaseState.FAILED), "no")
    notices.close()

    assert said == ["the command of `notify` ended with exit code 7"]
