"""Whether an agent's last words put something to the person."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.loop.questions import REQUESTS, ends_with_question

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


@pytest.mark.parametrize("words", QUESTIONS)
def test_a_question_or_a_request_at_the_end_is_one(words: str) -> None:
    """In any of several languages, whatever stands after its sign, and before a list to choose from."""
    assert ends_with_question(words)


@pytest.mark.parametrize("words", STATEMENTS)
def test_anything_else_is_not(words: str) -> None:
    """A question answered at once, a heading, a piece of code, an offer of further help."""
    assert not ends_with_question(words)


def test_every_phrase_is_found_in_a_sentence_that_ends_with_a_full_stop() -> None:
    phrases = [phrase for listed in REQUESTS.values() for phrase in listed.split("|")]

    assert [phrase for phrase in phrases if not ends_with_question(f"I did it. {phrase.capitalize()} x.")] == []


@given(st.text(st.characters(exclude_characters="`~")))
def test_whatever_is_said_there_is_an_answer(words: str) -> None:
    assert ends_with_question(words) in (True, False)
    assert ends_with_question(f"{words}\n\nWhich one?")
