"""Registries import their members one at a time."""

import subprocess
import sys

import pytest

from tildone.base import Registry


def test_a_member_is_imported_on_first_use() -> None:
    show = (
        "import sys; from tildone.base import Registry;"
        "members = Registry('wsgiref', 'BaseHandler', {'handlers': None, 'validate': None});"
        "print('wsgiref.handlers' in sys.modules, members['handlers'].__name__, 'wsgiref.validate' in sys.modules)"
    )

    answer = subprocess.run([sys.executable, "-I", "-c", show], capture_output=True, text=True, check=True)

    assert answer.stdout.split() == ["False", "BaseHandler", "False"]


def test_a_registry_lists_its_members_in_order_without_importing_them() -> None:
    members: Registry[object, int] = Registry("nowhere", "NOTHING", {"second": 2, "first": 1})

    assert list(members) == ["second", "first"]
    assert "first" in members
    assert "third" not in members
    assert members.entries["first"] == 1


def test_an_unregistered_name_is_a_key_error_even_if_the_module_exists() -> None:
    members: Registry[object, None] = Registry("wsgiref", "BaseHandler", {})

    with pytest.raises(KeyError):
        members["handlers"]


def test_a_name_with_a_hyphen_is_a_module_with_an_underscore() -> None:
    members: Registry[object, None] = Registry("wsgiref", "demo_app", {"simple-server": None})

    assert callable(members["simple-server"])


def test_a_name_with_a_colon_is_a_module_and_what_it_has() -> None:
    members: Registry[object, None] = Registry("wsgiref", "nothing", {"simple_server:demo_app": None})

    assert callable(members["simple_server:demo_app"])
