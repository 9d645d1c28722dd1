"""Lines are broken so that they still compile and do something else."""

import ast

from tests.suite.breaks import Site, place_of, sites_in

SOURCE = '''
"""A module."""
LIMIT = 3
def first(numbers):
    """A docstring is not broken."""
    if not numbers:
        raise LookupError
    found = sorted(numbers)
    found.reverse()
    for number in found:
        if (
            number
        ):
            continue
        elif number:
            pass
    return found[0]
'''
BROKEN = {
    "if not numbers:": "if not (not numbers):",
    "raise LookupError": "pass",
    "found = sorted(numbers)": "found = None if (sorted(numbers)) is not None else None",
    "found.reverse()": "pass",
    "continue": "pass",
    "return found[0]": "return None if (found[0]) is not None else None",
}


def test_statements_in_functions_are_broken_one_at_a_time() -> None:
    sites = list(sites_in("a.py", SOURCE))

    assert {site.text.strip(): site.broken.strip() for site in sites} == BROKEN
    for site in sites:
        lines = SOURCE.split("\n")
        lines[place_of(site, lines)] = site.broken
        ast.parse("\n".join(lines))


def test_a_line_that_has_moved_is_found_again() -> None:
    lines = ["    pass", "", "    call()", "    call()"]

    assert place_of(Site("a.py", 9, "    call()", "    pass", "left out"), lines) == 3
