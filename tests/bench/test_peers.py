"""The figures in the documentation are those that the benchmark prints. No test installs a peer."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rs_bpe.bpe import openai  # type: ignore[import-not-found]  # its modules are made when it is imported

from bench import peers, tokens
from bench.peer_lists import HERE, PEERS, Peer
from tests.clients.results import load
from tests.project.source import ROOT

# It logs to standard output, notifies, asks the client for its roots, and waits for that answer. It confirms every
# second task, and keeps every second one of those.
SERVER = """
import json, pathlib, sys
confirmed = 0
for line in sys.stdin:
    message = json.loads(line)
    result = {}
    if message["method"] == "notifications/initialized":
        print("a log", '{"method": "notifications/message"}', sep="\\n")
        print('{"id": 0, "method": "roots/list"}', flush=True)
        continue
    if message["method"] == "tools/list":
        assert json.loads(sys.stdin.readline())["error"]
        result = {"tools": [{"name": "add", "inputSchema": {}}]}
    if message["method"] == "tools/call":
        text = message["params"]["arguments"]["text"]
        number = int(text.split()[1][-1])
        answer = f"id 7 in {pathlib.Path.cwd()}" if number % 2 else "busy"
        result = {"content": [{"type": "text", "text": answer}], "isError": number == 0}
        if number % 4 == 3:
            pathlib.Path(text).write_text(text)
    print(json.dumps({"id": message["id"], "result": result}), flush=True)
"""
DIALECTS = "docs/reference/dialects.md"
PEER = Peer(
    "peer",
    serve=("python", "-c", SERVER),
    script=lambda: (("add", {"text": text}) for text in ("Task 1", "Task 3")),
    add=lambda texts, _: ("add", {"text": texts[0]}),
    task_id=r"id (\d)",
)


@pytest.fixture(scope="module")
def workloads() -> dict[str, tokens.Workload]:
    return {name: tokens.measured(name, openai.o200k_base().count) for name in tokens.WORKLOADS}


def table(page: str, heading: str) -> Iterator[list[str]]:
    """Yield the rows of the first table after a heading, without code marks and the commas of thousands."""
    text = (ROOT / page).read_text(encoding="utf-8").partition(heading)[2]
    for line in text[text.index("\n|---") :].splitlines()[2:]:
        if not line.startswith("|"):
            return
        yield [cell.strip().replace("`", "").replace(",", "") for cell in line.strip("|").split("|")]


def test_the_page_of_dialects_and_the_readme_have_the_tokens_that_are_counted(
    workloads: dict[str, tokens.Workload],
) -> None:
    """The readme has those of the peers that the benchmark runs, too."""
    of_dialects = {name: figures for name, *figures in table(DIALECTS, "\n## Tokens")}
    of_all = {name: figures[4] for name, *figures in table("README.md", "\n## Compared with") if figures[4] != "–"}
    counted = {name.replace(",", ""): each for name, each in workloads.items()}

    assert of_dialects == {name: [f"{len(w.calls)}", f"{w.total}", f"{w.input}"] for name, w in counted.items()}
    for name, each in counted.items():
        assert of_all[f"tildone {name}"] == f"{each.total} in {len(each.calls)} calls"
    peers_told = {name for name in of_all if not name.startswith("tildone")}
    assert peers_told == {peer.name for peer in PEERS if peer.serve and peer.source != HERE}


def test_the_questions_and_answers_have_the_tokens_that_are_counted(workloads: dict[str, tokens.Workload]) -> None:
    brief, page = workloads["brief"], (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")

    answer = page.partition("**Does it cost tokens?**")[2].partition("\n\n")[0]
    assert f"takes {brief.schema} tokens in each request" in answer
    assert f"takes {brief.total} tokens in all" in answer
    in_agents = [cost["schema"] for cost in load().tokens.values()]
    assert f"{min(in_agents)} to {max(in_agents)} in the form in which agents\nsend it" in answer


def test_the_figures_of_coding_agents_are_those_of_the_tool_as_it_is(workloads: dict[str, tokens.Workload]) -> None:
    """Agents add words of their own to its definition, which do not change with it."""
    own_words = {client: cost["schema"] - workloads["brief"].schema for client, cost in load().tokens.items()}

    assert own_words == {"claude": 8, "codex": 38, "gemini": 63, "opencode": 16, "pi": 7, "qwen": 14, "copilot": 12}


def test_the_default_list_takes_the_same_tokens_over_its_server(
    tmp_path: Path, workloads: dict[str, tokens.Workload]
) -> None:
    project = peers.Project(PEERS[0], peers.installed(PEERS[0], tmp_path), tmp_path / "project")

    assert peers.tokens(project).figure == str(workloads["brief"].total)


def test_the_path_of_the_project_counts_as_the_same_everywhere(tmp_path: Path) -> None:
    """Temporary folders have names of different lengths."""
    short = peers.Project(PEER, Path(sys.executable).parent, tmp_path / "p")
    long = peers.Project(PEER, Path(sys.executable).parent, tmp_path / "a-longer-name-of-the-project")

    assert peers.tokens(short).figure == peers.tokens(long).figure


def test_lost_is_what_was_confirmed_and_is_missing(tmp_path: Path) -> None:
    """Of 10 tasks of each of 8 clients, 5 are confirmed: 1, 3, 5, 7, 9; and 3 and 7 are kept."""
    project = peers.Project(PEER, Path(sys.executable).parent, tmp_path / "project")

    figure = peers.updates_lost(project, 80)

    assert (figure.parts, figure.figure) == ("40 of 80 confirmed, 8 processes", "24")


def test_concurrent_additions_to_our_list_are_kept(tmp_path: Path) -> None:
    project = peers.Project(PEERS[0], peers.installed(PEERS[0], tmp_path), tmp_path / "project")

    figure = peers.updates_lost(project, 16)

    assert (figure.parts, figure.figure) == ("16 of 16 confirmed, 8 processes", "0")


@pytest.mark.slow
def test_peers_that_cannot_be_installed_are_skipped_with_the_reason(tmp_path: Path) -> None:
    """Without node on the path and without an index of packages."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environ |= {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "PIP_NO_INDEX": "1"}
    command = [sys.executable, "-m", "bench", "--quick", "--only", "peers"]

    answer = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)

    assert answer.returncode == 0, answer.stderr
    skipped = {line[:45].rstrip(): line for line in answer.stdout.splitlines() if "skipped: " in line}
    assert list(skipped) == [peer.name for peer in PEERS if peer.source != HERE]
    assert skipped["Taskmaster 0.43.1"].endswith("skipped: it needs node and npm")
    assert "topydo==0.16" in skipped["topydo 0.16"]
    assert "bench: installing topydo 0.16 into" in answer.stderr
    assert re.search(r"^cold: tildone brief .* [\d.]+ times$", answer.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("options", "reason"),
    [(["--only", "peers", "--against", "."], "not other programs"), (["--only", "no"], "'peers'")],
)
def test_the_command_line_knows_the_peers(options: list[str], reason: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "bench", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 2
    assert reason in answer.stderr
