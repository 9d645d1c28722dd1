"""Conversations go from tildone to the real pi and back, and are the same in both."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.agents import Desk, pi_rpc, require
from tests.clients.model import Model
from tests.clients.stories import (
    NAME,
    SCRIPTS,
    Entry,
    Message,
    Told,
    answers,
    branched,
    conversation,
    lines,
    nodes,
    said,
    text,
    tildone,
    told,
)

TRACES = sorted((Path(__file__).parents[1] / "traces").glob("*.json"))
TRAVEL = str(Path(__file__).with_name("travel.js"))

pytestmark = pytest.mark.slow
Laid = Callable[[Model], Desk]


def test_a_session_of_tildone_opens_in_pi(ours: Told, desk: Laid) -> None:
    """Message by message, entry by entry, with both branches and its name."""
    known = ours.entries

    with Model() as model, pi_rpc(desk(model), "--session", str(ours.file)) as pi:
        theirs = conversation(pi)
        entries = pi.ask("get_entries")["data"]["entries"]
        tree = pi.ask("get_tree")["data"]["tree"]
        state = pi.ask("get_state")["data"]

    assert theirs == ours.messages
    assert entries[: len(known)] == known
    assert [len(node["children"]) for node in nodes(tree) if len(node["children"]) != 1] == [2, 0, 0]
    assert state["sessionName"] == NAME


def test_what_pi_adds_to_a_session_of_tildone_is_heard_and_the_plan_stays(
    ours: Told, tmp_path: Path, desk: Laid
) -> None:
    """Where the plan is kept beside the conversation, and where nothing but the file is known."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    with Model({"text": "Here is pi."}) as model, pi_rpc(desk(model), "--session", str(ours.file)) as pi:
        said(pi, "Go on with it.")
        theirs = conversation(pi)

    assert [text(message) for message in theirs[len(ours.messages) :]] == ["Go on with it.", "Here is pi."]
    for folder in (ours.folder, elsewhere):
        again = told(ours.file, folder)
        assert again.messages == theirs
        assert again.panel == ours.panel


def test_a_fork_made_by_either_opens_in_the_other(ours: Told, desk: Laid) -> None:
    """With what was said before the message that it was forked from, and where it comes from."""
    *_, last = [entry for entry in ours.entries if role(entry) == "user"]

    with Model() as model, tildone(ours.folder, model.url, "--session", str(ours.file)) as client:
        client.ask("fork", entryId=last["id"])
        fork = Path(client.ask("get_state")["data"]["sessionFile"])
        forked = client.ask("get_messages")["data"]["messages"]
    with Model({"text": "Forked on."}) as model, pi_rpc(desk(model), "--session", str(fork)) as pi:
        before = conversation(pi)
        said(pi, "On from the fork.")
        pi.ask("fork", entryId=pi.ask("get_fork_messages")["data"]["messages"][-1]["entryId"])
        of_pi = Path(pi.ask("get_state")["data"]["sessionFile"])
        after = conversation(pi)

    assert forked == before == after == told(of_pi, ours.folder).messages
    assert forked == ours.messages[: len(forked)] != []
    assert (lines(fork)[0]["parentSession"], lines(of_pi)[0]["parentSession"]) == (str(ours.file), str(fork))


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_a_session_of_pi_goes_on_in_both(trace: Path, tmp_path: Path, desk: Laid) -> None:
    """First in tildone, which opens it, then in pi, which opens that, and in tildone again: nothing is lost."""
    with Model({"text": "From here."}, {"text": "From there."}) as model:
        place = desk(model)
        file = recorded(trace, tmp_path, place)
        heard = spoken(lines(file))

        with tildone(tmp_path, model.url, "--session", str(file)) as client:
            said(client, "Go on here.")
            ours = conversation(client)
        known = lines(file)
        with pi_rpc(place, "--session", str(file)) as pi:
            theirs = conversation(pi)
            said(pi, "Go on there.")
            more = conversation(pi)

    assert [message for message in ours if message["role"] != "custom"][: len(heard)] == heard
    assert theirs == ours
    assert lines(file)[: len(known)] == known
    assert more[: len(theirs)] == theirs
    assert told(file, tmp_path).messages == more


@pytest.mark.parametrize("first", ["tildone", "pi"])
def test_a_line_that_was_cut_off_is_lost_to_both_and_nothing_else_is(first: str, tmp_path: Path, desk: Laid) -> None:
    """Whichever of them goes on with the file: what it writes stands in a line of its own."""
    with Model({"text": "Still here."}) as model:
        place = desk(model)
        file = recorded(TRACES[0], tmp_path, place)
        before = spoken(lines(file))
        file.write_bytes(file.read_bytes()[:-40])
        ours, theirs = tildone(tmp_path, model.url, "--session", str(file)), pi_rpc(place, "--session", str(file))
        one, other = (ours, theirs) if first == "tildone" else (theirs, ours)

        with one as client:
            said(client, "Are you there?")
            heard = conversation(client)
        with other as client:
            again = conversation(client)

    assert again == heard
    assert [message for message in heard if message["role"] != "custom"][:-2] == before[:-1]
    assert [text(message) for message in heard if message["role"] != "custom"][-2:] == ["Are you there?", "Still here."]


def test_what_pi_does_to_a_conversation_is_done_to_it_in_tildone(tmp_path: Path, desk: Laid) -> None:
    """A summary of a branch that was left, a label, an edit of what the model sees, a name, a compaction."""
    with Model(*({"text": f"Answer {number}."} for number in range(5))) as model:
        place = desk(model)
        keep_little(place)
        with pi_rpc(place, "--extension", TRAVEL) as pi:
            said(pi, "One.")
            said(pi, "Two.")
            first, _ = answers(pi.ask("get_entries")["data"]["entries"])
            pi.ask("prompt", message=f"/mark {first['id']} the beginning")
            pi.ask("prompt", message=f"/go {first['id']} summarize")
            pi.ask("prompt", message=f"/edit {first['id']} {json.dumps({'content': 'In short.'})}")
            said(pi, "Three.")
            pi.ask("set_session_name", name="A name of pi’s")
            file = Path(pi.ask("get_state")["data"]["sessionFile"])
            whole = conversation(pi)
        ours = told(file, tmp_path)
        with pi_rpc(place, "--session", str(file)) as pi:
            said(pi, f"Four: {'a long story. ' * 50}")
            said(pi, "Five.")
            assert pi.ask("compact")["success"]
            compacted = conversation(pi)
        with tildone(tmp_path, model.url, "--session", str(file)) as client:
            name = client.ask("get_state")["data"]["sessionName"]

    kinds = {entry["type"] for entry in lines(file)}
    assert kinds >= {"label", "branch_summary", "context_edit", "session_info", "compaction"}
    assert ours.messages == whole
    assert {"role": "assistant", "content": [{"type": "text", "text": "In short."}]}.items() <= whole[1].items()
    assert compacted[0]["role"] == "compactionSummary"
    assert told(file, tmp_path).messages == compacted
    assert name == "A name of pi’s"


@pytest.fixture(scope="module", autouse=True)
def _with_pi() -> None:
    """Without pi there is nothing to be tried, and no story to be made for it."""
    require("pi")


@pytest.fixture(scope="module", params=SCRIPTS)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """What tildone has written in one of the dialects. It is not to be touched."""
    return branched(tmp_path_factory.mktemp("story"), request.param)


@pytest.fixture
def ours(story: Told, tmp_path: Path) -> Told:
    """The same, to do with it as one likes."""
    folder = shutil.copytree(story.folder, tmp_path / "ours")
    return replace(story, file=folder / story.file.relative_to(story.folder))


def recorded(trace: Path, folder: Path, desk: Desk) -> Path:
    """The last session file of a recording of pi, as if it had been held here: pi wants its folder to be there."""
    header, *entries = json.loads(trace.read_text(encoding="utf-8"))["session_files"][-1]["entries"]
    file = folder / "recorded.jsonl"
    moved = [{**header, "cwd": str(desk.work)}, *entries]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in moved), encoding="utf-8")
    return file


def spoken(entries: list[Entry]) -> list[Message]:
    """What persons, models and tools have said, on whichever branch."""
    return [entry["message"] for entry in entries if role(entry) not in {"system", None}]


def role(entry: Entry) -> str | None:
    found: str | None = entry.get("message", {}).get("role")
    return found


def keep_little(desk: Desk) -> None:
    """Let pi compact a conversation however short it is."""
    settings = {"compaction": {"keepRecentTokens": 20}}
    path = desk.home / ".pi" / "agent" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), encoding="utf-8")
