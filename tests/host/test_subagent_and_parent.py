"""What a subagent shares with its parent: extensions that guard calls, permissions, and the UI."""

from collections.abc import Sequence
from typing import Any

from tests.host.records import Json
from tests.host.subagent_bench import Parent, Scripts, task
from tests.host.test_host import Script, extend, talk, tool
from tildone.run.extension import (
    BlockCall,
    ChangeArguments,
    NoUI,
    PermissionAnswer,
    PermissionReply,
    PermissionRequest,
    SubagentTurn,
    ToolCallRequest,
)
from tildone.run.host import ExtensionContext, Host
from tildone.run.kit.definition import ToolResult, text_result
from tildone.run.messages import text_of
from tildone.run.subagents import subagent_host
from tildone.run.tools.builtin import builtin_tools
from tildone.run.tools.permissions import PermissionPolicy


async def test_extensions_of_the_parent_block_and_change_the_calls_of_subagents() -> None:
    """They also learn of each turn."""
    seen: list[Any] = []

    async def look(params: Any, _signal: Any, _update: Any) -> ToolResult:
        seen.append(params)
        return text_result("ok")

    def reply(event: ToolCallRequest, _ctx: ExtensionContext) -> Any:
        if event.tool_name == "rm":
            return BlockCall("not here")
        return ChangeArguments({"n": 7}) if event.tool_name == "look" else None

    turns: list[str] = []
    model = Scripts(go=[[task("a")]], a=[[("look", {"n": 1}), ("rm", {})], "done"])
    parent = Parent(model, tool("look", look), tool("rm"))
    extend(parent.host, lambda api: api.on(ToolCallRequest, reply))
    extend(parent.host, lambda api: api.on(SubagentTurn, lambda event, _ctx: turns.append(event.call_id)))

    await talk(parent.host)

    assert seen == [{"n": 7}]
    assert [text_of(each) for each in parent.children[0].transcript.tool_results()] == ["ok", "not here"]
    assert turns == ["go10", "go10"]


async def test_an_error_of_a_subagents_extension_is_reported_by_the_parent() -> None:
    def broken(child: Host) -> None:
        def fail(*_: object) -> None:
            raise ValueError("broken")

        extend(child, lambda api: api.on(ToolCallRequest, fail))

    parent = Parent(Scripts(go=[[task("a")]], a=[[("look", {})]]), tool("look"), prepare=broken)

    await talk(parent.host)

    assert [event["error"] for event in parent.told if event["type"] == "extension_error"] == ["broken"]


async def test_a_long_report_is_cut_and_the_list_follows_it() -> None:
    report = "\n".join(map(str, range(5000)))
    parent = Parent(Scripts(go=[[task("a")]], a=[report]), listed="- [x] One")

    await talk(parent.host)

    text = text_of(parent.results[0])
    assert "\n1999\n\n\n(cut: 2000 of 5,000 lines)\n\nThe subagent's list:\n- [x] One" in text
    assert "2000\n" not in text.partition("(cut")[0]


class Asked(NoUI):
    """A person who always allows what is asked."""

    has_ui = True

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.notices: list[str] = []

    def notify(self, message: str, kind: str = "info") -> None:
        self.notices.append(f"{kind} {message}")

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        self.questions.append(request.question)
        return PermissionReply(PermissionAnswer.ALWAYS)

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        return f"{title} {options} {timeout}"

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        return (title, message, timeout) == ("Subagent “s”: t", "m", 1)

    async def input(self, title: str, placeholder: str = "") -> str | None:
        return f"{title} {placeholder}"

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return f"{title} {prefill}"


async def test_permissions_are_asked_for_with_the_subagents_name_and_hold_for_the_whole_conversation(
    tmp_path: Any,
) -> None:
    """What the person allows one subagent, its parent and the others may do."""
    person = Asked()
    write: tuple[str, Json] = ("write", {"path": "x.txt", "content": "x"})
    model = Scripts(go=[[task("a\n\u202e")], [task("b")], [write]], **{"a\n\u202e": [[write]], "b": [[write]]})
    parent = Parent(model, *builtin_tools(PermissionPolicy()), ui=person, cwd=str(tmp_path))

    await talk(parent.host)

    [question] = person.questions
    assert question.startswith("Subagent “look at a")
    assert "\n" not in question
    assert question.endswith("Create x.txt?  +1 −0")
    results = [each for host in (*parent.children, parent.host) for each in host.transcript.tool_results()]
    assert [text_of(each) for each in results if each.tool_name == "write" and each.is_error] == []


async def test_questions_and_notices_of_a_subagent_go_to_the_person_but_panels_do_not() -> None:
    parent = Parent(Scripts(), ui=Asked())
    ui = subagent_host(parent.host, parent.transcript("c"), "s").ctx.ui

    ui.set_status("key", "text")
    ui.set_widget("key", ["line"])
    ui.notify("hello", "warning")

    assert ui.has_ui
    assert isinstance(parent.host.ctx.ui, Asked)
    assert parent.host.ctx.ui.notices == ["warning Subagent “s”: hello"]
    assert await ui.select("t", ["a"], 2) == "Subagent “s”: t ['a'] 2"
    assert await ui.confirm("t", "m", 1)
    assert await ui.input("t", "p") == "Subagent “s”: t p"
    assert await ui.editor("t", "p") == "Subagent “s”: t p"


async def test_an_ordinary_host_has_no_yield() -> None:
    model = Script([("yield", {"result": "x"})])
    parent = Parent(model)

    await talk(parent.host)

    assert "unknown tool 'yield'" in text_of(parent.results[0])
    assert parent.host.yielded is None
