"""A device's part of a federation, as a driver sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from leakrange.federation.updates import Arrays, Update

__all__ = ["DeviceLearner"]


class DeviceLearner(Protocol):
    """Trains for any devices of a federation. It holds nothing of them from one call to the next."""

    def initial(self) -> Arrays:
        """The shared parameters before the first round; the same each time."""
        ...

    def train(
        self,
        shared: Arrays,
        states: Mapping[int, Arrays | None],
        number: int,
        after: Callable[[float], None] | None = None,
    ) -> dict[int, tuple[Update, Arrays]]:
        """Train some devices from the ``shared`` parameters in the round of that ``number``.

        ``states`` are, by device number, the arrays that each device alone has kept of the last round in
        which it trained, None in its first; its new state is returned beside its update. The result of a
        device depends on its own state, the other arguments and the recipe; not on the other devices, except
        for the rounding of sums. ``after`` is called now and then with the share of the devices that are
        done.
        """
        ...
