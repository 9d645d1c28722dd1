"""Stories of agents, people and a plan: Markdown pages whose sections tests replay.

Each item is a step. What a hook adds to the context of the model in that step is quoted below it; an empty quote says
that it adds nothing. In a plan, `[ ]` is a pending task, `[>]` one in progress, `[x]` a completed one, `[-]` an
abandoned one, and `[!]` a blocked one.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

from tests.checks.repositories import git
from tests.hooks.agent import WITH_HOOKS, HookedAgent, Tasks, hooks_of, nudge_in, tasks_of
from tests.trusted import write_trusted
from tildone.agents.integrations import HookPoint
from tildone.app.opening import check_approvals, open_session
from tildone.plan.dialects import dialect_named
from tildone.plan.events import Actor, Directive
from tildone.plan.model import Check, Status, Task
from tildone.plan.ops import Append, Mark, Named, Note, Numbered, Op, Remove, Rename, SetCheck

STATUSES = {" ": "pending", ">": "in_progress", "x": "completed", "-": "abandoned", "!": "blocked"}
CHECKS = {
    "made": Check(("sh", "-c", "test -e src/made.py || ! echo missing")),
    "no program": Check(("no-such-program",)),
    "leaves a file": Check(("touch", "ran")),
}


SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
STEP = re.compile(r"^- ([^:\n]+)(?:: ?(.*))?\n((?:  >.*\n)*)", re.MULTILINE)


def stories(name: str) -> dict[str, str]:
    """The sections of a page, by their titles."""
    return dict(SECTION.findall(Path(__file__).with_name(name).read_text(encoding="utf-8")))


def replay(agent: HookedAgent, story: str) -> None:
    steps = STEP.findall(story)
    assert len(steps) == story.count("\n- "), story
    for step, text, quote in steps:
        agent, told = take_step(agent, step, text)
        if quote:
            assert told == "\n".join(line[4:] for line in quote.splitlines()), (step, text, told)


def take_step(agent: HookedAgent, step: str, text: str) -> tuple[HookedAgent, str]:
    """Take one step; return the agent of the next one, and what the model is told."""
    told, session = "", agent.workspace.session
    match step.split():
        case ["person", verb, *tasks]:
            told = person_acts(agent, verb, " ".join(tasks), text)
        case ["model", *words]:
            told = model_acts(agent, words, text)
        case ["agent"]:
            agent = replace(agent, integration=WITH_HOOKS[text])
        case ["conversation"]:
            agent = replace(agent, id=text)
        case ["subagent", own, *words]:
            told = subagent_acts(agent, {"agent_id": own, "agent_type": "Explore"}, words, text)
        case ["plan", "of", own]:
            plan = agent.workspace.session_of(f"{agent.workspace.settings.session}#sub:{own}").plan
            assert tasks_of(plan) == listed(text), tasks_of(plan)
        case ["timer", "types"]:
            told = told_at(agent, HookPoint.PROMPT, prompt=text, source="loop_wakeup")
        case ["conversation", "starts"]:
            told = told_at(agent, HookPoint.SESSION_START, source=text or "startup")
        case ["conversation", "ends"]:
            agent.report(HookPoint.SESSION_END, reason=text or "other")
        case ["conversation", "is", "compacted"]:
            agent.report(HookPoint.COMPACTION, trigger="auto")
        case ["conversation", "costs"]:
            agent.report(HookPoint.STATUS_LINE, cost={"total_cost_usd": float(text)})
        case ["nudge", "is", "undelivered"]:
            told = told_at(agent, HookPoint.UNDELIVERED)
        case ["settings"]:
            write_trusted(agent.workspace.project / "tildone.toml", f"{text}\n", agent.workspace.environ)
        case ["file", name]:
            (agent.workspace.project / name).write_text(text, encoding="utf-8")
        case ["no", "file"]:
            assert not (agent.workspace.project / text).exists()
        case ["counts"]:
            assert [f"{name} {getattr(session.state, name)}" for name in re.findall("[a-z]+", text)] == text.split(", ")
        case ["notes", "of", number]:
            assert session.plan.tasks[int(number) - 1].notes == (text,)
        case ["proof", "of", number]:
            proof = session.plan.proof if number == "0" else session.plan.tasks[int(number) - 1].proof
            assert (f"{proof.result.value} by {proof.by}" if proof else "none") == text
        case _:
            assert step == "plan", f"an unknown step: {step}"
            assert agent.workspace.tasks == listed(text), agent.workspace.tasks
    return agent, told


def person_acts(agent: HookedAgent, verb: str, task: str, text: str) -> str:
    session, project = agent.workspace.session, agent.workspace.project
    match verb:
        case "plans":
            agent.workspace.plan(*listed(text))
        case "types":
            return told_at(agent, HookPoint.PROMPT, prompt=text)
        case "is":
            stop = {hooks_of(agent.integration).fields["last_message"]: "I stop here."}
            assert agent.report(HookPoint.STOP, **stop).json == {"systemMessage": text}
        case "undoes":
            session.undo()
        case "says":
            session.set_directive(Directive(text))
        case "commits":
            git(project, "add", "-A")
            git(project, "commit", "-qm", text)
        case "checks" | "proposes":
            session.change([SetCheck(Numbered((int(task),)) if task != "0" else None, CHECKS[text])])
            if verb == "checks":
                check_approvals(agent.workspace.settings).approve(CHECKS[text])
        case _:
            session.change((op(verb, task, text),))
    return ""


def op(verb: str, task: str, text: str) -> Op:
    match verb:
        case "adds":
            return Append((Task(text),))
        case "removes":
            return Remove(Named(text))
        case "reopens":
            return Mark(Named(text), Status.PENDING)
        case "rewords":
            return Rename(Named(task), text)
        case "notes":
            return Note(Named(task), text)
        case _:
            assert verb == "marks"
            return Mark(Named(task), Status(text))


def model_acts(agent: HookedAgent, words: list[str], text: str) -> str:
    session = agent.workspace.session
    match words:
        case ["lists"]:
            return agent.writes(*listed(text))
        case ["creates", number]:
            return told_at(agent, "TaskCreate", tool_input={"subject": text}, tool_response={"task": {"id": number}})
        case ["marks" | "rewords" as verb, number]:
            changed = {"taskId": number, "status" if verb == "marks" else "subject": text}
            return told_at(agent, "TaskUpdate", tool_input=changed)
        case ["runs"]:
            return told_at(agent, text)
        case ["says"]:
            agent.report(HookPoint.MESSAGE, text=text)
        case ["stops"] | ["is", "held"] | ["may", "stop"]:
            told = agent.stops(**json.loads(text)) if text.startswith("{") else agent.stops(text or "I stop here.")
            assert words == ["stops"] or bool(told) == (words == ["is", "held"]), told
            return told
        case ["has", "seen", *what]:
            assert agent.seen_head == (session.state.head if what == ["the", "plan"] else None)
        case ["proposes", number]:
            session.change([SetCheck(Numbered((int(number),)), CHECKS[text])], Actor.AGENT)
        case [verb, *tools]:
            assert verb in ("calls", "finishes"), f"an unknown step: model {verb}"
            arguments = json.loads(text) if tools else {"done": [int(number) for number in text.split()]}
            open_session(agent.workspace.settings, dialect_named("brief")).call("todo", arguments)
    return ""


def subagent_acts(agent: HookedAgent, fields: dict[str, str], words: list[str], text: str) -> str:
    if words == ["lists"]:
        todos = [{"content": task, "status": status} for task, status in listed(text)]
        return told_at(agent, "TodoWrite", tool_input={"todos": todos}, **fields)
    answer = agent.report_event("SubagentStop", last_assistant_message="I stop.", **fields)
    reply = answer.json if answer.out else {}
    assert (nudge_in(reply) != "") == (words == ["stops"]), (words, reply)
    return nudge_in(reply)


def told_at(agent: HookedAgent, at: HookPoint | str, **fields: object) -> str:
    """What the model is told at a point, or after a call of a tool; fields have the names of the coding agent."""
    names = {str(field): name for field, name in hooks_of(agent.integration).fields.items()}
    if isinstance(at, str):
        at, fields = HookPoint.AFTER_TOOL, {"tool": at, **fields}
    return agent.is_told(at, **{names.get(name, name): given for name, given in fields.items()})


def listed(text: str) -> Tasks:
    return [(task.strip(), STATUSES[mark]) for mark, task in re.findall(r"\[(.)\] ([^\[]+)", text)]
