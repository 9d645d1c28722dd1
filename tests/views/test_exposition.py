"""Figures in the text format of Prometheus."""

from tests.telemetry.prometheus import parse
from tildone.plan.text.charts import Family, Kind, Sample, exposition


def test_figures_are_written_with_their_help_type_and_labels() -> None:
    labels = (("agent", 'a "b" \\ c\nd'), ("model", "ünï"))
    families = [
        Family("tildone_cost_usd_total", Kind.COUNTER, "Cost.", (Sample(0.25, labels), Sample(1e-05))),
        Family("tildone_runs", Kind.GAUGE, "Runs.", (Sample(3), Sample(2.0, (("state", "queued"),)))),
    ]

    text = exposition(families)

    assert text == (
        "# HELP tildone_cost_usd_total Cost.\n"
        "# TYPE tildone_cost_usd_total counter\n"
        'tildone_cost_usd_total{agent="a \\"b\\" \\\\ c\\nd",model="ünï"} 0.25\n'
        "tildone_cost_usd_total 1e-05\n"
        "# HELP tildone_runs Runs.\n"
        "# TYPE tildone_runs gauge\n"
        "tildone_runs 3\n"
        'tildone_runs{state="queued"} 2\n'
    )
    found = parse(text)
    assert found["tildone_cost_usd_total"].kind == "counter"
    assert found["tildone_cost_usd_total"].samples[labels] == 0.25
    assert found["tildone_runs"].samples == {(): 3, (("state", "queued"),): 2}
