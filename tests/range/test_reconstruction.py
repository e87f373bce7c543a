"""A whole run with a vicious provider: pictures come back from ten numbers, unless one of them is all there
is."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.metrics.reconstruction import psnr
from tests.range.conftest import Controller, scenario, value

pytestmark = pytest.mark.timeout(900)

DATA = {"name": "digits", "size": 16, "auxiliary": 0.3}
USERS = 192
FIGURES = frozenset(
    {
        *("honesty", "top3", "calibration_error"),
        *("psnr", "psnr_mean", "psnr_class_mean", "ssim", "risk"),
        *("bits_recovered", "bits_capacity"),
    }
)


def test_a_vicious_provider_gets_pictures_back_and_labels_give_their_class_alone(
    controller: Controller,
) -> None:
    text = scenario(
        "reconstruction",
        data=DATA,
        net={"name": "strided-conv", "width": 0.5},
        schedule={"epochs": 9, "batch": 32, "lr": 0.005},
        providers={
            "honest": {"behaviour": "honest", "target": "digit"},
            "vicious": {
                "behaviour": "vicious",
                "target": "digit",
                "beta": {"c": 1, "r": 3},
                "decoder": {"width": 0.5},
            },
        },
        defences={"none": [], "label-only": ["argmax"], "noisy-sample": [{"gaussian-input": 1.0}]},
        attacks={
            "inside": {"kind": "vicious-decoder"},
            "outside": {
                "kind": "reconstruction",
                "knowledge": "aware",
                "auxiliary": 200,
                "epochs": 12,
                "decoder": {"width": 0.5},
            },
        },
        budgets=[200],
    )
    run = controller.run(text)
    run.check(9, FIGURES)
    data = load(DataSpec.model_validate(DATA))
    digit, users = data.labels["digit"], data.where("test")[:USERS]
    own = data.where("train")
    means = np.stack([data.values[own[digit[own] == each]].mean(axis=0) for each in range(10)])
    class_mean = float(psnr(data.values[users] / 255.0, means[digit[users]] / 255.0).mean())

    def of(provider: str, defence: str, attack: str, metric: str = "psnr") -> float:
        knowledge = "unaware" if attack == "inside" else "aware"
        return value(run.trials[f"{provider}-s0.{defence}.{attack}.{knowledge}.b200"], metric)

    mean = of("vicious", "none", "inside", "psnr_mean")
    assert of("vicious", "none", "inside") > mean + 5.0
    assert of("vicious", "none", "outside") > of("honest", "none", "outside") + 1.0 > mean + 2.0
    assert of("vicious", "none", "inside", "ssim") > 0.85
    for provider, attack in (("vicious", "inside"), ("vicious", "outside"), ("honest", "outside")):
        assert of(provider, "label-only", attack) < class_mean + 0.1
        assert of(provider, "label-only", attack, "bits_capacity") == pytest.approx(np.log2(10))
        assert of(provider, "none", attack, "honesty") > 0.9

    inside, outside = (
        run.trials[f"vicious-s0.none.{attack}.b200"] for attack in ("inside.unaware", "outside.aware")
    )
    assert (inside["victims"], inside["spent"]) == (USERS, USERS)
    assert (outside["victims"], outside["spent"]) == (USERS, 200)
    # What was drawn is compared with what the user had, also where something else left the device.
    for defence in ("none", "noisy-sample"):
        view = run.trials[f"vicious-s0.{defence}.inside.unaware.b200"]["views"]["reconstructions"]
        with Image.open(io.BytesIO(base64.b64decode(view["original"]))) as strip:
            np.testing.assert_array_equal(
                np.asarray(strip), np.concatenate(data.values[users[:10], :, :, 0], axis=1)
            )
    assert mean < of("vicious", "noisy-sample", "outside") < of("vicious", "none", "outside") - 0.5
    view = inside["views"]["reconstructions"]
    assert np.mean(view["psnr"]) > mean + 3.0
    spent = {entry["name"].removeprefix(f"{run.id}."): entry["spent"] for entry in run.results["ledger"]}
    assert spent["attacker.vicious-s0.label-only.q0"] == 200
    assert spent["users.vicious-s0.none.u0"] == USERS
