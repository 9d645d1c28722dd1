"""`docs/reference/cli.md`, written from what the command line says of itself."""

import re

from tests.project.blocks import Reader
from tests.project.source import ROOT

PAGE = ROOT / "docs" / "reference" / "cli.md"
HEAD = """\
# Command line

Written by `python3 do.py docs` from the help of every verb; a test keeps it fresh.
"""
LISTING = re.compile(
    r"^(?:\w+ )?(?:verbs|commands|subcommands):$\n(?P<lines>(?:^ .*\n|^\n)+)", re.MULTILINE | re.IGNORECASE
)
VERB = re.compile(r"^ {2,4}(?P<verb>[a-z][a-z-]*)(?= |$)", re.MULTILINE)


def page(reader: Reader) -> str:
    """The whole page: the program's help, then each verb's, then each verb's verbs'."""
    return HEAD + "".join(_sections(("tildone",), reader))


def _sections(words: tuple[str, ...], reader: Reader, above: str = "") -> list[str]:
    command = " ".join(words)
    [text] = reader.outputs([f"{command} --help"])
    if text == above:  # a verb that is explained where it is listed
        return []
    section = f"\n{'#' * (len(words) + 1)} {command}\n\n```text\n{text}\n```\n"
    return [section, *(part for verb in verbs(text) for part in _sections((*words, verb), reader, text))]


def verbs(help_text: str) -> list[str]:
    """The verbs that a help text lists under a heading like `verbs:`."""
    listings = [found["lines"] for found in LISTING.finditer(f"{help_text}\n")]
    return list(dict.fromkeys(found["verb"] for listing in listings for found in VERB.finditer(listing)))
