"""Extensions in tests of `tildone run`: files, modules and packages that leave a trace when they are loaded."""

from pathlib import Path

from tests.cli.person import Answer, Person
from tests.run.run_workspace import ALLOW_ALL, write_plan

TRACE = "loaded.txt"

SOURCE = """\
def {function}(api):
    with open("loaded.txt", "a", encoding="utf-8") as trace:
        trace.write("{name}\\n")
"""


def write_extension(folder: Path, name: str, function: str = "extension", trace: str = "") -> Path:
    """Write an extension that adds its name to the trace; more functions of one file are added to it."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as source:
        source.write(SOURCE.format(function=function, name=trace or name))
    return file


def install_package(site: Path, name: str, version: str, points: str) -> None:
    """Write the metadata of an installed package with these entry points."""
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[tildone.extensions]\n{points}\n", encoding="utf-8")


def run_plan(person: Person, *options: str, **environ: str) -> Answer:
    """Run a plan of one task to its end."""
    name = write_plan(person, "- [ ] A: `true`\n")
    return person.run("run", name, "--restart", "--mode", "print", *ALLOW_ALL, *options, **environ)


def loaded(person: Person) -> list[str]:
    """Return the names of the extensions that were loaded since the last call, in order."""
    trace = person.folder / TRACE
    names = trace.read_text(encoding="utf-8").split() if trace.exists() else []
    trace.unlink(missing_ok=True)
    return names
