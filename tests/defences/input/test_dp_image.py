"""DP-Image: noise in the latent space of an autoencoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leakrange.data import Samples, load
from leakrange.defences.artifact import TrainedDefence, defence_bytes
from leakrange.defences.chain import DefenceChain
from leakrange.defences.input.dp_image import DpImage, DpImageParameters
from leakrange.defences.trained import DefenceConfig
from leakrange.defences.training import train_defence
from leakrange.defences.translation import Autoencoder
from leakrange.jobs.recipe import DataSpec, NetSpec
from leakrange.nets.module_file import packed
from leakrange.wire.errors import InvalidArtifact, InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.defences.input.conftest import SPECS

DATA = DataSpec(name="digits", limit=300)


@pytest.fixture(scope="module")
def digits() -> Samples:
    return load(DATA)


def trained(samples: Samples, epsilon: float) -> tuple[DefenceChain, TrainedDefence]:
    link = {
        "private": "parity",
        "useful": "digit",
        "net": "conv-2d",
        "epochs": 8,
        "batch": 40,
        "lr": 0.01,
        "width": 0.5,
    }
    chain, (recipe,) = DefenceChain.parse([{"dp-image": link | {"epsilon": epsilon, "latent": 16}}]).planned(
        DATA, seed=0
    )
    return chain, train_defence(recipe, samples)


def test_the_less_epsilon_the_less_is_left_of_a_picture(digits: Samples) -> None:
    found = {}
    for epsilon in (1.0, 1e4):
        chain, made = trained(digits, epsilon)
        found[epsilon] = made.figures["test"]
        bound = chain.bound(lambda _, made=made: defence_bytes(made))  # type: ignore[misc]
        pictures = digits.values[:40]
        shown = bound.obfuscate(pictures, digits.spec, np.random.default_rng(0))
        assert (shown.shape, shown.dtype) == (pictures.shape, np.uint8)
        assert not chain.deterministic
    assert found[1e4]["distortion"] < 0.6 * found[1.0]["distortion"]
    for figure in ("adversary parity", "accuracy digit"):
        assert found[1e4][figure] > found[1.0][figure] + 0.1
    spread = np.var(digits.values / 127.5, axis=0).mean()
    assert found[1.0]["distortion"] > 0.9 * spread  # as far off as the mean picture


def test_the_noise_is_laplace_noise_of_what_two_latent_vectors_can_differ_by() -> None:
    link = DpImage(DpImageParameters(private="s", epsilon=40.0, latent=8))
    noise = link.noise(4000, SampleSpec.picture(8, 8, 1), np.random.default_rng(0))
    assert noise.shape == (4000, 8)
    assert stats.kstest(noise.ravel(), stats.laplace(scale=2 * 8 / 40.0).cdf).pvalue > 0.01


@given(
    height=st.integers(1, 19),
    breadth=st.integers(1, 19),
    channels=st.sampled_from([1, 3]),
    seed=st.integers(0, 9),
)
def test_pictures_of_any_size_stay_so_and_their_latent_vector_is_bounded(
    height: int, breadth: int, channels: int, seed: int
) -> None:
    spec = SampleSpec.picture(height, breadth, channels)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = Autoencoder(spec, 5, 0.1).eval().requires_grad_(False)
    for parameter in module.parameters():
        parameter.mul_(4.0)
    x = torch.rand(3, channels, height, breadth) * 2 - 1
    assert module.encode(x).abs().max() <= 1.0
    shown = module(x, torch.randn(3, 5) * 100)
    assert shown.shape == x.shape
    assert shown.abs().max() <= 1.0 + 1e-6


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.encoding != "picture"])
def test_other_samples_are_refused(spec: SampleSpec) -> None:
    said = f"dp-image: it takes picture, not {spec.encoding}"
    given = {"private": "s", "epsilon": 1.0}
    config = DefenceConfig(defence="dp-image", parameters=given, net=NetSpec(), input=spec)
    with pytest.raises(InvalidArtifact, match=said):
        DpImage.opened(packed({}, config.model_dump_json(exclude_none=True)))


def test_training_on_other_samples_is_refused() -> None:
    data = DataSpec(name="quadrants", count=200)
    link = {"private": "s", "epsilon": 1.0, "net": "mlp", "batch": 50}
    _, (recipe,) = DefenceChain.parse([{"dp-image": link}]).planned(data, 0)
    with pytest.raises(InvalidInput, match="dp-image: it takes picture, not vector"):
        train_defence(recipe, load(data))
