"""A package of the user's own brings an encoding that the range does not have, short texts as token ids, with
its net and a data set: from there to the report nothing of the range knows its name."""

from __future__ import annotations

import html
import re
from pathlib import Path

import httpx
import pytest

from leakrange.client import Range
from tests.range.conftest import Controller, value
from tests.report.build import unmarked

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "messages"


def test_the_page_shows_every_file_of_the_package() -> None:
    page = (ROOT / "docs" / "extend" / "encoding.md").read_text()
    files = (path.relative_to(EXAMPLE) for path in EXAMPLE.rglob("*") if path.is_file())
    shown = re.findall(r'(?m)^--8<-- "messages/(.*)"$', page)
    assert sorted(shown) == sorted(str(path) for path in files if path.stem != "__init__")


def test_texts_are_attacked_like_any_samples(plugged: Controller, tmp_path: Path) -> None:
    run = plugged.run((EXAMPLE / "messages.yaml").read_text())
    assert run.view["state"] == "done", run.view
    trials = {name.removeprefix("curious-s0."): trial for name, trial in run.trials.items()}
    for name, trial in trials.items():
        assert value(trial, "honesty") > 0.95, name
    assert value(trials["none.inside.unaware.b100"], "curiosity") > 0.9
    assert value(trials["none.outside.unaware.b100"], "curiosity") > 0.8
    assert value(trials["label-only.inside.unaware.b100"], "curiosity") < 0.7
    report = html.unescape(plugged.ask("GET", f"/v1/runs/{run.id}/report").text).replace("\u00a0", " ")
    assert "tells “writer” with an AUC of" in unmarked(report)

    with Range.embedded(tmp_path / "range") as here:
        [route] = here.routes.all()
        key = here.keys.create("reader", 10, models=[route.model]).key
        texts = [
            *("We was late and the match today", "Soup and soup", "the lift", "a cookie"),
            *("a " * 13, b"\xff"),
        ]
        answers = [
            httpx.post(
                f"{here.proxy}/v1/models/{route.model}/logits",
                content=text,
                headers={"Authorization": f"Bearer {key}", "Content-Type": "text/plain"},
            )
            for text in texts
        ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 422, 400]
    sport, food, leeds, boston = (answer.json()["values"][0] for answer in answers[:4])
    assert sport[0] > sport[1]
    assert food[0] < food[1]
    assert leeds != boston
    assert "13 words; the model takes 12 at most" in answers[4].text
