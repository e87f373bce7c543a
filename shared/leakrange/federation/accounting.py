"""Privacy of noised updates: ε for a given δ, by Google's accountants (``dp-accounting``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

__all__ = ["DELTA", "Noise", "epsilon", "noise_of_a_mean"]

Noise = Literal["gaussian", "laplace"]

DELTA = 1e-5
STEP = 1e-4
"""Step of the grid of privacy losses, for Laplace noise; wider where losses are large."""
SAMPLED = 500.0
"""Loss from which on sampling is not counted: it lowers losses by log(share), and their exponents
overflow."""


def epsilon(noise: Noise, ratio: float, releases: int, share: float = 1.0, delta: float = DELTA) -> float:
    """The ε for which so many ``releases`` together are (ε, ``delta``)-differentially private.

    ``ratio`` > 0 is the scale of the noise over the largest move that it has to hide: the standard deviation
    over an L2 distance for "gaussian", b over an L1 distance for "laplace". With a ``share`` below 1 each
    release is of a Poisson sample of the devices. Gaussian noise is accounted for by Rényi divergences
    (Mironov 2017; Mironov, Talwar and Zhang 2019), Laplace noise by privacy loss distributions (Koskela et
    al. 2020), since Rényi accountants know no samples of it, or by the sum of its releases' own ε, whichever
    is less. Both are upper bounds. 0 without releases; ``math.inf`` where sampled releases have next to no
    Gaussian noise.
    """
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant
    from dp_accounting.rdp.rdp_privacy_accountant import DEFAULT_RDP_ORDERS

    if not releases:
        return 0.0
    sampled = share < 1.0 and 1.0 / ratio < SAMPLED
    if noise == "gaussian":
        orders = [order for order in DEFAULT_RDP_ORDERS if order >= 2 or not sampled]
        event, accountant = dp_event.GaussianDpEvent(ratio), RdpAccountant(orders)
    else:
        event = dp_event.LaplaceDpEvent(ratio)
        accountant = PLDAccountant(value_discretization_interval=STEP * max(1.0, 1.0 / ratio))
    if sampled:
        event = dp_event.PoissonSampledDpEvent(share, event)
    accountant.compose(event, releases)
    bound = float(accountant.get_epsilon(delta))
    return bound if noise == "gaussian" else min(bound, releases / ratio)


def noise_of_a_mean(noise: Noise, ratio: float, samples: Sequence[int], participants: int) -> float:
    """The ``ratio`` of a federated mean, each of whose ``participants`` has added noise of that ``ratio``,
    for the device that it hides worst.

    Updates are weighed by the devices' ``samples``. For Gaussian noise, the noise of all participants hides a
    device: ratio · √(Σ w²) / w, least for the largest device among the smallest ones. The sum of Laplace
    noise is not Laplace; for it only a device's own noise counts.
    """
    if noise == "laplace":
        return ratio
    ordered = sorted(samples)
    largest, others = ordered[-1], ordered[: participants - 1]
    return ratio * math.sqrt(largest**2 + sum(each**2 for each in others)) / largest
