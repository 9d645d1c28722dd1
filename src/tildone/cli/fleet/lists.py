"""`tildone fleet` lists runs and shows one, answers what they ask persons, changes their state, and drains workers."""

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from typing import Any, Self

from tildone.app.answering import (
    NO,
    YES,
    OpenQuestion,
    RunAnswer,
    answer_question,
    offered_answers,
    open_questions,
)
from tildone.app.result_texts import facts_of, question_data, reasons, result_data
from tildone.app.run_results import RunResult, RunResults
from tildone.app.runs import QUEUES, STOPS, RunRequest, check_allowed, check_state, request_run
from tildone.app.transcripts import newest_output
from tildone.app.who import PersonAct, check_outside_runs, check_person
from tildone.base import NotFound, Refused, StoreBusy, StoreUnreachable, UsageError, replace, value
from tildone.base.ids import local_time, now, timestamp
from tildone.cli import INTERRUPTED
from tildone.cli.fleet.opening import Fleet, fleet_if_any, fleet_settings, open_existing_fleet
from tildone.cli.output import (
    colored,
    columns,
    max_columns,
    on_terminal,
    put,
    put_caution,
    put_notice,
    put_raw,
    put_spans,
)
from tildone.cli.output.prompts import exit_code_for, put_data, put_done
from tildone.cli.table import ParsedArgs
from tildone.plan.lists import RunView, WorkerInfo
from tildone.plan.model import next_task, progress
from tildone.plan.names import branch_of, is_address
from tildone.plan.runs import Lease, LeaseRequest, LeaseState, RunFact
from tildone.plan.text.amounts import DAY, ago, format_count
from tildone.plan.text.lists import plan_lines
from tildone.plan.text.runs import (
    RunRow,
    bad_row_text,
    hand_name,
    listed_first,
    row_state,
    run_lines,
    state_counts,
    why_queued,
)
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, ansi, clip_text
from tildone.plan.text.views_runs import describe_run_fact
from tildone.run.metering import open_run_traces


def questions_of(fleet: Fleet, views: Iterable[RunView]) -> list[OpenQuestion]:
    return open_questions(fleet.store, (view.lease for view in views))


def chosen(found: Sequence[OpenQuestion], wanted: str | None, run: str) -> OpenQuestion:
    """Return the question that is meant: the one whose id begins with `wanted`, else the only one."""
    matching = [question for question in found if question.id.startswith(wanted or "")]
    matching = [question for question in matching if question.id == wanted] or matching
    if not matching:
        which = f" {printable(wanted)!r}" if wanted else ""
        raise NotFound(f"run {run} has no open question{which}; to list them: tildone fleet answer")
    if len(matching) > 1:
        ids = ", ".join(printable(question.id) for question in matching)
        raise UsageError(f"run {run} has {len(matching)} open questions; choose one with --question: {ids}")
    return matching[0]


def put_questions(found: Sequence[OpenQuestion], nothing: str) -> None:
    if not found:
        put(nothing)
    for question in found:
        put(f"{question.run}  {printable(question.kind)}  {printable(question.id)}")
        put_raw("\n".join(f"  {line}" for line in question.text.splitlines()))
        put_caution(question.caution)
        verb = "approve" if question.is_permission else "answer"
        text = "" if question.is_permission else f" {'|'.join(offered_answers(question)) or 'TEXT'}"
        put(f"  To answer: tildone fleet {verb} {question.run} --question {printable(question.id)}{text}")


def answer(args: ParsedArgs) -> int:
    name, *words = args.positional or ("",)
    if not name:
        return _put_open(args, _all_questions(args), "No run waits for an answer.")
    fleet = open_existing_fleet(args)
    if words:
        # An agent is refused before it learns what there is to answer.
        check_person(fleet.settings, PersonAct.ANSWER)
    views = fleet.run_named(name)
    found = questions_of(fleet, views)
    if not words:
        return _put_open(args, found, "No run waits for an answer.")
    question = chosen(found, args.options.get("question"), views[0].lease.run)
    text = " ".join(words)
    answer_question(fleet.settings, fleet.store, fleet.leases, question, RunAnswer(text, fleet.person))
    answered = {**question_data(question), "answer": text}
    return put_done(args, f"Answered {question.run}: {printable(text)}", answered=[answered])


def _all_questions(args: ParsedArgs) -> list[OpenQuestion]:
    fleet = fleet_if_any(args)
    return questions_of(fleet, fleet.leases.look()) if fleet else []


def _put_open(args: ParsedArgs, found: Sequence[OpenQuestion], nothing: str) -> int:
    if args.has("json"):
        put_data(questions=[question_data(question) for question in found])
    else:
        put_questions(found, nothing)
    return 0


def approve(args: ParsedArgs) -> int:
    if args.has("reason") and not args.has("deny"):
        raise UsageError("--reason goes with --deny")
    if not args.positional:
        waiting = [question for question in _all_questions(args) if question.is_permission]
        return _put_open(args, waiting, "No run waits for approval.")
    fleet = open_existing_fleet(args)
    check_person(fleet.settings, PersonAct.APPROVE_RUN)
    selected = [
        question for word in args.positional for question in _selected(fleet, word, args.options.get("question"))
    ]
    reason = args.options.get("reason", "")
    text = YES if not args.has("deny") else f"{NO}: {reason}" if reason else NO
    given = RunAnswer(text, fleet.person, PersonAct.APPROVE_RUN)
    for question in selected:
        answer_question(fleet.settings, fleet.store, fleet.leases, question, given)
        if not args.has("json"):
            put(f"{'Denied' if args.has('deny') else 'Approved'} for {question.run}: {printable(question.text)}")
    if args.has("json"):
        put_data(answered=[{**question_data(question), "answer": text} for question in selected])
    return 0


def _selected(fleet: Fleet, word: str, wanted: str | None) -> list[OpenQuestion]:
    """Return what a run waits for approval of: all of it, or the one question that is named."""
    views = fleet.run_named(word)
    run, found = views[0].lease.run, questions_of(fleet, views)
    if wanted:
        question = chosen(found, wanted, run)
        if not question.is_permission:
            raise Refused(f"{question.id} is a question; to answer it: tildone fleet answer {run} TEXT")
        return [question]
    waiting = [question for question in found if question.is_permission]
    if not waiting:
        hint = f"; to answer its question: tildone fleet answer {run} TEXT" if found else ""
        raise NotFound(f"run {run} waits for no approval{hint}")
    return waiting


@value
class Rows:
    """The rows to list, and those that are left out because the list would be too long."""

    shown: tuple[RunRow, ...]
    more: tuple[RunRow, ...] = ()


def recent(views: Iterable[RunView], now: int) -> list[RunView]:
    return [view for view in views if view.lease.state.is_active or now - view.lease.since < DAY]


def rows_of(fleet: Fleet, views: Iterable[RunView], now: int, left_out: list[str], most: int | None = None) -> Rows:
    """Return the rows of runs, what waits for a person first; `left_out` is told about plans that cannot be read.

    With `most`, only so many are read and returned; the plans of the others are not looked at.
    """
    known = list(views)
    asked = _asked(fleet, known)
    rows = [RunRow(view, asked.get((view.lease.run, view.lease.hand), "")) for view in known]
    rows.sort(key=lambda row: listed_first(row, now))
    cut = len(rows) if most is None else most
    results = RunResults(fleet.store, lambda: now)
    runs: dict[str, list[Lease]] = {}
    for view in known:
        runs.setdefault(view.lease.run, []).append(view.lease)
    shown = [_as_it_was(row, results.read(runs[row.lease.run])) for row in rows[:cut]]
    left_out += [f"session {session!r}: {why}" for session, why in results.left_out.items()]
    return Rows(tuple(shown), tuple(rows[cut:]))


def _as_it_was(row: RunRow, found: RunResult | None) -> RunRow:
    """Return a row with what the plan of its run says, of one that has ended as at its end."""
    if found is None:
        return row
    counts, upcoming = progress(found.plan), next_task(found.plan)
    task = upcoming[1].text if upcoming else ""
    return replace(row, task=task, closed=counts.closed, total=counts.total, cost=found.usage.cost)


def row_data(row: RunRow, now: int) -> dict[str, object]:
    lease, work = row.lease, row.lease.work
    return {
        "run": lease.run,
        "hand": lease.hand + 1,
        "state": row_state(row, now),
        "session": lease.session,
        "worker": lease.worker or None,
        "task": row.task or None,
        "closed": row.closed,
        "total": row.total,
        "cost": row.cost,
        "made": timestamp(lease.made),
        "since": timestamp(lease.since),
        "attempt": lease.attempt,
        "fails": lease.fails,
        "asks": row.asks or None,
        "questions": list(lease.questions),
        "agent": work.agent,
        "model": work.model or None,
        "repo": work.repo or None,
        "labels": list(work.labels),
    }


def _asked(fleet: Fleet, views: Sequence[RunView]) -> dict[tuple[str, int], str]:
    """Return the first open question of each hand. One that does not name its hand is that of the first."""
    hands = {question: view.lease.hand for view in views for question in view.lease.questions}
    found: dict[tuple[str, int], str] = {}
    for question in questions_of(fleet, views):
        found.setdefault((question.run, hands.get(question.id, 0)), question.text or "a question")
    return found


EMPTY = "has no runs yet. To queue one: tildone fleet add PLAN"
NONE_RECENT = "has no runs that have not ended, or ended within a day. To list the others: tildone fleet ls --all"

DEFAULT_LIMIT = 100


def list_runs(args: ParsedArgs) -> int:
    # A program gets all of them, unless it asks for fewer.
    limit = args.positive_int("limit", 0) or (None if args.has("json") else DEFAULT_LIMIT)
    fleet = fleet_if_any(args)
    if fleet is None and args.has("json"):
        put_data(**listed_data(Rows(()), []))
        return 0
    if fleet is None:
        put(f"{printable(fleet_settings(args).store.redacted)} {EMPTY}")
        return 0
    left_out: list[str] = []
    rows, known = listed_rows(fleet, args, left_out, limit)
    if args.has("json"):
        put_data(**listed_data(rows, left_out))
    elif rows.shown:
        put_spans(run_lines(rows.shown, now(), columns()))
        if rows.more:
            put(f"{more_text(rows)}. To list them: tildone fleet ls --limit {len(rows.shown) + len(rows.more)}")
    else:
        put(f"{printable(fleet.settings.store.redacted)} {NONE_RECENT if known else EMPTY}")
    for worker in fleet.leases.workers():
        if not worker.slots:
            put_notice(f"tildone: worker {printable(worker.id)} takes no run: its disk is nearly full")
    for row in fleet.bad_rows:
        put_notice(f"tildone: {bad_row_text(row)}; it is ignored. For what to do: tildone fleet doctor")
    return exit_code_for(left_out)


def listed_rows(fleet: Fleet, args: ParsedArgs, left_out: list[str], most: int | None) -> tuple[Rows, bool]:
    """Return the rows to list, and whether there are any runs."""
    views, at = fleet.leases.look(), now()
    return rows_of(fleet, views if args.has("all") else recent(views, at), at, left_out, most), bool(views)


def listed_data(rows: Rows, left_out: list[str]) -> dict[str, object]:
    at = now()
    return {"runs": [row_data(row, at) for row in rows.shown], "more": len(rows.more), "left_out": left_out}


def more_text(rows: Rows) -> str:
    return f"{len(rows.more):,} more: {state_counts(rows.more, now())}"


REFRESH_SECONDS = 2.0
"""How often the list is read even if no run has changed: the plans may have."""

MAX_ROWS = 200
DEFAULT_LINES = 24
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""Begin and end the use of the alternate screen, without a cursor. The terminal shows what it did before, then."""

HOME, CLEAR_LINE, CLEAR_REST = "\x1b[H", "\x1b[K", "\x1b[J"


def watch(args: ParsedArgs) -> int:
    if not args.has("json") and not on_terminal():
        raise UsageError("watch needs a terminal; elsewhere use: tildone fleet watch --json, tildone fleet ls")
    fleet = open_existing_fleet(args)
    with closing(fleet.store), suppress(KeyboardInterrupt), _Lines() if args.has("json") else _Screen(fleet) as show:
        while True:
            try:
                revision, left_out = fleet.leases.revision(), list[str]()
                rows, _ = listed_rows(fleet, args, left_out, show.most)
                show.put(rows, left_out)
                fleet.leases.wait(revision, REFRESH_SECONDS)
            except (StoreUnreachable, StoreBusy) as error:
                show.put_trouble(str(error))
                time.sleep(REFRESH_SECONDS)
    return INTERRUPTED


class _Lines(nullcontext[Any]):
    """The list as JSON: one object on a line whenever it differs from the one before."""

    most: int | None = None

    def __init__(self) -> None:
        super().__init__(self)
        self._before: dict[str, object] = {}
        self._told = ""

    def put(self, rows: Rows, left_out: list[str]) -> None:
        shown = listed_data(rows, left_out)
        if shown != self._before:
            put_data(**shown)
            sys.stdout.flush()
        self._before, self._told = shown, ""

    def put_trouble(self, text: str) -> None:
        """Say once why there is nothing new."""
        if text != self._told:
            put_notice(f"tildone: {printable(text)}; trying again")
        self._told = text


class _Screen:
    """The list on the alternate screen of a terminal: what fits, and how much does not."""

    most: int | None = MAX_ROWS

    def __init__(self, fleet: Fleet) -> None:
        self._store = printable(fleet.settings.store.redacted)
        self._lines = [f"{self._store} …"]

    def __enter__(self) -> Self:
        sys.stdout.write(f"{ENTER}{HOME}{CLEAR_REST}")
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.write(LEAVE)
        sys.stdout.flush()

    def put(self, rows: Rows, left_out: list[str]) -> None:
        at, width = now(), columns() or 0
        counts = state_counts((*rows.shown, *rows.more), at)
        title = f"{counts}  (Ctrl-C to leave)" if counts else f"{self._store} {EMPTY}"
        lines = [ansi(line, color=colored(), safe=printable) for line in run_lines(rows.shown, at, width)]
        each = len(lines) // len(rows.shown) if rows.shown else 1
        fitting = max(1, (_terminal_lines() - 3 - len(left_out)) // each)
        hidden = replace(rows, shown=rows.shown[:fitting], more=(*rows.shown[fitting:], *rows.more))
        below = [more_text(hidden)] if hidden.more else []
        below += [f"left out: {printable(text)}" for text in left_out]
        self._lines = [clip_text(title, width), "", *lines[: fitting * each], *(clip_text(b, width) for b in below)]
        self._draw(self._lines)

    def put_trouble(self, text: str) -> None:
        """Say above the newest list why there is no newer one."""
        self._draw([clip_text(printable(f"{text}; trying again"), columns() or 0), *self._lines[1:]])

    def _draw(self, lines: list[str]) -> None:
        drawn = f"{CLEAR_LINE}\n".join(lines)
        sys.stdout.write(f"{HOME}{drawn}{CLEAR_LINE}{CLEAR_REST}")
        sys.stdout.flush()


def _terminal_lines() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).lines or DEFAULT_LINES
    except OSError:
        return DEFAULT_LINES


def places_of(fleet: Fleet, lease: Lease) -> list[tuple[str, str]]:
    """Return the places of a run that has begun, by name: branch, folder, output, report. What is not here is left out.

    The files of a run are on the machine whose worker ran it.
    """
    repo = lease.work.repo
    has_branch = lease.epoch > 0 and (is_address(repo) or (repo and os.path.exists(os.path.join(repo, ".git"))))
    found = [("branch", branch_of(lease.run))] if has_branch else []
    return [*found, *((name, path) for name, path in _files(fleet.home, lease) if os.path.exists(path))]


def _files(home: str, lease: Lease) -> Iterator[tuple[str, str]]:
    yield from (("folder", os.path.join(home, kind, lease.run)) for kind in ("worktrees", "folders"))
    yield from (("output", path) for path in [newest_output(home, lease)] if path)
    yield "report", os.path.join(home, "reports", f"{lease.run}.md")


def show(args: ParsedArgs) -> int:
    fleet = open_existing_fleet(args, read_only=True)
    views = fleet.run_named(args.positional[0])
    lease, left_out = views[0].lease, list[str]()
    waits, places = _waits(fleet, lease), places_of(fleet, lease)
    rows, questions = rows_of(fleet, views, now(), left_out).shown, questions_of(fleet, views)
    result = RunResults(fleet.store, now).of_run(views, questions)
    log = [] if left_out else fleet.store.events(lease.session)
    told = ((event.at, event.fact) for event in log)
    happened = [
        (at, describe_run_fact(fact)) for at, fact in told if isinstance(fact, RunFact) and fact.run == lease.run
    ]
    if args.has("json"):
        hands = [row_data(row, now()) for row in rows]
        events = [{"at": timestamp(at), "what": what} for at, what in happened]
        asked = [question_data(question) for question in questions]
        found = {"run": lease.run, "hands": hands, "waits": waits or None, "places": dict(places)}
        was = result_data(result) if result else None
        put_data(**found, result=was, questions=asked, events=events, left_out=left_out)
        return exit_code_for(left_out)
    width = columns()
    put_spans(run_lines(rows, now(), width))
    facts = [("waits", waits), *_facts(lease), *((name, printable(text)) for name, text in places)]
    put_spans((Span(f"{name:<8}", Role.DIM), Span(text)) for name, text in facts if text)
    if result is not None:
        facts = [("result", facts_of(result)), *(("", printable(reason)) for reason in reasons(result))]
        put_spans((Span(f"{name:<8}", Role.DIM), Span(text)) for name, text in facts)
        put("")
        put_spans(plan_lines(result.plan, width))
    if questions:
        put("")
        put_questions(questions, "")
    if happened:
        put("")
    room = max(1, max_columns() - 18)
    put_spans((Span(f"{local_time(at)}  ", Role.DIM), Span(clip_text(what, room))) for at, what in happened)
    return exit_code_for(left_out)


def _waits(fleet: Fleet, lease: Lease) -> str:
    if lease.is_queued and lease.not_before > now():
        failed = f", after {format_count(lease.fails, 'failed attempt')}" if lease.fails else ""
        return f"until {local_time(lease.not_before)}{failed}"
    limits = {limit.provider: limit.runs for limit in fleet.leases.limits()}
    return why_queued(lease, fleet.leases.look(), fleet.leases.workers(), limits.get(lease.work.provider, 0))


def _facts(lease: Lease) -> list[tuple[str, str]]:
    work = lease.work
    rows = (
        ("plan", lease.session),
        ("agent", " ".join(filter(None, (work.agent, work.model)))),
        ("repo", " ".join(filter(None, (work.repo, work.ref)))),
        ("labels", ", ".join(work.labels)),
        ("allow", ", ".join(work.allow)),
    )
    return [(name, printable(text)) for name, text in rows]


_STATES = {RunRequest.CANCEL: LeaseState.CANCELLED, RunRequest.PAUSE: LeaseState.PAUSED}


def request(args: ParsedArgs) -> int:
    """Request what the verb says of the runs that the command line names, or of none of them."""
    request = RunRequest(args.verb.name)
    check_allowed(fleet_settings(args), request)
    fleet = open_existing_fleet(args)
    runs: dict[str, None] = {}
    for word in args.positional:
        if "/" in word:
            raise UsageError(f"{request.value} is for all hands of a run: {printable(word.partition('/')[0])}")
        views = fleet.run_named(word)
        runs[views[0].lease.run] = None
        check_state([view.lease for view in views], request)
    changed = [lease for run in runs for lease in request_run(fleet.leases, run, request, at_once=args.has("now"))]
    if request in STOPS:
        _trace(fleet, changed)
    if args.has("json"):
        put_data(runs=[_request_data(lease, request) for lease in changed])
        return 0
    for lease in changed:
        put(_sentence(lease, request, now=args.has("now")))
    return 0


cancel = pause = resume = retry = request


def _trace(fleet: Fleet, changed: Sequence[Lease]) -> None:
    """Tell of the runs that have ended because no worker had them."""
    ended = [lease for lease in changed if not lease.state.is_active]
    traces = open_run_traces(fleet.settings, fleet.store, os.environ, put_notice) if ended else None
    if traces:
        for lease in ended:
            traces.over(lease)
        traces.close()


def _sentence(lease: Lease, request: RunRequest, *, now: bool) -> str:
    name = hand_name(lease)
    if request in STOPS and lease.is_held:
        end = "is cancelled" if request is RunRequest.CANCEL else "is paused"
        when = "now" if now else "when its next task is done"
        return f"{name} {end} {when}; worker {printable(lease.worker)} has been told."
    return f"{name} is {'queued' if request in QUEUES and lease.is_queued else lease.state.value}."


def _request_data(lease: Lease, request: RunRequest) -> dict[str, object]:
    found: dict[str, object] = {"run": lease.run, "hand": lease.hand + 1, "state": lease.state.value}
    if request in STOPS:
        found |= {"asked": lease.request.value or None, "done": lease.state is _STATES[request]}
    return found


def drain(args: ParsedArgs) -> int:
    if args.positional and args.has("all"):
        raise UsageError("name workers, or use --all")
    if args.positional or args.has("all"):
        check_outside_runs(PersonAct.DRAIN)
    every = args.has("all")
    fleet = open_existing_fleet(args) if args.positional else fleet_if_any(args, read_only=not every)
    workers = fleet.leases.workers() if fleet else []
    named = workers if every else [worker for word in args.positional for worker in _workers_named(workers, word)]
    drained = [worker for worker in dict.fromkeys(named) if fleet and fleet.leases.drain(worker.id)]
    if args.has("json"):
        put_data(workers=[_worker_data(worker, drained) for worker in workers])
    elif not args.positional and not every:
        for worker in workers:
            labels = f", labels {', '.join(map(printable, worker.labels))}" if worker.labels else ""
            draining = ", takes nothing more" if worker.request is LeaseRequest.DRAIN else ""
            seen = ago(now() - worker.seen)
            put(f"{printable(worker.id)}  {format_count(worker.slots, 'slot')}{labels}, seen {seen}{draining}")
        if not workers:
            put("There are no workers. To start one: tildone fleet work")
    else:
        for worker in drained:
            put(f"Worker {printable(worker.id)} takes nothing more, and ends when its runs have ended.")
        if not drained:
            put("There are no workers.")
    return 0


def _workers_named(workers: Sequence[WorkerInfo], word: str) -> list[WorkerInfo]:
    """Return the workers of a machine, or the worker whose id begins with the word."""
    found = [worker for worker in workers if worker.host == word]
    found = found or [worker for worker in workers if worker.id.startswith(word)]
    if not found:
        raise NotFound(f"there is no worker {printable(word)!r}; to list them: tildone fleet drain")
    return found


def _worker_data(worker: WorkerInfo, drained: Sequence[WorkerInfo]) -> dict[str, object]:
    return {
        "id": worker.id,
        "host": worker.host,
        "version": worker.version,
        "slots": worker.slots,
        "labels": list(worker.labels),
        "seen": timestamp(worker.seen),
        "draining": worker in drained or worker.request is LeaseRequest.DRAIN,
    }
