"""What load users saw, put together."""

import numpy as np
import pytest

from leakrange.scenario.under_load import Loaded, LoadPart, Measured


def test_quantiles_are_those_of_the_single_times() -> None:
    draw = np.random.default_rng(4)
    times = draw.integers(3, 400, 1001)
    values, counts = np.unique(times, return_counts=True)
    line = Measured(
        defence="none",
        user="membership",
        answered=1001,
        milliseconds=dict(zip(values.tolist(), counts.tolist(), strict=True)),
    )
    for share in (0.5, 0.99):
        exact = np.quantile(times, share, method="inverted_cdf")
        assert line.quantile(share) == exact
    assert Measured(defence="none", user="honest").quantile(0.5) is None


def test_load_tests_of_one_run_are_added_up_by_defence_and_honest_users_left_out() -> None:
    def part(**counts: int) -> LoadPart:
        lines = [
            Measured(defence="none", user="membership", milliseconds={10: counts["answered"]}, **counts),
            Measured(defence="none", user="honest", answered=1000, milliseconds={500: 1000}),
            Measured(defence="rounded", user="membership", answered=2, milliseconds={30: 2}),
        ]
        return LoadPart(seconds=5, measured=lines)

    load = Loaded(spec={}, parts={"a": part(answered=7, refused=2), "b": part(answered=3, failed=1)})
    none, rounded = load.by_defence
    assert (none.answered, none.refused, none.failed, none.asked) == (10, 2, 1, 13)
    assert none.milliseconds == {10: 10}
    assert (rounded.defence, rounded.answered) == ("rounded", 4)
    assert load.seconds == 10


def test_where_only_honest_users_asked_theirs_are_shown() -> None:
    lines = [Measured(defence="none", user="honest", answered=3, milliseconds={5: 3})]
    assert Loaded(spec={}, parts={"a": LoadPart(measured=lines)}).by_defence[0].answered == 3


def test_counts_are_not_negative() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        Measured(defence="none", user="honest", answered=-1)
