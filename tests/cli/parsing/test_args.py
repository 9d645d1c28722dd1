"""A command line is read by its table: options anywhere, verbs by name, mistakes with what may have been meant."""

import re
import shlex

import pytest

from tildone.base.errors import UsageError
from tildone.cli.parsing import ROOT, parse
from tildone.cli.suggestions import SYNONYMS
from tildone.cli.table import ParsedArgs, Verb, command, implementation


def leaves(path: tuple[Verb, ...]) -> list[tuple[Verb, ...]]:
    return [path, *(leaf for verb in path[-1].verbs for leaf in leaves((*path, verb)))]


def test_every_word_of_a_package_of_verbs_names_one_of_its_verbs() -> None:
    """The words are listed apart from the verbs, so that a command imports only the package of its verb."""
    for group in ROOT.groups:
        words = [word for verb in group.table.entries.values() for word in (verb.name, *verb.aliases)]
        assert list(group.words) == words, group.title


def refusal(*argv: str) -> str:
    """What is said of a command line that makes no sense."""
    with pytest.raises(UsageError) as caught:
        parse(ROOT, argv)
    return str(caught.value)


def test_the_programs_own_options_stand_anywhere() -> None:
    for line in (
        "--session s todo start it",
        "todo --session s start it",
        "todo start --session s it",
        "todo start it --session s",
        "todo start it --session=s",
        "TODO Start it --session=x --session=s",
    ):
        args = parse(ROOT, line.split())
        read = (command(args.path), args.positional, args.options)
        assert read == ("tildone todo start", ("it",), {"session": "s"}), line


def test_text_may_begin_with_a_dash() -> None:
    assert parse(ROOT, ["todo", "append", "-"]).positional == ("-",)
    assert parse(ROOT, ["todo", "append", "--", "--force"]).positional == ("--force",)
    assert parse(ROOT, ["todo", "append", "-v is a flag"]).positional == ("-v is a flag",)
    assert parse(ROOT, ["todo", "append", "--", "-h", "--", "x y"]).positional == ("-h", "--", "x y")


def test_a_word_with_a_space_is_for_the_verb_that_takes_text() -> None:
    args = parse(ROOT, ["fleet", "schedule", "0 3 * * *", "nightly.md", "--zone", "UTC"])

    assert (command(args.path), args.positional) == ("tildone fleet schedule add", ("0 3 * * *", "nightly.md"))
    with pytest.raises(UsageError, match="has no verb 'one two'"):
        parse(ROOT, ["fleet", "one two"])


def test_a_command_follows_two_dashes_and_is_not_read() -> None:
    args = parse(ROOT, ["todo", "check", "the", "parser", "--seconds", "5", "--", "make", "--", "-j2", "--json", ""])

    assert (args.positional, args.options) == (("the", "parser"), {"seconds": "5"})
    assert args.command == ("make", "--", "-j2", "--json", "")
    assert parse(ROOT, ["todo", "append", "--", "x"]).command == ()


def test_a_value_with_a_space_belongs_to_its_option() -> None:
    assert parse(ROOT, ["todo", "--session=two words"]).options == {"session": "two words"}


def test_a_mistake_is_named_with_what_may_have_been_meant() -> None:
    complaints = {
        "tood": "tildone has no verb 'tood'; did you mean 'tildone todo'?",
        "todo finish": "tildone todo has no verb 'finish'; did you mean 'tildone todo done'?",
        "todo --sesion x": "tildone todo has no option --sesion; did you mean '--session'?",
        "--json log": "tildone has no option --json; ",
        "todo -x": "tildone todo has no option -x; ",
        "todo --session": "--session requires a value: --session NAME",
        "todo --session=": "--session requires a value: --session NAME",
        "log --json=yes": "--json takes no value",
        "call": "tildone call requires TOOL [JSON]; see tildone call --help",
        "todo note x": "tildone todo note requires TASK TEXT…; see tildone todo note --help",
        "log yesterday": "tildone log takes no argument 'yesterday'; see tildone log --help",
        "todo export a b": "tildone todo export takes no argument 'b'; see tildone todo export --help",
    }

    said = {line: refusal(*line.split())[: len(complaint)] for line, complaint in complaints.items()}

    assert said == complaints


def test_help_is_given_however_little_else_was_typed() -> None:
    assert parse(ROOT, ["call", "-h"]).has("help")
    assert command(parse(ROOT, ["--help", "todo", "note"]).path) == "tildone todo note"


def test_a_number_has_a_default_and_is_above_nothing() -> None:
    assert ParsedArgs((ROOT,), (), {}).positive_int("limit", 20) == 20
    assert ParsedArgs((ROOT,), (), {"limit": "7"}).positive_int("limit", 20) == 7
    for given in ("0", "-1", "many", "1.5", "²"):
        with pytest.raises(UsageError, match=re.escape(f"not '{given}'")):
            ParsedArgs((ROOT,), (), {"limit": given}).positive_int("limit", 20)


def test_every_verb_has_a_module_that_implements_it_and_examples_that_can_be_typed() -> None:
    """As far as the table can tell: what the words mean is for the verb."""
    for path in leaves((ROOT,)):
        assert callable(implementation(path)), command(path)
        assert path[-1].examples, command(path)
        for example in path[-1].examples:
            ours = [part for part in example.removeprefix("EDITOR=nano ").split(" | ") if part.startswith("tildone ")]
            assert ours, example
            for part in ours:
                assert parse(ROOT, shlex.split(part.partition(" < ")[0])[1:]).path, example


def test_an_option_that_precedes_a_verb_must_be_one_of_that_verb() -> None:
    assert parse(ROOT, ["todo", "--session", "x", "done", "1"]).options == {"session": "x"}
    assert refusal("todo", "--open", "next") == ("tildone todo next has no option --open; see tildone todo next --help")


def test_an_unknown_verb_gets_the_likeliest_commands() -> None:
    likeliest = {
        "next": ["todo next"],
        "ls": ["todo list", "fleet ls"],
        "add": ["todo add", "fleet add"],
        "list": ["todo list", "fleet ls"],
        "done": ["todo done"],
        "rm": ["todo rm"],
        "history": ["log"],
        "init": ["todo add", "install"],
        "serve": ["mcp"],
        "complete": ["todo done"],  # the scripts call complete-words
        "tasks": ["todo"],
        "LOGG": ["log"],
        "stauts": ["stats", "status"],
        "dnoe": ["todo done"],
        "overvew": [],
        "xyzzy": [],
        "todo finish": ["todo done"],
        "todo log": ["log"],
        "todo dnoe": ["todo done"],
        "todo xyzzy": [],
    }

    said = {line: refusal(*line.split()) for line in likeliest}

    assert {line: re.findall(r"'tildone ([a-z ]+)'", text) for line, text in said.items()} == likeliest
    assert "to list the verbs: tildone --help" in said["xyzzy"]
    assert "to list the verbs: tildone todo --help" in said["todo xyzzy"]


def test_every_synonym_names_verbs_that_exist() -> None:
    for word, commands in SYNONYMS.items():
        assert ROOT.verb(word) is None, word
        for each in commands.split(", ") if commands != "--version" else ():
            assert command(parse(ROOT, [*each.split(), "--help"]).path) == f"tildone {each}", word
