"""`tildone run` sends the spans of its plan, its tasks and its requests to a real collector."""

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT, provider_environment
from tests.suite.forking import PROGRAM
from tests.telemetry.collector import CLIENT, Collector

SECONDS = 600
"""How long a run may take on a loaded machine; on an idle one, it takes a few."""

SECRET = "sk-0123456789abcdefghijklmnop"  # noqa: S105  not a real one
USAGE = {"prompt_tokens": 120, "completion_tokens": 7}
SCRIPT: list[Turn] = [
    {"tool": "write_todos", "args": {"mode": "replace", "todos": [{"text": "One"}, {"text": f"Two {SECRET}"}]}},
    {"tool": "edit_todos", "args": {"action": "start", "indices": [0]}},
    {"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}, "usage": USAGE},
    {"tool": "edit_todos", "args": {"action": "complete", "indices": [1]}},
    {"error": 400, "message": "no"},
]
OUTER = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"


@dataclass(frozen=True)
class TracedRun:
    """What became of a run: what arrived at the collector, and what was printed on standard error."""

    collector: Collector
    told: str
    began: float


def traced(folder: Path, config: str = "", **environ: str) -> TracedRun:
    """Let a scripted model work. `config` is the person's settings file, in which `URL` is the collector's."""
    project, home = folder / "project", folder / "home"
    (project / ".git").mkdir(parents=True)
    settings = home / ".config" / "tildone" / "config.toml"
    settings.parent.mkdir(parents=True)
    # Nothing is encrypted here, and reading a machine's certificates takes long.
    known = {"TILDONE_COUNTDOWN": "0", "NO_COLOR": "1", "NO_PROXY": "127.0.0.1", "SSL_CERT_DIR": str(folder)}
    person, began = Person(project, home, known), time.time() * 1000
    with Collector() as collector, ModelServer(*SCRIPT) as server:
        settings.write_text(config.replace("URL", collector.url), encoding="utf-8")
        # A repository has no say in it.
        (project / "tildone.toml").write_text('[telemetry]\nendpoint = "http://127.0.0.1:9"\n', encoding="utf-8")
        own = {} if config else collector.environ
        done = subprocess.run(
            [PROGRAM, "run", "Do it", "--mode", "print", "--model", CHAT],
            cwd=project,
            env=person.environment({**provider_environment(server), **own, **environ}),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    return TracedRun(collector, done.stderr, began)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> TracedRun:
    """A run that the environment lets be traced."""
    return traced(tmp_path_factory.mktemp("plain"), TRACEPARENT=OUTER)


def test_a_run_is_one_trace_of_a_plan_its_tasks_and_its_requests(plain: TracedRun) -> None:
    collector = plain.collector
    [plan] = collector.named("tildone.plan")
    tasks = collector.named("tildone.task")
    calls = collector.named("chat scripted")

    assert {span.trace for span in collector.spans} == {plan.trace}
    # Another program has started it.
    assert [plan.trace, plan.parent] == OUTER.split("-")[1:3]
    assert [task.parent for task in tasks] == [plan.id] * 2
    assert [(task.attributes["tildone.task.number"], task.attributes["tildone.task.status"]) for task in tasks] == [
        (1, "completed"),
        (2, "completed"),
    ]
    # A request belongs to the task that was in progress when it began.
    assert [call.parent for call in calls] == [plan.id, plan.id, tasks[0].id, plan.id, plan.id]
    for span in collector.spans:
        assert plain.began - 1 <= plan.start <= span.start <= span.end <= plan.end
        assert span.resource["service.name"] == "tildone"


def test_requests_have_the_attributes_of_the_conventions(plain: TracedRun) -> None:
    *_, call, _, failed = plain.collector.named("chat scripted")

    assert (call.kind, call.error) == (CLIENT, "")
    attributes = dict(call.attributes)
    assert attributes.pop("gen_ai.conversation.id")
    assert attributes.pop("gen_ai.response.id", "")
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 7,
    }
    assert (failed.error, failed.attributes["error.type"]) == ("error", "error")


def test_texts_stay_on_the_machine(plain: TracedRun) -> None:
    told = str([span.attributes for span in plain.collector.spans])

    assert "One" not in told
    assert "Do it" not in told


def test_a_person_may_have_texts_sent_but_secrets_never_are(tmp_path: Path) -> None:
    run = traced(tmp_path, '[telemetry]\nendpoint = "URL"\ncontent = true\n\n[prices]\n"scripted" = '
                 "{ input = 1000000.0, output = 0.0 }\n")  # fmt: skip

    collector = run.collector
    texts = [task.attributes["tildone.task.text"] for task in collector.named("tildone.task")]
    assert texts == ["One", "Two [redacted]"]
    calls = [call.attributes for call in collector.named("chat scripted")]
    assert json.loads(calls[0]["gen_ai.input.messages"])[-1]["parts"][-1] == {"type": "text", "content": "Do it"}
    assert json.loads(calls[0]["gen_ai.output.messages"])[0]["parts"][0]["name"] == "write_todos"
    assert json.loads(calls[1]["gen_ai.input.messages"])[0]["role"] == "tool"
    assert calls[2]["tildone.usage.cost"] == 120
    assert SECRET not in str(collector.spans)
