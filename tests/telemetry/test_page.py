"""The page about metrics and traces: its settings for Prometheus are carried out on a real board."""

import os
import re

import pytest

from tests.project.source import ROOT
from tests.telemetry.prometheus import parse
from tests.web.boards import Browser, board, place_in
from tests.web.test_metrics import token_for_metrics
from tildone.plan.history.stats import COUNTERS, FleetNow, fleet_families, session_families

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a board and all it started can be ended for certain on Unix")

PAGE = (ROOT / "docs" / "how-to" / "watch-a-fleet.md").read_text(encoding="utf-8")


def test_the_settings_of_prometheus_scrape_a_board(tmp_path_factory: pytest.TempPathFactory) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra fleet")
    [text] = [block for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) if "scrape_configs" in block]
    [job] = yaml.safe_load(text)["scrape_configs"]
    place = place_in(tmp_path_factory.mktemp("scraped"))
    token = token_for_metrics(place)

    with board(place) as running:
        [target] = job["static_configs"][0]["targets"]
        assert target == "127.0.0.1:4747"
        header = f"{job['authorization']['type']} {token}"
        answered = Browser(running.port).get(job["metrics_path"], Authorization=header)

    assert answered.status == 200
    assert set(job) == {"job_name", "metrics_path", "authorization", "static_configs"}
    assert set(job["authorization"]) == {"type", "credentials_file"}
    assert "tildone_runs" in parse(answered.body.decode())


def test_the_page_names_every_figure() -> None:
    families = [*fleet_families(FleetNow([], [], 0, 0, 0), 0), *session_families({}, 0)]
    names = {family.name for family in families} | {name for name, _, _ in COUNTERS.values()}
    table = PAGE[PAGE.index("| figure |") : PAGE.index("- Figures that end")]

    assert set(re.findall(r"`(tildone_\w+)`", table)) == names
