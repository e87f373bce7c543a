"""The assignment of Flower's nodes to devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

__all__ = ["FlowerNode", "seats"]


class FlowerNode(Protocol):
    """Flower's description of a node; it has more fields."""

    node_id: int
    name: str | None


def seats(nodes: Iterable[FlowerNode], devices: int) -> dict[int, int]:
    """The nodes' ids by device number, for the devices below ``devices``.

    A SuperLink names each node by the number of its enrolled device. The nodes of a simulation have no names:
    they are the devices in ascending order of their ids.
    """
    present = sorted(nodes, key=lambda node: node.node_id)
    named = {int(node.name): node.node_id for node in present if node.name}
    numbered = named or dict(enumerate(node.node_id for node in present))
    return {device: node for device, node in numbered.items() if device < devices}
