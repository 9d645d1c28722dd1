"""Key bindings."""

from tildone.kit.keys import DEFAULT_BINDINGS, key_of


def test_a_person_may_bind_another_key() -> None:
    """Actions that they do not bind keep their default keys."""
    mine = {"app.tools.expand": "f2"}

    assert key_of("app.tools.expand") == "ctrl+o"
    assert key_of("app.tools.expand", mine) == "f2"
    assert key_of("app.interrupt", mine) == DEFAULT_BINDINGS["app.interrupt"]


def test_an_action_may_have_no_key() -> None:
    """Because the person unbound it, or because it is unknown."""
    assert key_of("app.tools.expand", {"app.tools.expand": ""}) == ""
    assert key_of("app.of.tomorrow") == ""
