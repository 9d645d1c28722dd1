"""What a plan holds and answers: numbers, origins, states, files that tasks share, flat lists, commands as text."""

import itertools
import shlex
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.base import replace
from tildone.plan import faults
from tildone.plan.command_line import split_command, words_and_command
from tildone.plan.model import (
    Check,
    Phase,
    Plan,
    PlanProgress,
    Proof,
    Result,
    Rules,
    Status,
    Task,
    TaskInPhase,
    completed_in,
    conflicting,
    flat,
    globs_meet,
    held_back,
    in_the_way,
    may_conflict,
    newly_completed,
    next_task,
    numbered,
    open_tasks,
    progress,
    same_content,
    tasks_with_phase,
    waiting_tasks,
    with_imported_proofs,
    with_source,
    with_status,
)
from tildone.plan.ops import (
    Append,
    At,
    Mark,
    Move,
    Named,
    Note,
    Numbered,
    Op,
    Origin,
    Remove,
    Rename,
    SetCheck,
    Touch,
    Write,
    keep_origins,
)
from tildone.plan.rare_steps import arrange, keep_unseen, with_unseen, written
from tildone.plan.reduce import Outcome, Step, reduce
from tildone.plan.text.proofs import check_text

FREE = Rules()
ABC = reduce(Plan(), [Append((Task("a"), Task("b"), Task("c")))], FREE).after


def numbers(plan: Plan) -> dict[str, int]:
    return {task.text: task.number for task in plan.tasks}


def texts_by_phase(plan: Plan) -> list[list[str]]:
    return [[task.text for task in phase.tasks] for phase in plan.phases]


def after(plan: Plan, *steps: Step) -> Plan:
    outcome = reduce(plan, steps, FREE)
    assert outcome.faults == ()
    return outcome.after


def test_tasks_without_numbers_are_numbered_from_one_in_order() -> None:
    """Such plans come from older versions and from other programs. Numbering alone is no change."""
    assert numbers(ABC) == {"a": 1, "b": 2, "c": 3}
    assert ABC.last_number == 3

    plan = Plan((Phase("A", (Task("a"),)), Phase("B", (Task("b"),))))

    assert numbers(numbered(plan)) == {"a": 1, "b": 2}
    assert numbered(numbered(plan)) == numbered(plan)
    assert not reduce(plan, [], FREE).changed
    assert Plan(flat(*ABC.tasks).phases, 3) == ABC
    assert same_content(ABC, flat(Task("a"), Task("b"), Task("c")))
    assert not same_content(ABC, flat(Task("a"), Task("b")))
    assert not same_content(ABC, Plan((Phase("A", ABC.tasks),)))


def test_a_number_is_never_reused_and_unknown_ones_are_refused() -> None:
    """All of them are reported at once; 0 is not a number of any task."""
    shorter = after(ABC, Remove(Named("c")))
    longer = after(shorter, Append((Task("d"),)))

    assert numbers(longer) == {"a": 1, "b": 2, "d": 4}
    assert longer.last_number == 4

    outcome = reduce(ABC, [Mark(Numbered((1, 0, 9)), COMPLETED)], FREE)

    assert outcome.faults == (faults.NoSuchNumber((0, 9)),)
    assert not outcome.changed


def test_a_task_keeps_its_number_when_the_plan_is_rewritten_and_whatever_its_status() -> None:
    """Texts are matched in order, each number once."""
    doubled = after(ABC, Append((Task("a"),)))

    edited = after(doubled, Write((Phase("", (Task("c", COMPLETED), Task("a"), Task("a"), Task("a"), Task("new"))),)))

    assert [(task.text, task.number) for task in edited.tasks] == [("c", 3), ("a", 1), ("a", 4), ("a", 5), ("new", 6)]

    marked = after(
        ABC, Mark(Numbered((2,)), IN_PROGRESS), Note(Numbered((2,)), "why"), Mark(Numbered((2, 3)), COMPLETED)
    )

    assert marked.tasks == (Task("a", number=1), Task("b", COMPLETED, ("why",), 2), Task("c", COMPLETED, (), 3))

    plan = after(ABC, Remove(Numbered((1,))))

    changed = with_status(plan, {2}, Status.BLOCKED)

    assert [(task.number, task.status) for task in changed.tasks] == [(2, BLOCKED), (3, PENDING)]


@pytest.mark.parametrize(
    ("target", "before", "expected"),
    [
        ((3,), (1,), ["c", "a", "b"]),
        ((1,), (3,), ["b", "a", "c"]),
        ((1,), None, ["b", "c", "a"]),
        ((3, 1), (2,), ["c", "a", "b"]),
        ((2,), (2,), ["a", "b", "c"]),
        ((1, 1), None, ["b", "c", "a"]),
    ],
)
def test_tasks_move_in_front_of_another_or_to_the_end(
    target: tuple[int, ...], before: tuple[int, ...] | None, expected: list[str]
) -> None:
    """They keep the order in which they are selected. A move of a task to itself changes nothing."""
    moved = after(ABC, Move(Numbered(target), Numbered(before) if before else None))

    assert texts_by_phase(moved) == [expected]
    assert numbers(moved) == numbers(ABC)


def test_tasks_move_into_the_phase_of_their_destination_or_to_the_end_of_one() -> None:
    """A phase that is missing is created. A move of or to a missing task is refused."""
    plan = Plan((Phase("A", (Task("a"), Task("b"))), Phase("B", (Task("c"), Task("d")))))

    assert texts_by_phase(after(plan, Move(At((0,)), Named("d")))) == [["b"], ["c", "a", "d"]]
    assert texts_by_phase(after(plan, Move(At((3,)), At((0,))))) == [["d", "a", "b"], ["c"]]
    assert texts_by_phase(after(plan, Move(At((0,))))) == [["b"], ["c", "d", "a"]]

    plan = Plan((Phase("A", (Task("a"), Task("b"))), Phase("B", (Task("c"),))))

    assert texts_by_phase(after(plan, Move(At((0,)), phase="A"))) == [["b", "a"], ["c"]]
    assert texts_by_phase(after(plan, Move(At((2,)), phase="A"))) == [["a", "b", "c"], []]
    assert texts_by_phase(after(plan, Move(At((1,)), phase="A"))) == [["a", "b"], ["c"]]
    assert [phase.name for phase in after(plan, Move(At((0,)), phase="C")).phases] == ["A", "B", "C"]

    for step in (Move(Numbered((9,))), Move(Numbered((1,)), Numbered((9,))), Move(Named("x"))):
        assert reduce(ABC, [step], FREE).after == ABC
        assert len(reduce(ABC, [step], FREE).faults) == 1
    assert reduce(Plan(), [Move(Numbered(()))], FREE).after == Plan()


def test_a_renamed_task_keeps_the_rest_unless_the_rules_forbid_the_text() -> None:
    """A rename to the same text changes nothing and is not refused."""
    plan = after(ABC, Mark(Numbered((2,)), BLOCKED), Note(Numbered((2,)), "why"))

    renamed = after(plan, Rename(Numbered((2,)), "b, but better"))

    assert renamed.tasks == (Task("a", number=1), Task("b, but better", BLOCKED, ("why",), 2), Task("c", number=3))
    assert renamed.last_number == 3

    unique = Rules(unique_texts=True, max_text=5)

    assert reduce(ABC, [Rename(Numbered((2,)), "a")], unique).faults == (faults.DuplicateTask("a"),)
    assert reduce(ABC, [Rename(Numbered((2,)), "a" * 6)], unique).faults == (faults.TextTooLong(0, 5),)
    assert reduce(ABC, [Rename(Numbered((9,)), "x")], unique).faults == (faults.NoSuchNumber((9,)),)
    assert reduce(ABC, [Rename(Numbered((2,)), "b")], unique) == Outcome(ABC, ABC)
    assert numbers(after(ABC, Rename(Numbered((2,)), "a"))) == {"a": 2, "c": 3}


@pytest.mark.parametrize(("status", "clears"), [(COMPLETED, True), (PENDING, False), (BLOCKED, False)])
def test_clear_finished_clears_a_plan_without_open_tasks(status: Status, clears: bool) -> None:  # noqa: FBT001  a parameter of the test
    """Numbers continue."""
    plan = after(ABC, Mark(Numbered((1, 2)), COMPLETED), Mark(Numbered((3,)), status))

    cleared = after(plan, Append((Task("d"),), clear_finished=True))
    added = after(plan, Append((Task("d"),)))

    assert numbers(cleared) == ({"d": 4} if clears else numbers(added))
    assert numbers(added) == {"a": 1, "b": 2, "c": 3, "d": 4}


@given(plans.plans, plans.steps)
def test_numbers_stay_unique_and_stable_under_any_steps(plan: Plan, steps: list[Step]) -> None:
    """No number exceeds `last_number`."""
    first = reduce(plan, [], FREE).after
    later = reduce(first, steps, Rules(atomic=False)).after

    given_numbers = [task.number for task in later.tasks]
    assert len(set(given_numbers)) == len(given_numbers)
    assert all(0 < number <= later.last_number for number in given_numbers)
    assert later.last_number >= first.last_number
    if not any(isinstance(step, Rename) for step in steps):
        by_number = {task.number: task.text for task in first.tasks}
        assert all(by_number[task.number] == task.text for task in later.tasks if task.number in by_number)


def origins(plan: Plan) -> dict[str, bool]:
    return {task.text: task.from_user for task in plan.tasks}


def sources(plan: Plan) -> dict[str, str]:
    return {task.text: task.source for task in plan.tasks}


def test_a_task_keeps_the_origin_that_it_was_added_with() -> None:
    """Whoever renames it; a list that is written anew keeps those of equal texts, each once."""
    before = flat(Task("a", number=1))
    after = flat(Task("a", number=1), Task("b", number=2))

    assert origins(keep_origins(before, after, Origin(by_user=True))) == {"a": False, "b": True}
    assert origins(keep_origins(before, after, Origin())) == {"a": False, "b": False}

    before = flat(Task("a", number=1, from_user=True), Task("b", number=2))
    after = flat(Task("x", number=1), Task("y", number=2))

    for by_user in (True, False):
        assert origins(keep_origins(before, after, Origin(by_user))) == {"x": True, "y": False}

    before = flat(Task("a", from_user=True), Task("b"))
    after = flat(Task("b"), Task("a"), Task("a"))

    kept = keep_origins(before, after, Origin())

    assert [task.from_user for task in kept.tasks] == [False, True, False]


def test_a_task_belongs_to_the_agent_that_added_or_changed_it() -> None:
    """Notes do not count. A task that an agent writes anew is its own; one that a person changes is nobody's."""
    before = flat(*(Task(text, number=number, owner="a") for number, text in enumerate("vwxyz", 1)))
    v, w, x, y, z = before.tasks
    changed = flat(v, replace(w, notes=("n",)), replace(x, status=Status.COMPLETED), replace(y, text="!"), Task("new"))

    def owners(after: Plan, who: Origin) -> str:
        return " ".join(task.owner or "-" for task in keep_origins(before, after, who).tasks)

    assert owners(changed, Origin(agent="b")) == "a a b b b"
    assert owners(changed, Origin(by_user=True)) == "a a - - -"
    assert owners(flat(Task("v"), z), Origin(agent="b")) == "b a"
    assert owners(flat(Task("v"), z), Origin(by_user=True)) == "a a"


def test_new_tasks_have_a_source_and_keep_it_with_their_text() -> None:
    """A task with a source of its own is not from the user, even if a person imports it. No origin is a difference."""
    here = Origin(by_user=True, source="Ada")
    before = keep_origins(Plan(), flat(Task("a", number=1), Task("b", number=2, source="the file x")), here)
    after = flat(Task("a", number=1), Task("changed", number=2), Task("new", number=3))

    assert sources(before) == {"a": "Ada", "b": "the file x"}
    assert origins(before) == {"a": True, "b": False}
    assert sources(keep_origins(before, after, Origin(source="Bob"))) == {"a": "Ada", "changed": "Bob", "new": "Bob"}
    assert sources(keep_origins(before, after, Origin())) == {"a": "Ada", "changed": "", "new": ""}

    plan = Plan((Phase("one", (Task("a"),)), Phase("two", (Task("b", source="x"),))))

    assert sources(with_source(plan, "y")) == {"a": "y", "b": "x"}
    assert Task("a") == Task("a", from_user=True, source="x")
    assert hash(Task("a")) == hash(Task("a", from_user=True))


@given(plans.plans, st.lists(plans.ops, max_size=6), st.booleans())
def test_only_the_origins_change(plan: Plan, program: list[Op], by_user: bool) -> None:  # noqa: FBT001  drawn
    after = reduce(plan, program, Rules()).after

    kept = keep_origins(plan, after, Origin(by_user))

    assert kept == after
    assert keep_origins(kept, kept, Origin(by_user)) == kept
    if not by_user:
        assert not any(task.from_user for task in kept.tasks)


def test_the_proofs_of_a_file_are_marked_as_imported() -> None:
    proof = Proof(Result.PASSED, ("make",))
    plan = replace(flat(Task("a", proof=proof), Task("b")), proof=proof)

    marked = with_imported_proofs(plan)

    assert [task.proof for task in marked.tasks] == [replace(proof, imported=True), None]
    assert marked.proof == replace(proof, imported=True)
    assert marked.proof != proof
    assert with_imported_proofs(flat(Task("b"))) == flat(Task("b"))


MIXED = flat(Task("a", COMPLETED), Task("b"), Task("c", IN_PROGRESS), Task("d", ABANDONED))


def test_a_plan_tells_its_progress_its_open_tasks_and_the_next_one() -> None:
    """Abandoned tasks count as closed; positions count over the whole plan; an empty plan is not finished."""
    assert progress(MIXED) == PlanProgress(2, 4)
    assert not progress(Plan()).finished
    assert not progress(MIXED).finished
    assert progress(flat(Task("a", ABANDONED))).finished
    assert open_tasks(MIXED) == [(1, Task("b")), (2, Task("c", IN_PROGRESS))]
    assert next_task(MIXED) == (2, Task("c", IN_PROGRESS))
    assert next_task(plan_of("a", "b")) == (0, Task("a", number=1))
    assert next_task(flat(Task("a", COMPLETED))) is None


def test_tasks_are_listed_with_their_phases_and_those_that_are_newly_completed() -> None:
    """Tasks that are added as completed do not count."""
    plan = Plan((Phase("A", (Task("a"),)), Phase("B"), Phase("C", (Task("c"),))))

    assert tasks_with_phase(plan) == [TaskInPhase("A", Task("a")), TaskInPhase("C", Task("c"))]

    before = flat(Task("a"), Task("b", COMPLETED), Task("c", ABANDONED))
    after = flat(*(Task(text, COMPLETED) for text in "abcd"))

    assert [found.task.text for found in newly_completed(before, after)] == ["a", "c"]


PLAN = Plan(
    (
        Phase("One", (Task("a", notes=("why",), number=1), Task("b", number=2))),
        Phase("Empty"),
        Phase("Two", (Task("c", number=3),)),
    ),
    3,
)


def test_a_list_is_arranged_in_the_phases_of_the_plan() -> None:
    """A new task is in the phase of the one before it; a phase that loses its tasks is dropped."""
    arranged = arrange(PLAN, [Task("c", Status.COMPLETED), Task("a", Status.IN_PROGRESS), Task("b")])

    assert arranged.phases == (
        Phase("One", (Task("a", Status.IN_PROGRESS, ("why",), 1), Task("b", number=2))),
        Phase("Empty"),
        Phase("Two", (Task("c", Status.COMPLETED, number=3),)),
    )

    arranged = arrange(PLAN, [Task("first"), Task("c"), Task("last")])

    assert [(phase.name, [task.text for task in phase.tasks]) for phase in arranged.phases] == [
        ("One", ["first"]),
        ("Empty", []),
        ("Two", ["c", "last"]),
    ]
    assert [phase.name for phase in arrange(PLAN, [Task("c")]).phases] == ["Empty", "Two"]

    plan = Plan((Phase("One", (Task("a", number=1),)), Phase("Two", (Task("a", number=2),))))

    arranged = arrange(plan, [Task("a", Status.COMPLETED), Task("a"), Task("a")])

    assert [[task.number for task in phase.tasks] for phase in arranged.phases] == [[1], [2, 0]]
    assert arrange(Plan(), [Task("a")]) == flat(Task("a"))


def test_only_tasks_that_the_author_did_not_know_are_kept_in_their_phases() -> None:
    known = Plan((Phase("One", (Task("a"), Task("b"))),))
    wanted = Plan((Phase("One", (Task("b"),)),))

    kept = with_unseen(Plan((Phase("One", (*known.tasks, Task("new"))), Phase("Two", (Task("c"),)))), known, wanted)

    assert kept.phases == (Phase("One", (Task("b"), Task("new"))), Phase("Two", (Task("c"),)))
    assert with_unseen(PLAN, PLAN, flat(Task("a"))) == flat(Task("a"))

    known = flat(Task("a"))
    mark = Mark(Numbered((1,)), Status.COMPLETED)

    steps = keep_unseen(lambda _: [Write(flat(Task("b")).phases), mark], known)(flat(Task("a"), Task("added")))

    assert steps == [Write(flat(Task("b"), Task("added")).phases), mark]


def test_a_plan_from_elsewhere_brings_its_own_check_if_it_has_one() -> None:
    check = Check(("make",))

    assert written(PLAN) == (Write(PLAN.phases),)
    assert written(replace(PLAN, check=check)) == (Write(PLAN.phases), SetCheck(None, check))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pytest -q  tests/parser", ("pytest", "-q", "tests/parser")),
        ("make 'a b' \"c 'd'\" e\\ f ''", ("make", "a b", "c 'd'", "e f", "")),
        (r'grep "a\"b\\c\d" x', ("grep", 'a"b\\c\\d', "x")),
        ("sh -c 'make && ruff check | cat'", ("sh", "-c", "make && ruff check | cat")),
        ('a"b"c', ("abc",)),
        ("env A=1 make", ("env", "A=1", "make")),
        ("a\\", ("a\\",)),
        ("  ", ()),
        ("'\r' b\r", ("\r", "b")),
    ],
)
def test_a_command_is_split_as_in_a_shell(text: str, words: tuple[str, ...]) -> None:
    assert split_command(text) == words


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("make 'a", "not closed"),
        ('make "a\\"', "not closed"),
        ("make && ruff", "&& needs a shell"),
        ("a|b", "| needs a shell"),
        ("make > log", "> needs a shell"),
        ("echo $(date)", "needs a shell"),
        ("CI=1 make", "env CI=1 …"),
    ],
)
def test_a_command_for_a_shell_is_refused(text: str, problem: str) -> None:
    """It would be run without one, and mean something else."""
    with pytest.raises(ValueError, match=problem.replace("|", r"\|").replace("$", r"\$")):
        split_command(text)


@given(
    st.lists(st.text(max_size=6) | st.text(st.sampled_from(" \t\r\n'\"\\$#a")), min_size=1, max_size=4).filter(
        lambda words: "=" not in words[0]
    )
)
def test_the_text_of_a_command_is_split_into_its_words(words: list[str]) -> None:
    text = check_text(Check(tuple(words)))

    assert split_command(text) == tuple(words)


@given(st.text(st.sampled_from("ab'\"\\ ")))
def test_quotations_are_read_as_python_reads_them(text: str) -> None:
    try:
        expected = tuple(shlex.split(text))
    except ValueError:
        return

    assert split_command(text) == expected


LETTERS = "ab"
WORDS = ["".join(word) for length in range(7) for word in itertools.product(LETTERS, repeat=length)]
small_globs = st.text(st.sampled_from("ab*?"), max_size=4)


@given(small_globs, small_globs)
def test_globs_meet_if_a_text_matches_both(one: str, other: str) -> None:
    """Two globs of at most 4 characters that meet do so in at most 6 letters: each star stands for 2 at most."""
    expected = any(fnmatchcase(word, one) and fnmatchcase(word, other) for word in WORDS)

    assert globs_meet(one, other) is expected
    assert globs_meet(other, one) is expected


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [("[ab]", "b", True), ("[]]x", "]x", True), ("[", "[", True), ("[a", "b", False), ("a[!b]c", "abbc", False)],
)
def test_a_set_stands_for_any_one_character(one: str, other: str, meet: bool) -> None:  # noqa: FBT001  of a table
    assert globs_meet(one, other) is meet


def test_a_folder_stands_for_everything_in_it() -> None:
    assert may_conflict(["src/"], ["src/a/b.py"])
    assert may_conflict(["src"], ["src/*.py"])
    assert not may_conflict(["src"], ["srcs/a.py", "docs"])
    assert not may_conflict([], ["src"])


def test_started_tasks_conflict_with_open_ones_that_may_change_the_same_files() -> None:
    steps: list[Step] = [
        Touch(Numbered((1, 2)), ("src/*",)),
        Touch(Numbered((3, 5)), ("src/a.py",)),
        Mark(Numbered((1, 5)), IN_PROGRESS),
        Mark(Numbered((2,)), COMPLETED),
    ]
    plan = reduce(plan_of("a", "b", "c", "d", "e"), steps, Rules()).after

    assert conflicting(plan, plan.tasks[2], [1, 2, 3]) == (1,)
    assert conflicting(plan, plan.tasks[2], [2, 3]) == ()
    assert conflicting(plan, plan.tasks[3], [1, 5]) == ()

    steps = [Touch(Numbered((1, 2)), ("src/**",)), Mark(Numbered((1,)), IN_PROGRESS)]
    plan = reduce(plan_of("parser", "names", "docs"), steps, Rules()).after
    parser, names, docs = plan.tasks

    assert (in_the_way(plan, parser), in_the_way(plan, names), in_the_way(plan, docs)) == ((), (1,), ())
    done = reduce(plan, [Mark(Numbered((2,)), COMPLETED)], Rules()).after
    assert in_the_way(done, done.tasks[1]) == ()


def test_open_tasks_wait_for_the_open_ones_among_those_they_come_after() -> None:
    waits, blocked = Task("c", number=3, after=(1, 2, 9)), Task("d", BLOCKED, number=4, after=(2,))
    plan = flat(
        Task("a", COMPLETED, number=1),
        Task("b", number=2),
        waits,
        blocked,
        Task("e", number=5, after=(1,)),
        Task("f", ABANDONED, number=6, after=(2,)),
    )

    assert waiting_tasks(plan) == [(waits, (2,)), (blocked, (2,))]


def test_statuses_have_unique_facts_and_their_place_among_four_basic_ones() -> None:
    """Only open tasks are actionable, of which a blocked one is none."""
    for facts in ([status.value for status in Status], [s.icon for s in Status], [s.checkbox for s in Status]):
        assert len(set(facts)) == len(Status)
    verbs = [status.verb for status in Status if status.verb]
    assert len(set(verbs)) == len(verbs)
    assert [Status(status.value) for status in Status] == list(Status)
    assert all(status.is_open for status in Status if status.is_actionable)
    assert not Status.BLOCKED.is_actionable
    assert {status.basic.value for status in Status} == {"pending", "in_progress", "completed", "abandoned"}
    assert Status.BLOCKED.basic is Status.PENDING


def test_a_task_that_waits_holds_those_after_it_in_its_phase_unless_they_say_what_they_come_after() -> None:
    first = (Task("a", BLOCKED), Task("b"), Task("c", COMPLETED), Task("d", after=(6,)), Task("e", IN_PROGRESS))
    plan = numbered(Plan((Phase("One", first), Phase("Two", (Task("f"), Task("g"))))))

    assert held_back(plan) == {2, 5}
    assert held_back(plan, {6}) == {2, 5, 7}
    assert held_back(numbered(plan_of("a", "b"))) == frozenset()


def test_which_tasks_are_done() -> None:
    assert completed_in(numbered(flat(Task("a", COMPLETED), Task("b", ABANDONED), Task("c")))) == {1}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Test: `make test`", ("Test", "make test")),
        ("`make`", ("", "make")),
        ("Call ``echo `date` ``", ("Call", "echo `date`")),
        ("No command `here` it goes on", ("No command `here` it goes on", "")),
    ],
)
def test_the_command_with_which_a_text_ends(text: str, found: tuple[str, str]) -> None:
    assert words_and_command(text) == found
