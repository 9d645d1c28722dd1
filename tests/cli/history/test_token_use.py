"""Tokens, read from conversation files."""

from pathlib import Path
from typing import Any

from tildone.cli.history.stats import token_use
from tildone.plan.history.requests import TokenUse
from tildone.stores.pi.session_file import file_name, format_line, format_timestamp, header


def conversation(folder: Path, name: str, *entries: dict[str, Any]) -> None:
    """Write a conversation with these entries, in order."""
    first = header(name, "/work", 0)
    chain = [{**entry, "parentId": entries[n - 1]["id"] if n else None} for n, entry in enumerate(entries)]
    content = b"".join(format_line(record) for record in (first, *chain))
    (folder / file_name(name, first["timestamp"])).write_bytes(content)


def answer(entry_id: str, at: int, tokens: int | None) -> dict[str, Any]:
    usage = {} if tokens is None else {"usage": {"totalTokens": tokens}}
    message = {"role": "assistant", "content": [], **usage}
    return {"type": "message", "id": entry_id, "timestamp": format_timestamp(at), "message": message}


def test_the_requests_of_all_conversations_are_in_the_order_of_their_times(tmp_path: Path) -> None:
    """Other agents, and conversations of other plans, are not read."""
    conversation(tmp_path, "one", answer("a", 5_000, 10), answer("b", 9_000, 20))
    conversation(tmp_path, "two", answer("c", 7_000, 40))
    conversation(tmp_path, "three", answer("d", 8_000, 80))

    found, agents = token_use(["tildone:one", "tildone:two", "claude:three", ""], str(tmp_path))

    assert agents == {"tildone:one", "tildone:two"}
    assert found == [TokenUse(5_000, 10), TokenUse(7_000, 40), TokenUse(9_000, 20)]


def test_entries_that_a_fork_copied_count_once(tmp_path: Path) -> None:
    conversation(tmp_path, "one", answer("a", 5_000, 10))
    conversation(tmp_path, "two", answer("a", 5_000, 10), answer("b", 6_000, 1))

    assert sum(use.tokens for use in token_use(["tildone:one", "tildone:two"], str(tmp_path))[0]) == 11


def test_messages_without_a_usage_or_a_time_tell_nothing(tmp_path: Path) -> None:
    question = {
        "type": "message",
        "id": "q",
        "timestamp": format_timestamp(1),
        "message": {"role": "user", "content": "?"},
    }
    conversation(
        tmp_path,
        "one",
        question,
        answer("a", 5_000, None),
        answer("b", 5_000, 0),
        answer("c", 1, 5) | {"timestamp": "?"},
    )

    assert token_use(["tildone:one"], str(tmp_path)) == ([], set())


def test_without_conversations_nothing_is_known(tmp_path: Path) -> None:
    assert token_use(["tildone:one"], str(tmp_path / "missing")) == ([], set())
    assert token_use(["claude:one"], str(tmp_path)) == ([], set())
