"""Stories of agents, people and a plan: Markdown pages whose sections tests replay.

Each item is a step. What a hook adds to the context of the model in that step is quoted below it; an empty quote says
that it adds nothing. In a plan, `[ ]` is a pending task, `[>]` one in progress, `[x]` a completed one, `[-]` an
abandoned one, and `[!]` a blocked one.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

from tests.hooks.agent import WITH_HOOKS, HookedAgent, Tasks, hooks_of
from tildone.agents.integrations import HookPoint
from tildone.plan.dialects import dialect_named
from tildone.plan.events import Directive
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, Mark, Named, Op, Remove, Rename

STATUSES = {" ": "pending", ">": "in_progress", "x": "completed", "-": "abandoned", "!": "blocked"}
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
    match step.split(maxsplit=2):
        case ["agent"]:
            agent = replace(agent, integration=WITH_HOOKS[text])
        case ["another", "begins"]:
            agent = replace(agent, id="s2")
        case ["person", "plans"]:
            agent.workspace.plan(*listed(text))
        case ["person", "types"]:
            told = told_at(agent, HookPoint.PROMPT, prompt=text)
        case ["person", "undoes"]:
            session.undo()
        case ["person", "says"]:
            session.set_directive(Directive(text))
        case ["person", verb, *tasks]:
            session.change((op(verb, " ".join(tasks), text),))
        case ["model", "lists"]:
            told = agent.writes(*listed(text))
        case ["model", "creates", number]:
            told = told_at(agent, "TaskCreate", tool_input={"subject": text}, tool_response={"task": {"id": number}})
        case ["model", "marks" | "rewords" as verb, number]:
            changed = {"taskId": number, "status" if verb == "marks" else "subject": text}
            told = told_at(agent, "TaskUpdate", tool_input=changed)
        case ["model", "calls", tool]:
            session.dialect = dialect_named("brief")
            assert not session.call(tool, json.loads(text)).is_error
        case ["model", "runs"]:
            told = told_at(agent, text)
        case ["model", "stops"]:
            told = agent.stops(text or "I stop here.")
        case ["model", "is", "held"]:
            assert agent.stops(text or "I stop here.")
        case ["model", "may", "stop"]:
            assert agent.stops(text or "I stop here.") == ""
        case ["model", "has", "seen the plan" | "seen no plan" as seen]:
            assert agent.seen_head == (session.state.head if seen == "seen the plan" else None)
        case ["conversation", "starts"]:
            told = told_at(agent, HookPoint.SESSION_START, source=text or "startup")
        case ["conversation", "ends"]:
            agent.report(HookPoint.SESSION_END, reason="other")
        case ["conversation", "is", "compacted"]:
            agent.report(HookPoint.COMPACTION, trigger="auto")
        case ["nudge", "is", "undelivered"]:
            assert told_at(agent, HookPoint.UNDELIVERED) == ""
        case ["counts"]:
            assert [f"{name} {getattr(session.state, name)}" for name in re.findall("[a-z]+", text)] == text.split(", ")
        case _:
            assert step == "plan", f"an unknown step: {step}"
            assert agent.workspace.tasks == listed(text), agent.workspace.tasks
    return agent, told


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
        case _:
            assert verb == "marks"
            return Mark(Named(task), Status(text))


def told_at(agent: HookedAgent, at: HookPoint | str, **fields: object) -> str:
    """What the model is told at a point, or after a call of a tool; fields have the names of the coding agent."""
    names = {str(field): name for field, name in hooks_of(agent.integration).fields.items()}
    if isinstance(at, str):
        at, fields = HookPoint.AFTER_TOOL, {"tool": at, **fields}
    return agent.is_told(at, **{names.get(name, name): given for name, given in fields.items()})


def listed(text: str) -> Tasks:
    return [(task.strip(), STATUSES[mark]) for mark, task in re.findall(r"\[(.)\] ([^\[]+)", text)]
