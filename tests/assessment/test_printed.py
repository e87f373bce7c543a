"""The document on paper: A4, white, everything unfolded, nothing cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pypdfium2
import pytest

from leakrange.assessment.document import Assessment, ChosenAttack
from leakrange.assessment.page import assessment_page
from leakrange.report.printing import printed
from tests.assessment.page_examples import CONTROLLED, LEAKS, PLAN, leaking
from tests.browsers import A4, MARGIN, needs_chromium, rightmost

pytestmark = needs_chromium
LONG = "nobodywouldgivethisname" * 7


def many() -> Assessment:
    """An assessment whose tables are longer than a page, with names that are wider than one."""
    unmade = [
        ChosenAttack(
            attack=f"attack-{n}", question="other", in_scope=False, made=False, why=f"reason {n} " * 9
        )
        for n in range(70)
    ]
    long = CONTROLLED.model_copy(update={"about": LONG, "attack": LONG})
    plan = PLAN.model_copy(
        update={"attacks": (*PLAN.attacks, *unmade), "scenario": f"name: {LONG * 2}\n" * 40}
    )
    return leaking().model_copy(update={"plan": plan, "findings": (LEAKS, long), "limits": (LONG,)})


@pytest.fixture(scope="module")
def paper() -> Iterator[pypdfium2.PdfDocument]:
    document = pypdfium2.PdfDocument(printed(assessment_page(many())))
    yield document
    document.close()


def texts(paper: pypdfium2.PdfDocument) -> list[str]:
    return [" ".join(page.get_textpage().get_text_range().split()) for page in paper]


def test_it_is_a4_with_its_number_on_every_page(paper: pypdfium2.PdfDocument) -> None:
    assert {tuple(round(side) for side in page.get_size()) for page in paper} == {A4}
    assert 6 <= len(paper) <= 16
    for number, text in enumerate(texts(paper), 1):
        assert f"{number} / {len(paper)}" in text


def test_the_first_page_is_the_first_screen(paper: pypdfium2.PdfDocument) -> None:
    first = texts(paper)[0]
    for text in (
        leaking().headline,
        "0.742",
        "12.3 %",
        "4,150",
        leaking().recommendation,
        "membership: leaks",
    ):
        assert text in first


def test_everything_folded_is_there_and_heads_repeat(paper: pypdfium2.PdfDocument) -> None:
    pages = texts(paper)
    text = " ".join(pages)
    for part in (
        "Findings",
        "Power: what",
        "Price list",
        "Advice",
        "Limits",
        "Record",
        "Scenario of the run",
    ):
        assert part in text
    for number in range(70):
        assert f"attack-{number} other" in text
    rows = [page for page in pages if re.search(r"attack-\d+ other", page)]
    assert len(rows) > 2
    assert all("not made, because" in page for page in rows)


def test_nothing_is_so_wide_that_the_browser_prints_all_of_it_smaller(paper: pypdfium2.PdfDocument) -> None:
    text = paper[0].get_textpage()
    first = text.get_text_range().index("Leakrange")
    across = text.get_charbox(first + len("Leakrange") - 1)[2] - text.get_charbox(first)[0]
    assert across > 55  # points; 62 where nothing is wider than the paper


def test_nothing_is_cut_off_at_the_right_and_the_paper_is_white(paper: pypdfium2.PdfDocument) -> None:
    for page in paper:
        assert rightmost(page) <= A4[0] - MARGIN + 1
        drawn = page.render(scale=0.5).to_pil().convert("RGB")
        assert (
            drawn.getpixel((3, 3)) == drawn.getpixel((drawn.width - 3, drawn.height // 2)) == (255, 255, 255)
        )
    assert LONG in "".join(re.split(r"[-\s\uFFFE\x02]+", " ".join(texts(paper))))
