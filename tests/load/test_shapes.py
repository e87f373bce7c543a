"""How many users ask at a time."""

from typing import get_args

from leakrange.load.shapes import SHAPES
from leakrange.scenario.load import Shape


def users(kind: str, times: list[float], peak: int = 20, **parameters: float) -> list[int]:
    shape = Shape.model_validate({"kind": kind, "seconds": 10, **parameters})
    return [SHAPES[kind](shape, at, peak) for at in times]


def test_every_shape_that_a_scenario_can_name_is_there() -> None:
    assert set(SHAPES) == set(get_args(Shape.model_fields["kind"].annotation))


def test_a_ramp_goes_from_one_to_all_and_stays() -> None:
    found = users("ramp", [0, 2.5, 5, 10, 500])
    assert found[0] == 1
    assert found == sorted(found)
    assert 8 <= found[2] <= 12
    assert found[3:] == [20, 20]


def test_a_spike_has_all_users_for_its_time_alone() -> None:
    assert users("spike", [0, 9.9, 10, 19.9, 20, 90], base=0.3) == [6, 6, 20, 20, 6, 6]
    assert users("spike", [0], peak=2, base=0.1) == [1]


def test_a_soak_has_all_users_at_once() -> None:
    assert users("soak", [0, 0.1, 1000]) == [20, 20, 20]
