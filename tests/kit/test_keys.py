"""Key bindings."""

import pytest

from tildone.base.keys import NO_KEYS, clash, is_key, key_of


def test_a_key_can_be_rebound() -> None:
    mine = {"app.tools.expand": "f2"}

    assert key_of("app.tools.expand") == "ctrl+o"
    assert key_of("app.tools.expand", mine) == "f2"


def test_an_action_may_have_no_key() -> None:
    """Because the screen has none for it, or it is unknown."""
    assert key_of("app.tools.expand", {"app.interrupt": "escape"}) == ""
    assert key_of("app.tools.expand", NO_KEYS) == ""
    assert key_of("app.of.tomorrow") == ""


@pytest.mark.parametrize("name", ["f6", "ctrl+t", "shift+down", "ctrl+shift+k", "K", "?", "question_mark", "pagedown"])
def test_a_key_has_the_name_of_a_character_or_of_a_key(name: str) -> None:
    assert is_key(name)


@pytest.mark.parametrize("name", ["", " ", "F6", "f25", "control+t", "ctrl+", "enterr", "\n", "j k"])
def test_anything_else_is_not_the_name_of_a_key(name: str) -> None:
    assert not is_key(name)


def test_two_actions_of_one_pane_cannot_have_the_same_key() -> None:
    assert clash({}) is None
    assert clash({"task.toggle": "x"}) == ("task.drop", "task.toggle", "x")
    assert clash({"task.toggle": "f6, /"}) == ("plan.filter", "task.toggle", "/")
    assert clash({"task.toggle": "x", "task.drop": "space"}) is None
    assert clash({"watch.open": "space"}) is None
