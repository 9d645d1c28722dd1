"""Key bindings."""

from tildone.kit.keys import NO_KEYS, key_of


def test_a_key_can_be_rebound() -> None:
    mine = {"app.tools.expand": "f2"}

    assert key_of("app.tools.expand") == "ctrl+o"
    assert key_of("app.tools.expand", mine) == "f2"


def test_an_action_may_have_no_key() -> None:
    """Because the screen has none for it, or it is unknown."""
    assert key_of("app.tools.expand", {"app.interrupt": "escape"}) == ""
    assert key_of("app.tools.expand", NO_KEYS) == ""
    assert key_of("app.of.tomorrow") == ""
