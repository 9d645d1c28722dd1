"""The brief dialect: interpretation of arguments, attributes of tasks, and replies."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import plan_of, session_on
from tildone.base import replace
from tildone.base.schema import schema_problems
from tildone.log.session import Session
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.dialects.brief import carry_on
from tildone.plan.dialects.brief.calls import OPS, interpret
from tildone.plan.events import Actor
from tildone.plan.model import Check, Phase, Proof, Result, Status, Task
from tildone.plan.ops import Append, Mark, Numbered, SetCheck, Write

ABC = {"add": ["a", "b", "c"]}

KEYS = [*OPS, "id", "op", "ops", "reason", "list", "before", "text", "x"]
PLAIN: list[dict[str, Any]] = [
    {"add": ["x"], "do": ""},
    {"add": ["x"], "do": "start 1"},
    {"do": "done 1-2\ndrop 3"},
    {"done": "1,2"},
    {"start": 1},
    {"done": 1},
    {"drop": 1},
    {"move": "1 2"},
    {"note": "1 t"},
    {"block": "1 w"},
    {"check": "1 make test"},
    {"after": "1 2"},
    {"touches": "1 src/*"},
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=8,
)


def with_abc() -> Session:
    session = session_on(dialect=BRIEF)
    assert session.call("todo", ABC).text == "1-3"
    return session


@pytest.mark.parametrize(
    ("arguments", "ops"),
    [
        ({"add": ["a", "b"]}, [["add", "a", "b"]]),
        ({"add": "a"}, [["add", "a"]]),
        ({"add": "- [ ] a\n2. b\n\n* c"}, [["add", "a", "b", "c"]]),
        ({"add": [{"text": "a"}, {"title": "b"}, 3]}, [["add", "a", "b", "3"]]),
        ({"start": 3}, [["start", 3]]),
        ({"done": [3, "4", "some text"]}, [["done", 3, 4, "some text"]]),
        ({"done": "3, #4 5"}, [["done", 3, 4, 5]]),
        ({"done": 3.0}, [["done", 3]]),
        ({"done": {"id": 3}}, [["done", 3]]),
        ({"done": [[3]]}, [["done", 3]]),
        ({"drop": 3, "start": 4}, [["drop", 3], ["start", 4]]),
        ({"move": "5 2"}, [["move", 5, 2]]),
        ({"move": "#5 before 2"}, [["move", 5, 2]]),
        ({"move": "5"}, [["move", 5, None]]),
        ({"move": 5}, [["move", 5, None]]),
        ({"move": [5, 2]}, [["move", 5, 2]]),
        ({"move": {"id": 5, "before": 2}}, [["move", 5, 2]]),
        ({"move": {"id": 5, "before": None}}, [["move", 5, None]]),
        ({"note": "3 why"}, [["note", 3, "why"]]),
        ({"note": "3: why\nnot"}, [["note", 3, "why\nnot"]]),
        ({"note": [3, "why"]}, [["note", 3, "why"]]),
        ({"note": ["3 why", "4 not"]}, [["note", 3, "why"], ["note", 4, "not"]]),
        ({"note": {"id": 3, "text": "why"}}, [["note", 3, "why"]]),
        ({"note": {"3": "why", "4": "not"}}, [["note", 3, "why"], ["note", 4, "not"]]),
        ({"note": {"task": "a task", "note": "why"}}, [["note", "a task", "why"]]),
        ({"block": "3 waits"}, [["block", 3, "waits"]]),
        ({"block": 3, "reason": "waits"}, [["block", 3, "waits"]]),
        ({"block": {"id": 3, "reason": "waits"}}, [["block", 3, "waits"]]),
        ({"block": [3], "reason": "waits"}, [["block", 3, "waits"]]),
        ({"block": [3, "waits"]}, [["block", 3, "waits"]]),
        ({"op": "done", "id": 3}, [["done", 3]]),
        ({"action": "add", "text": "a"}, [["add", "a"]]),
        ({"op": "note", "id": 3, "text": "why"}, [["note", 3, "why"]]),
        ({"op": "list"}, []),
        ({"status": "in_progress", "taskId": "3"}, [["start", 3]]),
        ({"ops": [{"op": "done", "id": 3}, "start 4"]}, [["done", 3], ["start", 4]]),
        ({"list": True}, []),
        ({"add": [], "start": None}, []),
        ({}, []),
        ([], []),
        (None, []),
        ("done 3\nstart 4", [["done", 3], ["start", 4]]),
        ({"add": ["a"], "do": "start 1"}, [["add", "a"], ["start", 1]]),
        ({"do": "done 1-3, 5 and #7"}, [["done", 1, 2, 3, 5, 7]]),
        ({"do": "done 3-2"}, [["done", 3, 2]]),
        ({"do": ["done 1", "note 2 why; not"]}, [["done", 1], ["note", 2, "why; not"]]),
        ({"do": "done 1; start 2;drop 3"}, [["done", 1], ["start", 2], ["drop", 3]]),
        (
            {"do": "note 1 why:\n- this\n\ncheck 2 make a\ndone 3"},
            [
                ["note", 1, "why:\n- this"],
                ["check", 2, "make", "a"],
                ["done", 3],
            ],
        ),
        ({"do": "start Write it"}, [["start", "Write it"]]),
        ({"do": "after 4 1-3"}, [["after", 4, 1, 2, 3]]),
        ({"do": {"done": 1}}, [["done", 1]]),
        ({"do": None, "add": ["a"]}, [["add", "a"]]),
        ({"do": "done 1-999999999"}, [["done", *range(1, 1002)]]),
    ],
)
def test_arguments_are_interpreted_in_every_form(arguments: object, ops: list[Any]) -> None:
    assert interpret(arguments)[0]["ops"] == ops
    assert interpret(arguments)[1] == []


@pytest.mark.parametrize(
    "arguments",
    [
        *({"add": []} | {"add": True}, {"add": [" "]}, {"add": [{"id": 3}]}, {"done": True}, {"done": [True]}),
        *({"done": {}}, {"done": " "}, {"done": 1.5}, {"note": 3}, {"note": "3"}, {"note": "no number"}, {"note": {}}),
        *({"note": {"id": 3}}, {"block": {"3": ""}}, {"block": 3}, {"move": "a b"}, {"move": {}}),
        *({"op": "fly", "id": 3}, {"fly": 3}, {"op": "done"}, "fly 3", "done", "3", 7),
    ],
)
def test_ambiguous_arguments_are_refused(arguments: object) -> None:
    """The reply names the problem, and nothing changes."""
    params, wrong = interpret(arguments)

    assert params["ops"] == []
    assert len(wrong) == 1
    assert str(wrong[0])


@given(json_values)
def test_every_json_value_gets_a_reply(arguments: Any) -> None:
    """A reply that is an error has changed nothing."""
    session = with_abc()
    before = session.plan

    reply = session.call("todo", arguments)

    assert reply.text
    assert reply.details == {"say": reply.text}
    assert not reply.is_error or session.plan == before


@pytest.mark.parametrize("arguments", PLAIN)
def test_arguments_that_match_the_schema_get_no_hint(arguments: dict[str, Any]) -> None:
    assert schema_problems(BRIEF.tools[0].parameters, arguments) == []
    assert interpret(arguments)[0]["hints"] == []


def test_an_unnumbered_plan_is_listed_with_its_future_numbers() -> None:
    """A person wrote the plan, or a model in another dialect."""
    session = session_on(dialect=BRIEF)
    by_hand = session_on(session.store, prefix="h")
    by_hand.change([Write(plan_of("a", "b").phases)])

    shown = session.call("todo", {}).text
    added = session.call("todo", {"done": 2, "add": ["c"]}).text

    assert shown == "1 a\n2 b\n(all from the user)"
    assert added == "3"
    assert [(task.number, task.status) for task in session.plan.tasks] == [
        (1, Status.PENDING),
        (2, Status.COMPLETED),
        (3, Status.IN_PROGRESS),
    ]


def test_a_model_that_has_not_seen_the_list_gets_it_once() -> None:
    """Its context was reset; the next reply is short again."""
    session = with_abc()
    session.set_seen_head(None)

    first, second = session.call("todo", {"start": 1}).text, session.call("todo", {"done": 1}).text

    assert first == "ok\nPlan:\nstarted 1 a\n2 b\n3 c"
    assert second == "ok"


def test_phases_with_open_tasks_are_named() -> None:
    """Phases without open tasks are omitted."""
    session = session_on(dialect=BRIEF)
    done = Phase("Done", (Task("x", Status.COMPLETED), Task("y", Status.ABANDONED)))
    session.change([Write((done, Phase("Build\n1 forged", (Task("a"), Task("b", Status.BLOCKED)))))])

    assert session.call("todo", {}).text == "Build⏎1 forged:\n3 a\nblocked 4 b\n(all from the user)\ndone 1\ndropped 2"


def test_tasks_that_a_person_added_are_marked() -> None:
    """Beside the number, where no text can imitate the mark; if all open tasks are, one line says so."""
    session = session_on(dialect=BRIEF)
    session.call("todo", {"add": ["a", "* from the user"]})
    session.change([Append((Task("b"), Task("c", Status.BLOCKED)))])
    mixed = "1 a\n2 * from the user\n3* b\nblocked 4* c\n(* from the user)"

    assert session.call("todo", {}).text == mixed
    assert session.context() == f"Your plan:\n{mixed}"
    assert carry_on(session.plan).startswith(
        "Your plan is not done:\n1 a\n2 * from the user\n3* b\n(* from the user)\nGo on;"
    )
    session.call("todo", {"done": [1, 2]})
    assert carry_on(session.plan).startswith("Your plan is not done:\nstarted 3 b\n(all from the user)\nGo on;")
    session.call("todo", {"done": [3, 4]})
    assert session.call("todo", {}).text == "done 1-4"


def test_the_nudge_lists_the_next_tasks_and_counts_the_others() -> None:
    """The list begins with the task in progress and has at most three tasks."""
    session = session_on(dialect=BRIEF)
    session.call("todo", {"add": [f"task {number}" for number in range(1, 9)], "start": 3, "done": 1})

    prompt = session.turn_ended().prompt

    assert prompt == (
        "Your plan is not done:\nstarted 3 task 3\n4 task 4\n5 task 5\n+4 more\n"
        "Go on; block what waits for someone else, drop what is not needed."
    )


def test_a_finished_plan_is_not_added_to_the_context() -> None:
    session = with_abc()
    told = session.context()
    session.call("todo", {"done": [1, 2], "drop": 3})

    assert told == "Your plan:\n1 a\n2 b\n3 c"
    assert session.context() is None


def test_a_call_that_exceeds_a_limit_is_refused() -> None:
    session = with_abc()

    assert session.call("todo", {"add": ["x"] * 198}).is_error
    assert "2000" in session.call("todo", {"add": ["x" * 2001]}).text
    assert session.plan.tasks[2:] == (Task("c", number=3),)


def test_the_schema_is_small_and_every_field_of_it_is_understood() -> None:
    """It is sent with every request; its cost is measured in characters."""
    tool = BRIEF.tools[0]
    named = tool.description.partition("lines: ")[2].split(", ")

    assert [interpret({"do": f"{each.split()[0]} 1 2"})[1] for each in named] == [[]] * len(named)
    assert {each.split()[0] for each in named} == {*OPS.values()} - {"add"}
    assert len(json.dumps(tool.parameters, separators=(",", ":"))) + len(tool.description) < 300


def test_a_model_that_proposes_a_check_is_told_that_the_user_has_to_approve_it() -> None:
    """The list shows it, and a check that is approved is only confirmed."""
    proposes, approved = session(Fixed(Result.PASSED, allowed=False)), session(Fixed(Result.PASSED))

    replies = [each.call("todo", {"do": "check 2 make all"}).text for each in (proposes, approved)]

    assert replies[0].splitlines()[0] == "ok"
    assert replies[0].splitlines()[-1] == "Only proposed until the user approves it: the check of 2 (`make all`)"
    assert "proposed" not in replies[1]
    assert "2 docs (check `make all`)" in proposes.call("todo", {}).text


def test_a_person_who_finishes_or_adds_a_task_starts_none() -> None:
    """Which task comes next is the agent's decision; a new task is numbered immediately."""
    session = with_abc()

    session.change([Append((Task("by hand"),))])

    assert session.plan.tasks[-1].number == 4

    session = with_abc()

    session.change([Mark(Numbered((1,)), Status.COMPLETED)])

    assert statuses(session) == "cpp"


def statuses(session: Session) -> str:
    return "".join(task.status.value[0] for task in session.plan.tasks)


@pytest.mark.parametrize(
    ("earlier", "call", "expected"),
    [
        ({}, {"done": 2}, "ok"),
        ({"start": 1}, {"done": 1, "start": 3}, "ok"),
        ({"start": 1}, {"done": 1, "drop": 2}, "ok\nstarted 3 c"),
        ({"start": 1, "block": "2 w"}, {"done": 1}, "ok\nstarted 3 c"),
        ({"start": 2, "done": 3}, {"done": 2}, "ok\nstarted 1 a"),
        ({"start": [1, 3]}, {"done": 3}, "ok\nstarted 1 a"),
        ({"start": [1, 2, 3]}, {"done": 1}, "ok"),
        ({"start": [1, 2], "note": "2 n"}, {"done": 1, "note": "2 m"}, "ok"),
        ({"start": [1, 3], "drop": 2}, {"done": 1}, "ok"),
        ({"start": 1}, {"block": "1 w"}, "ok"),
        ({"drop": [2, 3]}, {"done": 1}, "ok, all done"),
        ({"block": "2 w", "drop": 3}, {"done": 1}, "ok"),
        ({}, {"done": "a"}, "ok; 1\nstarted 2 b"),
        ({}, {"done": 1, "move": "3 2"}, "ok"),
        ({}, {"done": 1, "add": ["d"], "drop": [2, 3]}, "4\nstarted 4 d"),
        ({"start": 1}, {"drop": 3}, "ok"),
    ],
)
def test_the_next_task_is_named_only_where_the_model_expects_another(
    earlier: dict[str, Any], call: dict[str, Any], expected: str
) -> None:
    """It expects the task after the finished one, or the one that it starts in the same call."""
    session = with_abc()
    session.call("todo", earlier)

    assert session.call("todo", call).text == expected


def test_a_repeated_call_starts_nothing_more_and_one_undo_takes_back_both_effects() -> None:
    session = with_abc()
    session.call("todo", {"done": 1})
    head = session.state.head

    assert session.call("todo", {"done": 1}).text == "ok"
    assert session.call("todo", {"start": 2}).text == "ok"
    assert (statuses(session), session.state.head) == ("cip", head)

    session = with_abc()
    session.call("todo", {"start": 1})
    session.call("todo", {"done": 1})

    session.undo()

    assert statuses(session) == "ipp"


def test_a_task_of_another_agent_is_neither_taken_nor_waited_for() -> None:
    """Without knowledge about others, a task in progress counts as the agent's own."""
    session = session_on(dialect=BRIEF)
    session = session.using(parts=replace(session.parts, taken=lambda: frozenset({2})))
    session.call("todo", {"add": ["a", "b", "c", "d"], "start": [1, 2]})

    assert session.call("todo", {"done": 1}).text == "ok\nstarted 3 c"
    assert session.call("todo", {"done": 3}).text == "ok"
    assert session.call("todo", {"done": 4}).text == "ok"
    assert statuses(session) == "cicc"


def test_a_list_with_tasks_of_several_agents_says_which_one_is_the_models() -> None:
    """Only if the call started one."""
    session = with_abc()
    session = session.using(parts=replace(session.parts, taken=lambda: frozenset({2})))
    session.change([Mark(Numbered((2,)), Status.IN_PROGRESS)], Actor.AGENT)
    first = session.call("todo", {"done": 1}).text
    session.change([Append((Task("d"),))])
    second = session.call("todo", {"note": "3 n"}).text

    assert first == "ok; yours: 3\nChanged by others meanwhile; now:\nstarted 2 b\nstarted 3 c\ndone 1"
    assert second == "ok\nChanged by others meanwhile; now:\nstarted 2 b\nstarted 3 c\n4* d\n(* from the user)\ndone 1"


def test_a_task_that_does_not_exist_is_refused_by_what_names_it() -> None:
    """By number, the numbers that exist are given; by text, how to list the tasks."""
    empty = session_on(dialect=BRIEF)
    session = with_abc()

    refused = [session.call("todo", {"done": task}).text for task in (7, "no such task")]

    assert refused == ["no 7; there are 1-3", "no task 'no such task'; call without arguments to list"]
    assert [empty.call("todo", {"done": task}).text for task in (1, "a")] == [
        "no 1; the plan is empty",
        "the plan is empty",
    ]


class Fixed:
    """Gives every check the same result; all passed proofs are stale if `is_stale`."""

    def __init__(self, result: Result, reason: str = "", tail: str = "", *, allowed: bool = True) -> None:
        self.result, self.reason, self.tail, self.allowed = result, reason, tail, allowed
        self.is_stale = False

    def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
        return {
            number: Proof(self.result, check.command, reason=self.reason, tail=self.tail)
            for number, check in checks.items()
        }

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        return frozenset(proofs) if self.is_stale else frozenset()

    def is_allowed(self, _check: Check) -> bool:
        return self.allowed


def session(prover: Fixed | None = None) -> Session:
    opened = session_on(dialect=BRIEF)
    opened.call("todo", {"add": ["parser", "docs", "release"]})
    return opened.using(parts=replace(opened.parts, prover=(lambda: prover) if prover else None))


@pytest.mark.parametrize(
    ("arguments", "ops"),
    [
        ({"check": "3 pytest -q"}, [["check", 3, "pytest", "-q"]]),
        ({"check": "#3: make 'a b'"}, [["check", 3, "make", "a b"]]),
        ({"check": {"3": "make", "4": "tox"}}, [["check", 3, "make"], ["check", 4, "tox"]]),
        ({"check": {"id": 3, "command": "make test"}}, [["check", 3, "make", "test"]]),
        ({"check": {"id": 3, "command": ["make", "a b"]}}, [["check", 3, "make", "a b"]]),
        ({"check": {"id": 3, "command": ["make test"]}}, [["check", 3, "make", "test"]]),
        ({"check": [3, "make"]}, [["check", 3, "make"]]),
        ({"check": ["3 make", "4 tox"]}, [["check", 3, "make"], ["check", 4, "tox"]]),
        ({"op": "check", "id": 3, "command": "make"}, [["check", 3, "make"]]),
        ("check 3 make", [["check", 3, "make"]]),
        ({"check": {"parser": "make"}}, [["check", "parser", "make"]]),
        ({"after": "3 1 2"}, [["after", 3, 1, 2]]),
        ({"after": "3 after 1 and 2"}, [["after", 3, 1, 2]]),
        ({"after": {"3": [1, 2]}}, [["after", 3, 1, 2]]),
        ({"after": {"id": 3, "after": 1}}, [["after", 3, 1]]),
        ({"after": "3 none"}, [["after", 3]]),
        ({"touches": "3 src/*.py, docs"}, [["touches", 3, "src/*.py", "docs"]]),
        ({"touches": {"id": 3, "globs": ["a b", "c"]}}, [["touches", 3, "a b", "c"]]),
        ({"touch": [3, "src"]}, [["touches", 3, "src"]]),
        ({"touches": {"3": "None"}}, [["touches", 3]]),
    ],
)
def test_the_forms_that_models_write(arguments: object, ops: list[Any]) -> None:
    params, problems = interpret(arguments)

    assert (params["ops"], problems) == (ops, [])


@pytest.mark.parametrize(
    "arguments",
    [
        {"check": 3},
        {"check": "3"},
        {"check": [3]},
        {"check": {"id": 3}},
        {"op": "check", "id": 3},
        {"check": 3.0},
        "check 3",
    ],
)
def test_a_check_without_a_command_completes_the_task(arguments: object) -> None:
    """Models also say that they check off a task."""
    assert interpret(arguments)[0]["ops"] == [["done", 3]]
    assert interpret({"check": "3, 4"})[0] == {"ops": [["done", 3], ["done", 4]], "hints": ["done, not check"]}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"check": "all tests pass"}, 'check takes "ID command"'),
        ({"check": True}, 'check takes "ID command"'),
        ({"check": {}}, 'check takes "ID command"'),
        ({"check": [None]}, 'check takes "ID command"'),
        ({"check": "3 none"}, "only a person removes a check"),
        ({"check": "3 make && tox"}, "check: && needs a shell: sh -c '…'"),
        ({"check": "3 'a"}, "check: a quotation mark is not closed"),
        ({"after": "3"}, 'after takes "ID IDs"'),
        ({"after": "3 docs"}, 'after takes "ID IDs", in numbers'),
        ({"touches": 3}, 'touches takes "ID globs"'),
    ],
)
def test_what_has_no_clear_meaning_is_refused(arguments: object, problem: str) -> None:
    assert [str(each) for each in interpret(arguments)[1]] == [problem]


def test_a_model_can_set_a_check_but_none_that_proves_nothing_and_not_remove_one() -> None:
    """Nor an order without end; and without anything to run checks, its task is not done."""
    opened = session()

    assert opened.call("todo", {"check": "1 make test"}).text == "ok"
    assert opened.plan.tasks[0].check == Check(("make", "test"))
    assert opened.call("todo", {"check": "1 true"}).text == "a check needs a command that can fail, not “true”"
    assert opened.call("todo", {"check": "1 none"}).text == "only a person removes a check"
    assert opened.plan.tasks[0].check == Check(("make", "test"))

    opened = session()
    opened.call("todo", {"after": "2 1"})

    assert opened.call("todo", {"after": "1 2"}).text == "these tasks would wait for each other: 1, 2"
    assert opened.call("todo", {"after": "1 9"}).text == "no 9; there are 1-3"

    opened = session()
    opened.change([SetCheck(Numbered((1,)), Check(("make",)))])
    opened.call("todo", {})

    assert opened.call("todo", {"done": 1}).text == "1 is not done: its check was not run"


def test_the_list_says_what_waits_and_which_check_failed() -> None:
    opened = session(Fixed(Result.FAILED, "`make` failed with exit code 2", "boom"))
    opened.call("todo", {"check": "1 make", "after": "3 1 2", "touches": "2 docs"})

    reply = opened.call("todo", {"done": 1})

    assert reply.text == "1 is not done: `make` failed with exit code 2\nboom"
    assert reply.details == {"say": reply.text}
    assert opened.call("todo", {}).text == "started 1 parser (check failed `make`)\n2 docs\n3 release (after 1-2)"
    assert opened.call("todo", {"done": [1, 2]}).text.startswith("ok\n1 is not done")
    assert opened.plan.tasks[1].touches == ("docs",)


@pytest.mark.parametrize(
    ("result", "said", "listed"),
    [
        (
            Result.REFUSED,
            "1 waits for a person to approve its check `make`. Go on with the rest",
            "check not approved `make`",
        ),
        (Result.INCONCLUSIVE, "1 waits for a person: `make` hangs. Go on with the rest", "check inconclusive `make`"),
    ],
)
def test_a_check_that_only_a_person_can_settle_blocks_its_task(result: Result, said: str, listed: str) -> None:
    opened = session(Fixed(result, "`make` hangs"))
    opened.call("todo", {"check": "1 make"})

    assert opened.call("todo", {"done": 1}).text == said
    assert opened.plan.tasks[0].status is Status.BLOCKED
    assert opened.call("todo", {}).text.startswith(f"blocked 1 parser ({listed})")


def test_the_plan_is_not_all_done_before_its_own_check_has_passed() -> None:
    prover = Fixed(Result.FAILED, "`make` failed with exit code 2")
    opened = session(prover)
    opened.change([SetCheck(None, Check(("make",)))])
    opened.call("todo", {})

    assert opened.call("todo", {"done": [1, 2, 3]}).text == "ok\nThe plan is not done: `make` failed with exit code 2"
    prover.result = Result.PASSED
    assert opened.call("todo", {"done": 3}).text == "ok, all done"
