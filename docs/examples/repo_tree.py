"""A tool that lists the files of a local repository: everything in `docs/how-to/write-a-tool.md`, in one file."""
# ruff: noqa: INP001 -- a standalone example; docs/ is not a package

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypedDict

from tildone.plan.text.amounts import format_count, format_size
from tildone.plan.text.styles import Theme
from tildone.run.kit.components import (
    Component,
    Container,
    Field,
    Item,
    KeyHint,
    RenderContext,
    RenderOptions,
    Text,
    ToolBody,
    ToolCallHeader,
    ToolFooter,
)
from tildone.run.kit.definition import (
    AbortSignal,
    OnUpdate,
    ToolDefinition,
    ToolResult,
    send_update,
    text_result,
    validated,
)

MAX_MODEL_ENTRIES = 100
"""How many entries of a listing the model reads."""

MAX_EXPANDED_ENTRIES, MAX_COLLAPSED_ENTRIES = 50, 5
"""How many entries a person sees."""

PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Folder to list, from the root of the repository", "default": ""},
        "depth": {"type": "integer", "description": "How many levels of folders to list", "default": 2},
    },
}


class RepoTreeParams(TypedDict, total=False):
    """The arguments that `PARAMETERS` describes, for the type checker."""

    path: str
    depth: int


class Entry(TypedDict):
    """A file or folder: its path relative to the listed folder, and its size if it is a file."""

    path: str
    size: int | None


def repo_tree(root: Path) -> ToolDefinition:
    """Return the tool for one repository."""

    async def execute(
        _tool_call_id: str,
        params: RepoTreeParams,
        signal: AbortSignal | None,
        on_update: OnUpdate | None,
        _ctx: object,
    ) -> ToolResult:
        path = params.get("path", "")
        folder = await asyncio.to_thread(folder_in, root, path)
        entries: list[Entry] = []
        async for listed in listings(folder, params.get("depth", 2), signal):
            entries += listed
            send_update(on_update, text_result(f"{format_count(len(entries), 'entry', 'entries')} so far"))
        entries.sort(key=tree_order)
        truncated = len(entries) > MAX_MODEL_ENTRIES
        return text_result(model_text(entries), {"path": path or ".", "entries": entries, "truncated": truncated})

    return validated(
        ToolDefinition(
            name="repo_tree",
            label="Repo Tree",
            description="List the files and folders of the repository, folders first, with sizes.",
            parameters=PARAMETERS,
            execute=execute,
            prompt_snippet="Browse the files of the repository",
            prompt_guidelines=(
                "Use repo_tree to see what there is before reading files",
                "Start at the root, then list a folder by its path",
            ),
            render_call=render_call,
            render_result=render_result,
        )
    )


def folder_in(root: Path, path: str) -> Path:
    """Return the folder at `path`, which must be in the repository."""
    folder = (root / path).resolve()
    if not folder.is_relative_to(root.resolve()) or not folder.is_dir():
        raise FileNotFoundError(f'Could not find the folder "{path}" in the repository "{root.name}"')
    return folder


async def listings(folder: Path, depth: int, signal: AbortSignal | None) -> AsyncIterator[list[Entry]]:
    """Yield the entries of each folder, down to `depth` levels. The signal is checked before each folder."""
    pending = [(folder, depth)]
    while pending:
        if signal is not None:
            signal.raise_if_aborted()
        current, levels = pending.pop()
        sizes = await asyncio.to_thread(sizes_in, current)
        if levels > 1:
            pending += [(path, levels - 1) for path, size in sizes.items() if size is None]
        yield [{"path": path.relative_to(folder).as_posix(), "size": size} for path, size in sizes.items()]


def sizes_in(folder: Path) -> dict[Path, int | None]:
    """Return the entries of a folder with the sizes of files. Links are not followed: they could form a cycle."""
    with os.scandir(folder) as scanned:
        return {
            Path(entry.path): None if entry.is_dir(follow_symlinks=False) else entry.stat(follow_symlinks=False).st_size
            for entry in scanned
            if entry.name != ".git"
        }


def tree_order(entry: Entry) -> list[tuple[bool, str]]:
    """Return the sort key of an entry: below its folder, folders before files, then by name."""
    *folders, name = entry["path"].split("/")
    return [*((False, folder) for folder in folders), (entry["size"] is not None, name)]


def model_text(entries: list[Entry]) -> str:
    """Return the tree as the model reads it."""
    lines = [line(entry) for entry in entries[:MAX_MODEL_ENTRIES]]
    left = len(entries) - len(lines)
    more = (
        [f"… {format_count(left, 'more entry', 'more entries')}: list a folder by its path to see them"] if left else []
    )
    return "\n".join([*lines, *more]) or "The folder is empty"


def line(entry: Entry, folder_sign: str = "", file_sign: str = "") -> str:
    """Return one line for an entry, indented below its folder, even if its name contains line breaks."""
    *folders, name = " ".join(entry["path"].splitlines()).split("/")
    indent = "  " * len(folders)
    if entry["size"] is None:
        return f"{indent}{folder_sign}{name}/"
    return f"{indent}{file_sign}{name} ({format_size(entry['size'])})"


def render_call(args: RepoTreeParams, _theme: Theme) -> Component:
    options = [f"depth={args['depth']}"] if "depth" in args else []
    return ToolCallHeader("Repo Tree", main_arg=args.get("path") or ".", option_args=options, show_colon=False)


def render_result(result: ToolResult, options: RenderOptions, theme: Theme, context: RenderContext) -> Component:
    if options.is_partial:
        return Text(theme.fg("muted", "Repo Tree: reading..."))
    if context.is_error or "entries" not in result.details:
        return Text(theme.fg("error", result.text or "Could not list the repository"))
    entries: list[Entry] = result.details["entries"]
    folders = sum(entry["size"] is None for entry in entries)
    contents = f"{format_count(folders, 'folder')}, {format_count(len(entries) - folders, 'file')}"
    container = Container()
    fields = [
        Field("Location", result.details["path"], show_collapsed=True),
        Field("Contents", contents, show_collapsed=True),
    ]
    container.add_child(ToolBody(fields, expanded=options.expanded))
    limit = MAX_EXPANDED_ENTRIES if options.expanded else MAX_COLLAPSED_ENTRIES
    if entries:
        container.add_child(Text("\n".join(line(entry, "📁 ", "📄 ") for entry in entries[:limit])))
    items = footer_items(result, options, hidden=len(entries) - limit)
    container.add_child(ToolFooter(items, include_spacer_before_footer=True))
    return container


def footer_items(result: ToolResult, options: RenderOptions, *, hidden: int) -> list[Item]:
    items = []
    if result.details["truncated"]:
        items.append(Item("model read", f"first {MAX_MODEL_ENTRIES} entries"))
    if hidden > 0:
        items.append(Item("not shown", format_count(hidden, "entry", "entries")))
    if hidden > 0 and not options.expanded:
        items.append(Item("", KeyHint("app.tools.expand", "to expand")))
    return items
