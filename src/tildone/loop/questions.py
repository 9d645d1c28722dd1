"""Detect whether an agent's last message asks the person something.

A sentence is a question if it ends with a question mark or with an ending that marks questions in its language.
Requests for a decision that are not questions are recognized by set phrases. An offer of further help is not a
question, although it ends like one: an agent with tasks left does not wait for the answer.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

QUESTION_MARKS = "?？؟\u037e፧⁇⁈‽"
FULL_STOPS = ".!…。．！"

QUESTION_ENDINGS = ("か", "吗", "嗎", "까요", "나요")
"""Endings of questions in languages that often omit the question mark: Japanese, Chinese and Korean."""

REQUESTS = {
    "en": (
        "let me know which|let me know whether|let me know what|let me know how|let me know when|let me know where|"
        "let me know who|please confirm|please choose|please decide|please advise|please clarify|please tell me|"
        "please provide|awaiting your|waiting for your|i need your|i need you to"
    ),
    "de": "bitte bestätig|bitte wähl|bitte entscheid|sag mir|sagen sie mir|warte auf deine|warte auf ihre",
    "fr": "veuillez confirmer|merci de confirmer|dites-moi|dis-moi|j'attends votre|j'attends ta",
    "es": "por favor confirma|por favor, confirma|dime si|dime qué|dime cuál|dígame|espero tu|espero su",
    "pt": "por favor confirme|por favor, confirme|diga-me|me diga|aguardo sua|aguardo seu",
    "it": "per favore conferma|dimmi se|dimmi quale|fammi sapere se|fammi sapere quale|attendo la tua",
    "ru": "пожалуйста, подтвердите|скажите, как|дайте знать, как|жду вашего",
    "zh": "请确认|请选择|请决定|请告诉我|请提供|等待你的|等待您的",
    "ja": "教えてください|ご確認ください|お知らせください|ご指示ください|選んでください",
    "ko": "알려주세요|알려 주세요|확인해 주세요|선택해 주세요",
}
OFFERS = (
    "anything else|any questions|any other questions|any further questions|does that help|does this help|noch etwas|"
    "weitere fragen|autre chose|d'autres questions|algo más|alguna pregunta|mais alguma coisa|altro da|что-нибудь ещё|"
    "还有其他|还有什么|他に何か|다른 도움"
)

BULLETS = frozenset("-*+•|>")
FENCES = ("```", "~~~")
CJK_STOPS = "。！？"
MAX_ITEM_LABEL_LENGTH = 5
MAX_LINE_LENGTH = 2000

# No regular expressions: compiling them would exceed the time budget of a hook.


def ends_with_question(message: str) -> bool:
    """Return whether the message ends with a question, or with a question and a list of choices."""
    return any(_is_question(sentence) for sentence in _last_sentences(_prose(message)))


def _prose(message: str) -> list[str]:
    """The lines that are neither empty nor in a code block."""
    lines, fence = [], ""
    for line in message.splitlines():
        start = line.strip()[:3]
        if fence:
            fence = "" if start == fence else fence
        elif start in FENCES:
            fence = start
        elif start:
            lines.append(line.strip())
    return lines


def _last_sentences(lines: list[str]) -> Iterator[str]:
    """The last sentence and, if it is in a list, also the last one before the list."""
    if not lines:
        return
    yield _last_sentence(lines[-1])
    items = 0
    while items < len(lines) and _is_item(lines[-1 - items]):
        items += 1
    if 0 < items < len(lines) and not lines[-1 - items].startswith("#"):
        yield _last_sentence(lines[-1 - items])


def _is_item(line: str) -> bool:
    """Whether the line is a list item: it begins with a bullet, a number or a letter."""
    label, space, _ = line.partition(" ")
    if not space or len(label) > MAX_ITEM_LABEL_LENGTH:
        return False
    name = label.strip("().")
    return label in BULLETS or (label.endswith((".", ")")) and (name.isdecimal() or len(name) == 1))


def _last_sentence(line: str) -> str:
    """The last sentence in the line that contains a letter or a digit. Only the end of a very long line is read."""
    line = line[-MAX_LINE_LENGTH:]
    sentences, begin = [], 0
    for index, char in enumerate(line):
        ends = char in CJK_STOPS or (char in FULL_STOPS + QUESTION_MARKS and line[index + 1 : index + 2].isspace())
        if ends or index == len(line) - 1:
            sentences.append(line[begin : index + 1])
            begin = index + 1
    return next((sentence for sentence in reversed(sentences) if any(char.isalnum() for char in sentence)), "")


def _is_question(sentence: str) -> bool:
    text = sentence.casefold().replace("’", "'")
    end = _without_ornaments(text)
    if end.endswith(tuple(QUESTION_MARKS)) or end.rstrip(FULL_STOPS).endswith(QUESTION_ENDINGS):
        return not _contains_any(text, OFFERS)
    return any(_contains_any(text, requests) for requests in REQUESTS.values())


def _contains_any(text: str, phrases: str) -> bool:
    return any(phrase in text for phrase in phrases.split("|"))


def _without_ornaments(sentence: str) -> str:
    """The sentence up to its last letter, digit or punctuation mark, without trailing quotes, brackets or emoji."""
    end = len(sentence)
    while end and not (sentence[end - 1].isalnum() or sentence[end - 1] in QUESTION_MARKS + FULL_STOPS):
        end -= 1
    return sentence[:end]
