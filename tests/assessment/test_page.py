"""The document of an assessment: what a manager reads first, and that nothing is lost below it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from leakrange.assessment.document import Assessment
from leakrange.assessment.page import assessment_page, key_figures, worst
from leakrange.assessment.pictures import findings_picture, price_picture
from tests.assessment.page_examples import CONTROLLED, LEAKS, leaking, passing, untold
from tests.browsers import chromium, needs_chromium
from tests.pages.conftest import opened
from tests.pages.test_accessibility import COLOURS, EVERYTHING, findings

HOSTILE = '</title><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'


def words(page: str) -> str:
    body = re.sub(r"<(style|script|svg).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).replace("\N{NO-BREAK SPACE}", " ").split())


def test_the_first_screen_has_a_sentence_a_grade_three_figures_and_what_to_do() -> None:
    page = assessment_page(leaking())
    first = words(page[: page.index("<details")])
    assert leaking().headline in first
    assert "Grade D" in first
    assert leaking().recommendation in first
    assert "0.742 AUC of lira, 0.701 to 0.783 (95 %); of two people it picks the member in 74.2 %" in first
    assert "of cases, without the model in 50.0 %" in first
    assert "12.3 % the most of 2 attacks, by lira, 9.4 to 15.8 (95 %); guessing finds 1.0 %" in first
    assert (
        "4,150 12.45 EUR at the target's price; lira has nine tenths of its lead on membership after 900"
        in first
    )
    assert page.count('class="tile ') == 3
    assert "<details open" not in page


def test_an_attribute_is_told_by_guesses_that_are_right_beside_the_usual_class() -> None:
    strongest, people, effort = key_figures(passing())
    assert (strongest.figure, strongest.tone) == ("0.667", "good")
    assert "without the model 0.655 can be guessed" in strongest.beside
    assert people.label == "Guesses of housing that are right"
    assert people.figure == "91.3\N{NO-BREAK SPACE}%"
    assert "right in 90.0\N{NO-BREAK SPACE}%" in people.beside
    assert effort.beside == "the target's file names no price"


def test_without_any_figure_it_says_what_the_records_could_have_shown() -> None:
    strongest, people, _ = key_figures(untold())
    assert (strongest.figure, people.figure) == ("–", "0.183")
    assert "cannot be told: a classifier" in words(assessment_page(untold()))
    assert "What would help: 263 members" in words(assessment_page(untold()))


def test_the_worst_finding_leaks_or_leads_most_over_its_control() -> None:
    wide = CONTROLLED.model_copy(
        update={"about": "wide", "conclusion": "cannot tell", "value": 0.9, "control": None}
    )
    turned = CONTROLLED.model_copy(update={"about": "turned", "value": 0.2, "control": None})
    found = leaking().model_copy(update={"findings": (wide, CONTROLLED, LEAKS)})
    assert worst(found) is LEAKS
    assert worst(leaking().model_copy(update={"findings": (CONTROLLED, turned)})) is turned
    assert worst(untold()) is None


def test_details_hold_every_figure_and_every_reason() -> None:
    text = words(assessment_page(leaking()))
    for each in (
        "housing attribute passes attribute-inference 0.667 AUC 0.631 to 0.703 0.655 0.048 0.078",
        "3 made, 1 in scope and not made, 1 out of scope",
        "rmia membership yes it asks 9,000 samples, and users 900: more than the budget",
        "label-only membership no it is made for labels alone",
        "loss-threshold membership membership 1,800 AUC 0.610; TPR at 1 % FPR 3.1 % (2.0 to 4.5)",
        "housing 120 1,080 0.078 yes 263",
        "at most 0.33 % of the members can be",
        "450 0.680 0.621 to 0.739 1.35 EUR",
        "0.541, at most 0.579",
        "leakrange policies add rounded --chain 'round: {decimals: 1}'",
        "Attacks that choose their queries were not made.",
        "AML.T0024.000 MITRE ATLAS 5.6 Infer Training Data Membership executed by lira, loss-threshold",
        "J. Doe, head of model risk, 2026-11-20",
        "little 0.050, bound 0.100, found members 5.0 %",
        "Version of lira 3",
        "endpoint: {behaviour: remote}",
    ):
        assert each in text, each
    assert "Price list" not in words(assessment_page(passing()))


def test_a_finding_is_shown_among_those_of_known_models() -> None:
    assert "known models" not in words(assessment_page(leaking()))
    placed = LEAKS.model_copy(update={"among": "Its lead is 0.24: more than that of 9 of 9 known models."})
    page = assessment_page(leaking().model_copy(update={"findings": (placed,)}))
    assert "more than that of 9 of 9 known models." in words(page)


def test_the_picture_draws_each_interval_its_guess_and_its_limit() -> None:
    picture = findings_picture(leaking())
    assert [row[4:] for row in picture.table.rows] == [
        [0.742, 0.701, 0.783, None, 0.6],
        [0.667, 0.631, 0.703, 0.655, 0.755],
    ]
    assert "Of housing 0.655 can be guessed without the model, and the limit is 0.755." in picture.label
    for text in ("membership: leaks, 0.742 (0.701 to 0.783)", "guessing", "limit"):
        assert f">{text}<" in picture.svg
    places = [float(x) for x in re.findall(r"translate\((\d+\.?\d*),", picture.svg)]
    assert places  # nothing is drawn outside of the chart
    assert max(places) <= 360
    assert "membership: cannot tell, no figure" in findings_picture(untold()).label


def test_a_price_list_names_quota_and_nine_tenths_and_has_none_of_no_points() -> None:
    [prices] = leaking().prices
    picture = price_picture(prices, 0.1)
    assert picture is not None
    for text in ("nine tenths of the lead", "quota", "limit", "guessing", "1,800"):
        assert f">{text}<" in picture.svg
    assert picture.note == "nine tenths of the lead: 900 samples; quota: 112 samples"
    assert "0.742 after 1,800" in picture.label
    assert price_picture(prices.model_copy(update={"points": ()}), 0.1) is None
    assert ">without the model<" in price_picture(prices.model_copy(update={"control": 0.62}), 0.1).svg  # type: ignore[union-attr]


def test_it_loads_nothing_and_no_name_becomes_mark_up() -> None:
    hostile = leaking().model_copy(
        update={
            "headline": HOSTILE,
            "findings": (LEAKS.model_copy(update={"about": HOSTILE}),),
            "prices": (leaking().prices[0].model_copy(update={"about": HOSTILE, "attack": HOSTILE}),),
        }
    )
    page = assessment_page(hostile)
    assert "default-src 'none'" in page
    assert "<script>window" not in page
    assert "<img" not in page
    links = re.findall(r"""(?:src|href|action|data)\s*=\s*["']([^"']*)""", page)
    assert [link for link in links if not link.startswith(("data:", "#"))] == []
    names = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(names)) == len(names)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@needs_chromium
@pytest.mark.parametrize(
    ("example", "width", "scheme"),
    [(leaking, 1280, "light"), (leaking, 390, "dark"), (untold, 390, "light")],
)
def test_it_keeps_nobody_out_and_fits_on_a_phone(
    example: Callable[[], Assessment], width: int, scheme: str, browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_text(assessment_page(example()), encoding="utf-8")
    with opened(browser, path.as_uri(), width=width, scheme=scheme) as tab:
        advised = tab.locator(".recommendation").bounding_box()
        assert advised is not None
        assert advised["y"] + advised["height"] < 844  # it is on the first screen
        tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert findings(tab, EVERYTHING if scheme == "light" else COLOURS) == []
