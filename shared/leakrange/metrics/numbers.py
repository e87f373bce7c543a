"""Text of figures: rounded half to even, and never to a bound that was not reached.

A share of 0.9996 is not "100 %" and one of 0.0004 is not "0 %": they read ">99.9 %" and "<0.1 %". A figure
that was not measured reads "–", and one with too little data to measure it "not measurable".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal

from leakrange.metrics.registry import BOUNDED, Metric, Unit

__all__ = [
    "MISSING",
    "NOT_MEASURABLE",
    "SPACE",
    "bare",
    "between",
    "compared",
    "count",
    "deviation",
    "difference",
    "duration",
    "figure",
    "interval",
    "joined",
    "percent",
    "points",
    "score",
    "share",
    "signed",
    "time_left",
    "titled",
    "utc",
]

MISSING = "–"
NOT_MEASURABLE = "not measurable"
SPACE = "\N{NO-BREAK SPACE}"
EARLY = 0.05
"""The share of some work before which nothing is said of how long the rest takes."""


def _rounded(value: float, scale: int, places: int) -> Decimal:
    """``value`` × ``scale`` to ``places`` decimals, from the shortest decimal that is ``value``."""
    return (Decimal(repr(value)) * scale).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN)


def _bounded(value: float, scale: int, places: int) -> str:
    if not math.isfinite(value):
        return MISSING
    shown, step = _rounded(value, scale, places), Decimal(1).scaleb(-places)
    if value < 1 and shown >= scale:
        return f">{scale - step}"
    if value > 0 and shown <= 0:
        return f"<{step}"
    return str(abs(shown) if shown == 0 else shown)


def share(value: float | None) -> str:
    """A share of 1 in percent with one decimal, without the sign: 0.981 → "98.1"."""
    return MISSING if value is None else _bounded(value, 100, 1)


def percent(value: float | None) -> str:
    """A share of 1 in percent with one decimal: 0.981 → "98.1 %", 0.9996 → ">99.9 %"."""
    shown = share(value)
    return shown if shown == MISSING else shown + SPACE + "%"


def score(value: float | None) -> str:
    """A figure between 0 and 1, such as an AUC, with three decimals: 0.9996 → ">0.999"."""
    return MISSING if value is None else _bounded(value, 1, 3)


def bare(value: float | None, unit: Unit) -> str:
    """A value without its unit, for columns whose heading names the unit."""
    if value is None or not math.isfinite(value):
        return MISSING
    if unit in BOUNDED:
        return share(value) if unit == "share" else score(value)
    if unit == "count":
        return f"{_rounded(value, 1, 0):,}"
    return f"{value:.4g}" if unit == "number" else str(_rounded(value, 1, 2))


def figure(value: float | None, unit: Unit) -> str:
    """A value with its unit: "98.1 %", "0.742", "31.25 dB"."""
    shown = bare(value, unit)
    name = {"share": "%", "dB": "dB", "bits": "bits"}.get(unit, "")
    return shown + SPACE + name if name and shown != MISSING else shown


def titled(metric: Metric, value: float | None) -> str:
    """A value of a metric with its title: "curiosity 93.1 %"."""
    return f"{metric.title} {figure(value, metric.unit)}"


def deviation(value: float | None, unit: Unit) -> str:
    """A sample deviation with its sign, in percentage points or as it stands: "± 0.4"; "" for none."""
    return "" if value is None else "±" + SPACE + bare(value, unit)


def interval(bounds: tuple[float, float] | None, unit: Unit, lowest: float = 0.0) -> str:
    """A 95 % interval: "95.1 to 98.9"; "" where there is none. Shares and scores are cut at ``lowest`` and 1,
    which they cannot leave."""
    if bounds is None:
        return ""
    low, high = bounds
    if unit in BOUNDED:
        low, high = max(lowest, low), min(1.0, high)
    return f"{bare(low, unit)} to {bare(high, unit)}"


def between(ends: Sequence[float]) -> str:
    """Values of any sign with three decimals: (−0.031, 0.07) → "−0.031 to 0.070"."""
    return " to ".join(f"{end:.3f}".replace("-", "\N{MINUS SIGN}") for end in ends)


def points(difference: float) -> str:
    """A difference of two shares in percentage points, without its direction: −0.0123 → "1.2 points".

    A difference that is not 0 but smaller than the last digit is "less than 0.1 points".
    """
    shown = abs(_rounded(difference, 100, 1))
    if shown == 0 and difference != 0:
        return f"less than 0.1{SPACE}points"
    return f"{shown}{SPACE}points"


def signed(difference: float) -> str:
    """A difference of two shares in points, as a number with its sign: −0.0123 → "−1.2"."""
    sign = "" if difference == 0 else "+" if difference > 0 else "\N{MINUS SIGN}"
    return f"{sign}{abs(_rounded(difference, 100, 1))}"


def difference(value: float, unit: Unit) -> str:
    """A difference in that unit without its direction: of shares in points, of others in the unit itself."""
    return points(value) if unit == "share" else figure(abs(value), unit)


def compared(value: float, reference: str, unit: Unit = "share") -> str:
    """A difference to a ``reference`` in words: "1.2 points above the majority class", "as high as the honest
    provider's"."""
    if value == 0:
        return f"as high as {reference}"
    return f"{difference(value, unit)} {'above' if value > 0 else 'below'} {reference}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``number`` with its noun: "1 trial", "2 trials"."""
    return f"{number:,}{SPACE}{noun if number == 1 else plural or noun + 's'}"


def joined(parts: Sequence[str]) -> str:
    """Several parts as one: "a, b and c"; "" for none."""
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def duration(seconds: float | None) -> str:
    """Seconds in words: 192.4 → "3 min 12 s"."""
    if seconds is None:
        return MISSING
    if seconds < 60:
        return f"{_rounded(seconds, 1, 1)}{SPACE}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        (f"{hours}{SPACE}h " if hours else "")
        + f"{minutes}{SPACE}min"
        + ("" if hours else f" {rest}{SPACE}s")
    )


def time_left(seconds: float, ended: int, total: int) -> str:
    """The time that the rest of some work takes if it goes on as it did for ``seconds``, in words: "about
    2 min left". "" before a twentieth of it has ended, and where nothing is left."""
    if ended >= total or ended < EARLY * total:
        return ""
    return f"about {duration(max(seconds * (total - ended) / ended, 1.0))} left"


def utc(time: str) -> str:
    """A time in ISO 8601, to the minute."""
    return f"{datetime.fromisoformat(time).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
