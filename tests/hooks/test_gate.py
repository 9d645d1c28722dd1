"""The gate: who is told to go on, who is left alone, and who is let go."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.agent import WITH_HOOKS, Desk, Hooked, hooks_of, plan_of
from tildone.agents.identity import AgentId, digest
from tildone.core.ops import Append, Write
from tildone.core.plan import Status, Task
from tildone.dialects.by_hand import BY_HAND
from tildone.ids import now
from tildone.integrations.claude import INTEGRATION as CLAUDE
from tildone.integrations.cursor import INTEGRATION as CURSOR
from tildone.integrations.record import HookPoint, Integration
from tildone.log.events import Actor, Bound, Directive, DirectiveSet, Event, Nudged, Tripped
from tildone.wiring import open_session, open_store

OPEN = (("Write the parser", "in_progress"), ("Wire it up", "pending"))


def facts(desk: Desk) -> list[str]:
    session = desk.session
    return [type(event.fact).__name__ for event in session.store.events(session.name)]


def test_an_agent_that_stops_with_work_left_is_told_what_and_that_is_remembered(agent: Hooked) -> None:
    agent.desk.plan(*OPEN)

    told = agent.stops()

    assert "Write the parser" in told
    assert "Wire it up" in told
    assert facts(agent.desk) == ["PlanChanged", "Nudged"]


def test_the_hosts_own_flag_does_not_switch_the_gate_off(agent: Hooked) -> None:
    """The breaker is ours: a flag that ends it after one nudge is no breaker but a lottery."""
    agent.desk.plan(*OPEN)

    assert all(agent.stops(f"Stop {i}.", stop_hook_active=True) for i in range(5))


@pytest.mark.parametrize(
    "said",
    [
        {"last_assistant_message": "Which of the two?"},
        {"agent_id": "a1"},
        {"permission_mode": "plan"},
        {"background_tasks": [{"id": "1", "status": "running"}]},
        {"background_tasks": [{"id": "1", "status": "completed"}, {"id": "2"}]},
        {"session_crons": [{"id": "1"}]},
    ],
)
def test_there_are_reasons_to_leave_an_agent_alone_and_then_nothing_is_written(
    agent: Hooked, said: dict[str, Any]
) -> None:
    agent.desk.plan(*OPEN)

    assert agent.stops(**said) == ""
    assert facts(agent.desk) == ["PlanChanged"]


@pytest.mark.parametrize(
    "said",
    [
        {"background_tasks": [{"id": "1", "status": "completed"}, {"id": "2", "status": "killed"}, "odd"]},
        {"background_tasks": "none", "session_crons": {}},
        {"session_crons": []},
    ],
)
def test_what_is_over_is_no_reason(agent: Hooked, said: dict[str, Any]) -> None:
    agent.desk.plan(*OPEN)

    assert agent.stops(**said)


@pytest.mark.parametrize("status", ["error", "aborted"])
def test_a_turn_that_failed_or_was_ended_is_not_continued(desk: Desk, status: str) -> None:
    agent = Hooked(desk, CURSOR)
    desk.plan(*OPEN)

    assert agent.stops("", status=status) == ""
    assert agent.stops("", status="completed")


def test_a_host_that_does_not_tell_the_last_words_when_it_stops_tells_them_before(desk: Desk) -> None:
    """A question counts then, and so does that it is always the same answer."""
    agent = Hooked(desk, CURSOR)
    desk.plan(*OPEN)

    agent.tell(HookPoint.MESSAGE, text="Which of the two?")
    asked = agent.stops("")
    agent.tell(HookPoint.MESSAGE, text="I stop.")
    stopped = [bool(agent.stops("")) for _ in range(5)]

    assert asked == ""
    assert stopped == [True, True, True, False, False]


def test_a_person_may_switch_the_gate_off(desk: Desk) -> None:
    desk.plan(*OPEN)
    (desk.project / "tildone.toml").write_text('gate = "off"\n', encoding="utf-8")

    assert Hooked(desk).stops() == ""
    assert Hooked(desk).tell(HookPoint.SESSION_START).out != ""


@pytest.mark.parametrize("course", [Directive.PAUSE, Directive.STOP])
def test_a_person_may_have_it_left_alone_and_a_prompt_does_not_change_that(agent: Hooked, course: Directive) -> None:
    agent.desk.plan(*OPEN)
    agent.desk.session.set_directive(course)

    agent.tell(HookPoint.PROMPT, prompt="Go on")

    assert agent.stops() == ""
    assert agent.desk.session.state.directive is course
    agent.desk.session.set_directive(Directive.GO)
    assert agent.stops()


def test_an_agent_that_is_let_go_is_told_of_once_and_how_to_hold_it_again(agent: Hooked) -> None:
    agent.desk.plan(*OPEN)
    for _ in range(3):
        agent.stops()

    answers = [agent.tell(HookPoint.STOP, last_assistant_message="I stop here.") for _ in range(2)]

    assert json.loads(answers[0].out) == {
        "systemMessage": (
            "tildone lets the agent go: stopped 3 times more with the same words and nothing done. "
            "2 of 2 tasks are open. To hold it to them again: tildone resume"
        )
    }
    assert (answers[1].out, answers[1].err) == ("", "")
    assert facts(agent.desk) == ["PlanChanged", "Nudged", "Nudged", "Nudged", "Tripped"]


def test_where_a_host_shows_no_message_it_is_said_on_standard_error(desk: Desk) -> None:
    agent = Hooked(desk, CURSOR)
    desk.plan(*OPEN)
    session = desk.session
    session.store.append(session.name, Event("n", session.state.head, now(), Actor.TIMER, Nudged(20, 20)))

    answer = agent.tell(HookPoint.STOP, status="completed")

    assert (answer.code, answer.out) == (0, "")
    assert answer.err.startswith("tildone lets the agent go: told to go on 20 times, and nothing changed. 2 of 2")
    assert answer.err.count("\n") == 1


def test_a_persons_prompt_begins_every_count_anew_after_that(agent: Hooked) -> None:
    """A prompt that is not a person's does not, or a loop would feed itself."""
    agent.desk.plan(*OPEN)
    for _ in range(4):
        agent.stops()

    agent.tell(HookPoint.PROMPT, prompt="wake up", source="loop_wakeup")
    still = agent.stops()
    agent.tell(HookPoint.PROMPT, prompt="Go on")

    assert still == ""
    assert agent.desk.session.state.tripped is False
    assert agent.stops()


def test_a_prompt_in_the_middle_of_a_chain_changes_no_count(agent: Hooked) -> None:
    """Some hosts put our own words to the model as a prompt, and tell us of it."""
    agent.desk.plan(*OPEN)
    told = agent.stops("a")

    agent.tell(HookPoint.PROMPT, prompt=told)

    assert agent.desk.session.state.nudges == 1
    assert "Steered" not in facts(agent.desk)


def test_resuming_begins_every_count_anew(agent: Hooked) -> None:
    agent.desk.plan(*OPEN)
    for _ in range(4):
        agent.stops()
    assert agent.stops() == ""

    agent.desk.session.set_directive(Directive.GO)

    assert agent.stops()


def test_words_that_differ_or_files_that_do_are_something_new(agent: Hooked) -> None:
    agent.desk.plan(*OPEN)
    for number in range(3):
        assert agent.stops("Same.")
        (agent.desk.project / "work.py").write_text(f"# {number}\n", encoding="utf-8")

    assert agent.stops("Same.")
    assert agent.desk.session.state.repeats == 0
    assert agent.desk.session.state.nudges == 1


def test_what_tildone_writes_itself_is_not_taken_for_work(desk: Desk) -> None:
    """A store in the project changes with every nudge."""
    (desk.project / "tildone.toml").write_text('store = "plans.db"\n', encoding="utf-8")
    desk.plan(*OPEN)
    agent = Hooked(desk)

    assert [bool(agent.stops("Same.")) for _ in range(5)] == [True, True, True, False, False]


def test_how_often_is_for_the_person_to_say(desk: Desk) -> None:
    (desk.project / "tildone.toml").write_text("max_nudges = 2\nmax_same = 9\n", encoding="utf-8")
    desk.plan(*OPEN)
    agent = Hooked(desk)

    assert [bool(agent.stops("Same.")) for _ in range(4)] == [True, True, False, False]


def test_for_how_long_is_for_the_person_to_say(desk: Desk) -> None:
    (desk.project / "tildone.toml").write_text("max_minutes = 5\n", encoding="utf-8")
    desk.plan(*OPEN)
    session = desk.session
    begun = Event("n", session.state.head, now() - 6 * 60_000, Actor.TIMER, Nudged(1, 1))
    session.store.append(session.name, begun)

    answer = Hooked(desk).tell(HookPoint.STOP, last_assistant_message="I stop.")

    assert "no task was closed or added in 5 minutes" in answer.out


def test_for_how_much_is_for_the_person_to_say(desk: Desk) -> None:
    """The status line tells what the session has cost, and keeps it."""
    (desk.project / "tildone.toml").write_text("max_cost = 2.5\n", encoding="utf-8")
    desk.plan(*OPEN)
    agent = Hooked(desk)

    agent.tell(HookPoint.STATUS_LINE, cost={"total_cost_usd": 2.4})
    before = agent.stops()
    agent.tell(HookPoint.STATUS_LINE, cost={"total_cost_usd": 2.5})
    after = agent.tell(HookPoint.STOP, last_assistant_message="I stop.")

    assert before
    assert "the session has cost $2" in after.out


@pytest.mark.parametrize("cost", [None, "much", {"total_cost_usd": True}, {"total_cost_usd": "2"}, {}])
def test_a_cost_that_makes_no_sense_is_none(agent: Hooked, cost: object) -> None:
    agent.desk.plan(*OPEN)

    answer = agent.tell(HookPoint.STATUS_LINE, cost=cost)

    assert answer.out == "✓ 0/2 · Write the parser\n"
    assert agent.desk.agents.note(AgentId.parse(agent.key), "cost") == ""


def test_the_words_are_those_of_the_dialect_that_the_model_speaks(desk: Desk) -> None:
    session = desk.session
    session.change((Append((Task("One"),)),))
    assert "todo" not in Hooked(desk).stops()

    desk.session.store.append(
        session.name, Event("t", desk.session.state.head, now(), Actor.USER, DirectiveSet(Directive.GO))
    )
    (desk.project / "tildone.toml").write_text('dialect = "indexed"\n', encoding="utf-8")

    assert "edit_todos" in Hooked(desk).stops()


def test_a_session_that_was_named_is_the_one_that_counts(desk: Desk) -> None:
    desk.session_of("ours").change((Write(plan_of(OPEN).phases),))
    (desk.project / "tildone.toml").write_text('session = "ours"\n', encoding="utf-8")

    assert "Write the parser" in Hooked(desk).stops()


def test_plans_in_files_of_pis_are_held_to_as_well(desk: Desk) -> None:
    """The quick look is at SQLite's only; others get a closer one."""
    own = Desk(desk.project, desk.home, {**desk.more, "TILDONE_STORE": f"jsonl:{desk.project / 'plans'}"})
    agent = Hooked(own)
    session = open_session(own.settings, BY_HAND, open_store(own.settings))
    assert agent.stops() == ""

    session.change((Write(plan_of(OPEN).phases),))

    assert [bool(agent.stops("Same.")) for _ in range(5)] == [True, True, True, False, False]


def test_two_agents_in_a_project_have_a_plan_each(desk: Desk) -> None:
    """The first has the project's; neither is held to the other's."""
    desk.plan(*OPEN)
    first, second = Hooked(desk, id="1"), Hooked(desk, id="2")

    told = [first.stops(), second.stops()]

    assert [bool(words) for words in told] == [True, False]
    assert (first.record, second.record) != (None, None)
    assert second.record is not None
    assert second.record.session == f"{desk.settings.project}#claude:2"


def test_a_later_agent_is_stopped_with_the_rest(desk: Desk) -> None:
    """It has a plan of its own, which did not exist when the person said stop."""
    desk.plan(*OPEN)
    Hooked(desk, id="1").stops()
    desk.session.set_directive(Directive.STOP)
    second = Hooked(desk, id="2")

    answers = [second.tell(HookPoint.AFTER_TOOL, tool_name="Bash") for _ in range(2)]

    assert all(json.loads(answer.out)["continue"] is False for answer in answers)


def test_an_agent_that_is_gone_leaves_the_projects_plan_to_the_next(desk: Desk) -> None:
    desk.plan(*OPEN)
    first, second = Hooked(desk, id="1"), Hooked(desk, id="2")
    first.stops()

    first.tell(HookPoint.SESSION_END, reason="logout")

    assert first.record is None
    assert second.stops()


def test_a_cleared_conversation_goes_on_with_its_plan_and_has_forgotten_it(desk: Desk) -> None:
    """Whether its host told of the end or not; also where the plan is not the project's."""
    Hooked(desk, id="0").desk.plan(*OPEN)
    Hooked(desk, id="0").stops()
    own = f"{desk.settings.project}#claude:1"
    Hooked(desk, id="1").tell(HookPoint.AFTER_TOOL, tool_name="TodoWrite", tool_input={"todos": [{"content": "Mine"}]})

    Hooked(desk, id="1").tell(HookPoint.SESSION_END, reason="clear")
    answer = Hooked(desk, id="2").tell(HookPoint.SESSION_START, source="clear")

    heir = Hooked(desk, id="2").record
    assert heir is not None
    assert heir.session == own
    assert "Mine" in answer.out
    assert Hooked(desk, id="1").record is None


@pytest.mark.parametrize("integration", WITH_HOOKS.values(), ids=WITH_HOOKS)
def test_what_stops_an_agent_is_never_a_way_to_run_it_for_ever(desk: Desk, integration: Integration) -> None:
    """Whatever a host calls things, there is an end."""
    agent = Hooked(desk, integration)
    desk.plan(*OPEN)

    told = 0
    while (
        told < 100
        and agent.tell(HookPoint.STOP, **{hooks_of(integration).fields["last_message"]: f"Stop {told}."}).out.find(
            "is not done"
        )
        > 0
    ):
        told += 1

    assert told == 20
    assert desk.session.state.tripped


def test_the_digest_of_words_is_kept_and_not_the_words(agent: Hooked) -> None:
    agent.desk.plan(*OPEN)

    agent.stops("A secret.")

    assert agent.desk.session.state.fingerprint.words == digest("A secret.")


def test_a_bound_that_was_reached_elsewhere_is_not_told_again(agent: Hooked) -> None:
    agent.desk.plan(*OPEN)
    session = agent.desk.session
    first = Event("n", session.state.head, now(), Actor.TIMER, Nudged(20, 20))
    session.store.append(session.name, first)
    session.store.append(session.name, Event("t", "n", now(), Actor.TIMER, Tripped(Bound.NUDGES, 20)))

    answer = agent.tell(HookPoint.STOP, last_assistant_message="I stop.")

    assert (answer.out, answer.err) == ("", "")


def test_blocked_work_is_waited_for(agent: Hooked) -> None:
    agent.desk.plan(("Ask Ada", "blocked"))

    assert agent.stops() == ""
    agent.desk.session.change((Append((Task("Wire it up", Status.PENDING),)),))
    assert agent.stops()


def test_a_project_is_found_from_any_of_its_folders(desk: Desk) -> None:
    below = desk.project / "src" / "deep"
    below.mkdir(parents=True)
    desk.plan(*OPEN)

    assert Hooked(desk).stops(cwd=str(below))
    assert Hooked(desk, CLAUDE, "other").stops(cwd=str(Path(desk.home))) == ""
