"""The RPC mode: writes only records, and ends cleanly when the client disconnects."""

import json
import subprocess

import pytest

from tests.cli.person import Person
from tests.run.run_workspace import ALLOW_ALL, json_lines, write_plan
from tests.suite.forking import PROGRAM


def test_requests_without_a_prompt_are_answered(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `true`\n")

    told = json_lines(person.says("run", name, "--mode", "rpc", *ALLOW_ALL, given='{"id": "1", "type": "get_state"}\n'))

    [state] = [record for record in told if record["type"] == "response"]
    assert (state["id"], state["success"], state["data"]["isStreaming"]) == ("1", True, False)
    assert state["data"]["model"] == {"id": "shell", "provider": "tildone", "api": "shell"}


def test_a_plan_is_run_on_request_of_the_client(person: Person) -> None:
    name = write_plan(person, "- [ ] A: `echo a`\n")
    process = subprocess.Popen(
        [PROGRAM, "run", name, "--mode", "rpc", *ALLOW_ALL],
        cwd=person.folder,
        env=person.environment({}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"type": "prompt", "message": "Go"}\n')
    process.stdin.flush()

    told = []
    for line in process.stdout:
        told.append(json.loads(line))
        if told[-1]["type"] == "agent_settled":
            process.stdin.close()

    assert process.wait(30) == 0
    process.stdout.close()
    assert [record["toolName"] for record in told if record["type"] == "tool_execution_end"] == [
        "todo",
        "bash",
        "todo",
    ]


@pytest.mark.parametrize("script", ["tildone run plan.md --mode rpc <&-", "tildone run plan.md --mode rpc </dev/null"])
def test_the_process_ends_when_the_client_disconnects(person: Person, script: str) -> None:
    write_plan(person, "- [ ] A: `true`\n")

    answer = person.shell(script)

    assert (answer.code, answer.err) == (0, "")
    assert all(record["type"] == "extension_ui_request" for record in json_lines(answer.out))
