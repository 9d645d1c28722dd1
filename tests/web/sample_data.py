"""A store with a dozen sessions in every state, one with a history of more than an hour: for tests and for pictures.

`python -m tests.web.sample_data PLANS.db` writes it to a file. All times count back from now.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable

from tildone.app.opening import store_at
from tildone.base import replace
from tildone.base.ids import id_maker, now
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.log.store import Store
from tildone.plan.events import Actor, Author, Bound, Directive, DirectiveSet, Event, Fact, Nudged, PlanChanged, Tripped
from tildone.plan.model import Phase, Plan, Status, Task, assign_numbers

MINUTE = 60_000
AGENT, PERSON = Actor.AGENT, Actor.USER
DONE, ACTIVE, OPEN = Status.COMPLETED, Status.IN_PROGRESS, Status.PENDING
DROPPED, BLOCKED = Status.ABANDONED, Status.BLOCKED

SIGNS = {"d": DONE, "a": ACTIVE, ".": OPEN, "x": DROPPED, "b": BLOCKED}


class Story:
    """One session, told event by event. `host` is the program that its agent runs in."""

    def __init__(self, store: Store, name: str, host: str = "claude", machine: str = "mk-laptop") -> None:
        self.store, self.name, self.host, self.machine = store, name, host, machine
        self.agent = f"{host}:{name.rsplit('/', 1)[-1][:8]}"
        self.end = self.clock = now()
        self.plan = Plan()
        self.head: str | None = None
        self.nudges = self.drift = 0
        self.directive = Directive.GO
        self._new_id = id_maker(lambda: self.clock, os.urandom)

    def at(self, minutes_ago: float) -> Story:
        self.clock = self.end - int(minutes_ago * MINUTE)
        return self

    def happen(self, fact: Fact, actor: Actor, by: str = "") -> Story:
        author = Author(by or "Mara", "" if actor is PERSON else self.agent, "" if actor is PERSON else "sonnet-5-5")
        event = Event(self._new_id(), self.head, self.clock, actor, fact, author)
        self.store.append(self.name, event)
        self.head = event.id
        return self

    def write(self, **phases: list[str] | str) -> Story:
        """The agent's first plan: phases by name, each with its tasks."""
        listed = {name: [tasks] if isinstance(tasks, str) else tasks for name, tasks in phases.items()}
        return self.change(
            Plan(tuple(Phase("" if name == "_" else name, tuple(map(Task, tasks))) for name, tasks in listed.items())),
            AGENT,
        )

    def mark(self, text: str, status: Status, *, note: str = "", actor: Actor = AGENT, by: str = "") -> Story:
        """Set the status of the task that begins with `text`."""

        def changed(task: Task) -> Task:
            if not task.text.startswith(text):
                return task
            return replace(task, status=status, notes=(*task.notes, note) if note else task.notes)

        return self.edit(lambda phase: map(changed, phase.tasks), actor, by)

    def add(self, phase: str, text: str, *, actor: Actor = AGENT, by: str = "") -> Story:
        new = Task(text, from_user=actor is PERSON)
        return self.edit(lambda each: (*each.tasks, *([new] if each.name == phase else [])), actor, by)

    def remove(self, text: str, *, actor: Actor = AGENT, by: str = "") -> Story:
        return self.edit(lambda phase: (task for task in phase.tasks if not task.text.startswith(text)), actor, by)

    def edit(self, tasks: Callable[[Phase], Iterable[Task]], actor: Actor, by: str) -> Story:
        """Give each phase other tasks."""
        phases = tuple(replace(phase, tasks=tuple(tasks(phase))) for phase in self.plan.phases)
        return self.change(replace(self.plan, phases=phases), actor, by)

    def nudge(self, repeats: int = 0) -> Story:
        self.nudges += 1
        self.drift += 1
        return self.happen(Nudged(self.nudges, self.drift, repeats=repeats), Actor.TIMER)

    def let_go(self, bound: Bound, limit: int) -> Story:
        return self.happen(Tripped(bound, limit), Actor.TIMER)

    def steer(self, directive: Directive, by: str = "Mara") -> Story:
        self.directive = directive
        return self.happen(DirectiveSet(directive), PERSON, by)

    def works(self, doing: str, *, minutes: float, tokens: int = 0, cost: float = 0.0, why: str = "") -> Story:
        # A sign of life of the future: the agent is at work however slow the machine is.
        beat = now() + 30 * MINUTE
        self.store.records.beat(
            Presence(
                self.agent, self.name, self.host, self.machine, "sonnet-5-5", doing,
                since=self.end - int(minutes * MINUTE), why=why, tokens=tokens, cost=cost, beat=beat,
            )
        )  # fmt: skip
        return self

    def ask(self, kind: str, text: str, *options: str, minutes: float, detail: str = "") -> Story:
        since = self.end - int(minutes * MINUTE)
        self.store.records.ask(Need(self._new_id(), self.name, kind, text, options, since, self.agent, detail))
        return self

    def shaped(self, signs: str, active: str, minutes: float, about: str = "Part") -> Story:
        """A plan of which only the strip matters: `dd dda. ...`; the task in progress, or next, has a text."""
        named = next((index for index, sign in enumerate(signs.replace(" ", "")) if sign in "a."), -1)
        phases, count = [], 0
        for name, part in zip(("Prepare", "Build", "Prove", "Ship"), signs.split(), strict=False):
            tasks = []
            for sign in part:
                text = active if count == named and active else f"{about} {count + 1}"
                tasks.append(Task(text, SIGNS[sign], ("Mara has the signing key",) if sign == "b" else ()))
                count += 1
            phases.append(Phase(name, tuple(tasks)))
        opened = tuple(
            replace(each, tasks=tuple(replace(task, status=OPEN, notes=()) for task in each.tasks)) for each in phases
        )
        self.at(minutes + 40).change(Plan(opened), AGENT)
        return self.at(minutes).change(Plan(tuple(phases)), AGENT)

    def change(self, plan: Plan, actor: Actor = AGENT, by: str = "") -> Story:
        self.plan = assign_numbers(self.plan, plan)
        self.nudges = self.drift = 0
        return self.happen(PlanChanged(self.plan, directive=self.directive), actor, by)


def grammar_parser(store: Store, name: str = "/home/mk/src/grammar-parser") -> Story:
    """The session of the pictures: nudges, notes, a blocked task, a dropped one, and a person's edits."""
    story = Story(store, name)
    build = "Write the tokenizer|Write the parser|Give errors a line and a column|Wire up the command line"
    prove = "Test every example of the grammar|Fuzz the parser for ten minutes|Measure it against the old one"
    story.at(77).write(
        Read=["Read the grammar and the old parser", "List what the old parser gets wrong"],
        Build=[*build.split("|"), "Keep the old flags"],
        Prove=prove.split("|"),
        Ship=["Write the release notes", "Measure it on the phone"],
    )
    story.at(76).mark("Read the grammar", ACTIVE)
    story.at(70).mark("Read the grammar", DONE).at(69.9).mark("List what", ACTIVE)
    story.at(66).mark("List what", DONE).at(65.9).mark("Write the tokenizer", ACTIVE)
    story.at(58).mark("Write the tokenizer", OPEN).at(57.5).nudge()
    story.at(56).mark("Write the tokenizer", ACTIVE).at(50).mark("Write the tokenizer", DONE)
    story.at(49.9).mark("Write the parser", ACTIVE).at(40).nudge()
    story.at(29).mark("Write the parser", DONE).at(28.9).mark("Give errors", ACTIVE)
    story.at(21).mark("Give errors", DONE).at(20.9).mark("Wire up", ACTIVE)
    story.at(19).mark("Keep the old", DROPPED).at(18.5).remove("Measure it on the phone", actor=PERSON, by="Team")
    story.at(17).add("Ship", "Hand over to Mara for signing", actor=PERSON, by="Mara")
    story.at(16.5).mark("Wire up", OPEN)
    story.at(16).mark("Fuzz", BLOCKED, note="May I run cargo fuzz?")
    story.at(13).mark("Wire up", ACTIVE, note="Flags stay as they were; --json is new.")
    story.at(0.6).nudge()
    story.works("bash: pytest -q tests/cli", minutes=0.6, tokens=184_000, cost=1.92)
    return story.ask("command", "cargo fuzz run parse -- -max_total_time=600", "once", "no", minutes=4, detail="")


def fill_store(store: Store) -> None:
    """All sessions of the pictures, the one with the long history last."""
    Story(store, "/home/mk/src/billing-api", "codex", "build-02").shaped("dd da ...", "Merge two migrations", 11).works(
        "", minutes=11, why="asked"
    ).ask("input", "Two migrations touch invoices. Shall I merge them or keep both?", minutes=11)
    Story(store, "/home/mk/src/docs-site", "claude", "build-03").shaped("dddd ddb", "", 26)
    Story(store, "/home/mk/src/search-index").shaped(
        "dddd ddddda... ......", "Rebuild the postings list in place", 0.2
    ).works("", minutes=41, tokens=91_000, cost=1.1)
    Story(store, "/home/mk/src/importer", "opencode", "build-01").shaped(
        "dd dda.... ...", "Read CSV dialects from the header", 0.1
    ).works("edit: src/dialects.py", minutes=18)
    stuck = Story(store, "/home/mk/src/mobile-sync", "claude", "build-02")
    stuck.shaped("ddd dddda.. ...", "Make the flaky test deterministic", 52)
    for minutes in (30, 24, 18, 12, 6, 3, 0.7):
        stuck.at(minutes).nudge()
    stuck.works("bash: pytest -x tests/sync", minutes=52)
    Story(store, "/home/mk/ops/terraform", "codex", "build-01").shaped(
        "ddddd da. ...", "Plan the staging change", 0.2
    ).works("bash: terraform plan", minutes=6)
    Story(store, "/home/mk/src/release-2.4", "claude", "build-03").shaped(
        "dddddd ddxd ..", "Tag and sign the release", 12
    ).at(9).steer(Directive.PAUSE)
    tokens = Story(store, "/home/mk/src/design-tokens").shaped("dd da.... ....", "Name the colours", 40)
    tokens.at(36).nudge().at(34).nudge(1).at(33).nudge(2).at(32).let_go(Bound.SAME, 3)
    Story(store, "/home/mk/src/cli-completions").shaped("ddd dd xddd", "", 60)
    Story(store, "/home/mk/ops/log-rotation", "claude", "build-03").shaped("dd dddd", "", 120)
    Story(store, "/home/mk/src/onboarding-copy", "claude", "build-02").shaped(
        "ddd d... ..", "Shorten the second screen", 300
    )
    grammar_parser(store)


def main(path: str) -> None:
    store = store_at(path)
    try:
        fill_store(store)
    finally:
        store.close()


if __name__ == "__main__":
    main(sys.argv[1])
