"""What the person has sent in this conversation, to be sent again: by the beginning of what is typed."""

from __future__ import annotations

from collections.abc import Sequence


class TypedHistory:
    """Texts, the oldest first. `at` is the place of the one that is shown; None while the person's own text is."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._texts = list(texts)
        self._at: int | None = None
        self._draft = ""

    def begin(self, texts: Sequence[str]) -> None:
        """Begin again with the texts of another conversation."""
        self._texts = list(texts)
        self._at = None

    def add(self, text: str) -> None:
        """Add a text that was sent; the same text twice in a row is kept once."""
        self._at = None
        if text.strip() and self._texts[-1:] != [text]:
            self._texts.append(text)

    def leave(self) -> None:
        """The person has changed the text: it is their own again."""
        self._at = None

    def earlier(self, typed: str) -> str | None:
        """Return the next earlier text that begins like what was typed; None if there is none."""
        if self._at is None:
            self._draft = typed
        end = len(self._texts) if self._at is None else self._at
        found = [place for place in range(end) if self._matches(place)]
        if not found:
            return None
        self._at = found[-1]
        return self._texts[self._at]

    def later(self) -> str | None:
        """Return the next later text; after the last, what was typed. None if no earlier text is shown."""
        if self._at is None:
            return None
        found = [place for place in range(self._at + 1, len(self._texts)) if self._matches(place)]
        if not found:
            self._at = None
            return self._draft
        self._at = found[0]
        return self._texts[self._at]

    def _matches(self, place: int) -> bool:
        text = self._texts[place]
        shown = None if self._at is None else self._texts[self._at]
        return text.startswith(self._draft) and text not in (self._draft, shown)
