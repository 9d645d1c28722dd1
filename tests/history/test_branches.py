"""The branches of a session, and their lines on a terminal."""

from tests.plans import COMPLETED
from tests.plans import unnumbered_plan_of as plan_of
from tildone.plan.events import Actor, Directive, DirectiveSet, Event, Fact, Labelled, Nudged, PlanChanged
from tildone.plan.history.branches import Branch, branch_lines, branches
from tildone.plan.model import PlanProgress, Task, flat
from tildone.plan.text.styles import display_width, plain


def event(name: str, parent: str | None, fact: Fact) -> Event:
    return Event(name, parent, ord(name[0]) - ord("a"), Actor.USER, fact)


def changed(*texts: str) -> PlanChanged:
    return PlanChanged(plan_of(*texts))


EVENTS = [
    event("a", None, changed("one")),
    event("b", "a", changed("one", "two")),
    event("c", "b", PlanChanged(flat(Task("one", COMPLETED), Task("two")))),
    event("d", "c", Labelled("b", "first-try")),
    event("e", "d", Nudged(1, 1)),
    event("f", "a", changed("one", "three")),
    event("g", "f", Labelled("f", "fix")),
]


def shown(events: list[Event], head: str | None, columns: int | None = None) -> list[str]:
    ids = [event.id for event in events]
    return [plain(line) for line in branch_lines(branches(events, head), ids, "t{}".format, columns)]


def test_a_branch_shows_its_end_and_its_changes_since_the_fork() -> None:
    """The current branch comes first. Its nearest label is shown with the number of changes since."""
    assert shown(EVENTS, "g") == [
        "* f  t5  user  0/2  fix",
        "· c  t2  user  1/2  first-try+1",
        "    from a:",
        "      added “two”",
        "      completed “one”",
    ]


def test_the_current_branch_ends_at_the_head() -> None:
    """Undone changes are a branch that continues from there."""
    assert shown(EVENTS[:5], "b") == [
        "* b  t1  user  0/2  first-try",
        "· c  t2  user  1/2",
        "    goes on from here:",
        "      completed “one”",
    ]


def test_a_label_or_directive_set_after_an_undo_does_not_fork_the_branch() -> None:
    """The other branch continues from the current plan."""
    events = [*EVENTS[:2], event("x", "a", Labelled("a", "back")), event("y", "x", DirectiveSet(Directive.PAUSE))]

    assert shown(events, "y") == [
        "* a  t0  user  0/1  back",
        "· b  t1  user  0/2",
        "    goes on from here:",
        "      added “two”",
    ]


def test_events_that_do_not_change_the_plan_make_no_branch() -> None:
    """Neither labels nor nudges nor directives do."""
    events = [
        *EVENTS[:2],
        event("x", "a", Nudged(1, 1)),
        event("y", "b", Labelled("a", "v1")),
        event("z", "b", changed("two")),
        event("q", None, DirectiveSet(Directive.STOP)),
    ]

    assert [branch.end and branch.end.id for branch in branches(events, "z")] == ["z"]
    assert [branch.end and branch.end.id for branch in branches(events, "x")] == ["a", "z"]


def test_before_the_first_change_there_is_a_branch_without_an_end() -> None:
    """All branches continue from it; branches without a common event fork at the root."""
    events = [event("a", None, changed("one")), event("b", None, changed("two"))]

    assert shown(events, None) == [
        "* root  0/0",
        "· b  t1  user  0/1",
        "    goes on from here:",
        "      added “two”",
        "· a  t0  user  0/1",
        "    goes on from here:",
        "      added “one”",
    ]
    assert shown(events, "a")[1:3] == ["· b  t1  user  0/1", "    from root:"]
    assert branches([], None) == [Branch(None, PlanProgress(0, 0), current=True)]


def test_a_branch_that_returned_to_the_same_plan_says_so() -> None:
    events = [*EVENTS[:2], event("c", "b", changed("one")), event("z", "a", changed("z"))]

    assert shown(events, "z")[2:] == ["    from a:", "      left the plan as it was"]


def test_the_changes_of_a_branch_are_limited() -> None:
    """The others are counted."""
    plan = flat(Task("a", COMPLETED, ("x",)), Task("b", COMPLETED, ("y",)), Task("c"))
    events = [event("a", None, changed("old")), event("b", "a", PlanChanged(plan)), event("c", "a", changed())]

    assert shown(events, "c")[-1] == "      and 4 more"


def test_labels_are_sanitized_and_lines_fit_the_terminal() -> None:
    """On a narrow terminal, the label is on a line of its own."""
    events = [*EVENTS[:5], event("h", "e", Labelled("c", "日本\x1b[2J\n" * 9)), *EVENTS[5:]]

    for columns in range(100):
        lines = shown(events, "g", columns)
        assert all(display_width(line) <= columns for line in lines)
        assert not any("\n" in line or "\x1b" in line for line in lines)
    assert shown(EVENTS, "g", 30)[:2] == ["* f  t5  user  0/2", "  fix"]
