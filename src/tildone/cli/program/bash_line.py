"""Command lines as bash has them: splitting one into words, and quoting what is inserted into it.

bash completes the text after the last word break, and inserts a completion as it is. `COMP_WORDBREAKS` contains `:` and
`=` by default, so only the rest of `jsonl:FOLDER` or `--option=VALUE` is inserted. Inside an open quotation mark,
nothing breaks words, and readline closes the quotation itself.
"""

from __future__ import annotations

from tildone.value import value

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-")
_QUOTES = "'\""
_ESCAPED_IN_DOUBLE_QUOTES = '\\"$`'


@value
class BashLine:
    """The words of a line up to the cursor, without their quotes; the last one is being completed.

    `before_break` is the part of the last word up to its last word break; `quote` is a quotation mark that is open.
    """

    words: tuple[str, ...]
    before_break: str = ""
    quote: str = ""

    def insertion(self, completed: str) -> str:
        """What bash has to insert to complete the last word; empty if it cannot be inserted."""
        if self.quote == "'":
            return completed.replace("'", "'\\''")
        if self.quote:
            return "".join(_in_double_quotes(char) for char in completed)
        if not completed.startswith(self.before_break):
            return ""
        return "".join(map(_escaped, completed.removeprefix(self.before_break)))


def split_line(line: str, breaks: str) -> BashLine:
    """Split a line as bash does, up to quotes and backslashes; substitutions are left as they are written."""
    words: list[str] = []
    word: str | None = None
    before_break = quote = ""
    pending = iter(line)
    for char in pending:
        if quote:
            if char == quote:
                quote = ""
            elif char == "\\" and quote == '"':
                word = f"{word}{next(pending, '')}"
            else:
                word = f"{word}{char}"
        elif char in " \t\n":
            if word is not None:
                words.append(word)
            word, before_break = None, ""
        else:
            word = word or ""
            if char in _QUOTES:
                quote = char
            else:
                word += next(pending, "") if char == "\\" else char
                before_break = word if char in breaks else before_break
    return BashLine((*words, word or ""), before_break, quote)


def _escaped(char: str) -> str:
    return char if char in _SAFE or not char.isascii() else f"\\{char}"


def _in_double_quotes(char: str) -> str:
    if char == "!":
        # A backslash would not keep it from being a history expansion.
        return "\"'!'\""
    return f"\\{char}" if char in _ESCAPED_IN_DOUBLE_QUOTES else char
