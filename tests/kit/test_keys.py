"""Key bindings."""

from tildone.kit.keys import DEFAULT_BINDINGS, key_of


def test_a_key_can_be_rebound() -> None:
    """Other actions keep their default keys."""
    mine = {"app.tools.expand": "f2"}

    assert key_of("app.tools.expand") == "ctrl+o"
    assert key_of("app.tools.expand", mine) == "f2"
    assert key_of("app.interrupt", mine) == DEFAULT_BINDINGS["app.interrupt"]


def test_an_action_may_have_no_key() -> None:
    """Because it was unbound or is unknown."""
    assert key_of("app.tools.expand", {"app.tools.expand": ""}) == ""
    assert key_of("app.of.tomorrow") == ""
