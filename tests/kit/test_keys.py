"""Which key does what."""

from tildone.kit.keys import DEFAULT_BINDINGS, key_hint, key_of


def test_a_hint_names_the_key_and_what_it_is_good_for() -> None:
    assert key_hint("app.tools.expand", "to expand") == "ctrl+o to expand"


def test_a_person_may_bind_another_key() -> None:
    """What they leave alone is bound as usual."""
    mine = {"app.tools.expand": "f2"}

    assert key_hint("app.tools.expand", "to expand", mine) == "f2 to expand"
    assert key_of("app.interrupt", mine) == DEFAULT_BINDINGS["app.interrupt"]


def test_no_hint_is_given_for_what_no_key_does() -> None:
    assert key_hint("app.tools.expand", "to expand", {"app.tools.expand": ""}) == ""
    assert key_hint("app.of.tomorrow", "to fly") == ""
