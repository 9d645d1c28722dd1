"""The screen of `tildone watch` on a real store, driven by keys; others change the store in processes of their own."""

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.events import Key
from textual.keys import _character_to_key
from textual.pilot import Pilot

from tests.suite.forking import PROGRAM
from tests.suite.waiting import until_async
from tildone.app.apply import Editor
from tildone.app.index import SessionIndex
from tildone.app.opening import open_agents, open_session, open_store
from tildone.app.settings import Settings, load
from tildone.base import StoreError, replace
from tildone.base.ids import now
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Phase, Plan, Status, Task
from tildone.plan.ops import Write
from tildone.screens.watch.app import Start, WatchApp
from tildone.screens.watch.need_panel import ARMING_SECONDS
from tildone.screens.widgets.prompt import DetailReader
from tildone.stores.agents import Agent, AgentId, start_time

SIZES = {"80x24": (80, 24), "200x50": (200, 50), "40x24": (40, 24)}


def grammar() -> tuple[Phase, ...]:
    """The plan of most tests."""
    return (
        Phase("Read", (Task("Read the grammar", Status.COMPLETED), Task("List what it gets wrong", Status.COMPLETED))),
        Phase(
            "Build",
            (
                Task("Write the tokenizer", Status.COMPLETED),
                Task("Wire up the command line", Status.IN_PROGRESS, ("Flags stay; --json is new.",)),
                Task("Keep the old flags", Status.ABANDONED),
            ),
        ),
        Phase("Prove", (Task("Test every example"), Task("Fuzz it", Status.BLOCKED, ("May I run cargo fuzz?",)))),
    )


@dataclass(frozen=True, slots=True)
class World:
    """A store, and the settings that lead to it."""

    folder: Path
    settings: Settings
    store: Store

    def session(self, name: str) -> Session:
        return open_session(replace(self.settings, session=name), BY_HAND, self.store)

    def write(self, name: str, *phases: Phase) -> Session:
        """Create a session with a plan."""
        session = self.session(name)
        session.change([Write(phases)])
        return session

    def plan(self, name: str) -> Plan:
        return self.session(name).plan

    def texts(self, name: str) -> list[str]:
        return [task.text for task in self.plan(name).tasks]

    def status(self, name: str, number: int) -> str:
        return str(next(task.status.value for task in self.plan(name).tasks if task.number == number))

    def tildone(self, *argv: str) -> str:
        """Run a command in a process of its own, on the same store."""
        store = ["--store", str(self.settings.store.path)]
        done = subprocess.run([PROGRAM, *argv, *store], cwd=self.folder, capture_output=True, timeout=60, check=True)
        return done.stdout.decode()

    def agent_at_work(self, session: str, conversation: str = "5f0c1234") -> None:
        """Register an agent whose process is this one."""
        pid = os.getpid()
        agent = Agent(AgentId("claude", conversation), session, "", pid, now(), start_time(pid))
        open_agents(self.settings).save(agent)


def world(folder: Path) -> World:
    settings = load({"store": str(folder / "plans.db")}, os.environ, str(folder))
    settings = replace(settings, agents_dir=str(folder / "agents"))
    return World(folder, settings, open_store(settings))


class Unreliable:
    """A store that can be out of reach, as one on a server can, or its records."""

    def __init__(self, part: Any, whole: "Unreliable | None" = None) -> None:
        self._part, self._whole = part, whole or self
        self.reachable = True

    def __getattr__(self, name: str) -> Any:
        if name == "records":
            return Unreliable(self._part.records, self._whole)
        # By contract, that never fails.
        if not self._whole.reachable and name != "keep_summaries":
            raise StoreError("the server does not answer")
        return getattr(self._part, name)


@asynccontextmanager
async def watching(
    world: World,
    start: Start | None = None,
    size: tuple[int, int] = (80, 24),
    store: Store | None = None,
    now: Callable[[], int] = now,
) -> AsyncIterator[Pilot[None]]:
    """Open the screen, and wait until the store and the plan of the first session are read."""
    patience = world.session("-").patience
    read = store or world.store
    reader = DetailReader(read, when=lambda _: "10:57", patience=patience)
    editor = Editor(world.settings, world.store)
    index = SessionIndex(read, world.settings.agents_dir, now=now, nudge_limit=patience.nudges)
    app = WatchApp(index, reader, editor, start or Start(), now=now, clock=lambda _: "10:57")
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.is_drawn or "No plans" in text(pilot))
        yield pilot


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait until something holds, without a key."""
    await until_async(holds, lambda: f"the screen is\n{text(pilot)}")


async def shows(pilot: Pilot[None], *words: str) -> None:
    """Wait until the screen shows all of these words."""
    await until(pilot, lambda: all(word in text(pilot) for word in words))


async def sees(pilot: Pilot[None], keys: str, *proofs: str | Callable[[], bool]) -> None:
    """Press keys, and wait until the screen shows all of these words, and all of this holds."""
    await pilot.press(*keys.split())
    await until(pilot, lambda: holds_all(proofs, text(pilot)))


async def enters(pilot: Pilot[None], words: str, *proofs: str | Callable[[], bool]) -> None:
    """Type a text and Enter, and wait until the screen shows all of these words, and all of this holds."""
    await type_text(pilot, words)
    await sees(pilot, "enter", *proofs)


def holds_all(proofs: Iterable[str | Callable[[], bool]], shown: str) -> bool:
    return all(proof in shown if isinstance(proof, str) else proof() for proof in proofs)


async def press_armed(pilot: Pilot[None], *keys: str) -> None:
    """Press keys once a question has been shown for long enough."""
    await pilot.pause(ARMING_SECONDS * 1.2)
    await pilot.press(*keys)


async def type_text(pilot: Pilot[None], words: str, *then: str) -> None:
    """Type a text, key by key, faster than the screen is drawn; then press other keys."""
    for char in words[:-1]:
        pilot.app.post_message(Key(char if char.isalnum() else _character_to_key(char), char))
    await pilot.press(words[-1], *then)


def text(pilot: Pilot[None]) -> str:
    """The screen as text."""
    return "\n".join(lines(pilot))


def lines(pilot: Pilot[None]) -> list[str]:
    """The rows of the screen."""
    app = pilot.app
    strips = app.screen._compositor.render_strips()  # noqa: SLF001  the only way to the drawn cells
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]
