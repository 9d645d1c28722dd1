"""The screen as a whole, in two sizes and two themes."""

import asyncio
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.models.model_server import ModelServer, Turn
from tests.tui.run.run_screen import Screen, Talk

GOLDEN = Path(__file__).with_name("golden")
ANSWER = """Three things came out of this:

- `--out` was parsed **twice**; the second time won.
- Exit codes stay as they were: 0, 1 and 2.

I am going to give `watch` one JSON object a line, as `log` does."""
TODOS = [{"text": "Read the grammar"}, {"text": "Wire up the command line"}, {"text": "Write the release notes"}]
SCRIPT: tuple[Turn, ...] = (
    {"tool": "write_todos", "args": {"mode": "replace", "todos": TODOS}},
    {"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}},
    {"tool": "edit_todos", "args": {"action": "start", "indices": [1]}},
    {"text": ANSWER, "tools": [["bash", {"command": "cargo fuzz run parse -- -max_total_time=600"}]]},
    {"text": "The rest of the plan can wait.", "repeat": True},
)


@pytest.fixture
def short_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder whose path is as short for everybody, because the screen shows it."""
    # Not in the folder for temporary files, whose path may be long.
    with tempfile.TemporaryDirectory(prefix="tmp", dir="/tmp") as short:
        (Path(short) / folder.name / ".git").mkdir(parents=True)
        monkeypatch.chdir(Path(short) / folder.name)
        yield
        monkeypatch.chdir(folder)


@pytest.mark.usefixtures("short_folder")
@pytest.mark.parametrize(
    ("size", "theme"),
    [
        ((80, 24), "dark"),
        ((200, 50), "light"),
        pytest.param((80, 24), "light", marks=pytest.mark.slow),
        pytest.param((200, 50), "dark", marks=pytest.mark.slow),
    ],
)
async def test_the_screen_is_as_it_was_drawn_before(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], theme: str
) -> None:
    """The text is the same in every theme: nothing is told by colour alone. The countdown outlasts the picture."""
    monkeypatch.setenv("TILDONE_COUNTDOWN", "600")
    async with talk(ModelServer(*SCRIPT), "Work through it", size=size, theme=theme) as screen:
        shown = await pictures(screen)

    golden = GOLDEN / f"{size[0]}x{size[1]}.txt"
    assert shown == golden.read_text(encoding="utf-8")


async def pictures(screen: Screen) -> str:
    """A question, then the countdown."""
    await screen.asked()
    await screen.shows("y once", "f1 keys", "to show its output")
    question = await at_rest(screen)
    await screen.sees("n enter", "Goes on by itself", "The rest of the plan can wait.")
    return f"{question}\n\n{'=' * 20}\n{await at_rest(screen)}\n"


async def at_rest(screen: Screen) -> str:
    """The screen when all of it is drawn: what is drawn later is part of the picture."""
    await screen.until(lambda: not screen.app._draws_later)  # noqa: SLF001  see above
    before = ""
    while before != (now := settled(screen.text)):
        before = now
        await asyncio.sleep(0.3)
    return now


def settled(text: str) -> str:
    """The text without times, which differ, and without spaces that depend on their widths."""
    text = re.sub(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \d+:\d\d", "⠋ 0:00", text)
    text = re.sub(r"(?<![\w.])<?\d+(?:\.\d+)? ?(?:s|ms|min)\b(?! {2}━)", "N s", text)
    text = re.sub(r"in /\S*", "in FOLDER", text)
    text = re.sub(r"(?: · N s)?(?= · \d+ in)", "", text)
    text = re.sub(r"in \d+ s {2}[━─]+", "in 3 s  ━━━━━━━━━", text)
    text = re.sub(r"[▁▂▃▄▅▆▇]$", "", text, flags=re.MULTILINE)
    return "\n".join(re.sub(r" {2,}", "  ", line).rstrip() for line in text.split("\n"))
