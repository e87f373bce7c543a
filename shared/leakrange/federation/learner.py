"""A device's part of a federation, as a driver sees it."""

from __future__ import annotations

from typing import Protocol

from leakrange.federation.updates import Arrays, Update

__all__ = ["Learner"]


class Learner(Protocol):
    """Trains for any device of a federation. It holds nothing of one device when it trains for the next."""

    def initial(self) -> Arrays:
        """The shared parameters before the first round; the same each time."""
        ...

    def train(self, shared: Arrays, state: Arrays | None, device: int, number: int) -> tuple[Update, Arrays]:
        """What ``device`` makes of the ``shared`` parameters in the round of that ``number``.

        ``state`` is what the device alone has kept of the last round in which it took part, None in its
        first; what it is to keep now is given back beside the update. The result depends on these arguments
        and the recipe alone.
        """
        ...
