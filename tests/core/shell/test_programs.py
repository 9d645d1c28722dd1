"""Which arguments the table of programs refuses to a wildcard, in every form in which they are written."""

from tildone.plan.shell.danger import RULES, Rule, has_subscript, is_assignment, is_refused, program_name

FORMS = [
    ("find", ["-exec", "--exec", "-delete"], ["-executable", "exec", "-name"]),
    ("sort", ["-o", "-uo", "-ox", "--output=x", "--out"], ["-u", "-k=o", "--unique", "--", "-"]),
    ("curl", ["%output{x}", "@x", "-w@x", "--expand-output"], ["-w", "%{http_code}", "x@y"]),
    ("git bisect", ["run"], ["runs", "--run"]),
]


def test_an_option_is_refused_in_every_form() -> None:
    refused = [(name, word) for name, _, words in FORMS for word in words if is_refused(word, RULES[name])]
    allowed = [(name, word) for name, words, _ in FORMS for word in words if not is_refused(word, RULES[name])]

    assert (refused, allowed) == ([], [])
    assert not is_refused("-x", Rule())


def test_a_subscript_and_an_assignment_are_recognized() -> None:
    assert [word for word in ("a[0]", "a [x]", "x+a[$(id)]", "[%s]", "a", "") if has_subscript(word)] == [
        *("a[0]", "a [x]", "x+a[$(id)]"),
    ]
    assert [word for word in ("a=1", "a+=1", "a[0]=1", "1=a", "=", "a") if is_assignment(word)] == [
        *("a=1", "a+=1", "a[0]=1"),
    ]


def test_a_program_is_known_without_its_folder_version_and_extension() -> None:
    names = ["/usr/bin/python3.12", "GIT.EXE", "C:\\bin\\rm.exe", "perl5", "tool-2", "x1"]

    assert [program_name(path) for path in names] == ["python", "git", "rm", "perl", "tool-2", "x1"]
