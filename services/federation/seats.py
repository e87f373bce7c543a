"""Which of Flower's nodes is which device."""

from __future__ import annotations

from collections.abc import Collection, Mapping

__all__ = ["Seats"]


class Seats:
    """A node is one device and stays it: what the device keeps between rounds lies on that node.

    A node may name its number (``partition-id``). To those that name none the free numbers are dealt, which
    they have named from then on. A number is free where no node has it that is still there.
    """

    def __init__(self, devices: int) -> None:
        self.devices = devices
        self._named: dict[int, int | None] = {}
        self._seated: dict[int, int] = {}
        self._unnumbered: list[int] = []

    @property
    def enough(self) -> bool:
        """Whether there is a node for every device, once numbers are dealt."""
        return len(self._seated) + len(self._unnumbered) >= self.devices

    def node(self, device: int) -> int | None:
        """The node that is ``device``, None while there is none."""
        return self._seated.get(device)

    def strangers(self, present: Collection[int]) -> list[int]:
        """Which of the nodes that are there have not been asked yet which device they are, ascending."""
        return sorted(set(present) - self._named.keys())

    def take(self, present: Collection[int], named: Mapping[int, int | None]) -> None:
        """Seat the nodes that are there and name a number; ``named`` are the numbers of those that were
        strangers, None where a node names none."""
        self._named |= named
        self._seated = {device: node for device, node in self._seated.items() if node in present}
        waiting = sorted(set(present) & self._named.keys() - set(self._seated.values()))
        for node in waiting:
            own = self._named[node]
            if own is not None and 0 <= own < self.devices:
                self._seated.setdefault(own, node)
        self._unnumbered = [node for node in waiting if self._named[node] is None]

    def deal(self) -> None:
        """Give the free numbers, from the lowest on, to the nodes that name none."""
        free = [device for device in range(self.devices) if device not in self._seated]
        for node, device in zip(self._unnumbered, free, strict=False):
            self._seated[device], self._named[node] = node, device
        self._unnumbered = self._unnumbered[len(free) :]
