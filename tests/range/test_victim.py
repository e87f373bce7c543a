"""Visitors try a run: their sample goes to real models, and what is told is what happened there."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.providers.artifact_files import read_files
from leakrange.providers.inference import outputs
from leakrange.providers.model_file import load_classifier, load_decoder
from tests.embedded import EmbeddedRange
from tests.range.conftest import Controller, Finished, another, second
from tests.range.victim import DATA, run

__all__ = ["run"]
pytestmark = pytest.mark.timeout(900)
SPEC = DataSpec.model_validate(DATA)


def attempt(controller: Controller, run: Finished, **body: Any) -> dict[str, Any]:
    answer = controller.client.post("/v1/try", json={"run": run.id, "data": "digits", **body}, timeout=120)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def rows(told: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """The releases by defence and behaviour."""
    return {(row["defence"], each["behaviour"]): each for row in told["rows"] for each in row["releases"]}


def picture(text: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


def png(page: Image.Image) -> str:
    out = io.BytesIO()
    page.save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


def seven(size: int = 280) -> Image.Image:
    page = Image.new("L", (size, size), 255)
    pen, unit = ImageDraw.Draw(page), size // 28
    pen.line([(9 * unit, 5 * unit), (19 * unit, 5 * unit), (12 * unit, 24 * unit)], fill=0, width=2 * unit)
    pen.line([(10 * unit, 14 * unit), (19 * unit, 14 * unit)], fill=0, width=2 * unit)
    return page


def test_what_is_told_is_what_the_models_and_decoders_give(
    controller: Controller, run: Finished, embedded_range: EmbeddedRange
) -> None:
    data = load(SPEC)
    users = data.where("test")
    view = controller.client.get(f"/v1/try?run={run.id}").json()
    [offered] = view["offered"]
    assert (offered["costs"], offered["drawn"], offered["hidden"]) == (9, True, "slant")
    assert {sample["truth"]["digit"] for sample in offered["samples"]} == set("0123456789")
    place = offered["samples"][7]["place"]
    told = attempt(controller, run, place=place)
    assert told["left"] == view["left"] - 9
    sample = data.values[users[place]]
    np.testing.assert_array_equal(picture(told["sample"]), sample[..., 0])
    assert told["truth"]["digit"] == str(data.labels["digit"][users[place]])
    assert not told["assumed"]

    found = rows(told)
    assert len(found) == 9
    digit, slant = data.labels["digit"][users[place]], data.labels["slant"][users[place]]
    for model in run.results["models"]:
        files = read_files(embedded_range.folder.models / model["artifact"])
        classifier, _ = load_classifier(files.main)
        logits = outputs(classifier, sample[None], "logits")
        behaviour = model["behaviour"].partition("/")[0]
        expected = {
            "none": logits[0],
            "rounded": np.round(logits[0]),
            "label-only": np.eye(10)[logits[0].argmax()],
        }
        for defence, values in expected.items():
            release = found[defence, behaviour]
            [left], [label] = release["left"], release["labels"]
            np.testing.assert_allclose(left["values"], values, rtol=2e-3, atol=2e-3)
            assert label["label"] == str(values.argmax())
            assert label["right"] is bool(values.argmax() == digit)
            assert (label["confidence"] is None) == (defence == "label-only")
        soft = np.exp(logits[0]) / np.exp(logits[0]).sum()
        assert found["none", behaviour]["labels"][0]["confidence"] == pytest.approx(soft.max(), abs=1e-3)
        if behaviour == "honest":
            continue
        assert files.decoder is not None
        read = load_decoder(files.decoder).infer(logits, "logits")
        if isinstance(read, tuple):
            guess = found["none", "curious"]["guess"]
            names = ("forward", "backward")
            if guess["attack"] == "curious-decoder":
                assert guess["label"] == names[int(read.classes[0])]
            assert guess["right"] is (guess["label"] == names[slant])
        else:
            drawn = picture(found["none", "vicious"]["redrawn"]["picture"])
            np.testing.assert_allclose(drawn, np.rint(read[0, ..., 0]), atol=1)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_request_of_the_documentation_is_answered(controller: Controller, run: Finished) -> None:
    page = (Path(__file__).parents[2] / "docs" / "victim.md").read_text()
    [command] = re.findall(r"^curl .*$", page, flags=re.MULTILINE)
    here = command.replace("http://127.0.0.1:8700", str(controller.client.base_url).rstrip("/"))
    done = subprocess.run(["bash", "-c", here], capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout)["data"] == "digits", done.stdout


def test_the_curious_provider_knows_more_than_the_honest_one_and_labels_hide_it(
    controller: Controller, run: Finished
) -> None:
    trials = run.trials
    told = attempt(controller, run, place=3)
    for (defence, behaviour), release in rows(told).items():
        guess = release["guess"]
        if behaviour == "vicious":
            assert guess is None
            continue
        best = max(
            (
                trial["metrics"]
                for trial in trials.values()
                if (trial["provider"], trial["defence"]) == (behaviour, defence)
            ),
            key=lambda figures: figures["auc"]["value"],
        )
        assert guess["reached"] == pytest.approx(best["curiosity"]["value"])  # the strongest attack is shown
        assert guess["attribute"] == "slant"
    assert rows(told)["none", "curious"]["guess"]["better"]
    assert not rows(told)["label-only", "curious"]["guess"]["better"]


def test_pictures_come_back_from_numbers_and_labels_give_an_average(
    controller: Controller, run: Finished
) -> None:
    gains = []
    for place in range(10):
        found = rows(attempt(controller, run, place=place))
        none, label = found["none", "vicious"], found["label-only", "vicious"]
        gains.append(none["redrawn"]["psnr"] - label["redrawn"]["psnr"])
        assert label["average"]["psnr"] > 10.0
        assert picture(label["average"]["picture"]).shape == (16, 16)
    assert np.mean(gains) > 4.0


@pytest.mark.parametrize("digit", [7, None])
def test_a_drawing_is_tried_like_a_ready_sample(
    controller: Controller, run: Finished, digit: int | None
) -> None:
    told = attempt(controller, run, drawing=png(seven()), digit=digit)
    assert picture(told["sample"]).shape == (16, 16)
    assert told["assumed"] is (digit is None)
    found = rows(told)["none", "honest"]
    assert found["labels"][0]["right"] is (None if digit is None else found["labels"][0]["label"] == "7")
    assert told["truth"]["slant"] in ("forward", "backward")
    assert ("digit" in told["truth"]) is (digit is not None)


def bomb() -> str:
    """A PNG of 30,000 × 30,000 pixels in a few bytes."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", 30_000, 30_000, 1, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(b"\0" * 9)), chunk(b"IEND", b"")]
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        ({"drawing": "no base64!"}, 400, "malformed-body"),
        ({"drawing": base64.b64encode(b"<svg/>").decode()}, 400, "malformed-body"),
        ({"drawing": png(seven())[:200]}, 400, "malformed-body"),
        ({"drawing": bomb()}, 413, "body-too-large"),
        ({"drawing": png(Image.new("L", (1025, 8), 255))}, 413, "body-too-large"),
        ({"drawing": png(Image.new("RGB", (280, 280), "white"))}, 422, "invalid-input"),
        ({"place": 10_000}, 422, "invalid-input"),
        ({"place": 0, "data": "faces"}, 404, "not-found"),
        ({"place": 0, "run": "nobody-knows"}, 404, "not-found"),
    ],
)
def test_mistakes_and_hostile_drawings_are_told_and_cost_nothing(
    controller: Controller, run: Finished, body: dict[str, Any], status: int, slug: str
) -> None:
    before = controller.client.get(f"/v1/try?run={run.id}").json()["left"]
    answer = controller.client.post("/v1/try", json={"run": run.id, "data": "digits", **body})
    assert answer.status_code == status, answer.text
    assert answer.json()["type"].rpartition("/")[2] == slug
    assert controller.client.get(f"/v1/try?run={run.id}").json()["left"] == before


def test_models_that_were_withdrawn_are_deployed_again(
    controller: Controller, run: Finished, embedded_range: EmbeddedRange
) -> None:
    told = attempt(controller, run, place=1)
    record = embedded_range.record
    headers = {"Authorization": f"Bearer {record.operator_key}"}
    for party in ("provider-honest", "provider-vicious"):
        url = record.url(party)
        for model in controller.client.get(f"{url}/v1/models").json()["models"]:
            if model["name"].startswith("digits-digit-"):
                path = f"{url}/v1/operator/models/{model['name']}"
                controller.client.delete(path, headers=headers).raise_for_status()
    again = attempt(controller, run, place=1)
    assert [row["releases"] for row in again["rows"]] == [row["releases"] for row in told["rows"]]


def test_a_day_has_only_so_many_samples(
    controller: Controller, run: Finished, embedded_range: EmbeddedRange, tmp_path: Any
) -> None:
    view = controller.client.get(f"/v1/try?run={run.id}").json()
    spent = view["limit"] - view["left"]
    settings = second(
        embedded_range,
        tmp_path,
        curious=embedded_range.record.url("provider-curious"),
        providers={
            name: embedded_range.record.url(f"provider-{name}") for name in ("honest", "curious", "vicious")
        },
        database_url=f"sqlite+aiosqlite:///{embedded_range.folder.database}",
        try_samples=spent + 10,
    )
    with another(embedded_range, settings) as other:
        assert attempt(other, run, place=2)["left"] == 1
        answer = other.client.post("/v1/try", json={"run": run.id, "data": "digits", "place": 2})
        assert answer.status_code == 429
        assert answer.json()["remaining"] == 1
        assert "LEAKRANGE_TRY_SAMPLES" in answer.json()["hint"]
