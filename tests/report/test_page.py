"""The page stands alone, holds every section or says why not, and lets no scenario become mark-up."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from leakrange.report import render, to_csv
from leakrange.scenario.results import RunResults
from tests.report.build import SCENARIO, model, run, trials, unmeasured

SECTIONS = (
    "answer", "figures", "glance", "details", "plane", "confusion", "distribution", "roc", "entropy",
    "budget", "adaptivity", "training", "results", "ledger", "scenario", "record", "limits",
)  # fmt: skip
HOSTILE = '</title><script>window.hacked=1</script><img src=x onerror="window.hacked=1">$\\frac{1}{0}$'


def svgs(page: str) -> list[ET.Element]:
    return [ET.fromstring(text) for text in re.findall(r'<svg [^>]*class="chart".*?</svg>', page, re.DOTALL)]


def test_every_section_is_there_and_none_is_left_out(page: str) -> None:
    assert [name for name in SECTIONS if f' id="{name}"' not in page] == []
    assert "Left out" not in page
    assert html.escape(SCENARIO, quote=False).splitlines()[4] in html.unescape(page)
    assert "must not be used to infer anything about real people" in page


def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    links = re.findall(r"""(?:src|href|action|data)\s*=\s*["']([^"']*)""", page)
    assert {link[:1] for link in links if not link.startswith("data:")} == {"#"}
    assert not re.search(
        r"@import|url\((?!#)|<(iframe|object|embed|base|link(?! rel=\"icon\" href=\"data:,\"))", page
    )


def test_the_policy_allows_this_script_and_no_other(page: str) -> None:
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'" in page


def test_identifiers_are_unique_and_references_lead_somewhere(page: str) -> None:
    names = Counter(re.findall(r'\bid="([^"]+)"', page))
    assert [name for name, count in names.items() if count > 1] == []
    used = set(re.findall(r'href="#([^"]+)"', page)) | set(re.findall(r"url\(#([^)]+)\)", page))
    assert used <= set(names)


def test_charts_follow_the_theme_and_say_what_they_show(page: str) -> None:
    charts = svgs(page)
    assert len(charts) == 72  # eight of each view
    for chart in charts:
        assert chart.attrib["role"] == "img"
        assert re.search(r"\d", chart.attrib["aria-label"])
        assert chart.findall(".//path")
        assert "#0000" not in ET.tostring(chart, encoding="unicode")
    assert len({chart.attrib["aria-label"] for chart in charts}) == len(charts)


def test_the_table_holds_every_summary(page: str, results: RunResults) -> None:
    [body] = re.findall(r'<table id="all-results".*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    assert body.count("<tr>") == len(
        {(t.provider, t.defence, t.attack, t.knowledge, t.budget) for t in trials()}
    )
    seeds = [
        trial.metrics["curiosity"].value
        for trial in results.trials
        if (trial.provider, trial.defence, trial.budget) == ("digits-parameterized-raw", "none", 1000)
    ]
    assert f"mean {sum(seeds) / 2!r}, deviation" in body


def test_the_trials_are_inside_as_csv(page: str, results: RunResults) -> None:
    [link] = re.findall(r'href="data:text/csv;charset=utf-8;base64,([^"]+)"', page)
    assert base64.b64decode(link).decode() == to_csv(results)


def test_rendering_twice_gives_the_same_page() -> None:
    few = run(trials=trials()[:8], models=[model("digits", "honest", 0)])
    assert render(few) == render(few)


def test_hostile_names_and_errors_stay_text() -> None:
    found = [
        trial.model_copy(
            update={
                "provider": HOSTILE, "defence": HOSTILE if trial.defence == "argmax" else trial.defence,
                "attack": HOSTILE, "sensitive": HOSTILE, "data": HOSTILE, "target": HOSTILE,
            }
        )
        for trial in trials()[:60]
    ]  # fmt: skip
    found[-1] = found[-1].model_copy(update={"state": "failed", "error": HOSTILE, "id": HOSTILE})
    page = render(
        run(
            run=HOSTILE,
            name=HOSTILE,
            trials=found,
            models=[model("digits", "honest", 0).model_copy(update={"data": HOSTILE, "provider": HOSTILE})],
            scenario_yaml=HOSTILE,
            environment={HOSTILE: HOSTILE},
            data_notes={HOSTILE: [HOSTILE]},
            ledger=[{HOSTILE: HOSTILE, "spent": 3}],
        )
    )
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "onerror=&#34;" in page or "onerror=&quot;" in page
    assert html.unescape(page).count(HOSTILE) > 20


def test_a_name_that_looks_like_a_formula_is_written_as_it_is() -> None:
    found = [t.model_copy(update={"defence": "$\\frac$"}) for t in trials() if t.behaviour == "honest"]
    [chart, *_] = [
        c for c in svgs(render(run(trials=found, models=[]))) if "Adaptivity" in c.attrib["aria-label"]
    ]
    assert "$\\frac$" in ["".join(text.itertext()) for text in chart.iter("text")]


EMPTY = {
    "plane": "No finished trial has both",
    "entropy": "No model’s outputs have an entropy histogram",
    "budget": "No attack has finished at two budgets",
    "adaptivity": "No attack was made with more than one knowledge",
    "training": "No model has a training history",
    "results": "the run has no trials",
    "ledger": "no API key was used",
}


def test_a_run_with_nothing_yet_draws_nothing_and_says_why() -> None:
    page = render(run(state="running", finished=None, trials=[], models=[], ledger=[], data_notes={}))
    assert svgs(page) == []
    for anchor, reason in EMPTY.items():
        [section] = re.findall(rf' id="{anchor}".*?</d(?:d|iv)>', page, re.DOTALL)
        assert reason in section
    assert ">Left out</h2>" in page
    assert not re.search(r'id="(confusion|distribution|roc)"', page)
    assert "The run goes on: 0 of 0 trials are finished" in page


@pytest.mark.parametrize("state", ["running", "failed", "cancelled"])
def test_an_unfinished_run_shows_what_there_is_and_lists_what_failed(state: str) -> None:
    found = [
        unmeasured(trial, state="failed", error=f"worker {n} died") if n % 3 else trial
        for n, trial in enumerate(trials()[:12])
    ]
    page = render(run(state=state, trials=found, models=[]))
    assert "4 of 12 trials" in page
    assert [f"worker {n} died" in page for n in range(12)] == [bool(n % 3) for n in range(12)]
    assert "nan" not in re.sub(r"base64,[^\"]+", "", page).split("<style>")[0]
    assert svgs(page)


def test_times_are_told_to_the_minute(page: str) -> None:
    assert "started 2026-01-01 12:00 UTC" in page
    assert "12:00:00" not in page
