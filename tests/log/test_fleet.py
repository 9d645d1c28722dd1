"""The rules of leases, the facts about runs, the names that runs may have, and when schedules are due."""

import os
from contextlib import nullcontext
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import plan_of
from tildone.base import UsageError, replace
from tildone.log.cron import next_time, parse_cron
from tildone.log.lease_rules import (
    Moment,
    Step,
    admitted,
    closed,
    leases_in,
    resumed,
    stop_requested,
    why_lapsed,
    without_delay,
)
from tildone.log.settings import MINUTE_MS, FleetSettings, checked_settings, request_at
from tildone.plan.codec import decode, encode
from tildone.plan.events import Actor, Author, Event, Nudged, PlanChanged, latest_state
from tildone.plan.history.stats import session_stats
from tildone.plan.history.timeline import row_data, timeline
from tildone.plan.lists import RunGroup, RunSchedule, WorkerInfo, group_of
from tildone.plan.names import (
    FileName,
    branch_of,
    check_text,
    is_address,
    is_commit,
    is_ref,
    is_repository,
    provider_family,
    repository_key,
)
from tildone.plan.runs import (
    AgentEnded,
    Answered,
    Asked,
    CommandRefused,
    Kept,
    Lease,
    LeaseRequest,
    LeaseState,
    NewRun,
    Published,
    RunEnded,
    RunFact,
    RunFence,
    RunLost,
    RunQueued,
    RunReleased,
    RunTaken,
    Work,
    WorkOutcome,
    check_work,
    checked_run,
    fence_in,
    is_of,
)
from tildone.plan.text.safe import printable
from tildone.plan.text.views_runs import describe_run_fact
from tildone.stores.summary import summarize

HELD = Lease("r1", 0, "plan", owner="here/7/ab/1", until=100, boot="b1/ns1")


def why(lease: Lease = HELD, at: Moment = Moment(100, 0, "b1/ns1"), here: str = "here", *, by_time: bool = True) -> str:  # noqa: B008  frozen
    return why_lapsed(lease, at, here, lambda pid: pid != 7, by_time=by_time)


@pytest.mark.parametrize(
    ("at", "here", "reason"),
    [
        (Moment(1, 0, "b1/ns1"), "here", "its worker has ended"),
        (Moment(1, 0, "b2/ns1"), "here", "its machine has been restarted"),
        (Moment(1, 0, "b1/ns2"), "here", ""),
        (Moment(1, 0, "b1/ns1"), "there", ""),
        (Moment(100, 0, "b1/ns1"), "there", ""),
        (Moment(101, 0, "b1/ns1"), "there", "its lease has lapsed"),
    ],
)
def test_why_a_lease_has_lapsed(at: Moment, here: str, reason: str) -> None:
    """The process of an owner is looked up only on its own machine, in its own namespace."""
    assert why(at=at, here=here) == reason


def test_a_lease_whose_process_has_ended_lapses_at_once_and_a_queued_one_does_not() -> None:
    assert why(by_time=False) == "its worker has ended"
    assert why(at=Moment(10**6, 0, "b1/ns1"), here="there", by_time=False) == ""
    assert why(Lease("r1", 0, "plan"), Moment(10**9, 0, "b2/ns1")) == ""


def test_a_fence_is_read_from_the_environment_and_another_text_is_none() -> None:
    """Nothing is written without a fence by mistake."""
    for fence in (RunFence("r1", 0, 1), RunFence("a.b-c_9", 63, 10**12)):
        assert fence_in(str(fence)) == fence
    for text in ("r1", "r1/0", "/0/1", "r1/0/1/2", "r1/x/1", "r1/0/-1", "r1/0/", "r1/0/1 ", "r1/0/٣"):
        with pytest.raises(UsageError, match="not of the form run/hand/epoch"):
            fence_in(text)


FIFTY_ONE = ("x",) * 51
NO_PLACES = ("ext::sh -c x", "ext://x", "-x", "-oProxyCommand=x@host:a", "../../x", "x", "fd::7", "a\0b", "/a\nb")
WITH_PASSWORD = (
    "https://ada:secret@example.org/app",
    "https://token@example.org/app",
    "HTTP://token@example.org/app",
    "ssh://git:secret@example.org/app",
    "ssh://a:b@c@example.org/app",
)


@pytest.mark.parametrize(
    ("run", "why"),
    [
        *((NewRun("r1", "plan", Work(repo)), "contains a user or a password") for repo in WITH_PASSWORD),
        *((NewRun("r1", "plan", Work(labels=(text,))), None) for text in ("a\0", "half \ud83d", "a\nb", "x" * 1001)),
        *(
            (NewRun("r1", "plan", work), "at most 50 labels")
            for work in (Work(labels=FIFTY_ONE), Work(allow=FIFTY_ONE))
        ),
        *((NewRun("r1", "plan", hands=hands), "1 to 64 hands") for hands in (0, 65)),
    ],
)
def test_a_run_has_no_password_and_a_limited_number_of_texts_that_can_be_printed(run: NewRun, why: str | None) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        checked_run(run)

    assert "secret" not in str(refused.value)
    if why is None:
        with pytest.raises(UsageError):
            check_text(run.work.labels[0])


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        (FleetSettings(), ""),
        (FleetSettings(lease=50_000), "is too short"),
        (FleetSettings(lease=50_001), ""),
        (FleetSettings(reaper=0), "must be positive"),
        (FleetSettings(margin=-1), "`margin` of a fleet"),
        (FleetSettings(engine="other"), "the engine of a fleet is table or dbos, not 'other'"),
        (FleetSettings(engine="dbos"), ""),
    ],
)
def test_a_worker_that_misses_one_renewal_keeps_its_leases(settings: FleetSettings, refused: str) -> None:
    """An agent may run until the margin before the end of its lease, by the time before the renewal."""
    with pytest.raises(UsageError, match=refused) if refused else nullcontext():
        assert checked_settings(settings) == settings
    assert FleetSettings(lease=60_000, margin=5_000).deadline_after(100.0) == 155.0


def test_only_an_attempt_that_waits_is_hastened() -> None:
    waiting = Lease("r1", 0, "plan", attempt=3, not_before=9)

    assert without_delay(waiting, 8) == Lease("r1", 0, "plan", attempt=3)
    assert without_delay(waiting, 9) is None
    assert without_delay(replace(waiting, fails=1), 8) is None
    assert without_delay(replace(HELD, not_before=9), 8) is None


def test_a_failed_attempt_is_repeated_later_and_later_unless_a_person_has_asked_for_its_end() -> None:
    delays = [20_000, 40_000, 80_000, 160_000, 320_000, 640_000, 900_000, 900_000]
    for fails, delay in enumerate(delays):
        step = closed(replace(HELD, fails=fails), HELD.fence, WorkOutcome.RETRY, "exit 1", 5)

        assert step is not None
        assert (step.lease.state, step.lease.fails, step.lease.not_before) == (LeaseState.OPEN, fails + 1, delay + 5)
    for ask in (LeaseRequest.CANCEL, LeaseRequest.CANCEL_NOW):
        step = closed(replace(HELD, request=ask), HELD.fence, WorkOutcome.RETRY, "exit 1", 5)

        assert step is not None
        assert step.facts == (RunEnded("r1", 0, HELD.epoch + 1, LeaseState.CANCELLED, "exit 1", 1),)


def test_the_end_of_a_run_has_what_was_published() -> None:
    made = Published("c0ffee", "ba5e", 3, 20, 4)

    step = closed(HELD, HELD.fence, WorkOutcome.DONE, "", 5, made)

    assert step is not None
    assert step.facts == (RunEnded("r1", 0, HELD.epoch, LeaseState.DONE, "", 0, "c0ffee", "ba5e", 3, 20, 4),)


def test_a_run_that_has_failed_is_given_up_when_its_end_is_asked_for() -> None:
    failed = Lease("r1", 0, "plan", state=LeaseState.FAILED, epoch=4, fails=1)

    step = stop_requested(failed, LeaseRequest.CANCEL, "cancelled by Ada", 9)

    assert step.lease == replace(failed, state=LeaseState.CANCELLED, epoch=5, since=9)
    assert step.facts == (RunEnded("r1", 0, 5, LeaseState.CANCELLED, "cancelled by Ada", 1),)
    assert stop_requested(failed, LeaseRequest.PAUSE, "", 9) == Step(failed)


def test_a_run_with_an_open_question_waits_for_its_answer_also_after_a_pause() -> None:
    paused = Lease("r1", 0, "plan", state=LeaseState.PAUSED, epoch=4, attempt=2, questions=("q1",))

    waiting = resumed(paused, 9)

    assert waiting.lease == replace(paused, state=LeaseState.WAITING, epoch=5, since=9)
    assert waiting.facts == (RunReleased("r1", 0, 5, LeaseState.WAITING, "resumed"),)
    assert resumed(waiting.lease, 10) == Step(waiting.lease)


@given(st.integers(1, 200), st.lists(st.integers(0, 5_000), max_size=300))
def test_no_minute_has_more_requests_than_allowed(per_minute: int, pauses: list[int]) -> None:
    now, earliest, taken = 10**12, 0, []
    for pause in pauses:
        now += pause
        earliest, wait = request_at(earliest, now, per_minute)
        if not wait:
            taken.append(now)
        else:
            assert request_at(earliest, now + wait, per_minute)[1] == 0
    for number, first in enumerate(taken):
        assert sum(at < first + MINUTE_MS for at in taken[number:]) <= per_minute


@given(st.integers(1, 200))
def test_who_waits_as_told_gets_nearly_all_requests(per_minute: int) -> None:
    now, earliest, taken = 10**12, 0, 0
    while now < 10**12 + 10 * MINUTE_MS:
        earliest, wait = request_at(earliest, now, per_minute)
        taken += not wait
        now += wait
    assert taken >= 8 * per_minute


def wanted(run: str, repo: str = "", provider: str = "", *, hand: int = 0) -> Lease:
    return Lease(run, hand, f"plan of {run}", Work(repo, provider))


def test_leases_are_admitted_in_their_order_as_far_as_limits_permit() -> None:
    """What is admitted counts for what follows, and what is not admitted does not."""
    asked = [("/app",), ("/app",), ("/lib", "p"), ("", "p"), ("/doc", "p"), ("/doc",), ("", "q"), ()]
    leases = [wanted(f"r{number}", *work) for number, work in enumerate(asked, 1)]
    leases.insert(2, wanted("r1", "/app", hand=1))
    found = admitted(leases, {"p": 2}, {"/app": [], "/lib": ["r3"], "/doc": []})
    assert [f"{lease.run}/{lease.hand}" for lease in found] == ["r1/0", "r1/1", "r3/0", "r4/0", "r6/0", "r7/0", "r8/0"]


def test_nothing_is_admitted_where_another_run_works_or_nobody_has_looked() -> None:
    assert admitted([wanted("r1", "/app")], {}, {"/app": ["r2"]}) == []
    assert admitted([wanted("r1", "/app")], {}, {}) == []
    assert admitted([wanted("r1", "", "p")], {"p": 0}, {}) == []


@pytest.mark.parametrize(("state", "owner"), [*((state, "") for state in LeaseState), (LeaseState.OPEN, "here/1/a/0")])
def test_a_lease_belongs_to_the_group_of_its_state(state: LeaseState, owner: str) -> None:
    group = RunGroup.QUEUED if state is LeaseState.OPEN else RunGroup[state.name]
    group = RunGroup.RUNNING if owner else group

    assert group_of(Lease("r", 0, "plan", state=state, owner=owner)) is group
    assert group.state is state
    assert group.is_held is (bool(owner) if state is LeaseState.OPEN else None)


QUEUED = RunQueued("r1", 0, 0, 1, Work("/app"), not_before=7)
TAKEN = RunTaken("r1", 0, 1, "here/1/a/1")


def leases(*facts: RunFact) -> list[Lease]:
    """Return the leases after facts, each a millisecond after the one before."""
    return leases_in("plan", [Event(f"e{at}", None, at, Actor.TIMER, fact) for at, fact in enumerate(facts, 1)])


def test_a_lost_run_is_queued_for_its_next_attempt() -> None:
    """A run that is retried has no questions and no losses."""
    lost = RunLost("r1", 0, 2, "its lease has lapsed", task=3, losses=2)

    assert leases(QUEUED, TAKEN, lost) == [
        Lease("r1", 0, "plan", Work("/app"), epoch=2, attempt=2, losses=2, task=3, not_before=7, made=1, since=3)
    ]

    asked, lost = Asked("r1", 0, "q1", "question", "Which?"), RunLost("r1", 0, 2, "", task=1, losses=5)
    ended, retried = RunEnded("r1", 0, 2, LeaseState.FAILED), RunQueued("r1", 0, 3, 3, Work("/app"), "retried")

    [lease] = leases(QUEUED, TAKEN, asked, lost, ended, retried)

    assert lease == Lease("r1", 0, "plan", Work("/app"), epoch=3, attempt=3, made=1, since=6)


def test_questions_are_open_until_they_are_answered() -> None:
    """One that was asked twice is one question."""
    asked = [Asked("r1", 0, question, "question", "Which?") for question in ("q1", "q2", "q1")]
    waiting = RunReleased("r1", 0, 2, LeaseState.WAITING, "")
    answers = [Answered("r1", 0, question, "this one") for question in ("q2", "q1")]

    [both] = leases(QUEUED, TAKEN, *asked, waiting)
    [one] = leases(QUEUED, TAKEN, *asked, waiting, answers[0])
    [none] = leases(QUEUED, TAKEN, *asked, waiting, *answers, RunQueued("r1", 0, 3, 2, Work("/app"), "answered"))

    assert (both.questions, both.state, both.attempt) == (("q2", "q1"), LeaseState.WAITING, 1)
    assert (one.questions, one.state) == (("q1",), LeaseState.WAITING)
    assert (none.questions, none.state, none.attempt, none.epoch) == ((), LeaseState.OPEN, 2, 3)


def test_what_a_log_tells_of_a_run_that_it_does_not_begin_is_ignored() -> None:
    """An imported log may be a part of another one."""
    assert leases(TAKEN, RunLost("r1", 0, 2, "")) == []
    assert [(lease.run, lease.hand) for lease in leases(RunQueued("r2", 1, 0, 1, Work()), TAKEN)] == [("r2", 1)]


def test_what_breaks_the_rules_of_leases_did_not_happen() -> None:
    """Somebody else has written it into the log."""
    no_names = [RunQueued(name, 0, 0, 1, Work()) for name in ("../../x", "/abs/victim", ["r1"])]  # type: ignore[arg-type]  # whatever a log has
    no_place = RunQueued("r2", 0, 0, 1, Work("ext::sh -c x"))
    no_epoch = RunTaken("r1", 0, -5, "here/1/a/1")

    assert leases(*no_names, no_place, QUEUED, no_epoch) == leases(*[TAKEN] * 4, QUEUED)


TEXTS = st.text(max_size=20) | st.sampled_from(
    ['"status":"pending"', '"fact":"plan_changed"', "half \ud83d", "\x1b[31m"]
)
NUMBERS = st.integers(0, 2**53)
STATES = st.sampled_from(LeaseState)
LISTS = st.lists(TEXTS, max_size=3).map(tuple)
WORKS = st.builds(Work, TEXTS, TEXTS, LISTS, NUMBERS, TEXTS, TEXTS, LISTS, TEXTS, NUMBERS)
FACTS = st.one_of(
    st.builds(RunQueued, TEXTS, NUMBERS, NUMBERS, NUMBERS, WORKS, TEXTS, NUMBERS),
    st.builds(RunTaken, TEXTS, NUMBERS, NUMBERS, TEXTS, TEXTS),
    st.builds(RunLost, TEXTS, NUMBERS, NUMBERS, TEXTS, NUMBERS, NUMBERS),
    st.builds(RunReleased, TEXTS, NUMBERS, NUMBERS, STATES, TEXTS, NUMBERS, NUMBERS, TEXTS),
    st.builds(RunEnded, TEXTS, NUMBERS, NUMBERS, STATES, TEXTS, NUMBERS),
    st.builds(Asked, TEXTS, NUMBERS, TEXTS, TEXTS, TEXTS),
    st.builds(Answered, TEXTS, NUMBERS, TEXTS, TEXTS, TEXTS),
    st.builds(Kept, TEXTS, NUMBERS, NUMBERS, TEXTS, TEXTS, NUMBERS),
    st.builds(CommandRefused, TEXTS, NUMBERS, TEXTS, TEXTS, TEXTS),
    st.builds(AgentEnded, TEXTS, NUMBERS),
)


def event_of(fact: RunFact, parent: str | None = "p") -> Event:
    return Event("e", parent, 7, Actor.TIMER, fact, Author("mara"))


@given(FACTS)
def test_every_fact_is_read_as_it_was_written(fact: RunFact) -> None:
    event = event_of(fact)

    text = encode(event)

    assert text.isascii()
    assert decode(text) == event


@given(FACTS)
def test_a_plan_is_the_same_after_a_fact_about_a_run(fact: RunFact) -> None:
    """Neither what an agent is held to changes nor what has counted so far."""
    first = Event("p", None, 1, Actor.AGENT, PlanChanged(plan_of("one"), drift=1))
    second = Event("n", "p", 2, Actor.TIMER, Nudged(1, 2))
    third = Event("e", "n", 7, Actor.TIMER, fact)

    before, after = latest_state([second, first]), latest_state([third, second, first])

    assert replace(after, head=before.head) == before
    assert after.head == "e"
    texts = [encode(third), encode(second), encode(first)]
    known, told = summarize("n", texts[1:]), summarize("e", texts)
    assert known is not None
    assert told is not None
    assert replace(told, head=known.head) == known


@given(FACTS)
def test_a_fact_about_a_run_has_one_harmless_line(fact: RunFact) -> None:
    first = Event("p", None, 1, Actor.AGENT, PlanChanged(plan_of("one")))
    events = [first, event_of(fact)]

    rows = timeline(events, "e", str)

    [text] = rows[-1].what
    assert printable(text) == text
    kinds = ["run_queued", "run_taken", "run_lost", "run_released", "run_ended", "asked", "answered", "kept"]
    assert row_data(events[1], rows[-1], str)["kind"] in [*kinds, "command_refused", "agent_ended"]
    assert session_stats(events, 10, {}) is not None


def test_the_words_of_facts() -> None:
    words: dict[RunFact, str] = {
        RunQueued("r1", 0, 0, 1, Work()): "queued run r1",
        RunQueued("r1", 1, 0, 1, Work(), "retried"): "retried run r1, hand 2",
        RunTaken("r1", 0, 1, "host/7/ab/1"): "took run r1, as worker host/7/ab",
        RunLost("r1", 0, 2, "its lease has lapsed"): "lost run r1: its lease has lapsed",
        RunReleased("r1", 0, 2, LeaseState.OPEN, "draining"): "gave back run r1: draining",
        RunReleased("r1", 0, 2, LeaseState.PAUSED, ""): "paused run r1",
        RunReleased("r1", 0, 2, LeaseState.WAITING, ""): "left, until there is an answer, run r1",
        RunEnded("r1", 0, 2, LeaseState.DONE): "finished run r1",
        RunEnded("r1", 0, 2, LeaseState.FAILED, "exit\n1"): "failed run r1: exit⏎1",
        Asked("r1", 0, "q", "question", "Which?"): "asked “Which?” in run r1",
        Answered("r1", 0, "q", "that"): "answered “that” to run r1",
        Kept("r1", 0, 1, "refs/x", "abcdef0123456789"): "kept the files of run r1 as abcdef012345 in refs/x",
        CommandRefused("r1", 1, "rm -rf /", "not allowed"): "was refused “rm -rf /” in run r1, hand 2: not allowed",
        AgentEnded("r1", 1): "ended in run r1, hand 2",
    }

    assert {fact: describe_run_fact(fact) for fact in words} == words


NO_NAMES = ("", ".", "..", "../../x", "/abs/victim", "a/b", "-x", ".a", "a..b", "a.", "x.lock", "a b", "a\0", "ü", 7)


def test_neither_a_file_nor_a_lease_nor_a_schedule_has_a_name_that_leads_elsewhere() -> None:
    for name in [*NO_NAMES, None, "x" * 65]:
        for make in (
            lambda: Lease(name, 0, "plan"),  # type: ignore[arg-type]  # noqa: B023  called at once
            lambda: RunSchedule(name, "0 3 * * *", "{}", 0),  # type: ignore[arg-type]  # noqa: B023  the same
            lambda: checked_run(NewRun(name, "plan")),  # type: ignore[arg-type]  # noqa: B023  the same
        ):
            with pytest.raises(UsageError, match="has 1 to 64 letters"):
                make()
    for name in [*NO_NAMES, None, "x" * 80]:
        with pytest.raises(UsageError, match="cannot be the name of a file"):
            FileName(name)  # type: ignore[arg-type]  # whatever a row has
    assert (FileName.of("r1", 0), FileName.of("r" * 64, 63)) == ("r1", f"{'r' * 64}.hand64")
    assert branch_of(FileName.of_hand("r1", 0)) == "tildone/r1.hand1"


@pytest.mark.parametrize(
    "changes",
    [
        *({"hand": hand} for hand in (-1, 64, "1", None)),
        *({"session": session} for session in ("", "a\0b", "x" * 5000, 7)),
        *({name: number} for name in ("epoch", "attempt", "fails", "losses", "task") for number in (-1, 2**31)),
        *({name: number} for name in ("until", "not_before", "made", "since") for number in (-1, 2**62, "now")),
        *({name: ("a\nb",)} for name in ("questions", "refused")),
        *({name: "a\nb"} for name in ("owner", "boot")),
    ],
    ids=str,
)
def test_a_lease_has_no_value_that_nobody_has_written(changes: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Lease(**{"run": "r1", "hand": 0, "session": "plan"} | changes)  # type: ignore[arg-type]  # as given


def test_what_git_and_agents_would_take_for_something_else_is_refused() -> None:
    """An option, a program to run, a place that depends on where the worker is."""
    for repo in NO_PLACES:
        with pytest.raises(UsageError):
            check_work(Work(repo=repo))
    for ref in ("-x", "--upload-pack=x", "a..b", "a b", "a:b", "@", "@{-1}", "a/.b", "/a", "a/", "a.lock", "a~x", "~1"):
        with pytest.raises(UsageError, match="cannot be a branch"):
            check_work(Work(ref=ref))
    for work in (Work(model="--yolo"), Work(priority=2**31), Work(protocol=-1), Work(model=7)):  # type: ignore[arg-type]  # whatever a row has
        with pytest.raises(UsageError):
            check_work(work)


def test_what_people_name_is_accepted() -> None:
    for repo in ("", "/src/app", "git@example.org:app", "ssh://git@example.org/app", "https://example.org/a@b:c"):
        assert checked_run(NewRun("r1", "plan", Work(repo))).work.repo == repo
    for repo in ("/a/b", "~/a", r"C:\a", r"\\host\a", "git@host:a", "ssh://git@host/a", "FILE:///a", "git://host/a"):
        check_work(Work(repo=repo))
    for ref in ("main", "v1.2", "feature/a-b_c", "HEAD~2", "main^", "1", "a@b", "0123abcd"):
        check_work(Work(ref=ref))


def test_a_commit_is_a_whole_id_and_an_address_differs_from_a_path() -> None:
    assert is_commit("0a" * 20)
    assert is_commit("0a" * 32)
    assert not any(map(is_commit, ("", "abc", "-x", "Z" * 40, "0A" * 20)))
    assert is_ref("refs/tildone/r1/3")

    assert list(map(is_address, ["https://a/b", "git@a:b", "/a/b", "a/b", "C:\\a", ""])) == [True, True, *[False] * 4]
    assert not is_repository("/a\0b")


def test_a_worker_and_the_last_run_of_a_schedule_are_checked() -> None:
    for changes in ({"id": "a\nb"}, {"pid": -1}, {"slots": 2**40}, {"seen": 2**62}, {"labels": (7,)}):
        with pytest.raises(UsageError):
            WorkerInfo(**{"id": "here/1/a"} | changes)
    with pytest.raises(UsageError):
        RunSchedule("nightly", "0 3 * * *", "{}", 0, last="../../x")


def test_names_of_a_provider_are_one() -> None:
    families = {
        "openai": ("openai", "openai-chat", "OpenAI-responses"),
        "google": ("google-gla", "gemini", "vertex-ai"),
        "bedrock": ("amazon-bedrock",),
        **{name: (name,) for name in ("z-ai", "openrouter", "")},
    }

    assert {family: {provider_family(name) for name in names} for family, names in families.items()} == {
        family: {family} for family in families
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://Example.org/a/b.git", "https://example.org/a/b/"),
        ("git@example.org:a/b.git", "ssh://git@example.org/a/b"),
        ("file:///srv/a", "/srv/a/"),
        ("FILE://localhost/srv/a", "/srv/./a"),
    ],
)
def test_a_repository_has_one_key_however_it_is_spelled(one: str, other: str) -> None:
    keys = [repository_key(name, os.path.normpath) for name in (one, other, "https://example.org/a/c")]

    assert keys[0] == keys[1] != keys[2]


BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: ZoneInfo | None = None) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone or UTC).timestamp()) * 1000


@pytest.mark.parametrize(
    ("cron", "after", "due"),
    [
        ("0 3 * * *", "2026-11-16 02:59", "2026-11-16 03:00"),
        ("0 3 * * *", "2026-11-16 03:00", "2026-11-17 03:00"),
        ("*/15 * * * *", "2026-11-16 03:01", "2026-11-16 03:15"),
        ("30 8-18/5 * * mon-fri", "2026-11-13 18:30", "2026-11-16 08:30"),
        ("0 0 1 jan,jul *", "2026-11-16 00:00", "2027-01-01 00:00"),
        ("0 0 29 2 *", "2026-11-16 00:00", "2028-02-29 00:00"),
        ("0 0 * * 7", "2026-11-16 00:00", "2026-11-22 00:00"),
        ("0 0 13 * 5", "2026-11-16 00:00", "2026-11-20 00:00"),
        ("0 0 */2 * 5", "2026-11-16 00:00", "2026-11-27 00:00"),
        ("5/20 * * * *", "2026-11-16 00:00", "2026-11-16 00:05"),
    ],
)
def test_the_next_time(cron: str, after: str, due: str) -> None:
    assert next_time(parse_cron(cron), at(after)) == at(due)


def test_a_time_is_due_once_when_clocks_change() -> None:
    dues = {
        "2026-03-28 12:00": "2026-03-29 03:30",  # 02:30 is left out
        "2026-10-24 12:00": "2026-10-25 02:30",  # 02:30 comes twice
        "2026-10-25 02:30": "2026-10-26 02:30",
    }
    for after, due in dues.items():
        assert next_time(parse_cron("30 2 * * *"), at(after, BERLIN), BERLIN) == at(due, BERLIN)


@given(st.integers(0, 59), st.integers(0, 23), st.integers(0, 4 * 10**12))
def test_the_next_time_is_within_a_day(minute: int, hour: int, after: int) -> None:
    due = next_time(parse_cron(f"{minute} {hour} * * *"), after)

    assert 0 < due - after <= 24 * 3_600_000
    assert datetime.fromtimestamp(due / 1000, UTC).strftime("%H:%M") == f"{hour:02}:{minute:02}"


def test_other_texts_and_a_time_that_never_comes_are_refused() -> None:
    for text in (
        *("", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *"),
        *("a * * * *", "*/0 * * * *", "1,,2 * * * *", "- * * * *", "1- * * * *", "٣ * * * *", "99999999999 * * * *"),
    ):
        with pytest.raises(UsageError):
            parse_cron(text)
    with pytest.raises(UsageError, match="no time that ever comes"):
        next_time(parse_cron("0 0 30 2 *"), 0)


def test_a_fact_is_of_the_hand_that_it_names() -> None:
    taken = RunTaken("r1", 1, 4, "here/7/ab/1")

    assert is_of(taken, replace(HELD, hand=1))
    assert not is_of(taken, HELD)
    assert not is_of(taken, replace(HELD, run="r2", hand=1))
