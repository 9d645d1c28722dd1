"""Whether the last message of an agent asks the person something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loop.closings.figures import PAGE, closings, page
from tildone.plan.gate import Asks
from tildone.plan.questions import FAR, MAX_LINES, NEAR, asks_person

SEEN = [
    *("Do you want me to delete the old files? Reply yes or no.", "Which database do you want? I recommend SQLite."),
    *("Let me know if I should proceed.", "Tell me which of the two you prefer.", "Reply with A, B or C."),
    "I cannot go on without the password. Please give it to me.",
    *("Soll ich die alten Dateien löschen? Antworte mit ja oder nein.", "Sag mir, welche du bevorzugst."),
    *("Welche Datenbank möchtest du? Ich empfehle SQLite.", "Sag Bescheid, ob ich weitermachen soll."),
    *("Antworte mit A, B oder C.", "Ohne das Passwort komme ich nicht weiter. Bitte gib es mir."),
    *("要我删除旧文件吗？请回复是或否。", "你想用哪个数据库？我推荐 SQLite。", "如果要我继续，请告诉我。"),
    *("要删除旧接口吗?我建议保留。", "どのデータベースを使いますか?SQLite をおすすめします。"),
    *("请告诉我你选哪一个。", "请回复 A、B 或 C。", "没有密码我无法继续,请发给我。"),
    *(
        "Répondez par A, B ou C.",
        "Responde con A, B o C.",
        "Fammi sapere se devo procedere.",
        "Me avise se devo continuar.",
    ),
    *(
        "Дайте знать, стоит ли продолжать.",
        "どちらにするか教えてください。",
        "계속할까요? 예 또는 아니요로 답해 주세요.",
    ),
]
FORMS = [
    *("**Which one do you prefer?**", "**Which one do you prefer?** I'd go with the first.", "(Or shall I ask Bob?)"),
    *("Do you want (a) or (b)? 🙂", "Really delete it?!", "需要我删除这张表吗。", "هل أحذف الجدول؟", "Да? Или нет?"),
    *("I can do either:\nWhich do you prefer?\n\n1. Rewrite it\n2. Leave it\n", "Delete them (y/n)", "Go on? [y/N]"),
    *("Which of these?\n\n```sql\nDROP TABLE a;\n```", "Shall I use this?\n```\nnever closed", "## Shall I go on?"),
    *("Two points:\n- it is slow\n- should I cache it?", "Would you like me to:\n- rewrite it\n- leave it"),
    *(
        f"{'x' * 10_000}. Which one?",
        "J’attends votre accord.",
        "Say “go” and I'll apply both.",
    ),
    *("Shall I go on?\n\n| a | b |\n|---|---|\n| 1 | 2 |", "Use the users' data or the admins' data?"),
    f"Shall I go on?\n\n{'x' * (NEAR - 1)}.",
    "Which of these do you want?\n" + "- one of many choices\n" * (MAX_LINES - 1),
    "Drop the index? I'd suggest to keep it.",
    f"{'```' * 2}\n{'x' * 10_000}\nWhich one?",
]
STATEMENTS = [
    *("", "   \n\n", "Done.", "It ends with return x;", "1. Parser\n2. Tests", "🙂", "??", "```\nWhich one?\n```"),
    *(
        "Anything else?",
        "Let me know if you have questions.",
        "Let me know if anything is unclear.",
        "Bei Fragen gerne melden!",
    ),
    "Would you like to know more about any part of it?",
    *("I checked whether it works?", "Next I will write the tests. Should be done soon.", "还有其他需要帮忙的吗？"),
    *("Why did it fail? The index was off by one. I fixed it.", "## What's next?\n1. Write the docs\n2. Release"),
    *(
        'It says "Shall I go on?" now.',
        "It says 'Shall I go on?' now.",
        "> Shall I go on?\n\nI read that.",
        "`Shall I go on?`",
    ),
    *(f"It says “{'very ' * 10}please confirm” now.", "Fast enough? It's 2 ms. Yes, it is."),
    *("Shall I go on? Yes, I think so.", "Was soll das? Nein, das ist falsch.", "How does it work? By magic."),
    f"Shall I go on?\n\n{'x' * FAR}. {'y' * FAR}.",
    f"Shall I go on?\n\n{'x ' * 500_000}",
    f"```\n{'x' * 10_000}\nWhich one?\n```",
    "- reply with 404 if it is missing",
    "Which of these do you want?\n" + "- one of many choices\n" * MAX_LINES,
]
IN_DOUBT = [
    *("Let me know if you want me to write the docs.", "Do you want me to also write the docs?", "Is Redis available?"),
    *("Do you want that? I’ll write the docs now.", "Why is it so slow?", "What's missing?", "Please run the tests."),
    *("The script asks: Shall I go on?", "I can't continue.", "Thoughts?\n- a\n- b", "Which one? It matters a lot."),
    *("Merge it? It's green.", "Once you merge it, I can go on.", f"Shall I go on?\n\n{'x' * NEAR}."),
    *("I need a token. The tests are green.", "Please log in. Let me know if you have questions.", "请稍候。"),
]


@pytest.mark.parametrize(
    ("messages", "asked"), [(SEEN, Asks.YES), (FORMS, Asks.YES), (STATEMENTS, Asks.NO), (IN_DOUBT, Asks.DOUBT)]
)
def test_the_end_of_a_message_asks_or_not_or_is_in_doubt(messages: list[str], asked: Asks) -> None:
    """In several languages; before ornaments, lists, code and tables; not in quotations, or if it is settled then."""
    assert {message[-200:]: told for message in messages if (told := asks_person(message)) is not asked} == {}


def test_what_is_found_among_the_closings_is_what_the_page_says() -> None:
    """Of both halves. Neither has a closing of the other."""
    own, held_out = ({each["closing"] for each in closings(half)} for half in ("made with the rules", "held out"))

    assert page() == PAGE.read_text(encoding="utf-8"), "run `python -m tests.loop.closings.figures write`"
    assert own & held_out == set()


@given(st.text(st.characters(exclude_characters="`~")))
def test_any_message_is_handled(message: str) -> None:
    assert asks_person(message) in Asks
    assert asks_person(f"{message}\n\nWhich one do you want?") is Asks.YES
