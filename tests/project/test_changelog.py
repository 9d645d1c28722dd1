"""The changelog keeps up with the version."""

import re

from tests.project.source import ROOT
from tildone.version import __version__

HEADING = re.compile(r"^## \[(?P<name>[^\]]+)\](?P<date> - \d{4}-\d{2}-\d{2})?$", re.MULTILINE)


def test_the_version_has_a_section() -> None:
    assert __version__ in [found["name"] for found in sections()]


def test_unreleased_comes_first_and_only_releases_have_dates() -> None:
    first, *releases = sections()

    assert (first["name"], first["date"]) == ("Unreleased", None)
    assert [found["name"] for found in releases if not found["date"]] == []


def sections() -> list["re.Match[str]"]:
    return list(HEADING.finditer((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
