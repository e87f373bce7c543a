"""Which of Flower's nodes is which device."""

from __future__ import annotations

from collections.abc import Collection, Mapping

__all__ = ["Seats"]


class Seats:
    """A node is one device and stays it: what the device keeps between rounds lies on that node.

    A node may name its number (``partition-id``); one that does not takes the lowest free one, which it names
    from then on. A number is free where no node has it that is still there.
    """

    def __init__(self, devices: int) -> None:
        self.devices = devices
        self._named: dict[int, int | None] = {}
        self._seated: dict[int, int] = {}

    @property
    def full(self) -> bool:
        """Whether every device has its node."""
        return len(self._seated) == self.devices

    def node(self, device: int) -> int | None:
        """The node that is ``device``, None while there is none."""
        return self._seated.get(device)

    def strangers(self, present: Collection[int]) -> list[int]:
        """Which of the nodes that are there have not been asked yet which device they are, ascending."""
        return sorted(set(present) - self._named.keys())

    def take(self, present: Collection[int], named: Mapping[int, int | None]) -> None:
        """Seat the nodes that are there; ``named`` are the numbers of those that were strangers, None where a
        node has none."""
        self._named |= named
        self._seated = {device: node for device, node in self._seated.items() if node in present}
        waiting = sorted(set(present) & self._named.keys() - set(self._seated.values()))
        for node in waiting:
            own = self._named[node]
            if own is not None and 0 <= own < self.devices:
                self._seated.setdefault(own, node)
        free = [device for device in range(self.devices) if device not in self._seated]
        unnumbered = [node for node in waiting if self._named[node] is None]
        for node, device in zip(unnumbered, free, strict=False):
            self._seated[device], self._named[node] = node, device
