"""The losses of PASS: against NumPy, against finite differences, and what the paper proves about them."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax, xlogy
from torch.autograd import gradcheck

from leakrange.defences.substitutes.bounds import loss_constant
from leakrange.defences.substitutes.net import general_loss, private_loss, substitution, useful_loss
from leakrange.metrics.entropy import joint_entropy

PRIVATE = torch.tensor([0, 2, 2, 0, 2, 1])
USEFUL = torch.tensor([1, 0, 0, 1, 1, 0])
THEIRS = torch.tensor([0, 1, 1, 0, 0])


def embeddings(samples: int = 6, substitutes: int = 5, length: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    drawn = torch.Generator().manual_seed(3)
    return (
        torch.randn(samples, length, generator=drawn, dtype=torch.float64) * 3.0,
        torch.randn(substitutes, length, generator=drawn, dtype=torch.float64),
    )


def test_the_probability_of_a_substitute_is_equation_2() -> None:
    f, g = (each.numpy() for each in embeddings())
    expected = np.empty((len(f), len(g)))
    for i, one in enumerate(f):
        for j, other in enumerate(g):
            expected[i, j] = one @ other / np.linalg.norm(one) / np.linalg.norm(other) / 0.3
    found = substitution(torch.from_numpy(f), torch.from_numpy(g), 0.3).exp().numpy()
    np.testing.assert_allclose(found, softmax(expected, axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_each_term_is_what_its_equation_says() -> None:
    f, g = embeddings()
    log_p = substitution(f, g, 0.3)
    p = log_p.exp().numpy()
    hidden = 0.0
    for label in set(PRIVATE.tolist()):
        members = p[(label == PRIVATE).numpy()]
        mean = members.mean(axis=0)
        hidden += len(members) / len(p) * xlogy(mean, mean).sum()
    assert float(private_loss(log_p, PRIVATE, 4)) == pytest.approx(hidden, rel=1e-12)  # a class is not there
    kept = -math.log(3) * np.mean(
        [np.log(row[(label == THEIRS).numpy()].sum()) for row, label in zip(p, USEFUL, strict=True)]
    )
    assert float(useful_loss(log_p, USEFUL, THEIRS, 3)) == pytest.approx(kept, rel=1e-12)
    assert float(general_loss(log_p)) == pytest.approx(-xlogy(p, p).sum(axis=1).mean(), rel=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_the_gradients_of_each_term_are_right(temperature: float) -> None:
    f, g = (each.requires_grad_() for each in embeddings())
    terms = {
        "private": lambda f, g: private_loss(substitution(f, g, temperature), PRIVATE, 4),
        "useful": lambda f, g: useful_loss(substitution(f, g, temperature), USEFUL, THEIRS, 2),
        "general": lambda f, g: general_loss(substitution(f, g, temperature)),
    }
    for term in terms.values():
        assert gradcheck(term, (f, g))


def test_probabilities_that_are_too_small_for_a_float_have_no_wild_gradients() -> None:
    """At τ = .01 the unlikeliest substitute has e^-200."""
    f = torch.eye(4)[:3].requires_grad_()
    g = torch.cat([torch.eye(4), -torch.eye(4)]).requires_grad_()
    log_p = substitution(f, g, 0.01)
    assert float(log_p.detach().exp().min()) == 0.0
    loss = private_loss(log_p, torch.tensor([0, 1, 1]), 2) + general_loss(log_p)
    (loss + useful_loss(log_p, torch.tensor([0, 0, 1]), torch.arange(8) % 2, 2)).backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(f.grad).all()  # type: ignore[arg-type]
    assert torch.isfinite(g.grad).all()  # type: ignore[arg-type]


def whole(p: np.ndarray, private: list[Any], useful: list[Any], lam: float, mu: float) -> float:
    """L (Eq. 1) in nats, of N samples that are equally likely, by counting everything."""

    def information(labels: np.ndarray | None) -> float:
        drawn = p.mean(axis=0)
        total = -xlogy(drawn, drawn).sum()
        if labels is None:
            return float(total + xlogy(p, p).sum(axis=1).mean())
        for label in np.unique(labels):
            mean = p[labels == label].mean(axis=0)
            total += (labels == label).mean() * xlogy(mean, mean).sum()
        return float(total)

    return (
        sum(information(each) for each in private)
        - lam * sum(information(each) for each in useful)
        - mu * information(None)
    )


def mean_loss(
    log_p: torch.Tensor,
    private: list[Any],
    useful: list[Any],
    theirs: list[Any],
    lam: float,
    mu: float,
    of: int,
) -> float:
    """E[L̂] over all batches of ``of`` samples."""
    total = []
    for batch in combinations(range(len(log_p)), of):
        chosen = torch.tensor(batch)
        loss = mu * general_loss(log_p[chosen])
        for labels in private:
            loss += private_loss(log_p[chosen], torch.from_numpy(labels)[chosen], 1 + int(labels.max()))
        for labels, own in zip(useful, theirs, strict=True):
            classes = 1 + int(labels.max())
            asked = torch.from_numpy(labels)[chosen], torch.from_numpy(own)
            loss += lam * useful_loss(log_p[chosen], *asked, classes)
        total.append(float(loss))
    return float(np.mean(total))


@pytest.mark.parametrize(("mu", "lam"), [(0.0, 0.5), (0.4, 1.0), (2.0, 3.0)])
def test_the_mean_loss_and_the_constant_are_never_below_what_is_to_be_minimised(
    mu: float, lam: float
) -> None:
    """Theorem 4.1, over all batches of 3 of 9 samples, whatever the parameters are."""
    rng = np.random.default_rng(5)
    for scale in (0.02, 0.2, 1.0, 5.0, 30.0):
        log_p = torch.log_softmax(torch.from_numpy(rng.normal(0, scale, (9, 6))), dim=1)
        private = [rng.permutation(np.arange(9) % 2), rng.permutation(np.arange(9) % 3)]
        useful = [rng.permutation(np.arange(9) % 2), rng.permutation(np.arange(9) % 4)]
        theirs = [rng.permutation(np.arange(6) % 2), rng.permutation(np.arange(6) % 4)]
        constant = loss_constant({"a": useful[0], "b": useful[1]}, 2, 6, lam, mu)
        assert constant is not None
        loss = mean_loss(log_p, private, useful, theirs, lam, mu, of=3)
        assert loss + constant >= whole(log_p.exp().numpy(), private, useful, lam, mu)


def test_the_constant_has_a_term_for_each_useful_attribute() -> None:
    """With λ in place of λN, as Eq. 10 prints it, the inequality fails: here are four bits, each of which a
    substitute has right with probability .72."""
    bits = (np.arange(16)[:, None] >> np.arange(4)) & 1
    right = bits[:, None] == bits[None, :]
    p = np.where(right, 0.72, 0.28).prod(axis=2)
    useful, private, lam = list(bits.T), [np.arange(16) % 2 ^ bits.sum(axis=1) % 2], 8.0
    constant = loss_constant(dict(zip("abcd", useful, strict=True)), 1, 16, lam, 0.0)
    assert constant is not None
    assert constant == pytest.approx(math.log(16) - lam * sum(map(joint_entropy, useful)) + 4 * lam)
    loss = mean_loss(torch.from_numpy(p).log(), private, useful, useful, lam, 0.0, of=16)
    found = whole(p, private, useful, lam, 0.0)
    assert loss + constant >= found
    assert loss + (constant - 4 * lam + lam) < found


def test_without_the_condition_of_the_theorem_there_is_no_constant() -> None:
    useful = {"digit": np.arange(6) % 3}
    assert loss_constant(useful, 1, 8, 1.0, 1.01) is None
    assert loss_constant({}, 2, 8, 0.0, 0.0) == pytest.approx(2 * math.log(8))
