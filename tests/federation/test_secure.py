"""Rounds whose server sees sums alone, against rounds of plain updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.federation import secure
from leakrange.federation.in_process import States, one_round
from leakrange.federation.rounds import Rounds
from leakrange.federation.secure import BITS, Masked, close_secretly, masked
from leakrange.federation.settings import Federation
from leakrange.federation.updates import Arrays, Lost, Update
from leakrange.wire.errors import Conflict

PLAIN = Federation(devices=5, share=0.8, rounds=3, pretraining=0, most_norm=50.0)
SECURE = PLAIN.model_copy(update={"secure": True})
SHARED = {"w": np.zeros((2, 3), np.float32), "b": np.ones(2, np.float32), "steps": np.array(4)}


class Drawn:
    """A learner whose updates are drawn."""

    def initial(self) -> Arrays:
        return SHARED

    def train(
        self,
        shared: Arrays,
        states: Mapping[int, Arrays | None],
        number: int,
        after: Callable[[float], None] | None = None,  # noqa: ARG002
    ) -> dict[int, tuple[Update, Arrays]]:
        return {device: (drawn(shared, device, number), {}) for device in states}


def drawn(shared: Arrays, device: int, number: int) -> Update:
    draw = np.random.default_rng([device, number])
    found = {
        name: (array + draw.normal(size=array.shape)).astype(array.dtype) if array.ndim else array + 1
        for name, array in shared.items()
    }
    return Update(device, 3 + 7 * device, found, {"loss": float(draw.random())})


def some(count: int) -> list[Update | Lost]:
    return [drawn(SHARED, device, 0) for device in range(count)]


def test_a_secure_federation_learns_what_a_plain_one_does() -> None:
    plain, secure = Rounds(PLAIN, SHARED, 0), Rounds(SECURE, SHARED, 0)
    for _ in range(3):
        told = one_round(plain, Drawn(), States()), one_round(secure, Drawn(), States())
        assert told[1]["summed"] == told[1]["accepted"] == told[0]["accepted"] == 4
        assert told[1]["loss"] == pytest.approx(told[0]["loss"], abs=4 * 2.0**-BITS)
        assert "summed" not in told[0]
    for name, wanted in plain.shared.items():
        assert secure.shared[name].dtype == wanted.dtype
        np.testing.assert_allclose(secure.shared[name], wanted, rtol=1e-6, atol=1e-6)
    assert secure.shared["steps"] == 7


def test_no_round_is_masked_as_another_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who knows a pair's secret reads both: each is drawn anew, also for the same updates again."""
    sent: list[dict[int, NDArray[np.generic]]] = []

    def watched(words: NDArray[np.uint64], device: int, seeds: Mapping[int, bytes]) -> Masked:
        found = masked(words, device, seeds)
        sent[-1][device] = found.words
        return found

    monkeypatch.setattr(secure, "masked", watched)
    for _ in range(2):
        sent.append({})
        close_secretly(Rounds(SECURE, SHARED, 0), some(4))
    assert sorted(sent[0]) == [0, 1, 2, 3]
    for device, words in sent[0].items():
        assert (words != sent[1][device]).all()


def test_lost_devices_count_for_nothing() -> None:
    answers = some(4)
    broken = Update(4, 9, {**SHARED, "b": np.array([np.nan, 0], np.float32)}, {"loss": 1.0})
    plain, secure = Rounds(PLAIN, SHARED, 0), Rounds(SECURE, SHARED, 0)
    gone = [Lost(5, "no answer"), broken]
    wanted = plain.close([*answers, *gone])
    found = close_secretly(secure, [*gone, *answers])
    assert (found["accepted"], found["lost"], found["refused"]) == (4, 2, 0)
    assert wanted["accepted"] == 4
    np.testing.assert_allclose(secure.shared["w"], plain.shared["w"], rtol=1e-6, atol=1e-6)
    reasons = {each["device"]: each["reason"] for each in secure.left_out}
    assert reasons[5] == "no answer"
    assert "not finite" in reasons[4]


def test_a_sum_is_refused_as_a_whole() -> None:
    answers = some(3)
    far = Update(3, 1000, {**SHARED, "w": np.full((2, 3), 90.0, np.float32)}, {"loss": 1.0})
    secure = Rounds(SECURE, SHARED, 0)
    found = close_secretly(secure, [*answers, far])
    assert (found["accepted"], found["refused"], found["summed"]) == (0, 4, 4)
    assert {each["device"] for each in secure.left_out} == {0, 1, 2, 3}
    assert all("of the mean of 4: it moved" in each["reason"] for each in secure.left_out)
    assert secure.shared is SHARED
    # what a plain server tells apart
    plain = Rounds(PLAIN, SHARED, 0)
    assert plain.close([*answers, far])["refused"] == 1


def test_a_single_survivor_is_not_told_apart() -> None:
    secure = Rounds(SECURE, SHARED, 0)
    found = close_secretly(secure, [some(1)[0], Lost(1, "gone"), Lost(2, "gone")])
    assert (found["accepted"], found["lost"], found["summed"]) == (0, 3, 0)
    assert secure.shared is SHARED
    assert "fewer than 2" in secure.left_out[-1]["reason"]
    with pytest.raises(ValidationError, match="two or more"):
        Federation(devices=10, share=0.1, secure=True)


def test_single_updates_of_a_secure_federation_are_not_taken() -> None:
    secure = Rounds(SECURE, SHARED, 0)
    with pytest.raises(Conflict, match="one by one"):
        secure.close(some(4))
    assert secure.number == 0
    assert secure.shared is SHARED


def test_the_default_names_no_new_recipes() -> None:
    assert "secure" not in Federation().model_dump(exclude_defaults=True)
    assert Federation(secure=True).model_dump(exclude_defaults=True) == {"secure": True}
