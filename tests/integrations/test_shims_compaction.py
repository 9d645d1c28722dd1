"""The shims for opencode and pi: what they add to a conversation that was compacted."""

from typing import Any

from tests.cli.person import Person
from tests.integrations.test_shims import installed

SESSION = {"sessionID": "main"}
PLAN = "Your plan:\n1 Write the parser"


def compacting() -> dict[str, Any]:
    return {"hook": "experimental.session.compacting", "given": [SESSION, {"context": []}]}


def completed(text: str) -> dict[str, Any]:
    return {"hook": "experimental.text.complete", "given": [SESSION, {"text": text}]}


def test_a_summary_of_opencode_contains_the_plan(person: Person) -> None:
    """The model that writes the summary knows the plan; if it leaves the plan out, it is added. Other texts stay."""
    shim = installed(person, "opencode")
    shim.set_reply("session.created", {"context": PLAN})
    kept = f"A summary. {PLAN}"

    [told, added, *others], _ = shim.run(
        compacting(), completed("A summary."), completed("I work."), compacting(), completed(kept)
    )

    assert told == {"context": [PLAN]}
    assert added == {"text": f"A summary.\n\n{PLAN}"}
    assert others == [{"text": "I work."}, {"context": [PLAN]}, {"text": kept}]


def test_a_failed_compaction_of_opencode_adds_nothing_to_a_later_text(person: Person) -> None:
    shim = installed(person, "opencode")
    shim.set_reply("session.created", {"context": PLAN})
    idle = {"hook": "event", "given": [{"event": {"type": "session.idle", "properties": SESSION}}]}

    [*_, later], _ = shim.run(compacting(), idle, completed("I work."))

    assert later == {"text": "I work."}


def test_the_first_request_of_pi_after_a_compaction_contains_the_plan(person: Person) -> None:
    """In a request only, not in the conversation: the hook forgets that the model has seen it, and adds it later."""
    shim = installed(person, "pi")
    shim.set_reply("session_start", {"context": PLAN})
    request = {"hook": "context", "given": {"messages": ["a summary"]}}

    [before, _, after, later], _ = shim.run(request, {"hook": "session_compact", "given": {}}, request, request)

    assert (before, later) == (None, None)
    [summary, plan] = after["messages"]
    assert summary == "a summary"
    assert (plan["role"], plan["content"], plan["display"]) == ("custom", PLAN, False)
    assert [words.split()[-1] for words, _ in shim.calls] == ["session_start", "session_compact"]


def test_a_prompt_in_pi_after_a_compaction_contains_the_plan_once(person: Person) -> None:
    shim = installed(person, "pi")
    shim.set_reply("session_start", {"context": PLAN})
    prompt = {"hook": "before_agent_start", "given": {"prompt": "Go on."}}

    [*_, request], _ = shim.run(
        {"hook": "session_compact", "given": {}}, prompt, {"hook": "context", "given": {"messages": []}}
    )

    assert request is None
