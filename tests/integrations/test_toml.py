"""Editing TOML: everything but the edited entry keeps its bytes, however the file is written."""

import tomllib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.agents.install.backups import is_our_hook, is_our_server, program_in
from tildone.agents.install.toml import append, get, merge, remove, scan, table_lines, value_text, without_markers
from tildone.base.errors import Refused

SERVER = ("mcp_servers", "tildone")
STOP = ("hooks", "Stop")
ENTRY = {"command": "/bin/tildone", "args": ["mcp"]}
GROUP = {"hooks": [{"type": "command", "command": "/bin/tildone hook codex"}]}

VALUES = (
    "1",
    "-2.5e3",
    "true",
    '"a # b"',
    "'c:\\d'",
    '"""\n[not.a.table] \\\n  x = "1" ""\n"""',
    "'''\n# no comment ' ''\n'''",
    "1979-05-27 07:32:00",
    "[ 1, # one\n  2, ]",
    "[\n  [1], [], # }\n]",
    '{ a.b = 1, "c d" = [ { e = "]" } ] }',
    "{}",
)
keys = st.sampled_from(["a", "b-c", '"d e"', "'f.g'", "h . i"])
blanks = st.sampled_from(["", "\n", "# a comment [x]\n", "  # indented\n\n"])
servers = st.sampled_from(
    ["", "[mcp_servers]\n", "[mcp_servers.zed]\ncommand = 'zed'\n", "[ mcp_servers . 'zed' ] # z\n"]
)
hooks = st.sampled_from(
    ["", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'say'\n[[ hooks.Stop ]] # two\n", "[hooks]\n"]
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A text with keys of the root, tables and arrays of tables, in any order, with comments between them."""

    def pairs() -> str:
        names = draw(st.lists(keys, max_size=3, unique=True))
        return "".join(f"{draw(blanks)}{name} = {draw(st.sampled_from(VALUES))}\n" for name in names)

    names = draw(st.lists(st.sampled_from(["t1", "'t 2'", "t3.x"]), max_size=3, unique=True))
    tables = [f"{draw(blanks)}[{name}] # table\n{pairs()}" for name in names]
    tables += [draw(blanks) + draw(servers), draw(blanks) + draw(hooks)]
    text = pairs() + "".join(draw(st.permutations(tables))) + draw(blanks)
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = text.replace("\n", newline)
    return draw(st.sampled_from(["", "\ufeff"])) + text


@given(documents())
def test_statements_cover_the_text_in_order_and_have_the_paths_of_the_values(text: str) -> None:
    statements = scan(text)

    assert [each.start for each in statements] == sorted(each.start for each in statements)
    assert all(one.end <= other.start for one, other in pairwise(statements))
    for each in statements:
        if each.node is not None:
            literal = text[each.node.start : each.node.end]
            assert tomllib.loads(f"v = {literal}")["v"] == get(text, each.path)


@given(documents())
def test_remove_undoes_merge_and_append_to_the_byte(text: str) -> None:
    """In either order, and after a change of the entry."""
    number = len(get(text, STOP) or [])
    added = append(merge(text, SERVER, ENTRY), STOP, GROUP)
    changed = merge(merge(added, SERVER, {"command": "/opt/tildone", "more": {"a": [1]}}), (*STOP, number), {"m": 1})

    assert get(added, SERVER) == ENTRY
    assert get(added, (*STOP, number)) == GROUP
    assert remove(remove(added, SERVER), (*STOP, number)) == text
    assert remove(remove(changed, (*STOP, number)), SERVER) == text


@given(documents())
def test_an_entry_that_is_there_is_not_written_again(text: str) -> None:
    added = merge(text, SERVER, ENTRY)

    assert merge(added, SERVER, ENTRY) == added


def test_members_are_set_in_the_form_that_the_entry_has() -> None:
    for text, after in (
        ('[mcp_servers.tildone]\n  command = "x" # why\n', '[mcp_servers.tildone]\n  command = "y" # why\n  n = 1\n'),
        (
            'mcp_servers.tildone.command = "x"\na = 1',
            'mcp_servers.tildone.command = "y"\nmcp_servers.tildone.n = 1\na = 1',
        ),
        ('[mcp_servers]\ntildone = {command = "x"}', '[mcp_servers]\ntildone = {command = "y", n = 1}'),
        ('[mcp_servers.tildone]\ncommand = "x"', '[mcp_servers.tildone]\ncommand = "y"\nn = 1'),
    ):
        assert merge(text, SERVER, {"command": "y", "n": 1}) == after, text


def test_a_path_through_something_else_is_refused() -> None:
    for text in ("mcp_servers = 1", "mcp_servers = [1]", "[[mcp_servers]]\na = 1"):
        with pytest.raises(Refused):
            merge(text, SERVER, ENTRY)


def test_markers_are_removed_and_strings_that_look_like_them_are_not() -> None:
    text = 'a = """\n# >>> tildone\n"""\n# >>> tildone, joined\nb = 1\n# <<< tildone'

    assert without_markers(text) == 'a = """\n# >>> tildone\n"""\nb = 1\n'


@given(
    st.recursive(
        st.integers() | st.text() | st.booleans(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_what_is_written_is_read_back(data: object) -> None:
    assert tomllib.loads(f"v = {value_text(data)}")["v"] == data
    if isinstance(data, dict):
        assert tomllib.loads("\n".join(table_lines(["t"], data)))["t"] == data


def test_a_server_is_ours_if_it_runs_tildone() -> None:
    for entry, ours in (
        ({"command": "/x/tildone", "args": ["mcp"]}, True),
        ({"command": "uvx", "args": ["--from", "tildone[mcp]", "tildone", "mcp"]}, True),
        ({"command": ["C:\\bin\\tildone.exe", "mcp"]}, True),
        ({"command": "python", "args": ["-m", "tildone", "mcp", "--session", "x"]}, True),
        ({"command": "/x/my-tildone", "args": ["mcp"]}, False),
        ({"command": "npx", "args": ["mcp-of", "/home/tildone/files"]}, False),
        ({"url": "http://127.0.0.1/tildone/mcp"}, False),
        ("mcp__tildone", False),
    ):
        assert is_our_server(entry) is ours, entry


def test_a_hook_is_ours_if_it_runs_tildone() -> None:
    for line, program in (
        ("/x/tildone hook claude", "/x/tildone"),
        ("'/my tools/tildone' hook claude StatusLine", "/my tools/tildone"),
        ('"C:\\my tools\\tildone.exe" hook codex', "C:\\my tools\\tildone.exe"),
        ("shopt -s execfail 2>/dev/null; exec tildone hook gemini; exit 0", "tildone"),
        ("say tildone hooked me", ""),
        ("my-tildone hook x", ""),
        ("echo tildone", ""),
    ):
        assert is_our_hook({"command": line}) is bool(program), line
        if program:
            assert program_in(line) == program, line
