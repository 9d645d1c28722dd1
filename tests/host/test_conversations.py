"""Conversations are started, found and forked."""

import itertools
from pathlib import Path

import pytest

from tests.host import records as messages
from tildone.base.errors import NotFound, Refused
from tildone.run.transcript import Conversations


def conversations(folder: Path | None) -> Conversations:
    ids = itertools.count()
    clock = itertools.count(1000)
    where = str(folder) if folder else None
    return Conversations(where, "/p", now=lambda: next(clock), new_conversation_id=lambda: f"session{next(ids)}")


def test_a_conversation_can_be_found_again(tmp_path: Path) -> None:
    """It is found as the newest one, by its path, or by a part of its name."""
    kept = conversations(tmp_path)
    begun = kept.new()
    messages.add(begun, "message", message=messages.user("hello", 0))
    assert begun.file

    for found in (kept.latest(), kept.load(begun.file), kept.find("session0"), kept.find(begun.file)):
        assert found is not None
        assert found.id == begun.id
        assert found.messages() == begun.messages()


def test_a_continued_conversation_is_written_to_the_same_file(tmp_path: Path) -> None:
    """No entry is written twice."""
    kept = conversations(tmp_path)
    begun = kept.new()
    messages.add(begun, "message", message=messages.user("one", 0))
    again = kept.latest()
    assert again

    messages.add(again, "message", message=messages.user("two", 0))

    assert begun.file
    assert [messages.text_of(said) for said in messages.said_in(kept.load(begun.file))] == ["one", "two"]


def test_without_a_folder_nothing_is_stored() -> None:
    """Nothing is found, either."""
    kept = conversations(None)
    messages.add(kept.new(), "message", message=messages.user("gone", 0))

    assert kept.latest() is None
    with pytest.raises(NotFound, match="there is no conversation 'x'"):
        kept.find("x")


def test_an_ambiguous_name_is_refused(tmp_path: Path) -> None:
    """The message asks for more of the id."""
    kept = conversations(tmp_path)
    for _ in range(2):
        messages.add(kept.new(), "message", message=messages.user("a", 0))

    with pytest.raises(NotFound, match="matches 2 conversations"):
        kept.find("session")


def test_a_fork_branches_off_before_a_message(tmp_path: Path) -> None:
    """Earlier entries are copied unchanged, and the source is not modified."""
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


def test_a_subagents_conversation_names_its_parent_and_is_not_found_among_the_others(tmp_path: Path) -> None:
    """Neither as the latest nor by its id; its path finds it."""
    folder = conversations(tmp_path)
    parent = folder.new()
    messages.add(parent, "message", message=messages.user("hello", 0))
    child = folder.new_of_subagent(parent)
    messages.add(child, "message", message=messages.user("count", 0))

    assert child.parent_id == parent.id
    assert child.file is not None
    assert (folder.find(child.file).id, [each.id for each in folder.newest_first()]) == (child.id, [parent.id])
    with pytest.raises(NotFound):
        folder.find(child.id)
    assert conversations(None).new_of_subagent(conversations(None).new()).file is None
