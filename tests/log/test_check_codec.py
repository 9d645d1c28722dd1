"""Checks, proofs, the order and the files of tasks in events."""

from hypothesis import given

from tests import plans
from tests.plans import COMPLETED, plan_of
from tildone.base import replace
from tildone.plan import codec
from tildone.plan.events import Actor, Event, PlanChanged
from tildone.plan.model import Check, Plan, Proof, Result, Task, flat
from tildone.stores import summary
from tildone.stores.summary import summarize

CHECK = Check(("make", "test"), "sub", 30, 2, ("src/*",))
PROOF = Proof(
    Result.FAILED,
    ("make",),
    "f",
    "a",
    2,
    "why",
    12,
    34,
    "ada",
    "/out.log",
    "not recorded",
    "/bin/make",
    "5e",
    imported=True,
)
WHOLE = Task("x", COMPLETED, number=3, check=CHECK, proof=PROOF, after=(1, 2), touches=("docs",))


def event(plan: Plan) -> Event:
    return Event("a", None, 1, Actor.USER, PlanChanged(plan))


def test_every_field_survives_but_the_end_of_the_output() -> None:
    plan = replace(flat(WHOLE), check=CHECK, proof=PROOF, last_number=3)

    decoded = codec.decode(codec.encode(event(plan)))

    assert isinstance(decoded.fact, PlanChanged)
    for owner in (decoded.fact.plan, decoded.fact.plan.tasks[0]):
        assert owner.check == CHECK
        assert owner.proof is not None
        kept = [name for name in Proof.__match_args__ if getattr(owner.proof, name) == getattr(PROOF, name)]
        assert kept == [name for name in Proof.__match_args__ if name != "tail"]
    assert decoded.fact.plan.tasks[0] == WHOLE


def test_who_wrote_a_check_survives() -> None:
    """A check of a person is the default, as in events of before."""
    for by_model in (True, False):
        check = replace(CHECK, by_model=by_model)
        decoded = codec.plan_from_json(codec.plan_to_json(replace(flat(replace(WHOLE, check=check)), check=check)))
        owners = (decoded, decoded.tasks[0])

        assert [owner.check and owner.check.by_model for owner in owners] == [by_model, by_model]


@given(plans.proved_plans)
def test_a_plan_alone_survives_as_data(plan: Plan) -> None:
    assert codec.plan_from_json(codec.plan_to_json(plan)) == plan


def test_only_values_other_than_the_default_are_written() -> None:
    task = Task("x", number=1, check=Check(("make",)), proof=Proof(Result.PASSED, ("make",)))

    assert (
        '{"text":"x","status":"pending","number":1,"check":{"command":["make"]},'
        '"proof":{"result":"passed","command":["make"]}}'
    ) in codec.encode(event(flat(task)))


def test_events_without_them_are_written_as_before() -> None:
    """Byte for byte: copies of a session are compared by their texts."""
    assert codec.encode(event(plan_of("a", "b"))) == (
        '{"v":1,"id":"a","parent":null,"at":1,"actor":"user","fact":"plan_changed","plan":[{"name":"","tasks":['
        '{"text":"a","status":"pending","number":1},{"text":"b","status":"pending","number":2}]}],"drift":0,"counted":2}'
    )
    assert codec.plan_to_json(plan_of("a")) == {
        "phases": [{"name": "", "tasks": [{"text": "a", "status": "pending", "number": 1}]}],
        "counted": 1,
    }


@given(plans.proved_plans)
def test_the_summary_knows_whether_anything_has_a_check(plan: Plan) -> None:
    found = summarize("h", [codec.encode(event(plan))])

    assert found is not None
    checks = [plan.check, *(task.check for task in plan.tasks)]
    assert found.checked is any(check is not None for check in checks)


def test_a_text_that_imitates_a_check_is_none() -> None:
    found = summarize("h", [codec.encode(event(plan_of(summary.CHECK)))])

    assert found is not None
    assert not found.checked
