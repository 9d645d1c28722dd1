"""What a client can stop, questions to it, its answers about permissions, and a client that disconnects."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.host.models.model_server import ModelServer, Turn
from tests.rpc.client import EXTENSION, Client, Record, connected, entries, first_message, rpc, started
from tests.rpc.test_walk import PLAN
from tests.suite.waiting import LIMIT_SECONDS
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.rpc import COMMANDS, RpcUI

STOPS: Turn = {"text": "I stop here."}
NUDGE = "There are still incomplete todos"
LONG = {"TILDONE_COUNTDOWN": "600"}
SHORT = {"TILDONE_COUNTDOWN": "1"}
ABORTED = "Error: aborted"


@contextmanager
def client_of(folder: Path, *script: Turn, **environ: str) -> Iterator[tuple[Client, ModelServer]]:
    with ModelServer(*script) as model, rpc(folder, model.url, "--extension", EXTENSION, **environ) as client:
        yield client, model


def count_down(client: Client) -> None:
    """Let the model write a plan and stop: the countdown begins."""
    client.settle("Go")
    assert "Auto-continuing" in client.widgets()[-1][0]


SENT: list[tuple[str, dict[str, Any]]] = [
    ("prompt", {"message": "Wait"}),
    ("steer", {"message": "Wait"}),
    ("follow_up", {"message": "Wait"}),
    ("prompt", {"message": "/report"}),
    ("prompt", {"message": "/todo add Three"}),
    ("abort", {}),
    ("clear_queue", {}),
    ("set_session_name", {"name": "work"}),
    ("fork", {"entryId": ""}),
    ("switch_session", {"sessionPath": ""}),
    ("new_session", {}),
]


def test_whatever_a_person_sends_interrupts_the_countdown_and_reading_does_not(tmp_path: Path) -> None:
    """The widget is removed before the response."""
    reading = {name for name in COMMANDS if name.startswith("get_")}
    assert {command for command, _ in SENT} | reading == set(COMMANDS)
    speaks = [fields.get("message") == "Wait" for _, fields in SENT]
    script = [turn for begins in speaks for turn in (PLAN, STOPS, *([STOPS] if begins else []))]

    with client_of(tmp_path, *script, **LONG) as (client, model):
        for begins, (command, fields) in zip(speaks, SENT, strict=True):
            count_down(client)
            file = client.get("get_state")["sessionFile"]
            for name in reading:
                client.get(name)
            assert client.widgets()[-1] is not None

            chosen = {"entryId": first_message(file), "sessionPath": file}
            client.get(command, **{name: value or chosen[name] for name, value in fields.items()})
            sent_before = len(client.widgets())
            if begins:
                client.event("agent_settled")
            assert client.widgets()[:sent_before][-1] is None, command

    assert NUDGE not in str([request.messages for request in model.requests])


def test_a_prompt_during_the_countdown_is_answered_without_a_nudge_however_slow_the_model_is(tmp_path: Path) -> None:
    """The answer is held until the countdown would be over. Then `abort` stops the next countdown."""
    slow: Turn = {"text": "As you like.", "hold": 0}
    with client_of(tmp_path, PLAN, STOPS, slow, **SHORT) as (client, model):
        count_down(client)
        client.get("prompt", message="Wait")
        assert model.held.wait(20)
        client.event("time_is_up")
        assert client.get("get_state")["pendingMessageCount"] == 0
        model.release()
        client.event("agent_settled")

        assert "Auto-continuing" in client.widgets()[-1][0]
        client.get("abort")
        assert client.widgets()[-1] is None
        client.event("time_is_up")
        assert client.get("get_state")["isStreaming"] is False

    assert len(model.requests) == 3
    assert "queue_update" not in client.kinds()
    assert NUDGE not in str([request.messages for request in model.requests])


def test_a_countdown_that_nobody_interrupts_ends_with_a_nudge(tmp_path: Path) -> None:
    """It is sent before the marker on which the test above relies."""
    with client_of(tmp_path, PLAN, STOPS, {"text": "Done.", "hold": 0}, **SHORT) as (client, model):
        count_down(client)
        client.event("time_is_up")
        assert client.get("get_state")["isStreaming"]
        held(client, model)

    assert NUDGE in str(model.requests[2].messages)


def held(client: Client, model: ModelServer) -> None:
    del client
    assert model.held.wait(20)


def seen(kind: str) -> Callable[[Client, ModelServer], object]:
    return lambda client, _: client.event(kind)


def streamed(kind: str) -> Callable[[Client, ModelServer], object]:
    return lambda client, _: client.progress(kind)


WAITS = ["obedient", {}]
MOMENTS: dict[str, tuple[list[Turn], Callable[[Client, ModelServer], object], list[str]]] = {
    "before the first token": ([{"text": "never", "hold": 0}], held, []),
    "during the text": ([{"text": "one two three four", "hold": 3}], streamed("text_delta"), []),
    "during the thoughts": ([{"thinking": "one two three", "hold": 2}], streamed("thinking_delta"), []),
    "during the arguments of a call": ([{**PLAN, "hold": 2}], streamed("toolcall_start"), []),
    "during a call": ([{"tools": [WAITS]}], seen("tool_execution_update"), [ABORTED]),
    "during two calls": ([{"tools": [WAITS, WAITS]}], seen("tool_execution_update"), [ABORTED, ABORTED]),
    "between two calls": ([PLAN, {"text": "never", "hold": 0}], held, ["Wrote 2 todo item(s)"]),
    "before a request is repeated": ([{"error": 529, "retry_after": 600}], seen("auto_retry_start"), []),
}


def test_a_turn_can_be_aborted_at_every_moment(tmp_path: Path) -> None:
    """Nothing follows, every call has a result, and the conversation goes on."""
    script = [turn for turns, _, _ in MOMENTS.values() for turn in (*turns, STOPS)]
    with client_of(tmp_path, *script, **LONG) as (client, model):
        for moment, (turns, arrived, results) in MOMENTS.items():
            model.held.clear()
            before, asked = len(client.records), len(model.requests)
            client.get("prompt", message=moment)
            arrived(client, model)

            client.get("abort")

            told = client.records[before:]
            assert [kind["type"] for kind in told if "settled" in kind["type"]] == ["agent_settled"], moment
            assert [text.partition("\n")[0] for text in ended(told).values()] == results, moment
            state = client.get("get_state")
            assert (state["isStreaming"], state["pendingMessageCount"]) == (False, 0), moment
            assert len(model.requests) == asked + len(turns), moment

            client.settle("Go on")
            assert client.get("get_last_assistant_text")["text"] == STOPS["text"], moment
            client.get("abort")  # the countdown

    assert "auto_retry_end" in client.kinds()
    for request in model.requests:
        called = {call["id"] for message in request.messages for call in message.get("tool_calls") or ()}
        answered = {message["tool_call_id"] for message in request.messages if message["role"] == "tool"}
        assert called == answered


def ended(records: list[Record]) -> dict[str, str]:
    """The texts of the results of calls, by tool and call."""
    results = [record for record in records if record["type"] == "tool_execution_end"]
    return {f"{each['toolName']} {each['toolCallId']}": each["result"]["content"][0]["text"] for each in results}


def test_abort_without_a_turn_twice_and_with_messages_that_wait(tmp_path: Path) -> None:
    """A queued message is neither lost nor sent; a prompt that follows at once is sent when the turn has ended."""
    slow: Turn = {"text": "never", "hold": 0}
    with client_of(tmp_path, slow, slow, STOPS) as (client, model):
        client.get("abort")
        client.get("prompt", message="Go")
        held(client, model)
        client.get("follow_up", message="Later")
        for name in ("first", "second"):
            client.send(id=name, type="abort")
        assert [client.response(name)["success"] for name in ("first", "second")] == [True, True]
        assert client.get("get_state")["pendingMessageCount"] == 1
        assert client.get("clear_queue") == {"steering": [], "followUp": ["Later"]}

        model.held.clear()
        client.get("prompt", message="Go")
        held(client, model)
        client.write(b'{"id": "stop", "type": "abort"}\n{"id": "next", "type": "prompt", "message": "Instead"}')
        assert client.response("stop")["success"]
        assert client.response("next")["success"]
        client.event("agent_settled")

    assert model.requests[-1].messages[-1]["content"] == "Instead"
    assert len(model.requests) == 3


def test_a_compaction_can_be_aborted(tmp_path: Path) -> None:
    with client_of(tmp_path, STOPS, {"text": "never", "hold": 0}) as (client, model):
        client.settle("Go")
        client.send(type="prompt", message="/compact")
        held(client, model)
        state = client.get("get_state")
        assert (state["isStreaming"], state["isCompacting"]) == (False, True)
        client.get("abort")
        assert not client.get("get_state")["isCompacting"]

    notices = [record["message"] for record in client.records if record.get("method") == "notify"]
    assert notices == ["Nothing was compacted: it was interrupted"]


DEAF = ["deaf", "stubborn", "threaded", "own_thread"]


def test_tools_that_do_not_listen_are_left_behind_and_the_process_ends(tmp_path: Path) -> None:
    """They ignore the signal, and one of them its cancellation; two work in threads that go on."""
    with client_of(tmp_path, {"tools": [[name, {}] for name in DEAF]}, STOPS) as (client, model):
        client.get("prompt", message="Go")
        at_work(len(DEAF))(client, model)
        client.get("abort")
        results = ended(client.records)
        assert {name.split()[0] for name in results} == set(DEAF)
        assert list(results.values()) == [ABORTED] * len(DEAF)
        client.settle("Go on")

    assert [m["content"] for m in model.requests[-1].messages if m["role"] == "tool"] == [ABORTED] * len(DEAF)


def at_work(count: int) -> Callable[[Client, ModelServer], object]:
    return lambda client, _: [client.event("tool_execution_update") for _ in range(count)]


ENDS: dict[str, tuple[str, Turn, Callable[[Client, ModelServer], object], list[str]]] = {
    "a model, and a question": ("/ask input", {"text": "never", "hold": 0}, held, ["answered None"]),
    "a command that does not end": ("/hang", STOPS, seen("agent_settled"), []),
    "tools": ("/report", {"tools": [["obedient", {}], ["deaf", {}], ["threaded", {}]]}, at_work(3), []),
}


@pytest.mark.parametrize("during", ENDS)
def test_the_process_ends_when_the_client_closes_its_pipe(during: str, tmp_path: Path) -> None:
    command, turn, arrived, notices = ENDS[during]
    with client_of(tmp_path, turn) as (client, model):
        client.send(type="prompt", message=command)
        client.get("prompt", message="Go")
        arrived(client, model)

    assert len(model.requests) == 1
    assert [record["message"] for record in client.records if record.get("method") == "notify"] == notices


def test_a_tool_that_blocks_the_event_loop_does_not_keep_the_process(tmp_path: Path) -> None:
    """The client's pipe is read by a thread."""
    turn: Turn = {"tool": "blocking", "args": {}}
    with ModelServer(turn) as model, connected(tmp_path, model.url, "--extension", EXTENSION, END_SOON="1") as client:
        client.get("prompt", message="Go")
        at_work(1)(client, model)

        assert client.hang_up() == 1


def test_the_process_ends_when_nobody_reads_its_output(tmp_path: Path) -> None:
    """Standard input is still open."""
    with ModelServer(STOPS) as model, started(tmp_path, model.url) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b'{"type": "prompt", "message": "Go"}\n')
        process.stdin.flush()

        assert process.wait(LIMIT_SECONDS) == 0


def test_two_clients_of_one_conversation_lose_nothing(tmp_path: Path) -> None:
    """Each continues its own branch of the file, at the same time. The plan is one."""
    third: Turn = {"tool": "write_todos", "args": {"mode": "append", "todos": [{"text": "Three"}]}}
    with (
        ModelServer(PLAN, STOPS, {"text": "To the first.", "hold": 0}) as first_model,
        ModelServer(third, {"text": "To the second."}) as second_model,
        rpc(tmp_path, first_model.url, **LONG) as first,
    ):
        first.settle("Go")
        file = first.get("get_state")["sessionFile"]
        with rpc(tmp_path, second_model.url, "--resume", file, **LONG) as second:
            second.get("get_state")
            first.get("prompt", message="From the first")
            held(first, first_model)
            second.settle("From the second")
            first_model.release()
            first.event("agent_settled")
            assert second.get("get_last_assistant_text") == {"text": "To the second."}
            assert first.get("get_last_assistant_text") == {"text": "To the first."}
            assert texts(second) == [*texts(first)[:2], "From the second", "To the second."]

        statuses = [record.get("statusText") for record in second.records if record.get("statusKey") == "til-done"]
        assert statuses[-1] == "📋 0/3"
        first.get("switch_session", sessionPath=file)
        assert texts(first)[-2:] == ["From the first", "To the first."]
        [entry] = [entry["id"] for entry in entries(file) if "From the second" in json.dumps(entry)]
        assert first.get("fork", entryId=entry)["text"] == "From the second"


def texts(client: Client) -> list[str]:
    """Return what the person and the model have said."""
    said = [message for message in client.get("get_messages")["messages"] if message["role"] in ("user", "assistant")]
    blocks = [block for message in said for block in message["content"] if block["type"] == "text"]
    return [block["text"] for block in blocks]


async def test_a_question_gets_the_answer_with_its_id_or_is_cancelled() -> None:
    """Cancelled when its time is over, which the request contains, and when the client disconnects."""
    sent: list[dict[str, Any]] = []
    ui = RpcUI(sent.append)
    answered, late, left = (
        asyncio.ensure_future(each)
        for each in (ui.input("Name?"), ui.confirm("Sure?", "Really?", 0.01), ui.confirm("Sure?", "Really?"))
    )
    await asyncio.sleep(0)

    ui.accept_answer({"id": "nobody asked", "value": "no"})
    ui.accept_answer({"id": sent[0]["id"], "value": "b"})

    assert (await answered, await late) == ("b", False)
    assert [request.get("timeout") for request in sent] == [None, 10, None]
    ui.cancel_requests()
    assert await left is False


async def test_a_client_chooses_an_answer() -> None:
    asked = PermissionRequest("Run?", ("git push", "git tag x"), always="git push *", plan=("git push", "ls"))
    always = "Always allow in this conversation: git push *"
    options = ["Allow once", always, "Allow 2 commands of the plan: git push; ls", "Deny"]
    meanings = [PermissionReply(PermissionAnswer(name)) for name in ("once", "always", "plan", "no")]
    chosen: list[tuple[dict[str, Any], PermissionReply | None]] = [
        ({"value": option}, reply) for option, reply in zip(options, meanings, strict=True)
    ]

    for answer, reply in [*chosen, ({"value": "Allow"}, None), ({"cancelled": True}, None)]:
        sent: list[dict[str, Any]] = []
        ui = RpcUI(sent.append)
        asking = asyncio.create_task(ui.ask_permission(asked))
        await asyncio.sleep(0)

        ui.accept_answer({"id": sent[0]["id"], **answer})

        assert await asking == reply
        assert (sent[0]["title"], sent[0]["options"]) == ("Run?\ngit push\ngit tag x", options)
