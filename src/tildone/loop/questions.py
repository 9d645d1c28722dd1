"""Whether an agent's last message asks the person something.

A sentence is a question if it ends with a question mark or with an ending that marks questions in its language.
Requests for a decision that are not questions are recognized by set phrases. An offer of further help is not a
question, although it ends like one: an agent with tasks left does not wait for the answer.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNS = "?？؟\u037e፧⁇⁈‽"
FULL_STOPS = ".!…。．！"

ENDINGS = ("か", "吗", "嗎", "까요", "나요")
"""Endings of questions in languages that often omit the question mark: Japanese, Chinese, Korean."""

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

# No regular expressions: compiling a few takes longer than a hook may take.


def ends_with_question(words: str) -> bool:
    """Whether the message ends with a question, or with a list of choices after one."""
    return any(_asks(sentence) for sentence in _last_sentences(_prose(words)))


def _prose(words: str) -> list[str]:
    """The lines that are neither empty nor in a code block."""
    lines, fence = [], ""
    for line in words.splitlines():
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
    yield _last(lines[-1])
    items = 0
    while items < len(lines) and _is_item(lines[-1 - items]):
        items += 1
    if 0 < items < len(lines) and not lines[-1 - items].startswith("#"):
        yield _last(lines[-1 - items])


def _is_item(line: str) -> bool:
    """Whether the line is a list item: it begins with a bullet, a number or a letter."""
    sign, space, _ = line.partition(" ")
    if not space or len(sign) > MAX_ITEM_LABEL_LENGTH:
        return False
    name = sign.strip("().")
    return sign in BULLETS or (sign.endswith((".", ")")) and (name.isdecimal() or len(name) == 1))


def _last(line: str) -> str:
    """The last sentence of a line that contains a letter or digit; only the end of a very long line is read."""
    line = line[-MAX_LINE_LENGTH:]
    sentences, begin = [], 0
    for place, char in enumerate(line):
        ends = char in CJK_STOPS or (char in FULL_STOPS + SIGNS and line[place + 1 : place + 2].isspace())
        if ends or place == len(line) - 1:
            sentences.append(line[begin : place + 1])
            begin = place + 1
    return next((each for each in reversed(sentences) if any(char.isalnum() for char in each)), "")


def _asks(sentence: str) -> bool:
    said = sentence.casefold().replace("’", "'")
    end = _without_ornaments(said)
    if end.endswith(tuple(SIGNS)) or end.rstrip(FULL_STOPS).endswith(ENDINGS):
        return not _holds(said, OFFERS)
    return any(_holds(said, requests) for requests in REQUESTS.values())


def _holds(said: str, phrases: str) -> bool:
    return any(phrase in said for phrase in phrases.split("|"))


def _without_ornaments(sentence: str) -> str:
    """The sentence up to its last letter, digit or stop, without quotes, brackets, emphasis and emoji after it."""
    end = len(sentence)
    while end and not (sentence[end - 1].isalnum() or sentence[end - 1] in SIGNS + FULL_STOPS):
        end -= 1
    return sentence[:end]
