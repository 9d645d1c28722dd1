"""The translation of ops into changes to a plan."""

from typing import Any

import pytest

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS
from tildone.base.schema import SchemaProblem, schema_problems
from tildone.plan.dialects.phased import PARAMETERS, demands, steps
from tildone.plan.faults import MissingField
from tildone.plan.model import Phase, Task
from tildone.plan.ops import Append, Everything, InPhase, Mark, Named, Note, Op, Remove, Selector, Write
from tildone.plan.text.safe import shown_text

WIRE, AUTH = Named("wire", shown_text), InPhase("Auth", shown_text)


def test_init_writes_every_phase_with_its_tasks() -> None:
    given = [{"phase": "Auth", "items": ["wire", "test"]}, {"phase": "Docs", "items": ["write"]}]

    asked = steps({"ops": [{"op": "init", "list": given}]})

    assert asked == [Write((Phase("Auth", (Task("wire"), Task("test"))), Phase("Docs", (Task("write"),))))]


def test_init_without_a_list_clears_and_is_a_fault() -> None:
    assert steps({"ops": [{"op": "init"}]}) == [Write(()), MissingField("list", "init")]


def test_start_marks_one_task() -> None:
    assert steps({"ops": [{"op": "start", "task": "wire", "phase": "Auth"}]}) == [Mark(WIRE, IN_PROGRESS)]


def test_append_names_the_phase_and_the_tasks() -> None:
    asked = steps({"ops": [{"op": "append", "phase": "Auth", "items": ["wire"]}]})

    assert asked == [Append((Task("wire"),), "Auth")]


@pytest.mark.parametrize(
    ("names", "target"),
    [
        ({"task": "wire", "phase": "Auth"}, WIRE),
        ({"phase": "Auth"}, AUTH),
        ({"task": "", "phase": "Auth"}, AUTH),
        ({}, Everything()),
    ],
    ids=["task before phase", "phase", "empty task", "no names"],
)
def test_done_drop_and_rm_select_the_task_or_phase_or_everything(names: dict[str, str], target: Selector) -> None:
    asked = steps({"ops": [{"op": op, **names} for op in ("done", "drop", "rm")]})

    wanted: list[Op] = [Mark(target, COMPLETED), Mark(target, ABANDONED), Remove(target)]
    assert asked == wanted


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"op": "start"}, "task"),
        ({"op": "start", "task": ""}, "task"),
        ({"op": "note", "text": "why"}, "task"),
        ({"op": "append", "items": ["wire"]}, "phase"),
        ({"op": "append", "phase": ""}, "phase"),
        ({"op": "append", "phase": "Auth"}, "items"),
        ({"op": "append", "phase": "Auth", "items": []}, "items"),
    ],
)
def test_an_op_that_lacks_a_field_is_a_fault_in_its_place(entry: dict[str, Any], field: str) -> None:
    """The other ops still apply; if two fields are missing, the first is reported."""
    asked = steps({"ops": [{"op": "done"}, entry, {"op": "rm"}]})

    assert asked == [Mark(Everything(), COMPLETED), MissingField(field, entry["op"]), Remove(Everything())]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("  why \n", "  why"),
        ("bom\ufeff\u2028\xa0", "bom"),
        ("file separator\x1c", "file separator\x1c"),
        ("next line\x85", "next line\x85"),
        (" \n", ""),
    ],
)
def test_trailing_javascript_whitespace_is_stripped_from_a_note(text: str, kept: str) -> None:
    """Python's `strip` removes U+001C and U+0085 and keeps U+FEFF; JavaScript's does the opposite."""
    assert steps({"ops": [{"op": "note", "task": "wire", "text": text}]}) == [Note(WIRE, kept)]


def test_a_note_without_text_is_empty() -> None:
    assert steps({"ops": [{"op": "note", "task": "wire"}]}) == [Note(WIRE, "")]


def test_an_unknown_op_is_refused_by_the_schema() -> None:
    """Without schema checks it raises, and no op of its batch is applied."""
    params = {"ops": [{"op": "done"}, {"op": "finish"}]}

    assert schema_problems(PARAMETERS, params) == [
        SchemaProblem("ops[1].op", "expected one of init, start, done, rm, drop, append, note, got 'finish'")
    ]
    with pytest.raises(AssertionError, match="finish"):
        steps(params)


@pytest.mark.parametrize(
    "params",
    [
        {"ops": [{"op": "init", "list": []}]},
        {"ops": [{"op": "init", "list": [{"phase": "Auth", "items": ["wire"], "why": 1}]}], "more": True},
        {"ops": [{"op": "append"}, {"op": "start"}, {"op": "note"}]},
        {"ops": [{"op": "done", "items": [" "]}]},
    ],
    ids=["cleared on purpose", "extra keys", "faults of single ops", "fields that the op does not use"],
)
def test_validation_accepts_calls_that_the_ops_can_report_on(params: dict[str, Any]) -> None:
    assert schema_problems(PARAMETERS, params) == []
    assert demands(params) == []


@pytest.mark.parametrize(
    ("entry", "path", "expected"),
    [
        (
            {"op": "init", "list": [{"phase": " ", "items": ["wire"]}]},
            "ops[1].list[0].phase",
            "expected some text, got none",
        ),
        (
            {"op": "init", "list": [{"phase": "Auth", "items": ["wire", "\ufeff"]}]},
            "ops[1].list[0].items[1]",
            "expected some text, got none",
        ),
        ({"op": "append", "phase": "Auth", "items": [""]}, "ops[1].items[0]", "expected some text, got none"),
    ],
)
def test_validation_refuses_what_no_later_op_could_correct(entry: dict[str, Any], path: str, expected: str) -> None:
    """Blank names could not be addressed later."""
    params = {"ops": [{"op": "done"}, entry]}

    assert schema_problems(PARAMETERS, params) == []
    assert demands(params) == [SchemaProblem(path, expected)]
