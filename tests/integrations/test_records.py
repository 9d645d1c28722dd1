"""The records of the integrations are complete and agree with the registry."""

import ast
from pathlib import Path

import pytest

import tildone.integrations
from tests.clients.situations import SITUATIONS
from tildone.integrations import INTEGRATIONS, all_integrations, names_with_hooks
from tildone.integrations.hook_protocol import FIELDS
from tildone.integrations.record import HookPoint, Integration, TaskAction

FOLDER = Path(tildone.integrations.__file__).parent
every = pytest.mark.parametrize("integration", all_integrations(), ids=lambda integration: integration.name)


def test_every_module_of_a_coding_agent_is_registered() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py") if "INTEGRATION = " in path.read_text(encoding="utf-8")}

    assert {name.replace("-", "_") for name in INTEGRATIONS} == modules


@every
def test_a_record_agrees_with_its_line_in_the_registry(integration: Integration) -> None:
    assert INTEGRATIONS[integration.name] is integration
    assert (integration.name in names_with_hooks()) == (integration.hooks is not None)


def test_no_two_coding_agents_have_the_same_name_title_or_client_name() -> None:
    for names in (
        [each.name for each in all_integrations()],
        [each.title for each in all_integrations()],
        [name for each in all_integrations() if each.mcp for name in each.mcp.names],
    ):
        assert len(set(names)) == len(names)


@every
def test_notes_belong_to_situations_of_the_reference_page(integration: Integration) -> None:
    assert integration.notes.keys() <= SITUATIONS.keys()


@every
def test_minimum_versions_belong_to_features_and_are_numbers(integration: Integration) -> None:
    """They are compared part by part."""
    assert integration.min_versions.keys() <= {"gate", "tools"}
    assert all(part.isdecimal() for version in integration.min_versions.values() for part in version.split("."))


@every
def test_time_limits_belong_to_events_of_the_agent(integration: Integration) -> None:
    if integration.hooks is not None:
        assert integration.hooks.time_limits.keys() <= integration.hooks.points.keys()


@pytest.mark.parametrize("name", names_with_hooks())
def test_hooks_have_a_stop_event_and_every_field(name: str) -> None:
    """Without the one there is no gate; without the others a hook would fail with a KeyError."""
    hooks = INTEGRATIONS[name].hooks

    assert hooks is not None
    assert HookPoint.STOP in hooks.points.values()
    assert hooks.fields.keys() == FIELDS.keys()


@every
def test_events_about_single_tasks_come_with_the_tools_that_the_mirror_records_them_as(
    integration: Integration,
) -> None:
    points = set(integration.hooks.points.values()) if integration.hooks else set()

    if points & {HookPoint.TASK_CREATED, HookPoint.TASK_COMPLETED}:
        assert {TaskAction.CREATE, TaskAction.UPDATE} <= integration.task_tools.keys()


def test_what_a_hook_loads_of_an_integration_imports_nothing_that_edits_settings() -> None:
    """Settings are described by functions that are given what they need; only type checkers see the import."""
    for path in FOLDER.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
        assert not [module for module in imported if "settings" in module], path.name
