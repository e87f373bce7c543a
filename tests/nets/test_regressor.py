"""The net that predicts one vector from another begins with nothing, or with a ridge regression."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.linear_model import Ridge

from leakrange.nets.decoder import Regressor


def test_at_first_it_predicts_nothing() -> None:
    assert not Regressor(4, 3)(torch.randn(5, 4)).any()


def test_it_can_begin_as_the_ridge_regression() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(40, 4), torch.randn(40, 3)
    net = Regressor(4, 3)
    net.start_from(x, y, penalty=0.3)
    expected = Ridge(alpha=0.3 * 40, fit_intercept=False).fit(x.numpy(), y.numpy()).predict(x.numpy())
    np.testing.assert_allclose(net(x).detach().numpy(), expected, atol=1e-5)


def test_it_learns_what_is_not_linear() -> None:
    torch.manual_seed(0)
    x = torch.randn(400, 2)
    y = (x[:, :1] * x[:, 1:]).tanh()
    net = Regressor(2, 1)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(200):
        optimiser.zero_grad()
        loss = (net(x) - y).square().mean()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.1 * float(y.var())
