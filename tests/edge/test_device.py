"""A device by itself: models of its own, without a server, and what it lets out of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import SecretStr

from leakrange.defences.chain import DefenceChain
from leakrange.devices.device import Device
from leakrange.devices.enrolment import Enrolment
from leakrange.providers.inference import outputs
from leakrange.providers.model_file import load_classifier
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import ModelCard
from tests.edge.conftest import KEY
from tests.provider.tiny import CLASSES, SHAPE, save_model

IMAGES = np.random.default_rng(0).integers(0, 256, (6, *SHAPE), dtype=np.uint8)


def enrolled(models_dir: Path, seed: int, version: str, name: str = "model") -> Enrolment:
    """A model of that ``seed`` on the device, under the card that its provider tells of it."""
    content = (models_dir / save_model(models_dir, seed=seed) / "classifier.safetensors").read_bytes()
    classifier, config = load_classifier(content)
    card = ModelCard(
        name=name,
        version=version,
        sha256=version * 64,
        task="digit",
        classes=list(CLASSES),
        input=SampleSpec.picture(*SHAPE),
        releases=["logits", "softmax"],
        default_release="logits",
        features=0,
        max_batch=64,
        parameters=1,
    )
    return Enrolment("http://provider", card, classifier, config, len(content))


@pytest.fixture
async def device() -> AsyncIterator[Device]:
    made = Device(SecretStr(KEY), batch=16)
    yield made
    made.close()


async def released(device: Device, model: Enrolment, *chain: Any) -> NDArray[np.float32]:
    return await device.released(model, "logits", IMAGES, DefenceChain.parse(list(chain)), "upload")


async def test_a_new_version_under_the_same_name_is_pruned_anew(device: Device, models_dir: Path) -> None:
    old, new = enrolled(models_dir, 51, "a"), enrolled(models_dir, 52, "b")
    before = await released(device, old, {"prune": 0.5})
    after = await released(device, new, {"prune": 0.5})
    pruned = DefenceChain.parse([{"prune": 0.5}]).harden(new.classifier)
    np.testing.assert_array_equal(after, outputs(pruned, IMAGES, "logits", batch=16))
    assert np.abs(after - before).max() > 0.01
    np.testing.assert_array_equal(await released(device, old, {"prune": 0.5}), before)


async def test_sticky_noise_of_one_model_says_nothing_of_anothers(device: Device, models_dir: Path) -> None:
    """Whoever serves two models could else take the difference of their outputs, which has no noise in it.

    One net under two cards: what the two releases differ by is the noise.
    """
    first = enrolled(models_dir, 51, "a")
    second = replace(first, card=first.card.model_copy(update={"sha256": "b" * 64}))
    sticky = {"noise": {"scale": 1.0, "sticky": True}}
    noisy, again, other = [await released(device, model, sticky) for model in (first, first, second)]
    np.testing.assert_array_equal(noisy, again)
    assert np.abs(noisy - other).min() > 1e-4


async def test_outputs_are_those_of_the_sample_as_the_input_stage_leaves_it(
    device: Device, models_dir: Path
) -> None:
    model = enrolled(models_dir, 51, "a")
    chain = DefenceChain.parse([{"gaussian-input": 0.3}])
    shown = await device.released(model, "sample", IMAGES, chain, "upload")
    assert np.abs(shown - IMAGES).mean() > 10
    expected = outputs(model.classifier, shown.astype(np.uint8), "logits", batch=16)
    np.testing.assert_array_equal(await device.released(model, "logits", IMAGES, chain, "upload"), expected)
    again = await device.released(model, "sample", IMAGES, chain, "another")
    assert (again != shown).any()
