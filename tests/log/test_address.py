"""Store addresses are parsed, redacted, and converted back to text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.stores import StoreAddress, parse_address


@pytest.mark.parametrize(
    ("text", "scheme", "location", "path"),
    [
        ("plans.db", "", "plans.db", "plans.db"),
        ("/home/me/a:b.db", "", "/home/me/a:b.db", "/home/me/a:b.db"),
        ("./notes:2024.db", "", "./notes:2024.db", "./notes:2024.db"),
        ("C:\\plans.db", "", "C:\\plans.db", "C:\\plans.db"),
        ("", "", "", ""),
        ("//server/share/plans.db", "", "//server/share/plans.db", "//server/share/plans.db"),
        ("jsonl:sessions", "jsonl", "sessions", "sessions"),
        ("jsonl:", "jsonl", "", ""),
        ("postgresql://host/plans", "postgresql", "//host/plans", None),
        ("git+ssh://host/x", "git+ssh", "//host/x", None),
    ],
)
def test_an_address_is_a_scheme_and_a_location(text: str, scheme: str, location: str, path: str | None) -> None:
    """A URL has no path. A single letter before a colon is a drive, not a scheme."""
    address = parse_address(text)

    assert address == StoreAddress(scheme, location)
    assert address.path == path


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("postgresql://me:s3cret@host:5433/plans?sslmode=require", "postgresql://me@host:5433/plans"),
        ("postgresql://me:s3@cret@host/plans", "postgresql://me@host/plans"),
        ("postgresql://host/plans?password=s3cret", "postgresql://host/plans"),
        ("jsonl:/sessions", "jsonl:/sessions"),
        ("plans@home.db", "plans@home.db"),
    ],
)
def test_a_redacted_address_has_no_password_and_no_options(text: str, redacted: str) -> None:
    assert parse_address(text).redacted == redacted


@given(st.text())
def test_every_text_is_an_address_and_is_restored_unchanged(text: str) -> None:
    assert str(parse_address(text)) == text
