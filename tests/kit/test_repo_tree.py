"""The example tool of the guide, run on a real folder."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from docs.examples.repo_tree import MAX_MODEL_ENTRIES, repo_tree
from tildone.plan.text.styles import plain
from tildone.run.kit.components import RenderOptions
from tildone.run.kit.defaults import call_component, result_component
from tildone.run.kit.definition import (
    AbortController,
    Aborted,
    AbortSignal,
    OnUpdate,
    ToolDefinition,
    ToolResult,
    draw,
    error_result,
    markup,
)

COLLAPSED, EXPANDED = RenderOptions(), RenderOptions(expanded=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    sizes = {"zebra.txt": 3, "Makefile": 1536, "src/app.py": 10, "src/deep/er/x.py": 1, ".git/HEAD": 9}
    for name, size in sizes.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x" * size)
    return root


def call(
    tool: ToolDefinition, params: dict[str, Any], signal: AbortSignal | None = None, update: OnUpdate | None = None
) -> ToolResult:
    async def run() -> ToolResult:
        return await tool.execute("call_1", params, signal, update, None)

    return asyncio.run(run())


def lines(result: ToolResult, options: RenderOptions, tool: ToolDefinition) -> list[str]:
    return [plain(line) for line in draw(result_component(tool, result, options), 60)]


def test_folders_come_first_and_files_have_sizes(repository: Path) -> None:
    """The depth can be set."""
    tool = repo_tree(repository)

    assert call(tool, {}).text == "src/\n  deep/\n  app.py (10 B)\nMakefile (1.5 KB)\nzebra.txt (3 B)"
    assert call(tool, {"depth": 1}).text == "src/\nMakefile (1.5 KB)\nzebra.txt (3 B)"
    assert "x.py (1 B)" in call(tool, {"depth": 9}).text
    assert call(tool, {"path": "src/deep"}).text == "er/\n  x.py (1 B)"


@pytest.mark.parametrize("path", ["nowhere", "Makefile", "..", "/"])
def test_a_missing_folder_is_an_error_that_names_it(repository: Path, path: str) -> None:
    with pytest.raises(FileNotFoundError, match=f'Could not find the folder "{path}" in the repository "project"'):
        call(repo_tree(repository), {"path": path})


def test_a_link_is_not_followed_and_a_name_with_a_line_break_is_one_line(repository: Path) -> None:
    (repository / "src" / "loop").symlink_to(repository)
    (repository / "a\nb").touch()

    text = call(repo_tree(repository), {"depth": 9}).text

    assert "loop (" in text
    assert "\na b (0 B)" in text


def test_the_model_gets_a_hundred_entries_and_the_number_of_others(tmp_path: Path) -> None:
    for number in range(MAX_MODEL_ENTRIES + 1):
        (tmp_path / f"{number:03}").touch()
    tool = repo_tree(tmp_path)

    result = call(tool, {})

    assert lines(result, EXPANDED, tool)[-1] == "model read: first 100 entries | not shown: 51 entries"
    assert len(result.text.split("\n")) == MAX_MODEL_ENTRIES + 1
    assert result.text.endswith("099 (0 B)\n… 1 more entry: list a folder by its path to see them")
    assert (len(result.details["entries"]), result.details["truncated"]) == (MAX_MODEL_ENTRIES + 1, True)


def test_progress_is_reported_until_an_abort(repository: Path) -> None:
    """A signal that is not aborted changes nothing."""
    tool, controller, updates, stopped = repo_tree(repository), AbortController(), list[str](), list[str]()

    def stop_after_the_first(result: ToolResult) -> None:
        stopped.append(result.text)
        controller.abort("Escape was pressed")

    result = call(tool, {}, AbortSignal(), lambda result: updates.append(result.text))
    with pytest.raises(Aborted, match="Escape was pressed"):
        call(tool, {}, controller.signal, stop_after_the_first)

    assert (updates, stopped) == (["3 entries so far", "5 entries so far"], ["3 entries so far"])
    assert result == call(tool, {})


def test_full_example_a_call_is_one_line(repository: Path) -> None:
    tool = repo_tree(repository)

    shown = [plain(line) for args in ({}, {"path": "src", "depth": 3}) for line in draw(call_component(tool, args), 60)]

    assert shown == ["Repo Tree .", "Repo Tree src depth=3"]


def test_full_example_a_result_is_a_summary_with_a_preview_and_more_when_expanded(repository: Path) -> None:
    tool = repo_tree(repository)
    result = call(tool, {"depth": 9})
    first = ["Location: .", "Contents: 3 folders, 4 files"]
    first += ["📁 src/", "  📁 deep/", "    📁 er/", "      📄 x.py (1 B)", "  📄 app.py (10 B)"]

    assert lines(result, COLLAPSED, tool) == [*first, "", "not shown: 2 entries | ctrl+o to expand"]
    assert lines(result, EXPANDED, tool) == [*first, "📄 Makefile (1.5 KB)", "📄 zebra.txt (3 B)"]


def test_full_example_an_empty_folder_has_no_footer(tmp_path: Path) -> None:
    tool = repo_tree(tmp_path)
    result = call(tool, {})

    assert result.text == "The folder is empty"
    assert lines(result, COLLAPSED, tool) == ["Location: .", "Contents: 0 folders, 0 files"]


def test_full_example_partial_and_failed_results_have_their_messages(repository: Path) -> None:
    tool = repo_tree(repository)
    coming = result_component(tool, ToolResult((), {}), RenderOptions(is_partial=True))
    failed = result_component(tool, error_result("Could not find it"), RenderOptions(is_error=True))

    assert markup(coming) == "<muted>Repo Tree: reading...</muted>"
    assert markup(failed) == "<error>Could not find it</error>"
