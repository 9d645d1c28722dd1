"""What is kept of an agent's conversation for its successor."""

import json
from pathlib import Path

import pytest

from tildone.fleet.handover import MAX_CHARACTERS, MAX_SAID, last_messages, messages_in, with_messages

CLAUDE = [
    {"type": "queue-operation", "content": "Work through this plan."},
    {"type": "user", "message": {"role": "user", "content": "Work through\nthis plan."}},
    {"type": "attachment", "attachment": {"type": "skill_listing", "content": "- many"}},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
            ],
        },
    },
    {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "a b"}]}]},
    },
]
CODEX = [
    {"type": "response_item", "payload": {"type": "message", "role": "developer", "content": [{"text": "rules"}]}},
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Work through this plan."}],
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look."}],
        },
    },
    {"type": "event_msg", "payload": {"type": "agent_message", "message": "I look."}},
    {
        "type": "response_item",
        "payload": {"type": "function_call", "name": "Bash", "arguments": '{"command": "ls"}'},
    },
    {"type": "response_item", "payload": {"type": "function_call_output", "output": "a b"}},
]
GEMINI = [
    {"$set": {"lastUpdated": "now"}},
    {"type": "user", "content": [{"text": "Work through this plan."}]},
    {"type": "gemini", "content": "I look.", "toolCalls": [{"name": "Bash", "args": {"command": "ls"}}]},
    {"type": "user", "content": [{"functionResponse": {"name": "Bash", "response": {"output": "a b"}}}]},
]
SAID = ["user: Work through this plan.", "assistant: I look.", 'call: Bash {"command": "ls"}']


def said(folder: Path, entries: list[dict[str, object]], printed: str = "") -> list[str]:
    """What is kept of a transcript with these entries, and of an agent that has printed this."""
    transcript, note, output = folder / "t.jsonl", folder / "note", folder / "output"
    transcript.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    note.write_text(str(transcript), encoding="utf-8")
    output.write_text(printed, encoding="utf-8")
    return last_messages(str(note), str(output))


@pytest.mark.parametrize("entries", [CLAUDE, CODEX, GEMINI], ids=["claude", "codex", "gemini"])
def test_messages_calls_and_results_of_a_transcript_are_kept(entries: list[dict[str, object]], tmp_path: Path) -> None:
    found = said(tmp_path, entries)

    assert found[:3] == SAID
    assert found[3].startswith("result: ")
    assert "a b" in found[3]
    assert len(found) == 4


def test_of_a_long_conversation_the_end_is_kept(tmp_path: Path) -> None:
    entries: list[dict[str, object]] = [{"type": "user", "content": f"{n} {'word ' * 500}"} for n in range(100)]

    found = said(tmp_path, entries)

    assert len(found) == MAX_SAID
    assert found[-1].startswith("user: 99 word")
    assert max(map(len, found)) == MAX_CHARACTERS


def test_without_a_transcript_the_end_of_the_output_is_kept(tmp_path: Path) -> None:
    assert said(tmp_path, [], "Looking\n\n  at files\n") == ["Looking", "at files"]


def test_nothing_but_a_transcript_is_read(tmp_path: Path) -> None:
    note = tmp_path / "note"
    for named in ("/etc/passwd", "missing.jsonl", ""):
        note.write_text(named, encoding="utf-8")
        assert last_messages(str(note), str(tmp_path / "output")) == [], named


def test_lines_of_another_form_do_no_harm(tmp_path: Path) -> None:
    transcript, note = tmp_path / "t.jsonl", tmp_path / "note"
    note.write_text(str(transcript), encoding="utf-8")
    for line in ("{", "[]", "7", '{"message": 3}', '{"payload": {"type": []}}', '{"type": "user"}'):
        transcript.write_text(f"{line}\n" + json.dumps(CLAUDE[1]) + "\n", encoding="utf-8")
        assert last_messages(str(note), "")[-1] == SAID[0], line


def test_they_travel_in_the_message_of_a_checkpoint() -> None:
    message = with_messages("a checkpoint after task 2", SAID)

    assert message.startswith("a checkpoint after task 2\n")
    assert messages_in(message) == SAID
    assert messages_in(with_messages("a checkpoint", [])) == []
