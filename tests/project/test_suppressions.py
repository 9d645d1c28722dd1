"""A suppression says why it stands there, on its own line."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.source import ROOT

SUPPRESSION = re.compile(r"#\s*(?:noqa|type:\s*ignore|pragma:\s*no)\b(?P<rest>.*)")
CODES = re.compile(r"^(?:: ?[A-Z]+\d+(?:, ?[A-Z]+\d+)*|\[[\w, -]+\]|\s*(?:cover|branch))")


def test_every_suppression_carries_its_reason() -> None:
    files = sorted(path for top in ("src", "tests", "bench") for path in (ROOT / top).rglob("*.py"))

    assert [where for path in (ROOT / "do.py", *files) for where in silent_suppressions(path)] == []


@pytest.mark.parametrize(
    ("line", "silent"),
    [
        ("import x  # noqa: " + "E402", True),
        ("import x  # noqa: " + "E402 -- the path is set above", False),
        ("f(x)  # type: " + "ignore[arg-type]", True),
        ("f(x)  # type: " + "ignore[arg-type]  # the stub is wrong", False),
        ("else:  # pragma: " + "no cover", True),
        ("else:  # pragma: " + "no cover -- Windows only", False),
        ("x = 1  # nothing is suppressed", False),
    ],
)
def test_a_reason_is_words_after_the_codes(line: str, *, silent: bool) -> None:
    assert suppresses_silently(line) is silent


def silent_suppressions(path: Path) -> Iterator[str]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if suppresses_silently(line):
            yield f"{path.relative_to(ROOT)}, line {number}: {line.strip()}"


def suppresses_silently(line: str) -> bool:
    found = SUPPRESSION.search(line)
    return found is not None and not CODES.sub("", found["rest"]).strip(" -#")
