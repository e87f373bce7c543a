"""What an update does to the features of samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from leakrange.attacks.federation import feature_drifts
from leakrange.metrics.roc import auc
from tests.attacks.federation.conftest import Seen


def test_drifts_are_relative_moves_of_features() -> None:
    net = torch.nn.Linear(2, 2, bias=False)
    sent = {"weight": np.array([[3.0, 0.0], [0.0, 4.0]], np.float32)}
    received = {"weight": np.array([[3.0, 1.0], [0.0, 4.0]], np.float32)}
    found = feature_drifts(net, sent, received, np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], np.float32))
    np.testing.assert_allclose(found, [0.0, 1 / 5, 0.0], atol=1e-6)


def test_an_update_moves_what_it_learned_from_the_most(seen: Callable[..., Seen]) -> None:
    of = seen(3, 3)
    areas = {0: [], 5: []}
    for device in range(5):
        received = of.received(device)
        for further, found in areas.items():
            asked = np.concatenate([of.samples(device + further), of.others])
            scores = feature_drifts(of.devices.extractor, of.sent, received, asked)
            found.append(auc(scores, np.arange(len(asked)) < len(asked) - len(of.others)))
    assert np.mean(areas[0]) >= 0.8
    assert 0.3 <= np.mean(areas[5]) <= 0.7
