"""Whether an agent's last message asks the person something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.plan.gate import REQUESTS, ends_with_question

QUESTIONS = [
    "Which database should I use?",
    "I found two ways. Which one do you prefer?",
    "**Which one do you prefer?**",
    "Do you want (a) or (b)? 🙂",
    "(Or shall I ask Bob?)",
    "Soll ich die Tabelle löschen?",
    "¿Borro la tabla?",
    "使用哪个数据库？",
    "需要我删除这张表吗。",
    "هل أحذف الجدول؟",
    "Ποια βάση να χρησιμοποιήσω\u037e",
    "テーブルを削除してもよろしいですか。",
    "테이블을 삭제할까요.",
    "I can do either:\nWhich do you prefer?\n\n1. Rewrite it\n2. Leave it\n",
    "Which do you prefer?\n- rewrite it\n- leave it",
    "Which of these?\n\n```sql\nDROP TABLE a;\n```",
    "Shall I use this?\n```\nnever closed",
    "Two points:\n- it is slow\n- should I cache it?",
    "Let me know whether to keep the old names.",
    "I can't go on without the key. Please provide it in .env.",
    "I'm waiting for your decision on the schema.",
    f"{'x' * 10_000}. Which one?",
    "Bitte bestätige, dass ich löschen darf.",
    "J’attends votre accord.",
    "请确认是否删除。",
    "どちらにするか教えてください。",
]
STATEMENTS = [
    "",
    "   \n\n",
    "Done.",
    "It ends with return x;",
    "I fixed the parser. All tests pass.",
    "Why did it fail? The index was off by one. I fixed it.",
    "Let me know if you have any questions!",
    "Let me know if you'd like any changes.",
    "Is there anything else I can help with?",
    "Does that help?",
    "Kann ich sonst noch etwas tun?",
    "还有其他需要帮忙的吗？",
    "## What's next?\n1. Write the docs\n2. Release",
    "The pattern is `a?`, and it is tested now.",
    "```\nWhich one?\n```",
    "1. Parser\n2. Tests",
    "🙂",
]


@pytest.mark.parametrize("message", QUESTIONS)
def test_a_question_or_request_at_the_end_is_detected(message: str) -> None:
    """In several languages, before trailing ornaments, and before a list of choices."""
    assert ends_with_question(message)


@pytest.mark.parametrize("message", STATEMENTS)
def test_other_messages_are_not_questions(message: str) -> None:
    """Questions answered in the same message, headings, code, and offers of further help."""
    assert not ends_with_question(message)


def test_every_request_phrase_is_detected_in_a_statement() -> None:
    phrases = [phrase for phrase_list in REQUESTS.values() for phrase in phrase_list.split("|")]

    assert [phrase for phrase in phrases if not ends_with_question(f"I did it. {phrase.capitalize()} x.")] == []


@given(st.text(st.characters(exclude_characters="`~")))
def test_any_message_is_handled(message: str) -> None:
    assert ends_with_question(message) in (True, False)
    assert ends_with_question(f"{message}\n\nWhich one?")
