"""Generated plans whose texts try to break out of their line."""

from collections.abc import Iterator
from random import Random

from tildone.plan.model import Phase, Plan, Status, Task

WORDS = ["Write", "the", "schema", "#12", "naïve", "(draft)", "日本語", "done?"]
BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x85", "\u2028", "\u2029", "\n\n", "\r\r\n", "a", "b c"]
MARKDOWN = ["# ", "#", "- [x] ", "- [ ] a", "* [X]", "> ", ">", "\n", "```", "---", "  ", "x", "~~y~~"]
CONTROLS = ["\x00", "\t", "\x1b[2J", "\x1c", "\x7f", "\x9b", "\u202e", "\u200b", "\ufeff", "\U000e0041", "a"]
SURROGATES = ["\ud800", "\udbff", "\udc00", "\udfff", "\ud83d", "\ude00", "😀", "x"]
EMOJI = ["👨‍👩‍👧‍👦", "🏳️‍🌈", "1️⃣", "🇩🇪", "❤️", " ", "e\u0301", "עברית", "می‌خواهم"]
SPACES = [" ", "\xa0", "\u3000", "\u2003", "\u1680", "\ufeff", "\t", "", "a"]
COMMENTS = [
    *("<!--tildone ", '"a"', '["a"]', "-->", "a", " ", "\n", "--", "<", ">", "\\u002d", "⏎", "‹!--tildone"),
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
    "empty and almost empty texts": BLANKS,
    "all of it": WORDS + BREAKS + MARKDOWN + CONTROLS + SURROGATES + EMOJI + SPACES + COMMENTS + BLANKS,
}


def plans(family: list[str], seed: str, count: int) -> Iterator[Plan]:
    """Return this many plans, the same for the same seed."""
    random = Random(seed)  # noqa: S311  reproducible on purpose

    def text() -> str:
        return "".join(random.choices(family, k=random.randrange(5)))

    def task() -> Task:
        notes = [text() for _ in range(random.choice([0, 0, 1, 2, 3]))]
        return Task(text(), random.choice(list(Status)), tuple(notes))

    def phase() -> Phase:
        return Phase(random.choice(["", text(), text()]), tuple(task() for _ in range(random.randrange(4))))

    for _ in range(count):
        yield Plan(tuple(phase() for _ in range(random.randrange(4))))
