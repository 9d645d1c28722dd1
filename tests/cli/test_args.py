"""A command line is read by its table: options anywhere, verbs by name, mistakes with what may have been meant."""

import shlex

import pytest

from tildone.cli.parsing.args import Typed, Verb, called, parse
from tildone.cli.verbs import ROOT
from tildone.errors import UsageError


def leaves(path: tuple[Verb, ...]) -> list[tuple[Verb, ...]]:
    return [path, *(leaf for verb in path[-1].verbs for leaf in leaves((*path, verb)))]


every_verb = pytest.mark.parametrize("path", leaves((ROOT,)), ids=called)


@pytest.mark.parametrize(
    "argv",
    [
        ["--session", "s", "todo", "start", "it"],
        ["todo", "--session", "s", "start", "it"],
        ["todo", "start", "--session", "s", "it"],
        ["todo", "start", "it", "--session", "s"],
        ["todo", "start", "it", "--session=s"],
        ["TODO", "Start", "it", "--session=x", "--session=s"],
    ],
)
def test_the_programs_own_options_stand_anywhere(argv: list[str]) -> None:
    typed = parse(ROOT, argv)

    assert (called(typed.path), typed.words, typed.options) == ("tildone todo start", ("it",), {"session": "s"})


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["todo", "append", "-"], ("-",)),
        (["todo", "append", "--", "--force"], ("--force",)),
        (["todo", "append", "-v is a flag"], ("-v is a flag",)),
        (["todo", "append", "--", "-h", "--", "x y"], ("-h", "--", "x y")),
    ],
)
def test_text_may_begin_with_a_dash(argv: list[str], words: tuple[str, ...]) -> None:
    assert parse(ROOT, argv).words == words


def test_a_value_with_a_space_belongs_to_its_option() -> None:
    assert parse(ROOT, ["todo", "--session=two words"]).options == {"session": "two words"}


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["tood"], "there is no verb 'tood' in tildone; did you mean 'todo'?"),
        (["todo", "finish"], "there is no verb 'finish' in tildone todo; known are show, append, start, "),
        (["todo", "--sesion", "x"], "there is no option --sesion in tildone todo; did you mean '--session'?"),
        (["--json", "log"], "there is no option --json in tildone; "),
        (["todo", "-x"], "there is no option -x in tildone todo; "),
        (["todo", "--session"], "--session needs its NAME"),
        (["todo", "--session="], "--session needs its NAME"),
        (["log", "--json=yes"], "--json takes no value"),
        (["call"], "tildone call needs TOOL [JSON]; see tildone call --help"),
        (["todo", "note", "x"], "tildone todo note needs TASK TEXT; see tildone todo note --help"),
        (["log", "yesterday"], "tildone log does not know what to do with 'yesterday'"),
        (["todo", "export", "a", "b"], "tildone todo export does not know what to do with 'b'"),
    ],
)
def test_a_mistake_is_named_with_what_may_have_been_meant(argv: list[str], complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(ROOT, argv)

    assert str(caught.value).startswith(complaint)


def test_help_is_given_however_little_else_was_typed() -> None:
    assert parse(ROOT, ["call", "-h"]).has("help")
    assert called(parse(ROOT, ["--help", "todo", "note"]).path) == "tildone todo note"


@pytest.mark.parametrize(("given", "number"), [({}, 20), ({"limit": "7"}, 7)])
def test_a_number_has_a_default(given: dict[str, str], number: int) -> None:
    assert Typed((ROOT,), (), given).number("limit", 20) == number


@pytest.mark.parametrize("given", ["0", "-1", "many", "1.5", "²"])
def test_a_number_is_above_nothing(given: str) -> None:
    with pytest.raises(UsageError):
        Typed((ROOT,), (), {"limit": given}).number("limit", 20)


@every_verb
def test_every_verb_has_a_function_that_does_it(path: tuple[Verb, ...]) -> None:
    module, function = path[-1].run.split(".")

    assert callable(getattr(__import__(f"tildone.cli.{module}", fromlist=[function]), function))


@every_verb
def test_every_verb_has_examples_that_can_be_typed(path: tuple[Verb, ...]) -> None:
    """As far as the table can tell: what the words mean is for the verb."""
    assert path[-1].examples
    for example in path[-1].examples:
        ours = [part for part in example.removeprefix("EDITOR=nano ").split(" | ") if part.startswith("tildone ")]
        assert ours
        for part in ours:
            assert parse(ROOT, shlex.split(part.partition(" < ")[0])[1:]).path
