"""Phase titles with Roman numerals."""

from __future__ import annotations

from tildone.views.sanitize import single_line

NUMERALS = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)


def roman_numeral(number: int) -> str:
    """Return the number in Roman numerals; empty for 0 and below."""
    numeral = ""
    for amount, letters in NUMERALS:
        while number >= amount:
            numeral += letters
            number -= amount
    return numeral


def phase_title(number: int, name: str) -> str:
    """Return the name of a phase after its number, which starts at 1."""
    return f"{roman_numeral(number)}. {single_line(name)}"
