"""`/todo` in a host: a person's changes are applied, recorded and reported to the model; copying the plan."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.extensions.stage import Answer, Json, Stage
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.dialects.phased import EDIT, phases_out
from tildone.plan.events import Actor, Event
from tildone.plan.model import Phase, Plan, Rules, Status, Task, without_numbers
from tildone.plan.ops import Append, Named, Remove
from tildone.plan.reduce import Step
from tildone.run.extensions.phased import CONFLICT_TITLE, EDITOR_TITLE, PANEL, Copy, PhasedSettings, phases
from tildone.stores.memory import MemoryStore

PLAN = {"call": ("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["wire", "test"]}]}]})}
BEGUN = Plan((Phase("A", (Task("wire", Status.IN_PROGRESS), Task("test"))),))


class OvertakenStore(MemoryStore):
    """A store in which another process writes just before our next write."""

    faster: Callable[[], object] | None = None

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        faster, self.faster = self.faster, None
        if faster:
            faster()
        super().append(session, event, seen_by)


def overtake(stage: Stage, step: Step) -> None:
    assert isinstance(stage.store, OvertakenStore)
    stage.store.faster = lambda: stage.open_session("conversation").change((step,), Actor.USER, Rules())


async def on_stage(
    *script: Answer, cwd: str = ".", store: MemoryStore | None = None, copy: Copy = lambda _: False
) -> Stage:
    """Return a host with a plan."""
    stage = Stage(PHASED, PLAN, *script, cwd=cwd, store=store)
    await stage.start(phases(stage.open_session, PhasedSettings(reminders=False), copy))
    await stage.says("go")
    return stage


def plan_on(stage: Stage) -> Plan:
    return without_numbers(stage.open_session("conversation").plan)


def texts(stage: Stage) -> list[str]:
    return [task.text for task in plan_on(stage).tasks]


async def test_a_persons_change_is_recorded_and_reported() -> None:
    """The edit is recorded for the next start, and reported with the next request."""
    stage = await on_stage()

    await stage.says("/todo done wire")
    await stage.says("go on")

    edits = [entry["data"] for entry in stage.entries if entry.get("customType") == EDIT]
    [said] = stage.messages("developer")
    assert edits == [{"phases": phases_out(plan_on(stage))}]
    assert said["attribution"] == "user"
    assert "- [x] wire\n- [/] test" in stage.told()[-2]
    assert stage.screen.widgets[PANEL] == ["Todos 1/2", "  ├─ ☑ wire", "  └─ ☐ test"]


async def test_a_change_during_a_turn_continues_the_agent() -> None:
    """The model was about to stop, and reads the change first."""
    stage = await on_stage()

    async def person_types() -> Json:
        await stage.host.prompt("/todo append A ship")
        return {"text": "I stop."}

    stage.model.script[:] = [person_types]

    await stage.says("go on")

    assert "- [ ] Ship" in stage.told()[-1]
    assert texts(stage) == ["wire", "test", "Ship"]


async def edited(*typed: str | Callable[[str], str] | None, says_yes: bool = False) -> Stage:
    """Return a host in which a person has typed these texts in an editor, one after another."""
    stage = await on_stage()
    stage.screen.types, stage.screen.says_yes = list(typed), says_yes
    await stage.says("/todo edit")
    return stage


async def test_an_edited_plan_replaces_the_old_one() -> None:
    stage = await edited(lambda draft: draft.replace("wire", "rewire"))

    assert stage.screen.edits == [(EDITOR_TITLE, "# A\n- [/] wire\n- [ ] test\n")]
    assert texts(stage) == ["rewire", "test"]


@pytest.mark.parametrize(("typed", "notice"), [(None, "warning"), ("# A\nnonsense\n", "error")])
async def test_an_editor_that_is_closed_and_invalid_text_change_nothing(typed: str | None, notice: str) -> None:
    stage = await edited(typed)

    assert (stage.screen.notices[0][0], plan_on(stage)) == (notice, BEGUN)


async def test_invalid_text_can_be_edited_again() -> None:
    """The editor opens with the text that was typed."""
    stage = await edited("# A\nnonsense\n", "# A\n- [ ] sense\n", says_yes=True)

    assert stage.screen.edits[1] == (EDITOR_TITLE, "# A\nnonsense\n")
    assert texts(stage) == ["sense"]


async def test_an_edit_that_conflicts_is_shown_again() -> None:
    """The agent adds a task while the person is typing; neither change is lost."""
    stage = await on_stage()

    def overtaken(draft: str) -> str:
        stage.open_session("conversation").change((Append((Task("new"),), "A"),))
        return draft.replace("wire", "rewire")

    stage.screen.types = [overtaken, lambda draft: draft + "- [ ] new\n"]
    await stage.says("/todo edit")

    assert stage.screen.edits[1] == (CONFLICT_TITLE, "# A\n- [/] rewire\n- [ ] test\n")
    assert texts(stage) == ["rewire", "test", "new"]


async def test_a_conflicting_command_is_applied_to_the_changed_plan() -> None:
    """Another process writes between our read and our write; its change remains."""
    stage = await on_stage(store=OvertakenStore())

    overtake(stage, Append((Task("new"),), "A"))
    await stage.says("/todo done wire")

    tasks = (Task("wire", Status.COMPLETED), Task("test", Status.IN_PROGRESS), Task("new"))
    assert plan_on(stage).tasks == tasks


async def test_a_command_whose_task_was_removed_is_refused() -> None:
    """The task is removed before it can be marked; an error is shown and nothing is written."""
    stage = await on_stage(store=OvertakenStore())

    overtake(stage, Remove(Named("wire")))
    await stage.says("/todo done wire")

    assert stage.screen.notices == [("error", "no task says “wire”")]
    assert plan_on(stage).tasks == (Task("test"),)
    assert stage.messages("developer") == []


async def test_a_plan_is_exported_and_imported(tmp_path: Path) -> None:
    stage = await on_stage(cwd=str(tmp_path))

    await stage.says("/todo export")
    await stage.says("/todo rm")
    await stage.says("/todo import")

    assert plan_on(stage) == BEGUN
    assert [kind for kind, _ in stage.screen.notices] == ["info"] * 3


async def test_a_file_with_other_content_is_not_overwritten_and_file_errors_are_reported(tmp_path: Path) -> None:
    stage = await on_stage(cwd=str(tmp_path))
    held = {"notes.md": b"My notes\n", "photo": b"\xff\xd8", "latin": b"# \xe9\n"}
    for name, content in held.items():
        (tmp_path / name).write_bytes(content)

    for typed in ("export notes.md", "export photo", "import latin", "import nowhere", "export no/where"):
        await stage.says(f"/todo {typed}")

    assert [kind for kind, _ in stage.screen.notices] == ["error"] * 5
    assert {name: (tmp_path / name).read_bytes() for name in held} == held
    assert plan_on(stage) == BEGUN


async def test_the_plan_is_copied_to_the_clipboard() -> None:
    """A missing clipboard is reported."""
    copied: list[str] = []

    def copy(text: str) -> bool:
        copied.append(text)
        return True

    stage = await on_stage(copy=copy)
    without = await on_stage()

    await stage.says("/todo copy")
    await without.says("/todo copy")

    assert copied == ["# A\n- [/] wire\n- [ ] test\n"]
    assert stage.screen.notices == [("info", "Copied the plan as Markdown")]
    assert without.screen.notices[0][0] == "error"


async def test_an_export_to_the_default_name_follows_no_link_out_of_the_folder(tmp_path: Path) -> None:
    """A repository may contain one; a file that the person names is their own choice."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "TODO.md").symlink_to(tmp_path / "outside.md")
    stage = await on_stage(cwd=str(tmp_path / "project"))

    await stage.says("/todo export")

    [(kind, text)] = stage.screen.notices
    assert (kind, "TODO.md is a symbolic link to" in text) == ("error", True)
    assert not (tmp_path / "outside.md").exists()
