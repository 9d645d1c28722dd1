"""How agents are started: what their command lines and environments contain."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.model import Model
from tests.fleet.runs import HeldRun, hold
from tests.host.models.model_server import Turn
from tests.plans import plan_of
from tildone.agents.secrets import is_secret
from tildone.errors import Refused
from tildone.fleet.drivers import AGENTS
from tildone.fleet.drivers.launch import providers_of
from tildone.value import replace

SECRETS = {
    "ANTHROPIC_API_KEY": "anthropic",
    "OPENAI_API_KEY": "openai",
    "GEMINI_API_KEY": "google",
    "MISTRAL_API_KEY": "mistral",
    "GH_TOKEN": "",
    "AWS_SECRET_ACCESS_KEY": "",
    "DATABASE_URL": "",
    "SSH_AUTH_SOCK": "",
}
"""Variables with secrets, each with the provider that it is for."""

VALUES = dict.fromkeys(SECRETS, "hidden") | {"DATABASE_URL": "postgresql://me:hidden@db/app"}
MODELS = {"run": "mistral:large", "opencode": "openai/gpt-5", "pi": "google/gemini-2.5-flash"}
GIVEN = {
    "shell": set[str](),
    "run": {"MISTRAL_API_KEY"},
    "claude": {"ANTHROPIC_API_KEY"},
    "codex": {"OPENAI_API_KEY"},
    "gemini": {"GEMINI_API_KEY"},
    "opencode": {"OPENAI_API_KEY"},
    "pi": {"GEMINI_API_KEY"},
}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[HeldRun]:
    held = hold(tmp_path, plan_of("one", "two"))
    yield held
    held.store.close()


def test_an_agent_gets_the_secrets_of_its_provider_only(run: HeldRun) -> None:
    clean = {name: text for name, text in run.environ.items() if not is_secret(name, text)}
    known = clean | VALUES | {"JAVA_HOME": "/java"}

    launches = {
        agent: AGENTS[agent](replace(run.context("*", model=MODELS.get(agent, "")), environ=known)) for agent in AGENTS
    }

    given = {agent: {name for name in SECRETS if name in launch.environ} for agent, launch in launches.items()}
    assert given == GIVEN
    assert {launch.environ["JAVA_HOME"] for launch in launches.values()} == {"/java"}
    assert "hidden" not in str([launch.arguments for launch in launches.values()])


def test_an_agent_is_told_the_plan_of_the_run_and_its_own_folder_not_that_of_the_worker(run: HeldRun) -> None:
    context = run.context("*", "make *")
    told = {"TILDONE_STORE": run.address, "TILDONE_SESSION": "plan", "TILDONE_CHECK_ALLOW": "*\nmake *"}
    told["PWD"] = context.folder

    for agent in AGENTS:
        environ = AGENTS[agent](replace(context, environ={**context.environ, "PWD": "/worker"})).environ
        assert {name: environ[name] for name in told} == told, agent


def test_nothing_is_written_to_the_repository(run: HeldRun) -> None:
    for agent in AGENTS:
        AGENTS[agent](run.context("*"))

    assert list((run.folder / "work").iterdir()) == []
    others = {path.relative_to(run.folder).parts[:4] for path in run.folder.rglob("*") if path.is_file()}
    assert {parts for parts in others if not parts[0].startswith("plans.db")} <= {
        ("data", "tildone", "fleet", "agents"),
    }


def test_the_variables_with_which_the_store_is_opened_are_kept(run: HeldRun) -> None:
    context = replace(run.context("*"), environ={"PGPASSWORD": "x", "PATH": "/bin"})

    assert "PGPASSWORD" not in AGENTS["shell"](context).environ
    assert AGENTS["shell"](replace(context, store="postgresql://db/plans")).environ["PGPASSWORD"] == "x"


def test_an_agent_is_not_told_that_it_is_another_conversation(run: HeldRun) -> None:
    context = replace(run.context("*"), environ={**run.environ, "CLAUDE_CODE_SESSION_ID": "5f0c", "CLAUDECODE": "1"})

    assert not {"CLAUDE_CODE_SESSION_ID", "CLAUDECODE"} & set(AGENTS["claude"](context).environ)


def test_claude_may_run_only_what_the_worker_allows(run: HeldRun) -> None:
    some, everything = (AGENTS["claude"](run.context(*allow)).arguments for allow in (("make *", "ls"), ("*",)))

    assert [allowed(words) for words in (some, everything)] == [["Bash(make *)", "Bash(ls)"], ["Bash"]]


def test_codex_runs_commands_in_its_sandbox_unless_all_are_allowed(run: HeldRun) -> None:
    some, everything = (AGENTS["codex"](run.context(*allow)).arguments for allow in (("make *",), ("*",)))

    assert some[some.index("--sandbox") + 1] == "workspace-write"
    assert everything[everything.index("--sandbox") + 1] == "danger-full-access"


def test_codex_gives_our_server_the_variables_that_name_the_plan(run: HeldRun) -> None:
    """It gives a server few others."""
    options = [word for word in AGENTS["codex"](run.context("*")).arguments if word.startswith("mcp_servers.")]

    [server] = [tomllib.loads(option)["mcp_servers"]["tildone"] for option in options]
    assert {"TILDONE_STORE", "TILDONE_SESSION", "TILDONE_LEASE", "TILDONE_CHECK_ALLOW"} <= set(server["env_vars"])


def test_pi_is_refused_where_not_every_command_is_allowed(run: HeldRun) -> None:
    with pytest.raises(Refused, match=r"--allow '\*'"):
        AGENTS["pi"](run.context("make *"))


def test_opencode_may_run_only_what_the_worker_allows(run: HeldRun) -> None:
    settings = json.loads(AGENTS["opencode"](run.context("make *")).environ["OPENCODE_CONFIG_CONTENT"])

    assert settings["permission"]["bash"] == {"*": "deny", "make *": "allow"}


def test_gemini_gets_a_home_with_the_settings_of_the_person_and_ours(run: HeldRun) -> None:
    """It passes over settings of the machine that do not belong to root. The credentials are those of the person."""
    own = run.folder / ".gemini"
    own.mkdir()
    settings = '{"security": {"auth": {"selectedType": "oauth"}}, "hooksConfig": {"enabled": false} /* mine */}'
    (own / "settings.json").write_text(settings, encoding="utf-8")
    (own / "oauth_creds.json").write_text("{}", encoding="utf-8")
    (own / "tmp").mkdir()

    AGENTS["gemini"](run.context("*"))
    launch = AGENTS["gemini"](run.context("*"))

    home = Path(launch.environ["GEMINI_CLI_HOME"]) / ".gemini"
    text = (home / "settings.json").read_text(encoding="utf-8")
    assert "/* mine */" in text
    found = json.loads(text.replace("/* mine */", ""))
    assert found["security"] == {"auth": {"selectedType": "oauth"}}
    assert found["hooksConfig"] == {"enabled": True}
    assert "tildone" in found["mcpServers"]
    assert set(found["hooks"]) >= {"AfterAgent", "BeforeTool"}
    assert (home / "oauth_creds.json").resolve() == own / "oauth_creds.json"
    assert not (home / "tmp").exists()
    assert (own / "settings.json").read_text(encoding="utf-8") == settings


def test_gemini_is_refused_where_the_repository_names_commands_that_are_not_allowed(run: HeldRun) -> None:
    context = run.context("make *")
    settings = Path(context.folder) / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}", encoding="utf-8")

    with pytest.raises(Refused, match=r"--allow '\*'"):
        AGENTS["gemini"](context)
    AGENTS["gemini"](run.context("*"))


def test_without_a_provider_all_of_them_are_meant() -> None:
    assert providers_of("openai-chat:gpt-5") == ("openai",)
    assert providers_of("google-gla:gemini") == ("google",)
    assert {"anthropic", "openai", "mistral"} <= set(providers_of("gpt-5"))


def test_tildone_run_without_a_model_runs_the_commands_in_the_texts(tmp_path: Path) -> None:
    run = hold(tmp_path, plan_of("Make it: `touch made`"))

    done = run.run("run", run.context("touch *"))

    assert done.returncode == 0, done
    assert [status for _, status in run.tasks] == ["completed"]
    assert (run.folder / "work" / "made").exists()
    run.store.close()


@pytest.mark.slow
def test_tildone_run_with_a_model_finishes_the_plan(tmp_path: Path) -> None:
    """It is held to it, too."""
    pytest.importorskip("pydantic_ai")
    first: Turn = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}}
    last: Turn = {"tool": "edit_todos", "args": {"action": "complete", "indices": [1]}}
    with Model(first, {"text": "I stop."}, last, {"text": "Finished."}) as model:
        run = hold(tmp_path, plan_of("one", "two"))
        context = run.context("*", model="anthropic:scripted")
        own = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
        done = run.run("run", replace(context, environ={**run.environ, **own}))

    assert done.returncode == 0, done
    assert run.tasks == [("one", "completed"), ("two", "completed")]
    run.store.close()


def allowed(arguments: tuple[str, ...]) -> list[str]:
    rules = json.loads(arguments[arguments.index("--settings") + 1])["permissions"]["allow"]
    return [rule for rule in rules if rule.startswith("Bash")]
