"""A federation in one process: the devices train together. For studies on one machine."""

from __future__ import annotations

import time
from collections.abc import Callable

from leakrange.federation.learner import DeviceLearner
from leakrange.federation.rounds import Rounds
from leakrange.federation.secure import close_secretly
from leakrange.federation.updates import Arrays

__all__ = ["States", "one_round"]

States = dict[int, Arrays]
"""State that each device has kept, by its number."""


def one_round(
    rounds: Rounds,
    learner: DeviceLearner,
    states: States,
    after: Callable[[float], None] | None = None,
) -> dict[str, float]:
    """Run the next round, and return its entry of the history, with its ``seconds``. ``states`` are the
    devices' states, and are changed. ``after`` is called with the share of the devices that are done."""
    began = time.perf_counter()
    before = {device: states.get(device) for device in rounds.training()}
    trained = learner.train(rounds.shared, before, rounds.number, after)
    states.update({device: state for device, (_, state) in trained.items()})
    updates = [trained[device][0] for device in rounds.chosen()]
    close = close_secretly if rounds.federation.secure else Rounds.close
    entry = close(rounds, updates)
    entry["seconds"] = time.perf_counter() - began
    return entry
