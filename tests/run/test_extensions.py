"""Extensions that a person adds to `tildone run`: their origins, their order, and what happens if one fails."""

import json
import os
from pathlib import Path

from tests.cli.person import Person
from tests.run.extension_workspace import install_package, loaded, run_plan, write_extension
from tests.run.run_workspace import ALLOW_ALL, conversation_files, json_lines, write_plan
from tildone.app.settings_file import absolute_form, files_of, split_form

DONE = "The task is done.\n"


def settings(person: Person, *names: str) -> None:
    """Write settings of the person that name extensions, each beside them."""
    person.sets(f"extensions = {json.dumps(names)}\n")
    for name in dict.fromkeys(names):
        write_extension(person.home / ".config" / "tildone", name)


def test_an_option_names_a_file_a_module_or_a_function_in_it(person: Person, tmp_path: Path) -> None:
    write_extension(person.folder, "one.py")
    write_extension(person.folder, "one.py", "other", trace="one.other")
    elsewhere, site = write_extension(tmp_path / "elsewhere", "two.py"), tmp_path / "site"
    write_extension(site, "tools/__init__.py", trace="tools")
    write_extension(site, "tools/more.py", "plug_in", trace="tools.more")

    forms = ("one.py:other", f"{elsewhere}:extension", "tools", "tools.more:plug_in")
    named = ("--extension", "one.py", *(f"--extension={form}" for form in forms))
    answer = run_plan(person, *named, PYTHONPATH=str(site))

    assert (answer.code, answer.out, answer.err) == (0, DONE, "")
    assert loaded(person) == ["one.py", "one.other", "two.py", "tools", "tools.more"]


FORMS = [
    ("tools.py", "tools.py", ""),
    ("tools.py:plug_in", "tools.py", "plug_in"),
    ("package.module", "package.module", ""),
    ("package.module:plug_in", "package.module", "plug_in"),
    (r"C:\tools\mine.py", r"C:\tools\mine.py", ""),
    (r"C:\tools\mine.py:plug_in", r"C:\tools\mine.py", "plug_in"),
    ("C:mine.py", "C:mine.py", ""),
    ("/a:b/mine.py", "/a:b/mine.py", ""),
]


def test_a_form_is_split_after_its_file_or_module_and_a_relative_file_is_made_absolute(tmp_path: Path) -> None:
    """The colon of a drive letter is followed by a path and not by a name."""
    assert [(form, *split_form(form)) for form, _, _ in FORMS] == FORMS

    forms = [absolute_form(form, str(tmp_path)) for form in ("a.py:f", "sub/b", "package.module:f")]
    assert forms == [f"{tmp_path}/a.py:f", f"{tmp_path}/sub/b", "package.module:f"]
    assert files_of([*forms, forms[0]]) == [f"{tmp_path}/a.py", f"{tmp_path}/sub/b"]


def test_a_setting_that_is_no_list_of_extensions_is_refused(person: Person) -> None:
    told = 'line 1: extensions must be a list of files and modules: ["tools.py", "package.module"]'
    for setting in ('"mine.py"', '["mine.py", 3]', '[""]'):
        person.sets(f"extensions = {setting}\n")
        answer = run_plan(person)
        assert (answer.code, told in answer.err) == (2, True), setting


def test_an_extension_of_a_project_is_loaded_with_the_content_that_was_trusted(person: Person) -> None:
    """Whoever changes the repository, an agent too, cannot change the code that a trusted project runs."""
    file = write_extension(person.folder, "theirs.py")
    (person.folder / "tildone.toml").write_text('extensions = ["theirs.py"]\n', encoding="utf-8")

    untrusted = run_plan(person)
    assert (untrusted.code, loaded(person)) == (0, [])
    told = "is not trusted, so its settings do not apply (extensions); to see and trust it: tildone trust"
    assert told in untrusted.err

    shown = person.says("trust", "--yes")
    first = run_plan(person)
    assert f'extensions = ["{file}"]' in shown
    assert f"{file} is run by tildone run\nTrusted." in shown
    assert (first.err, loaded(person)) == ("", ["theirs.py"])

    write_extension(person.folder, "theirs.py", "more", trace="planted")
    changed = run_plan(person)
    assert (changed.code, loaded(person)) == (0, [])
    assert f"{file} is not trusted with its present content; to trust it: tildone trust\n" in changed.err

    person.says("trust", "--yes")
    assert (run_plan(person).err, loaded(person)) == ("", ["theirs.py"])
    assert person.says("trust").endswith(f"{file} is run by tildone run (trusted)\nAlready trusted.\n")

    person.says("trust", "--revoke")
    assert list(person.home.rglob("trusted/*")) == []


def test_the_most_specific_extensions_are_loaded_last_and_none_twice(person: Person, tmp_path: Path) -> None:
    """What is loaded later can replace tools, so options come after settings, and settings after packages.

    A package names them in entry points: a value without a function means the function `extension`; extras after it
    are ignored. `--no-extensions` leaves those that options name.
    """
    site = tmp_path / "site"
    write_extension(site, "installed.py")
    write_extension(site, "installed.py", "plug_in", trace="plug_in")
    install_package(site, "installed", "1.2", "installed = installed\nmore = installed:plug_in [extra]")
    settings(person, "mine.py", "mine.py")
    write_extension(person.folder, "here.py")

    answer = run_plan(person, "--extension", "here.py", PYTHONPATH=str(site))
    *packaged, mine, here = loaded(person)
    assert (answer.code, answer.err) == (0, "")
    assert (sorted(packaged), mine, here) == (["installed.py", "plug_in"], "mine.py", "here.py")

    run_plan(person, "--extension", "here.py", "--extension", "installed", PYTHONPATH=str(site))
    assert loaded(person) == ["plug_in", "mine.py", "here.py", "installed.py"]

    run_plan(person, "--no-extensions", "--extension", "here.py", PYTHONPATH=str(site))
    assert loaded(person) == ["here.py"]


FAILURES = {
    "import os\nimport no_such_module\n": "line 2: ModuleNotFoundError: No module named 'no_such_module'",
    "x = 1\ndef extension(api:\n": "line 2: SyntaxError: '(' was never closed",
    "def extensions(api):\n    pass\n": "line 1: there is no function 'extension'; did you mean 'extensions'?",
    "extension = 3\n": "line 1: there is no function 'extension'; define it, or name another one after a colon",
    "def helper(api):\n    return 1 / 0\n\n\ndef extension(api):\n    helper(api)\n": (
        "line 2: ZeroDivisionError: division by zero"
    ),
    "def extension(api):\n    raise KeyError\n": "line 2: KeyError",
    "import sys\nsys.exit(3)\n": "line 2: SystemExit: 3",
    "x = 1\n\n\nasync def extension(api):\n    pass\n": "line 4: extension must not be an async function",
    """\
from tildone.kit.definition import ToolDefinition


def extension(api):
    api.register_tool(ToolDefinition("Bad Name", "", "", {"type": "object"}, lambda *_: None))
""": "line 5: InvalidDefinition: tool 'Bad Name': the name must be in snake_case",
}


def test_failures_name_the_lines_of_the_extensions_and_the_run_goes_on(person: Person) -> None:
    names, expected = [], []
    for number, (source, message) in enumerate(FAILURES.items()):
        names.append(write_plan(person, source, f"failure{number}.py"))
        expected.append(f"tildone: the extension {names[-1]} is not loaded: {person.folder / names[-1]}, {message}")
    write_extension(person.folder, "fine.py")

    answer = run_plan(person, *(f"--extension={name}" for name in names), "--extension", "fine.py")

    assert (answer.code, answer.out) == (0, DONE)
    assert [line[: len(start)] for line, start in zip(answer.err.splitlines(), expected, strict=True)] == expected
    assert loaded(person) == ["fine.py"]


def test_a_failure_in_a_package_names_the_file_in_it_and_the_run_goes_on(person: Person, tmp_path: Path) -> None:
    tools = tmp_path / "site" / "tools"
    tools.mkdir(parents=True)
    (tools / "__init__.py").write_text("from tools import inner\nextension = inner.plug_in\n", encoding="utf-8")
    (tools / "inner.py").write_text("import json\n\n\ndef plug_in(api):\n    json.loads('{')\n", encoding="utf-8")

    names = [f"--extension={name}" for name in ("tools", "missing.py", "no_such", ".")]
    answer = run_plan(person, *names, PYTHONPATH=str(tmp_path / "site"))

    assert (answer.code, answer.out) == (0, DONE)
    inner, missing, no_such, folder = answer.err.splitlines()
    said = "tildone: the extension {} is not loaded: {}"
    assert inner.startswith(said.format("tools", f"{tools / 'inner.py'}, line 5: JSONDecodeError: "))
    assert missing == said.format("missing.py", f"{person.folder / 'missing.py'}: No such file or directory")
    assert no_such.startswith(said.format("no_such", "no_such: ModuleNotFoundError: No module named 'no_such'"))
    assert folder.startswith(said.format(".", ".: "))


def test_programs_are_told_of_a_failure_by_an_event_and_a_person_at_a_terminal_in_words(person: Person) -> None:
    """What an extension prints does not get between the records. RPC clients are told once."""
    file = person.folder / "broken.py"
    file.write_text("print('printed')\n\n\ndef extension(api):\n    raise OSError('out of order')\n", encoding="utf-8")
    run = ("run", write_plan(person, "- [ ] A: `true`\n"), *ALLOW_ALL, "--extension", "broken.py")
    requests = '{"type": "new_session"}\n{"type": "get_state"}\n'

    answer = person.run(*run, "--mode", "json")
    rpc = person.run("run", "--mode", "rpc", "--extension", "broken.py", given=requests)

    [failure] = [record for record in json_lines(answer.out) if record["type"] == "extension_error"]
    error = f"{file}, line 5: OSError: out of order"
    assert failure == {"type": "extension_error", "extensionPath": "broken.py", "event": "load", "error": error}
    assert answer.err == f"printed\ntildone: the extension broken.py is not loaded: {error}\n"
    told = [record["type"] for record in json_lines(rpc.out)]
    assert (rpc.code, told.count("extension_error"), told.count("response")) == (0, 1, 2)

    if os.name != "nt":  # which has no pseudo-terminals of this kind
        shown = person.at_terminal(*run, "--plain", "--restart").end().out
        assert "tildone: the extension broken.py is not loaded: " in shown
        assert "line 5: OSError: out of order" in shown
        assert "The task is done." in shown


def test_a_conversation_does_not_name_code_to_execute(person: Person) -> None:
    """Extensions of options are named again, as the hint says. One without extensions is continued without them."""
    write_extension(person.folder, "my tools.py")
    name = write_plan(person, "- [ ] A: `test -e ready`\n")

    failed = person.run("run", name, "--mode", "print", *ALLOW_ALL, "--extension", "my tools.py")
    assert failed.err.endswith("To go on: tildone run --continue --extension 'my tools.py'\n")
    [file] = conversation_files(person)
    assert "tools.py" not in file.read_text(encoding="utf-8")
    loaded(person)

    (person.folder / "ready").touch()
    assert person.run("run", "--continue", "--mode", "print").code == 0
    assert loaded(person) == []

    settings(person, "mine.py")  # relative to the folder of the settings
    assert (run_plan(person).err, loaded(person)) == ("", ["mine.py"])
    (person.folder / "ready").unlink()
    write_plan(person, "- [ ] A: `test -e ready`\n")
    assert person.run("run", name, "--restart", "--mode", "print", *ALLOW_ALL, "--no-extensions").code == 1
    (person.folder / "ready").touch()
    assert person.run("run", "--continue", "--mode", "print").code == 0
    assert loaded(person) == []


def test_the_modules_of_extensions_are_loaded_by_no_other_verb(person: Person) -> None:
    done = person.python("import sys; from tildone.cli import main; main(['todo']); print(*sys.modules)")

    assert done.code == 0
    assert {"tildone.run.hosting", "tildone.app.settings_file"} & set(done.out.split()) == set()
