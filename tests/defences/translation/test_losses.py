"""The losses of translators, against NumPy and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import entropy as scipy_entropy
from torch.autograd import gradcheck

from leakrange.defences.translation import (
    divergence,
    entropy,
    evasion,
    info_nce,
    information,
    masked,
    nt_xent,
)

LABELS = torch.tensor([0, 2, 2, 1, 0])
PRIOR = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)


def drawn(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2.0


def test_what_an_adversary_knows_is_its_divergence_from_the_prior() -> None:
    logits = drawn(5, 3)
    expected = scipy_entropy(softmax(logits.numpy(), axis=1), PRIOR.numpy()[None], axis=1).mean()
    assert float(divergence(logits, PRIOR)) == pytest.approx(expected)
    assert float(divergence(PRIOR.log().expand(5, 3), PRIOR)) == pytest.approx(0.0, abs=1e-12)
    assert gradcheck(lambda x: divergence(x, PRIOR), (logits.requires_grad_(),))


def test_information_is_entropy_less_cross_entropy() -> None:
    logits = drawn(5, 3)
    assert float(entropy(PRIOR)) == pytest.approx(scipy_entropy(PRIOR.numpy()))
    crossed = -log_softmax(logits.numpy(), axis=1)[np.arange(5), LABELS.numpy()].mean()
    found = float(information(logits, LABELS, PRIOR))
    assert found == pytest.approx(scipy_entropy(PRIOR.numpy()) - crossed)
    assert found < float(information(50.0 * torch.eye(3)[LABELS].double(), LABELS, PRIOR))


def test_evasion_is_least_where_the_adversary_errs_without_being_sure() -> None:
    logits = drawn(5, 3)
    p = softmax(logits.numpy(), axis=1)
    right = p[np.arange(5), LABELS.numpy()]
    expected = -(np.log(1 - right) + np.log(1 - p.max(axis=1))).mean()
    assert float(evasion(logits, LABELS)) == pytest.approx(expected)
    doubt = float(evasion(torch.zeros(5, 3), LABELS))
    assert doubt == pytest.approx(2 * math.log(3 / 2))
    for sure in (LABELS, (LABELS + 1) % 3):
        assert float(evasion(20.0 * torch.eye(3)[sure], LABELS)) > doubt


def test_info_nce_finds_each_sample_among_those_of_the_other_kind() -> None:
    one, other = drawn(4, 3), drawn(4, 3, seed=2)
    a, b = (each.numpy() / np.linalg.norm(each, axis=1, keepdims=True) for each in (one, other))
    total = 0.0
    for x, y in ((a, b), (b, a)):
        for i in range(4):
            total -= x[i] @ y[i] / 0.3 - logsumexp([x[i] @ y[j] / 0.3 for j in range(4)])
    assert float(info_nce(one, other, 0.3)) == pytest.approx(total / 8)
    assert float(info_nce(torch.ones(4, 3), other.float() * 0 + 1, 0.3)) == pytest.approx(math.log(4))


def test_nt_xent_finds_the_other_view_among_all_the_rest() -> None:
    one, other = drawn(4, 3), drawn(4, 3, seed=2)
    both = np.concatenate([one.numpy(), other.numpy()])
    both /= np.linalg.norm(both, axis=1, keepdims=True)
    total = 0.0
    for i in range(8):
        among = [both[i] @ both[j] / 0.3 for j in range(8) if j != i]
        total -= both[i] @ both[(i + 4) % 8] / 0.3 - logsumexp(among)
    assert float(nt_xent(one, other, 0.3)) == pytest.approx(total / 8)
    assert gradcheck(lambda x: nt_xent(x, other, 0.3), (one.requires_grad_(),))


@pytest.mark.parametrize("shape", [(400, 3, 4, 4), (400, 2, 12), (400, 30)])
def test_a_view_lacks_a_share_of_the_places_in_all_channels(shape: tuple[int, ...]) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        kept = masked(torch.ones(shape), 0.25) == 1.0
    assert float(kept.float().mean()) == pytest.approx(0.75, abs=0.02)
    if len(shape) > 2:
        assert (kept == kept[:, :1]).all()
