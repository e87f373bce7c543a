from __future__ import annotations

from dataclasses import dataclass

from leakrange.services.federation.seats import seats


@dataclass
class Node:
    node_id: int
    name: str | None = None


def test_a_node_is_the_device_as_which_it_was_enrolled() -> None:
    assert seats([Node(50, "2"), Node(10, "0"), Node(30, "1")], 3) == {0: 10, 1: 30, 2: 50}
    assert seats([Node(50, "2"), Node(10, "0")], 3) == {0: 10, 2: 50}


def test_a_device_beyond_those_of_the_recipe_has_no_seat() -> None:
    assert seats([Node(50, "2"), Node(10, "1")], 2) == {1: 10}


def test_beside_enrolled_nodes_one_without_a_name_is_no_device() -> None:
    assert seats([Node(5), Node(10, "1")], 2) == {1: 10}


def test_the_nodes_of_a_simulation_are_the_devices_in_the_order_of_their_ids() -> None:
    assert seats([Node(50), Node(10), Node(30, "")], 2) == {0: 10, 1: 30}
