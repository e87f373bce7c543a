"""A whole run that draws users' pictures again from what somebody else's model says of them."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
import yaml
from fastapi import FastAPI
from PIL import Image
from pydantic import BaseModel

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from tests.range.conftest import Controller, value
from tests.serving import serving

pytestmark = pytest.mark.timeout(900)
DATA = {"name": "digits", "size": 16, "auxiliary": 0.3}
CLASSES = [str(digit) for digit in range(10)]


class Pictures(BaseModel):
    images: list[str]


def served(*, leaks: bool) -> FastAPI:
    """Tells the digit in each picture by ten scores. If it ``leaks``, they also say where the picture lies
    along the ten directions in which digits differ most."""
    data = load(DataSpec.model_validate(DATA))
    digit = dict(zip(map(np.ndarray.tobytes, data.values), data.labels["digit"], strict=True))
    pixels = data.values.reshape(len(data), -1) / 255.0
    mean = pixels.mean(axis=0)
    axes = np.linalg.svd(pixels[:400] - mean, full_matrices=False)[2][:10]
    app = FastAPI()

    @app.post("/digits")
    async def digits(asked: Pictures) -> dict[str, Any]:
        answers = []
        for text in asked.images:
            picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(text))), dtype=np.uint8)
            scores = 15.0 * np.eye(10)[digit.get(picture[..., np.newaxis].tobytes(), 0)]
            if leaks:
                scores += axes @ (picture.ravel() / 255.0 - mean)
            answers.append({"scores": dict(zip(CLASSES, scores.tolist(), strict=True))})
        return {"answers": answers}

    return app


def psnr(controller: Controller, *, leaks: bool) -> dict[str, float]:
    with serving(served(leaks=leaks)) as url:
        endpoint = {
            "name": "digits",
            "owner": "post-office@example.com",
            "card": {
                "input": {"encoding": "picture", "shape": [16, 16, 1]},
                "classes": CLASSES,
                "release": "logits",
            },
            "steps": [
                {
                    "post": f"{url}/digits",
                    "json": {"images": "${pngs}"},
                    "read": {"each": "$.answers[*]", "values": "$.scores"},
                }
            ],
        }
        finished = controller.run(
            yaml.safe_dump(
                {
                    "name": f"pictures-{leaks}",
                    "seeds": [0],
                    "data": DATA,
                    "providers": {"post": {"behaviour": "remote", "target": "digit", "endpoint": endpoint}},
                    "clients": {"phones": {"kind": "edge", "count": 4, "samples": 128}},
                    "attacks": {
                        "outside": {
                            "kind": "reconstruction",
                            "auxiliary": 400,
                            "epochs": 30,
                            "decoder": {"width": 0.5},
                        }
                    },
                    "defences": {"none": [], "label-only": ["argmax"]},
                    "budgets": [400],
                }
            )
        )
    assert finished.view["state"] == "done", finished.view["error"]
    assert {value(trial, "honesty") for trial in finished.trials.values()} == {1.0}
    trials = {
        (trial["defence"], metric): value(trial, metric)
        for trial in finished.trials.values()
        for metric in ("psnr", "psnr_class_mean")
        if trial["knowledge"] == "aware" or trial["defence"] == "none"
    }
    return {f"{defence} {metric}": figure for (defence, metric), figure in trials.items()}


def test_pictures_come_back_where_scores_carry_them(controller: Controller) -> None:
    figures = psnr(controller, leaks=True)
    assert figures["none psnr"] > figures["none psnr_class_mean"] + 1.5
    assert figures["label-only psnr"] < figures["label-only psnr_class_mean"] + 0.2


def test_no_picture_comes_back_from_the_digit_alone(controller: Controller) -> None:
    figures = psnr(controller, leaks=False)
    assert figures["none psnr"] < figures["none psnr_class_mean"] + 0.2
