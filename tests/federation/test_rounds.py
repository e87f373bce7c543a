from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakrange.federation.rounds import Rounds
from leakrange.federation.settings import Federation
from leakrange.federation.updates import Lost, Update

FEDERATION = Federation(devices=20, share=0.3, rounds=3, pretraining=1, most_norm=10.0)


def rounds(seed: int = 5) -> Rounds:
    return Rounds(FEDERATION, {"w": np.zeros(4, np.float32)}, seed)


def update(device: int, value: float, samples: int = 1, **figures: float) -> Update:
    return Update(device, samples, {"w": np.full(4, value, np.float32)}, figures)


def participants(seed: int) -> list[list[int]]:
    own = rounds(seed)
    drawn = []
    while not own.over:
        drawn.append(own.chosen())
        own.close([])
    return drawn


def test_a_seed_draws_the_same_devices_again_and_others_in_each_round() -> None:
    drawn = participants(5)
    assert drawn == participants(5)
    assert drawn != participants(6)
    assert len(drawn) == 4  # one of pretraining
    assert len({tuple(each) for each in drawn}) == 4
    for each in drawn:
        assert len(set(each)) == 6  # 0.3 of 20
        assert each == sorted(each)
        assert set(each) <= set(range(20))


def test_who_takes_part_does_not_depend_on_who_answered() -> None:
    own = rounds()
    own.close([update(device, 1.0) for device in own.chosen()])
    assert own.chosen() == participants(5)[1]


def test_every_device_has_its_turn_as_often_as_any_other() -> None:
    federation = Federation(devices=20, share=0.3, rounds=1_000, pretraining=0)
    own = Rounds(federation, {}, 0)
    turns = np.zeros(20)
    while not own.over:
        turns[own.chosen()] += 1
        own.close([])
    assert turns.min() > 300 - 5 * 14.5  # binomial: mean 300, standard deviation 14.5
    assert turns.max() < 300 + 5 * 14.5


def test_turns_are_those_of_past_rounds() -> None:
    own = rounds()
    assert own.turns() == [0] * 20
    past = [own.chosen()]
    own.close([])
    past.append(own.chosen())
    own.close([])
    assert own.turns() == [sum(device in each for each in past) for device in range(20)]


def test_a_round_averages_what_it_accepts_and_counts_the_rest() -> None:
    own = rounds()
    entry = own.close(
        [
            update(9, 1.0, samples=1, loss=4.0),
            Lost(2, "no answer within 5 s"),
            update(7, float("nan")),
            update(4, 3.0, samples=3, loss=8.0),
            update(1, 1e6),
        ]
    )
    np.testing.assert_array_equal(own.shared["w"], np.full(4, 2.5, np.float32))
    assert entry == {"epoch": 1.0, "accepted": 2.0, "refused": 2.0, "lost": 1.0, "loss": 7.0}
    assert own.history == [entry]
    told: list[Any] = [(each["round"], each["device"], each["kind"]) for each in own.left_out]
    assert told == [(1, 1, "refused"), (1, 2, "lost"), (1, 7, "refused")]
    assert "not finite" in own.left_out[2]["reason"]
    assert own.left_out[1]["reason"] == "no answer within 5 s"


@pytest.mark.parametrize(
    "answers",
    [[], [Lost(3, "gone")], [update(3, float("inf")), update(4, 1.0, samples=0), Lost(5, "gone")]],
    ids=["nobody", "lost", "garbage"],
)
def test_a_round_without_a_good_update_leaves_the_parameters(answers: list[Update | Lost]) -> None:
    own = rounds()
    own.close([update(0, 2.0)])
    entry = own.close(answers)
    np.testing.assert_array_equal(own.shared["w"], np.full(4, 2.0, np.float32))
    assert entry["accepted"] == 0
    assert entry["refused"] + entry["lost"] == len(answers)
    assert own.number == 2
    assert not own.over


def test_a_device_counts_for_no_more_samples_than_it_has() -> None:
    own = Rounds(FEDERATION, {"w": np.zeros(4, np.float32)}, 5, samples=[3] * 20)
    entry = own.close([update(0, 1.0, samples=3), update(1, 5.0, samples=4)])
    assert (entry["accepted"], entry["refused"]) == (1, 1)
    np.testing.assert_array_equal(own.shared["w"], np.ones(4, np.float32))


def test_of_a_reason_as_much_is_kept_as_people_read() -> None:
    own = rounds()
    named = Update(3, 1, {"x" * 10**6: np.zeros(4, np.float32)})
    own.close([named, Lost(4, "y" * 10**6)])
    assert [len(each["reason"]) for each in own.left_out] == [300, 300]
