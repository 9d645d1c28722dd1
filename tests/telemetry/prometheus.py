"""A strict parser of the text format of Prometheus, version 0.0.4: what it does not know is an error."""

import re
from dataclasses import dataclass, field

HELP = re.compile(r"# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\\n]|\\\\|\\n)+)")
TYPE = re.compile(r"# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)")
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
NUMBER = r"[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf)|NaN"
SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{{({LABEL}(?:,{LABEL})*)\}})? ({NUMBER})")
ESCAPED = re.compile(r'\\(["\\n])')

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Figures:
    """A family: its type, its help, and its samples by labels."""

    kind: str
    help: str
    samples: dict[Labels, float] = field(default_factory=dict)


def parse(text: str) -> dict[str, Figures]:
    """Return the families of a text by name; any deviation from the format fails."""
    assert text.endswith("\n")
    found: dict[str, Figures] = {}
    helped, current = "", ""
    helps: dict[str, str] = {}
    for line in text[:-1].split("\n"):
        if described := HELP.fullmatch(line):
            helped = described[1]
            assert helped not in helps, f"{helped} is described twice"
            helps[helped] = described[2]
        elif typed := TYPE.fullmatch(line):
            current = typed[1]
            assert current == helped, "the help comes before the type"
            assert current not in found, "the samples of a family are together"
            assert current.endswith("_total") == (typed[2] == "counter"), "counters, and no others, end with _total"
            found[current] = Figures(typed[2], helps[current])
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, f"not a sample: {line!r}"
            assert sample[1] == current, f"{line!r} is not in its family"
            labels = tuple((name, _unescaped(value)) for name, value in re.findall(LABEL, sample[2] or ""))
            assert len(dict(labels)) == len(labels), "labels differ"
            assert labels not in found[current].samples, f"{line!r} is there twice"
            found[current].samples[labels] = float(sample[sample.lastindex or 0])
    return found


def _unescaped(value: str) -> str:
    return ESCAPED.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], value)
