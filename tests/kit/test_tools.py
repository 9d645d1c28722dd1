"""Tools: definitions, functions as tools, schemas of arguments, dispatch and cancellation."""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tildone.base import replace
from tildone.base.schema import SchemaProblem, coerce_arguments, is_simple, schema_problems, without_nulls
from tildone.plan.dialects import DIALECTS, dialect_named
from tildone.run.kit.definition import (
    AbortController,
    Aborted,
    AbortSignal,
    Delegate,
    ImageContent,
    InvalidDefinition,
    Invocation,
    OnUpdate,
    TextContent,
    ToolDefinition,
    ToolResult,
    any_of,
    dispatch_by_action,
    error_result,
    send_update,
    text_result,
    tool,
    validated,
    wrap_tool,
)


class EchoParams(TypedDict):
    words: str


async def echo(
    tool_call_id: str, params: EchoParams, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: object
) -> ToolResult:
    send_update(on_update, text_result("listening"))
    return text_result(params["words"], {"given": (tool_call_id, params, signal, on_update, ctx)})


PARAMETERS = {"type": "object", "required": ["words"], "properties": {"words": {"type": "string"}}}
ECHO = ToolDefinition("echo", "Echo", "Say it again.", PARAMETERS, echo)
FIVE = ("call_1", {"words": "hello"}, AbortSignal(), lambda _: None, {"cwd": "."})


def run(tool: ToolDefinition, *five: Any) -> ToolResult:
    async def call() -> ToolResult:
        return await tool.execute(*(five or FIVE))

    return asyncio.run(call())


def test_results_have_their_text_without_images_and_details_of_their_own() -> None:
    """The details of a failed call are empty, not missing: renderers detect an exception by that."""
    result = ToolResult((TextContent("one"), ImageContent("aGk=", "image/png"), TextContent("two")), {})

    assert result.text == "one\ntwo"
    assert ToolResult((), {}).text == ""

    assert error_result("No such file") == ToolResult((TextContent("No such file"),), {}, is_error=True)
    assert error_result("").text == "Operation failed"

    one, other = text_result("a"), error_result("b")

    one.details["mine"] = True

    assert other.details == {}


FAILED: list[tuple[object, bool, bool]] = [
    ({}, False, False),
    (None, False, False),
    ({}, True, True),
    (None, True, True),
    ({"error": "no todos exist"}, False, True),
    ({"error": None, "refusals": []}, False, False),
    ({"refusals": ["one is not done"]}, False, True),
]


def test_a_call_has_failed_if_its_details_say_so() -> None:
    told = [(details, is_error, ToolResult((), details, is_error=is_error).failed) for details, is_error, _ in FAILED]

    assert told == FAILED


def test_updates_are_sent_to_the_callback_if_there_is_one() -> None:
    seen = list[ToolResult]()

    send_update(seen.append, text_result("half"))
    send_update(None, text_result("nobody looks"))

    assert seen == [text_result("half")]


def test_a_valid_definition_is_returned_and_its_defaults_are_those_of_an_ordinary_tool() -> None:
    flags = (ECHO.exclusive, ECHO.strict, ECHO.discoverable, ECHO.inherit, ECHO.any_case_name)

    assert validated(ECHO) is ECHO
    assert flags == (False, False, False, True, False)


SNAKES = ("web_search", "processes", "get_v2_time", "a" * 64)
OTHERS = ("TodoWrite", "web-search", "_hidden", "two__lines", "2fast", "", "größe", "a\n")


@pytest.mark.parametrize(
    ("name", "any_case", "complaint"),
    [
        *((name, False, "") for name in SNAKES),
        *((name, False, "snake_case") for name in OTHERS),
        ("TodoWrite", True, ""),
        *((name, True, "letters, digits") for name in ("Todo Write", "", "9Lives")),
    ],
)
def test_names_are_in_snake_case_unless_any_case_is_allowed(name: str, complaint: str, *, any_case: bool) -> None:
    named = replace(ECHO, name=name, any_case_name=any_case)

    with pytest.raises(InvalidDefinition, match=complaint) if complaint else nullcontext():
        assert validated(named) is named


INVALID: list[tuple[dict[str, Any], str]] = [
    ({"name": "a" * 65}, "longer than 64"),
    ({"label": " "}, "label is empty"),
    ({"description": ""}, "description is empty"),
    ({"parameters": {"type": "string"}}, "schema of an object"),
    ({"parameters": None}, "schema of an object"),
    ({"parameters": {"type": "object", "properties": ["words"]}}, "properties of parameters"),
    ({"parameters": {"type": "object", "required": ["words"]}}, "properties that it does not describe: words"),
    ({"parameters": {"type": "object", "required": [5]}}, "properties that it does not describe: 5"),
    ({"prompt_guidelines": "Use it well"}, "tuple of texts"),
    ({"execute": None}, "execute must be called with tool_call_id, params, signal, on_update, ctx"),
    ({"execute": lambda _call, _params: None}, "execute must be called with"),
    ({"name": "Echo", "label": ""}, r"tool 'Echo': .*snake_case.*; the label is empty"),
]
LEFT_TO_THE_HOST: list[Any] = [
    {"type": "object", "required": ["words"], "anyOf": [{"properties": {"words": {"type": "string"}}}]},
    {"type": "object", "required": 5},
    EchoParams,
]


def test_an_invalid_definition_is_refused() -> None:
    """At registration, not at the first call, and for all its problems at once.

    The host checks what other keywords may describe, and turns a class into a schema later.
    """
    for changes, complaint in INVALID:
        with pytest.raises(InvalidDefinition, match=complaint):
            validated(replace(ECHO, **changes))
    for parameters in LEFT_TO_THE_HOST:
        assert validated(replace(ECHO, parameters=parameters)).parameters is parameters


def test_a_wrapped_tool_keeps_unchanged_fields_and_is_validated() -> None:
    loud = wrap_tool(ECHO, label="Loud echo", prompt_guidelines=("Shout.",))

    assert loud == replace(ECHO, label="Loud echo", prompt_guidelines=("Shout.",))

    with pytest.raises(InvalidDefinition):
        wrap_tool(ECHO, name="Loud Echo")


def test_delegating_passes_on_all_five_arguments_in_order() -> None:
    """The same objects. A replaced `execute` can be wrapped, too."""

    async def twice(call: Invocation, delegate: Delegate) -> ToolResult:
        inner = await delegate(call)
        return text_result(inner.text * 2, inner.details)

    async def silent(*_five: object) -> ToolResult:
        return text_result("…")

    doubled = run(wrap_tool(ECHO, twice))

    assert doubled.text == "hellohello"
    assert all(one is other for one, other in zip(doubled.details["given"], FIVE, strict=True))
    assert run(wrap_tool(ECHO, twice, execute=silent)).text == "……"


def test_a_wrapper_may_change_arguments_and_result_or_answer_without_delegating() -> None:
    async def politely(call: Invocation, delegate: Delegate) -> ToolResult:
        inner = await delegate(replace(call, params={"words": f"{call.params['words']}, please"}))
        return text_result(inner.text.capitalize())

    async def refuse(_call: Invocation, _delegate: Delegate) -> ToolResult:
        raise PermissionError("not today")

    assert run(wrap_tool(ECHO, politely)).text == "Hello, please"
    with pytest.raises(PermissionError, match="not today"):
        run(wrap_tool(ECHO, refuse))


async def stop(*_five: object) -> ToolResult:
    return text_result("stopped")


ACTIONS = replace(ECHO, execute=dispatch_by_action({"say": echo, "stop": stop}))


def test_calls_are_dispatched_by_action() -> None:
    given = ("call_2", {"action": "say", "words": "hi"}, None, None, "ctx")

    assert run(ACTIONS, *given).details["given"] == given
    assert run(ACTIONS, "call_3", {"action": "stop"}, None, None, "ctx").text == "stopped"


@pytest.mark.parametrize("params", [{"action": "fly"}, {}, {"action": ["say"]}])
def test_an_unknown_action_is_an_error_that_names_the_known_ones(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"Unknown action: .*; known are say, stop"):
        run(ACTIONS, "call_4", params, None, None, None)


@tool
async def search_notes(query: Annotated[str, "Words to look for"], limit: int = 10) -> str:
    """Search the notes.

    Newest first.
    """
    return f"{query} {limit}"


def call_with(definition: ToolDefinition, params: dict[str, Any], *others: Any) -> ToolResult:
    return asyncio.run(definition.execute("call_1", params, *(others or (None, None, None))))


def test_name_label_and_description_come_from_the_function_or_are_given() -> None:
    """The schema is known once the tool is registered."""
    assert validated(search_notes) is search_notes
    assert (search_notes.name, search_notes.label) == ("search_notes", "Search Notes")
    assert search_notes.description == "Search the notes.\n\nNewest first."

    @tool(name="find", label="Finder", description="Find it.", exclusive=True, prompt_guidelines=("Use it.",))
    async def search() -> str:
        return ""

    assert (search.name, search.label, search.description) == ("find", "Finder", "Find it.")
    assert (search.exclusive, search.prompt_guidelines) == (True, ("Use it.",))

    assert search_notes.schema == {"type": "object"}


def test_arguments_are_passed_by_name_and_defaults_are_the_functions() -> None:
    """Also if the tool is wrapped."""
    assert call_with(search_notes, {"query": "keys"}).text == "keys 10"
    assert call_with(search_notes, {"query": "keys", "limit": 2}) == text_result("keys 2")

    async def loudly(call: Invocation, delegate: Delegate) -> ToolResult:
        return text_result((await delegate(call)).text.upper())

    assert call_with(wrap_tool(search_notes, loudly), {"query": "keys"}).text == "KEYS 10"


def test_a_function_gets_from_the_host_what_it_names() -> None:
    @tool
    async def watch(
        ctx: str, path: str, *, tool_call_id: str, signal: AbortSignal | None, on_update: OnUpdate | None
    ) -> ToolResult:
        """Watch a file."""
        send_update(on_update, text_result("half"))
        return text_result("done", {"given": (tool_call_id, path, signal, ctx)})

    signal, partial = AbortSignal(), list[ToolResult]()
    result = call_with(watch, {"path": "a"}, signal, partial.append, "ctx")

    assert result.details == {"given": ("call_1", "a", signal, "ctx")}
    assert [each.text for each in partial] == ["half"]


def test_another_kind_of_result_is_an_error() -> None:
    async def count() -> str:
        """Count."""
        return 5  # type: ignore[return-value]  # what a function without types may do

    with pytest.raises(TypeError, match="must return a ToolResult or a text, not int"):
        call_with(tool(count), {})


def test_a_signature_that_cannot_describe_arguments_is_refused() -> None:
    async def positional(path: str, /) -> str:
        """One."""
        return path

    async def several(*paths: str) -> str:
        """Two."""
        return str(paths)

    async def unannotated(path) -> str:  # type: ignore[no-untyped-def]  # the case under test
        """Three."""
        return str(path)

    def synchronous(path: str) -> str:
        """Four."""
        return path

    refused: dict[Callable[..., Any], str] = {
        positional: "the parameter path cannot be passed by name",
        several: "the parameter paths cannot be passed by name",
        unannotated: "the parameter path has no annotation",
        synchronous: "the function must be async",
    }
    for function, complaint in refused.items():
        with pytest.raises(InvalidDefinition, match=complaint):
            validated(tool(function))


SCHEMA = {
    "type": "object",
    "required": ["kind", "items"],
    "properties": {
        "kind": {"type": "string", "enum": ["one", "two"]},
        "items": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": {
                "type": "object",
                "required": ["name"],
                "additionalProperties": False,
                "properties": {"name": {"type": "string", "maxLength": 3}, "size": {"type": "integer"}},
            },
        },
        "flag": {"type": "boolean"},
        "rate": {"type": "number"},
    },
}


def found(arguments: object) -> list[str]:
    return [str(problem) for problem in schema_problems(SCHEMA, arguments)]


def test_valid_arguments_have_no_problems_and_a_long_value_is_clipped_in_the_message() -> None:
    """Unknown fields are valid unless the schema forbids them; 2.0 is an integer in JSON."""
    fits = {"kind": "one", "items": [{"name": "abc", "size": 2.0}], "flag": True, "rate": 1, "other": None}

    assert found(fits) == []

    (problem,) = schema_problems(SCHEMA, {"kind": "x" * 1000, "items": [{"name": "a"}]})

    assert len(problem.expected) < 120
    assert str(SchemaProblem("", "expected JSON")) == "expected JSON"


PROBLEMS: list[tuple[object, list[str]]] = [
    (None, ["expected an object, got null"]),
    ([], ["expected an object, got an array"]),
    ({}, ["kind: required, one of one, two", "items: required, an array"]),
    (
        {"kind": "three", "items": []},
        ["kind: expected one of one, two, got 'three'", "items: expected at least 1 items, got 0"],
    ),
    ({"kind": 5, "items": [{}] * 4}, ["kind: expected a string, got 5", "items: expected at most 3 items, got 4"]),
    (
        {"kind": {}, "items": [{"name": "a"}], "flag": 0},
        ["kind: expected a string, got an object", "flag: expected a boolean, got 0"],
    ),
    *(
        ({"kind": "one", "items": [item]}, [problem])
        for item, problem in (
            ("x", "items[0]: expected an object, got 'x'"),
            ({"size": 1}, "items[0].name: required, a string"),
            ({"name": "abcd"}, "items[0].name: expected at most 3 characters, got 4"),
            ({"name": "a", "size": 1.5}, "items[0].size: expected an integer, got 1.5"),
            ({"name": "a", "size": True}, "items[0].size: expected an integer, got true"),
            ({"name": "a", "colour": 1}, "items[0].colour: unknown field; known are name, size"),
            ({"name": False}, "items[0].name: expected a string, got false"),
        )
    ),
]


def test_every_problem_has_its_path_and_the_expected_value() -> None:
    """In the order of the schema, then of the arguments."""
    assert [(arguments, found(arguments)) for arguments, _ in PROBLEMS] == PROBLEMS


def test_integers_and_strings_are_converted_as_the_schema_asks() -> None:
    """Only if it is unambiguous: fractions, booleans and null are left to the check."""
    items = [{"name": "1", "size": "-2"}, {"name": 2.0, "size": "2.0"}, {"name": 1.5, "size": "x"}]
    converted = [{"name": "1", "size": -2}, {"name": "2", "size": "2.0"}, {"name": "1.5", "size": "x"}]
    others = {"other": "3", "flag": True}

    assert coerce_arguments(SCHEMA, {"kind": 7, "items": items, **others}) == {
        "kind": "7",
        "items": converted,
        **others,
    }
    assert coerce_arguments(SCHEMA, [1]) == [1]
    assert coerce_arguments(SCHEMA, {"kind": False, "items": None}) == {"kind": False, "items": None}


OTHER_SCHEMA = {
    "type": "object",
    "required": ["must"],
    "properties": {
        "must": {"type": "string"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "listed": {"type": ["string", "null"]},
        "referred": {"$ref": "#/$defs/x"},
        "anything": True,
        "nothing": False,
        "null": {"type": "null"},
        "number": {"type": "integer"},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
        "old_pair": {"type": "array", "items": [{"type": "integer"}]},
        "open": {"type": "array", "items": True},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    },
    "$defs": {"x": {"type": ["integer", "null"]}},
}


def test_conversion_leaves_alone_what_it_does_not_understand() -> None:
    """Unions, references, booleans as schemas and items with schemas of their own; what has one type is converted."""
    untouched = {
        "must": "1",
        "either": "5",
        "listed": 5,
        "referred": "5",
        "anything": {"x": "5"},
        "nothing": ["5"],
        "null": None,
        "pair": ["5", 5],
        "old_pair": ["5"],
        "open": ["5", 5],
    }

    assert coerce_arguments(OTHER_SCHEMA, untouched) == untouched
    assert coerce_arguments(OTHER_SCHEMA, {"number": "5", "rows": [{"n": "5"}]}) == {"number": 5, "rows": [{"n": 5}]}
    assert coerce_arguments({"properties": True}, {"x": 1}) == {"x": 1}


def test_a_null_stays_where_the_schema_may_permit_it() -> None:
    kept = dict.fromkeys(["must", "either", "listed", "referred", "anything", "nothing", "null", "unknown"])

    assert without_nulls(OTHER_SCHEMA, {**kept, "number": None, "rows": [{"n": None}, None]}) == {
        **kept,
        "rows": [{}, None],
    }
    assert without_nulls(OTHER_SCHEMA, {"pair": [None], "open": [{"n": None}]}) == {
        "pair": [None],
        "open": [{"n": None}],
    }
    assert without_nulls(SCHEMA, {"flag": None, "kind": None}) == {"kind": None}


NAMES = st.sampled_from(["a", "b", "kind", "ü"])
COUNTS = st.integers(0, 4)
LEAVES = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["integer", "number", "boolean"])}),
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "enum": st.lists(NAMES, unique=True),
            "maxLength": COUNTS,
            "description": st.text(max_size=3),
            "default": st.text(max_size=3),
        },
    ),
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda properties, wanted, more: {
            "type": "object",
            "properties": properties,
            "required": sorted(wanted & properties.keys()),
            **more,
        },
        st.dictionaries(NAMES, inner, max_size=3),
        st.sets(NAMES),
        st.fixed_dictionaries({}, optional={"additionalProperties": st.booleans()}),
    )


def arrays(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner}, optional={"minItems": COUNTS, "maxItems": COUNTS}
    )


SIMPLE = st.recursive(LEAVES, lambda inner: objects(inner) | arrays(inner), max_leaves=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | NAMES | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(SIMPLE, VALUES)
def test_the_verdict_on_simple_schemas_is_that_of_a_complete_checker(schema: dict[str, Any], arguments: Any) -> None:
    assert is_simple(schema)
    Draft202012Validator.check_schema(schema)
    assert (schema_problems(schema, arguments) == []) == Draft202012Validator(schema).is_valid(arguments)


NOT_SIMPLE: list[object] = [
    True,
    {},
    {"type": "null"},
    {"type": ["string"]},
    {"type": "array"},
    {"type": "array", "items": True},
    *({"type": "string", "maxLength": length} for length in (1.0, True, -1)),
    *({"type": "string", "enum": words} for words in ("ab", ["a", 1], ["a", "a"])),
    {"type": "string", "minLength": 1},
    {"type": "string", "description": 5},
    {"type": "object", "properties": []},
    {"type": "object", "properties": {"a": {"const": 1}}},
    {"type": "object", "required": ["a"]},
    {"type": "object", "required": "a", "properties": {"a": {"type": "string"}}},
    {"type": "object", "additionalProperties": {"type": "string"}},
    {"type": "object", "$schema": "http://json-schema.org/draft-04/schema#"},
]


def test_the_schemas_of_our_own_tools_are_simple_and_everything_else_is_not() -> None:
    own = [tool for dialect in DIALECTS for tool in dialect_named(dialect).tools]

    assert [tool.name for tool in own if not is_simple(tool.parameters)] == []
    assert [schema for schema in NOT_SIMPLE if is_simple(schema)] == []


def test_a_signal_is_aborted_by_its_controller_and_stops_the_work() -> None:
    controller = AbortController()
    signal = controller.signal

    signal.raise_if_aborted()
    before = (signal.aborted, signal.reason)
    controller.abort("enough")

    assert (before, (signal.aborted, signal.reason)) == ((False, None), (True, "enough"))
    with pytest.raises(Aborted, match="enough") as caught:
        signal.raise_if_aborted()
    assert caught.value.reason == "enough"
    AbortSignal().raise_if_aborted()


def test_callbacks_are_called_once_and_in_order() -> None:
    """The signal is aborted by then. A callback that is added later is called immediately."""
    controller, calls = AbortController(), list[tuple[str, str | None]]()

    def subscribe(name: str) -> Callable[[], None]:
        return controller.signal.on_abort(lambda: calls.append((name, controller.signal.reason)))

    subscribe("first")
    subscribe("second")
    controller.abort("now")
    controller.abort("again")
    subscribe("late")()

    assert calls == [("first", "now"), ("second", "now"), ("late", "now")]


def test_a_callback_that_raises_does_not_stop_the_others() -> None:
    """`abort` returns the exception, also one on a joined signal."""
    controller, calls = AbortController(), list[str]()
    broken = RuntimeError("broken callback")

    def raise_it() -> None:
        raise broken

    controller.signal.on_abort(raise_it)
    controller.signal.on_abort(lambda: calls.append("called"))

    any_of(controller.signal).on_abort(raise_it)

    raised, joined = controller.abort()

    assert calls == ["called"]
    assert raised is broken
    assert isinstance(joined, ExceptionGroup)
    assert joined.exceptions == (broken,)


def test_a_callback_can_be_unsubscribed() -> None:
    """Also by an earlier one. One that is subscribed twice is called twice."""
    controller, calls, leaving = AbortController(), list[str](), list[Callable[[], None]]()
    subscribe = controller.signal.on_abort
    twice = lambda: calls.append("twice")  # noqa: E731  it must be one object

    leave = subscribe(lambda: calls.append("gone"))
    subscribe(lambda: calls.append("there"))
    subscribe(twice)
    subscribe(twice)()
    subscribe(lambda: [take_back() for take_back in leaving])
    leaving.append(subscribe(lambda: calls.append("behind")))
    leave()
    leave()
    controller.abort()

    assert calls == ["there", "twice"]


def test_any_of_is_aborted_by_the_first_signal_or_from_the_start_if_one_is() -> None:
    user, timeout, calls = AbortController(), AbortController(), list[str | None]()
    either = any_of(user.signal, None, timeout.signal)
    either.on_abort(lambda: calls.append(either.reason))

    timeout.abort("took too long")
    user.abort("Escape was pressed")

    assert calls == ["took too long"]
    assert any_of(AbortSignal(), timeout.signal, AbortSignal()).reason == "took too long"
    assert not any_of().aborted
    assert not any_of(None).aborted
