"""How a repository is named."""

import os

import pytest

from tildone.log.fleet.names import is_address, repository_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://Example.org/a/b.git", "https://example.org/a/b/"),
        ("git@example.org:a/b.git", "ssh://git@example.org/a/b"),
        ("file:///srv/a", "/srv/a/"),
        ("FILE://localhost/srv/a", "/srv/./a"),
    ],
)
def test_a_repository_has_one_key_however_it_is_spelled(one: str, other: str) -> None:
    keys = [repository_key(name, os.path.normpath) for name in (one, other, "https://example.org/a/c")]

    assert keys[0] == keys[1] != keys[2]


def test_an_address_differs_from_a_path() -> None:
    assert list(map(is_address, ["https://a/b", "git@a:b", "/a/b", "a/b", "C:\\a", ""])) == [True, True, *[False] * 4]
