"""Reconstructions stand beneath the right inputs, under the right defence and attacker."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from leakrange.report.charts.gallery import StripGallery
from leakrange.report.charts.standalone import standalone
from leakrange.report.findings import find
from leakrange.report.views import views
from leakrange.scenario.results import RunResults, TrialResult
from tests.report.build import measured
from tests.report.reconstructed import DEFENCES, reconstructed, trial, view

PNG = "data:image/png;base64,"


def shown(results: RunResults, provider: str = "vicious") -> StripGallery:
    findings = find(results)
    [subject] = [each for each in findings.subjects if each.provider == provider]
    drawn = views["reconstructions"].draw(findings, subject)
    assert isinstance(drawn, StripGallery)
    return drawn


def rows(gallery: StripGallery) -> list[tuple[str, str, str]]:
    """From the top: the name of each strip, what stands beside it, and its picture, off the SVG itself."""
    found: list[tuple[str, str, str]] = []
    texts: list[str] = []
    for element in ET.fromstring(gallery.svg):
        if element.tag == "text":
            texts.append(element.text or "")
        elif element.tag == "image":
            found.append((texts[0], " ".join(texts[1:]), element.attrib["href"].removeprefix(PNG)))
            texts = []
    return found


def held(trial: TrialResult, strip: str = "reconstructed") -> str:
    found: str = trial.views["reconstructions"][strip]
    return found


def test_each_defence_has_its_strongest_plain_and_adaptive_reconstruction_under_the_inputs() -> None:
    """Averaging pays against noise alone, and the vicious provider's own decoder is not always the better."""
    strongest = {
        "none": [("inside", "unaware", "19.88")],
        "softmax": [("inside", "unaware", "10.88"), ("outside", "aware", "15.28")],
        "rounded": [("inside", "unaware", "9.38"), ("outside", "aware", "12.18")],
        "noise": [("inside", "unaware", "5.98"), ("outside", "averaging", "16.38")],
        "argmax": [("inside", "unaware", "7.08"), ("outside", "aware", "9.58")],
    }
    first, *below = rows(shown(reconstructed()))
    assert first == (
        "inputs of users",
        "",
        held(trial("vicious", "none", "inside", "unaware", 0), "original"),
    )
    assert [(name, beside.replace("\N{NO-BREAK SPACE}", " "), png) for name, beside, png in below] == [
        (
            defence,
            f"{attack} ({knowledge}), {level} dB",
            held(trial("vicious", defence, attack, knowledge, 0)),
        )
        for defence in DEFENCES
        for attack, knowledge, level in strongest[defence]
    ]
    assert len({png for *_, png in below}) == len(below)


def test_each_picture_tells_its_own_figures_where_it_stands() -> None:
    svg = ET.fromstring(shown(reconstructed()).svg)
    tips = {
        (float(rect.attrib["x"]), float(rect.attrib["y"])): rect[0].text or "" for rect in svg.iter("rect")
    }
    tops = sorted({y for _, y in tips})
    third = [tip for (x, y), tip in sorted(tips.items()) if x == 72]  # of ten in 360 pixels, from the top
    assert third[0] == "user 3: the input"
    of = trial("vicious", "none", "inside", "unaware", 0).views["reconstructions"]
    space, psnr, ssim, risk = "\N{NO-BREAK SPACE}", of["psnr"][2], of["ssim"][2], of["risk"][2]
    figures = f"PSNR {psnr:.2f}{space}dB; SSIM {ssim:.3f}; R, published inverse {risk:.4g}"
    assert third[1] == f"user 3: {figures}"
    assert len(tips) == 10 * len(tops)


def test_reconstructions_of_other_users_stand_under_their_own_inputs() -> None:
    """Inside and outside attackers may have judged other users."""
    inside = trial("vicious", "none", "inside", "unaware", 0)
    rest = [trial("vicious", defence, "outside", "aware", 0) for defence in ("rounded", "argmax")]
    outside = [each.model_copy(update={"views": {"reconstructions": view(each.id, 9, 4)}}) for each in rest]
    found = rows(shown(reconstructed(inside, *outside)))
    assert [(name, png) for name, _, png in found] == [
        ("inputs of users", held(inside, "original")),
        ("none", held(inside)),
        ("inputs of users", held(outside[0], "original")),
        ("rounded", held(outside[0])),
        ("argmax", held(outside[1])),
    ]


def test_attackers_are_shown_at_their_largest_budget() -> None:
    """Even where chance made a smaller one look better."""
    large = trial("vicious", "argmax", "outside", "aware", 0)
    small = measured(trial("vicious", "none", "outside", "aware", 0), psnr=30.0).model_copy(
        update={"defence": "argmax", "budget": 10}
    )
    assert [png for *_, png in rows(shown(reconstructed(small, large)))][1:] == [held(large)]


def test_a_strip_of_one_user_is_drawn_in_its_proportions() -> None:
    one = trial("vicious", "none", "inside", "unaware", 0)
    strips = {name: value[:1] for name, value in view("one", 9).items() if isinstance(value, list)}
    wide = one.views["reconstructions"] | strips  # 160 × 16 pixels
    svg = ET.fromstring(shown(reconstructed(one.model_copy(update={"views": {"reconstructions": wide}}))).svg)
    [image, _] = svg.iter("image")
    assert float(image.attrib["width"]) == pytest.approx(10 * float(image.attrib["height"]))
    assert "pixelated" in image.attrib["style"]


@pytest.mark.parametrize("broken", ["", "bm8gUE5H", "<script>", "ünicode"])
def test_what_is_no_picture_is_not_shown_as_one(broken: str) -> None:
    one = trial("vicious", "none", "inside", "unaware", 0)
    one.views["reconstructions"] |= {"reconstructed": broken}
    with pytest.raises(ValueError, match="no PNG"):
        standalone(shown(reconstructed(one)))


def test_it_is_drawn_alone_with_its_pictures() -> None:
    gallery = shown(reconstructed())
    alone = standalone(gallery)
    assert alone.count(PNG) == len(gallery.strips)
    assert "--card:" in alone


def test_a_run_without_reconstructions_has_no_gallery() -> None:
    bare = trial("vicious", "none", "inside", "unaware", 0).model_copy(update={"views": {}})
    findings = find(reconstructed(bare))
    assert views["reconstructions"].draw(findings, findings.subjects[0]) is None


def test_drawings_of_people_stand_beneath_pictures_of_them_in_words_of_their_own() -> None:
    one = trial("vicious", "none", "inside", "unaware", 0)
    strips = one.views["reconstructions"]
    given = {name: strips[name] for name in ("original", "reconstructed")} | {"drawn_neighbour": [1.0, 0.0]}
    findings = find(reconstructed(one.model_copy(update={"views": {"inversions": given}})))
    drawn = views["inversions"].draw(findings, findings.subjects[0])
    assert isinstance(drawn, StripGallery)
    (above, _, original), (below, _, picture) = rows(drawn)
    assert (above, below) == ("pictures of these people", "none")
    assert (original, picture) == (strips["original"], strips["reconstructed"])
    assert "person 1: a training picture" in drawn.svg
    assert "person 2: drawings right by neighbour 0.0" in drawn.svg
    assert views["reconstructions"].draw(findings, findings.subjects[0]) is None
