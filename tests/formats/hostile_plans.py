"""Plans whose texts try to get out of the line they stand on, made from a seed."""

from collections.abc import Iterator
from random import Random

from tildone.core.plan import Phase, Plan, Status, Task

WORDS = ["Write", "the", "schema", "#12", "naïve", "(draft)", "日本語", "done?"]
BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x85", "\u2028", "\u2029", "\n\n", "\r\r\n", "a", "b c"]
MARKDOWN = ["# ", "#", "- [x] ", "- [ ] a", "* [X]", "> ", ">", "\n", "```", "---", "  ", "x", "~~y~~"]
CONTROLS = ["\x00", "\t", "\x1b[2J", "\x1c", "\x7f", "\x9b", "\u202e", "\u200b", "\ufeff", "\U000e0041", "a"]
SURROGATES = ["\ud800", "\udbff", "\udc00", "\udfff", "\ud83d", "\ude00", "😀", "x"]
EMOJI = ["👨‍👩‍👧‍👦", "🏳️‍🌈", "1️⃣", "🇩🇪", "❤️", " ", "e\u0301", "עברית", "می‌خواهم"]
SPACES = [" ", "\xa0", "\u3000", "\u2003", "\u1680", "\ufeff", "\t", "", "a"]
COMMENTS = [
    "<!--tildone ",
    '"a"',
    '["a"]',
    "-->",
    "a",
    " ",
    "\n",
    "--",
    "<",
    ">",
    "\\u002d",
    "⏎",
    "‹!--tildone",
    "<!-- b -->",
]
BLANKS = ["", "", " ", "\n", "a"]
LONG = ["word " * 400, "x" * 2000, "\n", "日" * 500]

FAMILIES = {
    "ordinary words": WORDS,
    "line breaks": BREAKS,
    "Markdown": MARKDOWN,
    "control characters": CONTROLS,
    "half surrogate pairs": SURROGATES,
    "emoji and scripts": EMOJI,
    "spaces": SPACES,
    "comments like ours": COMMENTS,
    "nothing, or next to nothing": BLANKS,
    "all of it": WORDS + BREAKS + MARKDOWN + CONTROLS + SURROGATES + EMOJI + SPACES + COMMENTS + BLANKS,
}


def plans(family: list[str], seed: str, count: int) -> Iterator[Plan]:
    """So many plans, the same for the same seed."""
    chance = Random(seed)  # noqa: S311  the same plans every time are what is wanted

    def text() -> str:
        return "".join(chance.choices(family, k=chance.randrange(5)))

    def task() -> Task:
        notes = [text() for _ in range(chance.choice([0, 0, 1, 2, 3]))]
        return Task(text(), chance.choice(list(Status)), tuple(notes))

    def phase() -> Phase:
        return Phase(chance.choice(["", text(), text()]), tuple(task() for _ in range(chance.randrange(4))))

    for _ in range(count):
        yield Plan(tuple(phase() for _ in range(chance.randrange(4))))
