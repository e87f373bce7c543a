"""Which of Flower's nodes is which device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

__all__ = ["Node", "seats"]


class Node(Protocol):
    """What Flower tells of a node; it has more fields."""

    node_id: int
    name: str | None


def seats(nodes: Iterable[Node], devices: int) -> dict[int, int]:
    """The nodes' ids by the numbers, below ``devices``, of the devices that they are.

    A SuperLink names each node by the number of its device, as which it was enrolled. The nodes of a
    simulation have no names: they are the devices in ascending order of their ids.
    """
    present = sorted(nodes, key=lambda node: node.node_id)
    named = {int(node.name): node.node_id for node in present if node.name}
    numbered = named or dict(enumerate(node.node_id for node in present))
    return {device: node for device, node in numbered.items() if device < devices}
