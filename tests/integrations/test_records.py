"""The records of the integrations are complete and agree with the registry."""

import ast
from pathlib import Path

import tildone.agents.integrations
from tests.clients.situations import SITUATIONS
from tildone.agents.integrations import FIELDS, INTEGRATIONS, HookPoint, TaskAction, all_integrations, names_with_hooks
from tildone.stores.agents import KNOWN

FOLDER = Path(tildone.agents.integrations.__file__).parent


def test_every_module_of_a_coding_agent_is_registered() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py") if "INTEGRATION = " in path.read_text(encoding="utf-8")}

    assert {name.replace("-", "_") for name in INTEGRATIONS} == modules


def test_a_record_agrees_with_its_line_in_the_registry() -> None:
    for each in all_integrations():
        assert INTEGRATIONS[each.name] is each
        assert (each.name in names_with_hooks()) == (each.hooks is not None), each.name


def test_no_two_coding_agents_have_the_same_name_title_or_client_name() -> None:
    for names in (
        [each.name for each in all_integrations()],
        [each.title for each in all_integrations()],
        [name for known in KNOWN.values() if known.mcp for name in known.mcp.names],
    ):
        assert len(set(names)) == len(names)


def test_notes_belong_to_situations_of_the_reference_page_and_minimum_versions_to_features() -> None:
    """Versions are compared part by part."""
    for each in all_integrations():
        assert each.notes.keys() <= SITUATIONS.keys(), each.name
        assert each.min_versions.keys() <= {"gate", "tools"}, each.name
        parts = [part for version in each.min_versions.values() for part in version.split(".")]
        assert all(part.isdecimal() for part in parts), each.name


def test_hooks_have_a_stop_event_and_every_field() -> None:
    """Without the one there is no gate; without the others a hook would fail with a KeyError."""
    for name in names_with_hooks():
        hooks = INTEGRATIONS[name].hooks

        assert hooks is not None, name
        assert HookPoint.STOP in hooks.points.values(), name
        assert hooks.fields.keys() == FIELDS.keys(), name
        assert hooks.time_limits.keys() <= hooks.points.keys(), name


def test_events_about_single_tasks_come_with_the_tools_that_the_mirror_records_them_as() -> None:
    for each in all_integrations():
        points = set(each.hooks.points.values()) if each.hooks else set()

        if points & {HookPoint.TASK_CREATED, HookPoint.TASK_COMPLETED}:
            assert {TaskAction.CREATE, TaskAction.UPDATE} <= each.task_tools.keys(), each.name


def test_what_a_hook_loads_of_an_integration_imports_nothing_that_edits_settings() -> None:
    """Settings are described by functions that are given what they need; only type checkers see the import."""
    for path in FOLDER.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
        assert not [module for module in imported if "settings" in module], path.name
