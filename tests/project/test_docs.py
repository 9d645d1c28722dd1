"""The documents tell the truth: their code runs, their links lead somewhere, what is drawn is fresh."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tildone
from do import VERBS
from tests.project import api_page, cli_reference
from tests.project.blocks import SERVED, Exchange, Reader, exchanges, malformed, matches, problems, reader_of, rewritten
from tests.project.reference_tables import FLEET
from tests.project.rewrite_docs import GENERATED, documents
from tests.project.source import ROOT, wings
from tests.stores.postgres_keeper import why_not
from tildone.base import TildoneError
from tildone.plan.text.runs import ORDER

TO_ADD = re.compile(r"/(?:GROUP|NAME)\b.*")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#]*)(?:#[^)]*)?\)")

DATA = ROOT / "docs" / "reference" / "data.md"
QUICK = {
    *("quick-start-terminal.md", "quick-start-library.md", "quick-start-agent.md", "describe-parameters.md"),
    *("README.md", "dialects.md", "exit-codes.md", "keep-plans-safe.md", "move-plans-in-and-out.md"),
}
"""The documents that are followed in `do.py test`. The others have no other kinds of blocks."""


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


FOLLOWED = [
    pytest.param(path, id=str(path.relative_to(ROOT)), marks=[] if path.name in QUICK else [pytest.mark.slow])
    for path in documents()
    if path != DATA
]


@pytest.mark.parametrize("path", FOLLOWED)
def test_every_code_block_does_what_the_document_says(path: Path, tmp_path: Path) -> None:
    document = path.read_text(encoding="utf-8")
    if SERVED in document and why_not():
        pytest.skip(str(why_not()))

    with reader_of(document, tmp_path) as reader:
        assert "\n".join(problems(document, reader, frozenset(VERBS))) == ""


def test_every_code_block_is_well_formed() -> None:
    """Without running what it does."""
    found = {path.name: list(malformed(path.read_text(encoding="utf-8"), frozenset(VERBS))) for path in documents()}

    assert {name: told for name, told in found.items() if told} == {}


def test_links_lead_to_files_that_exist() -> None:
    links = [(path, target) for path in documents() for target in LINK.findall(path.read_text(encoding="utf-8"))]

    assert len(links) > 200
    assert [(path.name, target) for path, target in links if target and not (path.parent / target).exists()] == []


def test_every_page_is_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").resolve()

    assert set(pages_behind(index)) >= {path.resolve() for path in (ROOT / "docs").rglob("*.md")}


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_what_is_generated_is_fresh(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == GENERATED[path](), "run `python3 do.py docs`"


def test_every_wing_opens_with_what_it_owns() -> None:
    assert [name for name, module in wings().items() if not module.summary] == []


def test_every_state_of_a_run_is_explained() -> None:
    states = FLEET.path.read_text(encoding="utf-8").partition("## States and events")[0]
    explained = re.findall(r"^\| `(\w+)` \|", states, re.MULTILINE)

    assert explained == list(ORDER)


def test_the_api_reference_has_a_section_for_every_public_name() -> None:
    listed = [name for names in api_page.SECTIONS.values() for name in names.split()]

    assert sorted(listed) == sorted(tildone.__all__)


def test_every_exit_code_is_documented() -> None:
    """Those of errors with the name of the error, and the three that are not of an error."""
    page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| (\d+) \| ((?:\\.|[^|\\])+) \|", page, re.MULTILINE))
    own = {error.__name__: str(error.exit_code) for error in errors() if "exit_code" in vars(error)}

    assert set(documented) == {"0", "130", "141", *own.values()}
    assert {name: code for name, code in own.items() if code != "1" and f"`{name}`" not in documented[code]} == {}


def errors() -> Iterator[type[TildoneError]]:
    waiting = [TildoneError]
    while waiting:
        error = waiting.pop()
        yield error
        waiting += error.__subclasses__()


def test_removing_everything_leaves_nothing(tmp_path: Path) -> None:
    """The reader's home and project is one folder, and it is as empty as before."""
    document = DATA.read_text(encoding="utf-8")

    with reader_of(document, tmp_path) as reader:
        assert "\n".join(problems(document, reader, frozenset(VERBS))) == ""

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_blocks_are_saved_as_the_document_says(reader: Reader) -> None:
    """One after the other, in one file. They are run from there, and by the test only if they are also to be run."""
    saved = "<!-- save: a.py -->\n\n```python\n{}\n```\n"
    document = saved.format("x = 1") + saved.format("print(x + 1)") + "```console\n$ python3 a.py\n2\n```\n"

    assert list(problems(document, reader, frozenset())) == []
    assert rewritten(document, reader) == document.replace("\n2\n", "\n2\n2\n")

    also = "<!-- also save: b.py -->\n\n```python\nx = 1\n```\n```python\nassert x == 1\n```\n"
    assert list(problems(also, reader, frozenset())) == []
    assert (reader.home / "b.py").read_text(encoding="utf-8") == "x = 1\n"


@pytest.mark.slow
def test_a_document_is_given_the_model_that_it_describes(tmp_path: Path) -> None:
    """Its answers are those of the hidden comment, for Python blocks and for commands."""
    code = "import anthropic\n\nmessage = anthropic.Anthropic().messages.create(model='m', max_tokens=9, messages=[])\n"
    code += "assert message.content[0].text == 'Hello.'\n"
    shell = '```sh\ntest -n "$OPENAI_BASE_URL"\n```\n'
    document = f'<!-- model: [{{"text": "Hello."}}] -->\n\n```python\n{code}```\n\n{shell}'

    with reader_of(document, tmp_path) as reader:
        assert list(problems(document, reader, frozenset())) == []
        assert "OPENAI_BASE_URL" not in os.environ


def test_the_readme_and_contributors_are_told_the_verbs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert re.findall(r"^python3 do\.py (\w+)", readme, re.MULTILINE)[:2] == ["demo", "test"]

    page = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")

    table = page.partition("| verb | what it does |\n")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(VERBS)


def test_every_command_that_a_page_names_exists() -> None:
    """In tables and sentences, where nothing runs it."""
    todo = cli_reference.verbs(cli_reference.help_text("todo"))
    known = {"tildone": cli_reference.verbs(cli_reference.help_text()), "tildone todo": [*todo, "ls", "show"]}
    named = {
        (path.name, command, verb)
        for path in documents()
        if "adr" not in path.parts and path != cli_reference.PAGE
        for command, verb in re.findall(r"`(tildone(?: todo)?) ([a-z][a-z-]*)", path.read_text(encoding="utf-8"))
    }

    assert len(named) > 100
    assert [(page, command, verb) for page, command, verb in sorted(named) if verb not in known[command]] == []


def test_a_console_block_is_read_as_commands_and_what_they_print() -> None:
    body = "$ one\nfirst\n\nthird\n$ cat <<END\n> two\n> END\ntwo\n$ silent\n"

    parts = {"one": "first\n\nthird", "cat <<END\ntwo\nEND": "two", "silent": ""}
    assert exchanges(body) == [Exchange(*each) for each in parts.items()]


def test_wildcards_stand_for_lines_and_for_characters() -> None:
    rows = [
        *(("a\nb", "a\nb", True), ("a", "a\nb", False), ("...\nb", "a\nx\nb", True), ("a\n...", "a", True)),
        *(("a [..] c", "a b c", True), ("a [..] c", "a b\n c", False), ("a.c", "abc", False), ("", "a", False)),
        ("01m7gc2hsg  2026-11-15 12:00  done (<1s)", "01m7gd0000  2027-01-02 03:04  done (12s)", True),
        ("01m7gc2hsg  done", "02m7gd0000  done", False),
        ("claude 5f0c", "claude 80e1", True),
        ("claude 5f0c", "claude parser", False),
    ]

    assert [(expected, actual) for expected, actual, equal in rows if matches(expected, actual) is not equal] == []


def test_commands_share_a_shell_and_failures_show_their_status(reader: Reader) -> None:
    assert reader.outputs(["word=hello", "echo $word; echo $word >&2", "false"]) == ["", "hello\nhello", "[exit 1]"]


def test_a_wrong_output_is_told_and_can_be_rewritten(reader: Reader) -> None:
    document = "Say:\n\n```console\n$ echo one\ntwo\n$ echo 1 2\n[..] 2\n```\n\nDone.\n"

    [problem] = problems(document, reader, frozenset())

    assert "echo one\nshould print\ntwo\nbut prints\none" in problem
    assert rewritten(document, reader) == document.replace("two", "one")


def test_a_block_that_cannot_work_is_told(reader: Reader) -> None:
    malformed_blocks = "```sh\npython3 do.py nonsense\n```\n```cobol\nSTOP\n```\n```sh\npython3 do.py test\ntrue\n```\n"

    assert len(list(malformed(malformed_blocks, frozenset({"test"})))) == 3
    assert len(list(problems(malformed_blocks, reader, frozenset({"test"})))) == 3
    assert len(list(problems("```sh\nfalse\n```\n", reader, frozenset()))) == 1


def test_verbs_are_found_in_help() -> None:
    listing = "verbs:\n  todo       show\n  log [N]    what happened\n             so far"
    text = f"usage: x\n\npositional arguments:\n  word    not one\n\n{listing}\n\noptions:\n  --help     this"

    assert cli_reference.verbs(text) == ["todo", "log"]


def pages_behind(page: Path) -> Iterator[Path]:
    """The page and every page its links lead to."""
    seen, waiting = {page}, [page]
    while waiting:
        page = waiting.pop()
        yield page
        links = LINK.findall(page.read_text(encoding="utf-8"))
        found = {(page.parent / link).resolve() for link in links if link.endswith(".md")} - seen
        seen |= found
        waiting += sorted(found)


def test_every_source_file_that_a_page_names_exists() -> None:
    """A page must not name a file that has moved. Of `src/NAME.py`, a file to add, the folder must exist."""
    pages = [path for path in documents() if "adr" not in path.parts]
    named = {
        (path.name, file)
        for path in pages
        for file in re.findall(r"`((?:src|tests|docs|bench)/[\w./-]+\.\w+)`", path.read_text(encoding="utf-8"))
    }

    assert len(named) > 20
    assert [(page, file) for page, file in sorted(named) if not (ROOT / TO_ADD.sub("", file)).exists()] == []
