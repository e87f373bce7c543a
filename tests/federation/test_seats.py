from __future__ import annotations

from services.federation.seats import Seats


def test_a_node_that_names_its_number_gets_it_and_others_the_lowest_free_ones() -> None:
    seats = Seats(4)
    assert seats.strangers({50, 10, 30}) == [10, 30, 50]
    seats.take({10, 30}, {10: None, 30: None})
    assert not seats.enough
    seats.take({50, 10, 30}, {50: 0})  # it names what the first to come would have been dealt
    seats.deal()
    assert [seats.node(device) for device in range(4)] == [50, 10, 30, None]
    assert seats.strangers({50, 10, 30, 40}) == [40]
    assert not seats.enough
    seats.take({50, 10, 30, 40}, {40: None})
    assert seats.enough
    seats.deal()
    assert seats.node(3) == 40


def test_a_device_stays_with_its_node_and_comes_back_to_it() -> None:
    seats = Seats(3)
    seats.take({10, 20, 30}, {10: None, 20: None, 30: None})
    seats.deal()
    seats.take({10, 30}, {})
    assert [seats.node(device) for device in range(3)] == [10, None, 30]
    assert seats.strangers({10, 20, 30}) == []
    seats.take({10, 20, 30}, {})
    assert seats.node(1) == 20
    assert seats.enough


def test_more_nodes_than_devices_wait_until_one_is_free() -> None:
    seats = Seats(1)
    seats.take({10, 20}, {10: None, 20: None})
    seats.deal()
    assert seats.node(0) == 10
    seats.take({20}, {})
    seats.deal()
    assert seats.node(0) == 20


def test_a_new_node_takes_the_place_of_one_that_is_gone_and_keeps_it() -> None:
    seats = Seats(2)
    seats.take({10, 20}, {10: 0, 20: 1})
    seats.take({10, 99}, {99: 1})
    assert seats.node(1) == 99
    seats.take({10, 20, 99}, {})
    assert seats.node(1) == 99


def test_two_nodes_of_one_number_are_one_device_and_no_number_is_no_device() -> None:
    seats = Seats(2)
    seats.take({10, 20, 30, 40}, {10: 1, 20: 1, 30: -1, 40: 2})
    assert [seats.node(device) for device in range(2)] == [None, 10]
    assert not seats.enough
    seats.take({20, 30, 40}, {})
    assert seats.node(1) == 20
