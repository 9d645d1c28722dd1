"""Conversations: begun, found again, forked."""

import itertools
from pathlib import Path

import pytest

from tests.host import records as messages
from tildone.errors import NotFound, Refused
from tildone.host.conversations import Conversations


def conversations(folder: Path | None) -> Conversations:
    ids = itertools.count()
    clock = itertools.count(1000)
    where = str(folder) if folder else None
    return Conversations(where, "/p", now=lambda: next(clock), new_conversation_id=lambda: f"session{next(ids)}")


def test_a_conversation_is_found_again_where_it_was_left(tmp_path: Path) -> None:
    """By being the newest, by its path, by a part of its name."""
    kept = conversations(tmp_path)
    begun = kept.new()
    messages.add(begun, "message", message=messages.user("hello", 0))
    assert begun.file

    for found in (kept.latest(), kept.load(begun.file), kept.find("session0"), kept.find(begun.file)):
        assert found is not None
        assert found.id == begun.id
        assert found.messages() == begun.messages()


def test_going_on_writes_to_the_same_file(tmp_path: Path) -> None:
    """Nothing of it twice."""
    kept = conversations(tmp_path)
    begun = kept.new()
    messages.add(begun, "message", message=messages.user("one", 0))
    again = kept.latest()
    assert again

    messages.add(again, "message", message=messages.user("two", 0))

    assert begun.file
    assert [messages.text_of(said) for said in messages.said_in(kept.load(begun.file))] == ["one", "two"]


def test_without_a_folder_nothing_is_kept() -> None:
    """Nor found."""
    kept = conversations(None)
    messages.add(kept.new(), "message", message=messages.user("gone", 0))

    assert kept.latest() is None
    with pytest.raises(NotFound, match="there is no conversation 'x'"):
        kept.find("x")


def test_a_name_that_means_several_is_refused(tmp_path: Path) -> None:
    """Say more of it."""
    kept = conversations(tmp_path)
    for _ in range(2):
        messages.add(kept.new(), "message", message=messages.user("a", 0))

    with pytest.raises(NotFound, match="matches 2 conversations"):
        kept.find("session")


def test_a_fork_goes_another_way_from_before_a_message(tmp_path: Path) -> None:
    """What was said before is taken over as it is; the source is left alone."""
    kept = conversations(tmp_path)
    source = kept.new()
    messages.add(source, "message", message=messages.user("one", 0))
    second = messages.add(source, "message", message=messages.user("two", 0))
    messages.add(source, "custom", customType="x", data=1)
    leaf = source.leaf

    fork, text = kept.fork(source, second["id"])

    assert text == "two"
    assert [messages.text_of(said) for said in messages.said_in(fork)] == ["one"]
    assert fork.header["parentSession"] == source.file
    assert fork.file
    assert kept.load(fork.file).messages() == fork.messages()
    assert source.leaf == leaf
    with pytest.raises(Refused, match="not a message of yours"):
        kept.fork(source, leaf or "")
