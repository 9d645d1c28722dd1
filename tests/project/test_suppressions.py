"""A suppression says why it stands there, on its own line."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.project.source import ROOT

SUPPRESSION = re.compile(r"#\s*(?:noqa|type:\s*ignore|pragma:\s*no)\b(?P<rest>.*)")
CODES = re.compile(r"^(?:: ?[A-Z]+\d+(?:, ?[A-Z]+\d+)*|\[[\w, -]+\]|\s*(?:cover|branch))")


def test_every_suppression_carries_its_reason() -> None:
    files = sorted(path for top in ("src", "tests", "bench") for path in (ROOT / top).rglob("*.py"))

    assert [where for path in (ROOT / "do.py", *files) for where in silent_suppressions(path)] == []


SILENT = ("import x  # noqa: " + "E402", "f(x)  # type: " + "ignore[arg-type]", "else:  # pragma: " + "no cover")
REASONS = (" -- the path is set above", "  # the stub is wrong", " -- Windows only")


def test_a_reason_is_words_after_the_codes() -> None:
    lines = [line + reason for line, reason in zip(SILENT, REASONS, strict=True)]

    assert [suppresses_silently(line) for line in SILENT] == [True] * 3
    assert [suppresses_silently(line) for line in (*lines, "x = 1  # nothing is suppressed")] == [False] * 4


def silent_suppressions(path: Path) -> Iterator[str]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if suppresses_silently(line):
            yield f"{path.relative_to(ROOT)}, line {number}: {line.strip()}"


def suppresses_silently(line: str) -> bool:
    found = SUPPRESSION.search(line)
    return found is not None and not CODES.sub("", found["rest"]).strip(" -#")
