"""The MCP server that Claude Code asks for permission in a run of a fleet, in place of a person at its terminal.

Claude Code calls the tool for what its own rules do not allow, and shows it to no model (`--permission-prompt-tool`).
A command that persons may be asked for is asked for in the log of the plan, and the call waits for the answer. Anything
else is refused. What is refused is recorded; after a denial by a person, Claude Code ends.
"""

import os
from contextlib import closing
from threading import Thread
from time import monotonic
from typing import Any

from tildone.agents.mcp.json_rpc import (
    InvalidMessage,
    Output,
    RpcMessage,
    claim_standard_streams,
    decode,
    error_line,
    result_line,
)
from tildone.app.answering import YES
from tildone.app.opening import open_store, run_leases
from tildone.app.settings import load
from tildone.base import TildoneError
from tildone.base.ids import id_maker, now
from tildone.base.json import dump
from tildone.fleet.agent_reports import SHELL_TOOL, call_text
from tildone.fleet.permissions import COMMAND, RunAsker, answered
from tildone.log.store import Store
from tildone.plan.dialects.prompts import DENIED, UNANSWERED
from tildone.plan.runs import LEASE_VARIABLE, Answered, fence_in
from tildone.run.asking import NOT_ASKED, ask_limits, under_lease
from tildone.run.extension import PermissionRequest

SERVER, TOOL = "tildone_permissions", "approve"
MODULE = "tildone.fleet.permission_prompt"
"""The module of its process."""

ANSWER_SECONDS = 86_400.0
"""How long a call waits. Claude Code itself waits for some hours more."""

RECHECK_SECONDS = 60.0


class PermissionPrompt:
    """Decides what the agent of the lease in this environment may do beyond what its own rules allow."""

    def __init__(self, store: Store, session: str) -> None:
        self._store, self._session = store, session
        self._leases, self._held = run_leases(store), fence_in(os.environ[LEASE_VARIABLE])
        self._limits = ask_limits(os.environ)
        self._record = under_lease(store, os.environ, str)

    def reply(self, tool: str, given: object) -> dict[str, Any]:
        """Return the answer to a call of the tool, as Claude Code expects it."""
        text = call_text(tool, given)
        try:
            refusal = self._refusal(tool, text)
            if refusal is None:
                return {"behavior": "allow", "updatedInput": given}
            why, by = refusal
            self._record(text, why, by)
        except TildoneError as error:
            why, by = str(error), ""
        return {"behavior": "deny", "message": f"{DENIED} {why}".strip() if by else why, "interrupt": bool(by)}

    def _refusal(self, tool: str, text: str) -> tuple[str, str] | None:
        """Return why a call is refused, and who has denied it, if a person has. None if it is approved."""
        limits = self._limits if tool == SHELL_TOOL else None
        if limits is None or not limits.permit(PermissionRequest(text, (text,))):
            return NOT_ASKED.reason, ""
        answer = self._answer(text) or self._ask(text)
        if answer is None:
            return UNANSWERED, ""
        if answer.text == YES:
            return None
        return answer.text.partition(":")[2].strip(), answer.who or "a person"

    def _ask(self, command: str) -> Answered | None:
        """Ask for a command, and wait for the answer. None if there is none for a long time."""
        leases, held, until = self._leases, self._held, monotonic() + ANSWER_SECONDS
        hands = [view.lease for view in leases.look(held.run)]
        question = RunAsker(leases, held, id_maker(now, os.urandom), hands).ask(COMMAND, command)
        while (left := until - monotonic()) > 0:
            revision = leases.revision()
            if not any(question in view.lease.questions for view in leases.look(held.run)):
                break
            leases.wait(revision, min(left, RECHECK_SECONDS))
        return self._answer(command)

    def _answer(self, command: str) -> Answered | None:
        return answered(self._store.events(self._session), self._held.run).get(command)


def main() -> None:
    settings = load({}, os.environ, os.getcwd())
    source, out = claim_standard_streams()
    output = Output(out, lambda: None)
    with closing(open_store(settings)) as store:
        prompt = PermissionPrompt(store, settings.session)
        for line in source:
            # Subagents may ask while another call waits.
            Thread(target=lambda line=line: output.send(answer_line(prompt, line)), daemon=True).start()


def answer_line(prompt: PermissionPrompt, line: bytes) -> bytes:
    """Return the answer to a message, empty for a notification. A call without one would wait for a day."""
    try:
        message = decode(line)
    except InvalidMessage as error:
        return error_line(error.request, error.code, str(error))
    return b"" if message.id is None else result_line(message.id, result_of(prompt, message))


def result_of(prompt: PermissionPrompt, message: RpcMessage) -> dict[str, Any]:
    match message.method:
        case "initialize":
            version = message.params.get("protocolVersion")
            server = {"name": SERVER, "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            return {"tools": [{"name": TOOL, "inputSchema": {"type": "object"}}]}
        case "tools/call":
            given = message.params.get("arguments") or {}
            reply = prompt.reply(str(given.get("tool_name")), given.get("input"))
            return {"content": [{"type": "text", "text": dump(reply)}]}
        case _:
            return {}


if __name__ == "__main__":
    main()
