"""What devices do to the parameters that they send: pruning, clipping and noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from leakrange.defences.representation.noised import clipped, pruned
from leakrange.federation.updates import distance
from tests.defences.representation.conftest import Told, link_of

SENT = {
    "weight": np.array([[1.0, -2.0], [0.5, 3.0]], dtype=np.float32),
    "bias": np.array([4.0, -1.0], dtype=np.float32),
    "steps": np.array(7),
}
MOVES = {"weight": [[3.0, 0.0], [0.0, -4.0]], "bias": [12.0, 0.0]}
TRAINED = {
    "weight": SENT["weight"] + np.array(MOVES["weight"], dtype=np.float32),
    "bias": SENT["bias"] + np.array(MOVES["bias"], dtype=np.float32),
    "steps": np.array(9),
}
"""A move of L1 norm 19 and L2 norm 13."""


def test_the_smallest_parameters_of_all_layers_are_not_shared() -> None:
    found = pruned(SENT, 0.5)
    assert found["weight"].tolist() == [[0.0, -2.0], [0.0, 3.0]]
    assert found["bias"].tolist() == [4.0, 0.0]
    assert found["steps"] == 7
    assert {name: array.dtype for name, array in found.items()} == {
        name: array.dtype for name, array in SENT.items()
    }
    assert link_of("compressed", amount=0.5).sent({}, SENT, np.random.default_rng(0)).keys() == SENT.keys()


@pytest.mark.parametrize(("amount", "zeros"), [(0.2, 1), (0.26, 2), (0.9, 5)])
def test_so_many_parameters_are_pruned_as_the_rate_says(amount: float, zeros: int) -> None:
    found = pruned(SENT, amount)
    assert int((found["weight"] == 0).sum() + (found["bias"] == 0).sum()) == zeros


@pytest.mark.parametrize(("order", "clip", "shrunk"), [(2, 6.5, 0.5), (1, 1.9, 0.1), (2, 14.0, 1.0)])
def test_a_move_is_shrunk_to_its_norm_and_never_enlarged(order: int, clip: float, shrunk: float) -> None:
    found = clipped(SENT, TRAINED, clip, order)  # type: ignore[arg-type]
    assert set(found) == set(MOVES)
    for name, move in MOVES.items():
        np.testing.assert_allclose(found[name], shrunk * np.array(move))
    assert clipped(SENT, SENT, clip, order)["bias"].tolist() == [0.0, 0.0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "norm", "deviation"), [("dp-gaussian", 13.0, 1.0), ("dp-laplace", 19.0, np.sqrt(2.0))]
)
def test_noise_has_the_scale_that_was_asked_for(name: str, norm: float, deviation: float) -> None:
    link = link_of(name, clip=norm / 2, noise=0.4)
    rng = np.random.default_rng(0)
    found = [link.sent(SENT, TRAINED, rng) for _ in range(4000)]
    scale = 0.4 * norm / 2 * deviation
    for part, move in MOVES.items():
        drawn = np.stack([each[part] for each in found])
        assert drawn.dtype == np.float32
        middle = SENT[part] + np.array(move) / 2
        np.testing.assert_allclose(drawn.mean(axis=0), middle, atol=4 * scale / np.sqrt(4000))
        np.testing.assert_allclose(drawn.std(axis=0), scale, rtol=0.08)
    assert all(each["steps"] == 7 for each in found), "no integer tells what was done"


def test_laplace_noise_has_the_tails_of_laplace() -> None:
    link = link_of("dp-laplace", clip=1.0, noise=2.0)
    rng = np.random.default_rng(0)
    drawn = np.array([float(link.sent(SENT, SENT, rng)["bias"][0]) - 4.0 for _ in range(8000)])
    assert np.abs(drawn).mean() == pytest.approx(2.0, rel=0.05)
    assert (np.abs(drawn) > 6.0).mean() == pytest.approx(np.exp(-3.0), abs=0.01)


def test_noise_alone_moves_parameters_by_about_its_scale_times_their_root() -> None:
    arrays = {"weight": np.zeros(10_000, dtype=np.float32)}
    link = link_of("dp-gaussian", clip=2.0, noise=0.5)
    assert distance(link.sent(arrays, arrays, np.random.default_rng(0)), arrays) == pytest.approx(
        100, rel=0.03
    )


def test_devices_that_share_too_little_or_with_too_much_noise_learn_nothing(
    learnt: Callable[..., Told],
) -> None:
    kept = {}
    for name, given in {
        "open": {"name": "tappfl", "strength": 0.0},
        "some": {"name": "compressed", "amount": 0.3},
        "little": {"name": "compressed", "amount": 0.99},
        "quiet": {"name": "dp-gaussian", "noise": 0.01},
        "loud": {"name": "dp-gaussian", "noise": 1.0},
    }.items():
        trained, told = learnt(**given)
        kept[name] = trained.figures["test"]["kept_loss"], told["y"]
    ignorant = 2 * np.log(2)  # a critic that says 0 to every pair
    assert all(kept[name][0] < 0.7 * ignorant for name in ("open", "some", "quiet")), kept
    assert kept["little"][0] > 0.65 * ignorant
    assert kept["little"][1] < 0.65
    assert kept["loud"][0] > 0.95 * ignorant
