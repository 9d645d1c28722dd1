"""Elements of SVG pictures: what texts from elsewhere can do in them, which is nothing."""

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.plan.text.charts import element, escaped, label, style

HOSTILE = (
    "<script>alert(1)</script>",
    "</text></svg><svg onload='alert(1)'>",
    "]]><![CDATA[",
    '" onclick="alert(1)',
    "&amp;&#x202e;&nbsp;",
    "\x1b[2J\x00\x08\r\n\t",
    "\u202eevil\u2066\u200b",
    "\ufffe\uffff\ud800",
    "x" * 100_000,
    "漢" * 100_000,
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_is_more_than_a_text(text: str) -> None:
    root = ET.fromstring(element("g", {}, label(1, 2, "text", text)))  # noqa: S314  our own picture

    assert [child.tag for child in root.iter()] == ["g", "text"]
    assert root[0].attrib == {"x": "1", "y": "2", "class": "text"}
    assert not re.search("[\x00-\x1f\u202a-\u202e\u2066-\u2069\u200b\ufffe\uffff]", root[0].text or "")
    assert len(root[0].text or "") <= 200


def test_a_text_is_shown_as_it_is() -> None:
    root = ET.fromstring(label(0, 0, "text", "if a < b && c > \"d\" 'e': ✓"))  # noqa: S314  our own picture

    assert root.text == "if a < b && c > \"d\" 'e': ✓"


def test_a_long_text_is_cut_to_the_columns_it_has() -> None:
    assert escaped("Write the parser", 9) == "Write th…"
    assert escaped("漢字漢字", 5) == "漢字…"


@given(st.text())
def test_any_text_is_well_formed(text: str) -> None:
    ET.fromstring(label(0, 0, "text", text))  # noqa: S314  our own picture


def test_numbers_are_exact_to_a_tenth() -> None:
    assert element("rect", {"x": 1.26, "y": 2.0, "width": 1234.5}) == '<rect x="1.3" y="2" width="1234.5"/>'


def test_both_schemes_are_in_the_style_sheet_with_the_same_classes() -> None:
    light, dark = style().split("@media (prefers-color-scheme:dark)")

    assert "#FAF9F6" in light
    assert "#111213" in dark
    classes = r"\.([\w-]+)\{(?:fill|stroke):#"
    assert re.findall(classes, light) == re.findall(classes, dark) != []
