"""Whole programs in this process, for odd inputs that pass every parser: hooks, and verbs of the command line."""

import contextlib
import io
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from tests.faults.fuzz import odd
from tests.faults.fuzz.odd import SAMPLES, Target
from tests.hooks.agent import WITH_HOOKS, Workspace, environment, hooks_of, in_process, new_workspace, to_json
from tests.hooks.golden import FILES, PROJECT_PLACEHOLDER, golden
from tests.hooks.test_events import is_fine
from tildone.agents.integrations import HookPoint
from tildone.cli import main


def targets(folder: Path) -> list[Target]:
    """Return the programs; they work in `folder`."""
    workspace = new_workspace(folder, EDITOR="true", VISUAL="true")
    project = workspace.project
    return [
        Target("hooks", lambda luck: _event(luck, project), lambda given: _report(workspace, *given), weight=1),
        Target("verbs", _argv, lambda argv: _run(workspace, argv), weight=1),
    ]


def _event(luck: Random, project: Path) -> tuple[str, str, Any]:
    each = golden(luck.choice(FILES))
    text = luck.choice(("s1", "s2", "s3"))
    sample = odd.varied(luck, each.case["stdin"])
    if isinstance(sample, dict):
        fields = hooks_of(each.integration).fields
        sample |= {fields["cwd"].split()[0]: str(project), fields["conversation"].split()[0]: text}
    return each.integration.name, each.event, sample


def _report(workspace: Workspace, integration: str, event: str, payload: Any) -> None:
    given = to_json(payload).replace(PROJECT_PLACEHOLDER.encode(), str(workspace.project).encode())
    is_line = hooks_of(WITH_HOOKS[integration]).points.get(event) == HookPoint.STATUS_LINE
    assert is_fine(in_process([integration, event], given, workspace.environ), line=is_line)


def _argv(luck: Random) -> list[str]:
    verb = ["todo", luck.choice(SAMPLES["verbs"])] if luck.random() < 0.6 else [luck.choice(SAMPLES["other_verbs"])]
    rest = [odd.word(luck, SAMPLES["words"]).replace("\0", "") for _ in range(luck.randrange(4))]
    return [*verb, *rest] if luck.random() < 0.9 else ["todo", "rm", "--all"]


def _run(workspace: Workspace, argv: list[str]) -> None:
    """Run a verb. What it prints is encoded as for a pipe."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace") for _ in range(2))
    with (
        environment(workspace.environ),
        contextlib.chdir(workspace.project),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch("sys.stdin", io.StringIO()),
    ):
        main(argv)
    for path in workspace.project.iterdir():
        if path.is_file():
            path.unlink()
