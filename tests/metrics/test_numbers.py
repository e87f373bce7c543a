"""Figures are written so that nobody reads more, or less, than was measured."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.metrics import described, numbers
from leakrange.metrics.registry import Unit

SPACE = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.0, "0.0 %"),
        (1.0, "100.0 %"),
        (0.9996, ">99.9 %"),
        (0.9994, "99.9 %"),
        (0.0004, "<0.1 %"),
        (0.57, "57.0 %"),
        (0.1 + 0.2, "30.0 %"),
        (0.9125, "91.2 %"),  # half to even
        (0.9135, "91.4 %"),
    ],
)
def test_percent(value: float | None, shown: str) -> None:
    assert numbers.percent(value) == shown.replace(" ", SPACE)


@given(st.floats(0.0, 1.0))
def test_a_share_is_within_half_a_digit_and_reaches_no_bound_that_was_not_reached(value: float) -> None:
    shown = numbers.share(value)
    if shown[0] in "<>":
        assert shown == ("<0.1" if value < 0.5 else ">99.9")
        assert 0 < value <= 0.0005 or 0.9995 <= value < 1
    else:
        assert abs(Decimal(shown) - Decimal(value) * 100) <= Decimal("0.0500001")
        assert (shown == "100.0") == (value == 1.0)
        assert (shown == "0.0") == (value == 0.0)


def test_a_score_keeps_three_decimals() -> None:
    assert [numbers.score(v) for v in (0.5, 0.9996, 1.0, 0.0001)] == ["0.500", ">0.999", "1.000", "<0.001"]


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0004, "share", "<0.1 %"), (0.742, "score", "0.742"), (1234.0, "count", "1,234"),
        (31.254, "dB", "31.25 dB"), (2.5, "bits", "2.50 bits"), (12345.6, "number", "1.235e+04"),
        (float("inf"), "dB", "–"), (None, "share", "–"),
    ],
)  # fmt: skip
def test_a_figure_is_written_in_its_unit(value: float | None, unit: Unit, shown: str) -> None:
    assert numbers.figure(value, unit) == shown.replace(" ", SPACE)


def test_differences_say_their_direction_in_words() -> None:
    assert numbers.compared(0.0123, "it") == f"1.2{SPACE}points above it"
    assert numbers.compared(-0.0123, "it") == f"1.2{SPACE}points below it"
    assert numbers.compared(0.0002, "it") == f"less than 0.1{SPACE}points above it"
    assert numbers.compared(0.0, "it") == "as high as it"
    assert numbers.compared(0.125, "it", "score") == "0.125 above it"
    assert [numbers.signed(v) for v in (0.012, -0.012, 0.0, 0.0001)] == ["+1.2", "−1.2", "0.0", "+0.0"]


def test_intervals_are_cut_at_the_scale() -> None:
    assert numbers.interval((-0.2, 1.3), "share") == "0.0 to 100.0"
    assert numbers.interval((0.25, 0.75), "score") == "0.250 to 0.750"
    assert numbers.interval((-1.5, 31.0), "dB") == "-1.50 to 31.00"
    beyond = described("beyond_imputation")  # a difference of two AUCs
    assert numbers.interval((-0.144, -0.012), beyond.unit, beyond.lowest) == "-0.144 to -0.012"
    assert numbers.interval(None, "share") == ""


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "–"), (0.04, "0.0 s"), (13.37, "13.4 s"), (192.4, "3 min 12 s"), (7380.0, "2 h 3 min")],
)
def test_durations(seconds: float | None, shown: str) -> None:
    assert numbers.duration(seconds).replace(SPACE, " ") == shown


@pytest.mark.parametrize(
    ("ended", "left"),
    [(0, ""), (4, ""), (5, "about 9 min 30 s left"), (75, "about 10.0 s left"), (100, ""), (101, "")],
)
def test_the_time_left_is_told_once_a_twentieth_has_ended(ended: int, left: str) -> None:
    assert numbers.time_left(30.0, ended, 100).replace(SPACE, " ") == left
