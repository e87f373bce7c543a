"""Limits on the size of a scenario's plan. Everything is counted before it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span, Split
from leakrange.scenario.document import AttackSpec, Head
from leakrange.scenario.mistakes import Mistakes, Path

__all__ = [
    "MAX_AT_ONCE",
    "MAX_MODELS",
    "MAX_NEEDS",
    "MAX_REQUESTS",
    "MAX_TRIALS",
    "Requests",
    "check_bounds",
    "refuse_requests",
]

MAX_TRIALS = 1_000_000
MAX_AT_ONCE = 20_000
"""Trials that are held in memory together: those of a run under load, and of one report."""
MAX_MODELS = 10_000
"""Models to train, attackers' shadows and obfuscators among them."""
MAX_NEEDS = 10_000_000
"""Draws and shadows that all trials together name."""
MAX_REQUESTS = 200_000
"""Sessions of users and chunks of attackers' questions."""


class Requests:
    """Makes the requests of one plan, of ``chunk`` samples each, and counts them."""

    def __init__(self, chunk: int) -> None:
        self._chunk = chunk
        self._count = 0

    def spans(self, data: DataSpec, split: Split, total: int, variant: int = 0) -> list[Span]:
        """The first ``total`` samples of a split, in one variant. Raises `InvalidScenario` if the plan would
        have more than `MAX_REQUESTS`."""
        self._count += -(-total // self._chunk)
        if self._count > MAX_REQUESTS:
            refuse_requests(self._chunk)
        return [
            Span(data=data, split=split, start=start, stop=min(start + self._chunk, total), variant=variant)
            for start in range(0, total, self._chunk)
        ]


def refuse_requests(chunk: int) -> NoReturn:
    """Refuse a plan with too many requests of ``chunk`` samples, by `InvalidScenario`."""
    Mistakes().refuse(
        ("chunk",),
        f"users and attackers would send more than {MAX_REQUESTS} requests of {chunk} samples:"
        " take a larger 'chunk', fewer 'samples' of the clients, or fewer seeds, defences or repeats",
    )


def check_bounds(
    head: Head,
    providers: int,
    defences: int,
    obfuscators: int,
    checked: Mapping[str, tuple[AttackSpec, int]],
    mistakes: Mistakes,
) -> None:
    """Note a mistake if so many ``providers`` and ``defences``, so many ``obfuscators`` for each seed, and
    the ``checked`` attacks with the numbers of their targets make a plan beyond the bounds."""
    cells = len(head.seeds) * len(head.budgets) * defences
    trials = cells * sum(targets * len(each.knowledge or ()) for each, targets in checked.values())
    if trials > MAX_TRIALS:
        message = (
            f"the matrix has {trials:,} trials, at most {MAX_TRIALS:,}: take fewer seeds, budgets or"
            " defences, or several scenarios"
        )
        mistakes.add((), message)
    attacks = {name: each for name, (each, _) in checked.items()}
    shadows = {name: len(each.providers or ()) * _number(each, "shadows") for name, each in attacks.items()}
    seeded = len(head.seeds) * (providers + obfuscators)
    models = seeded + sum(shadows.values())
    if models > MAX_MODELS:
        most = max(shadows, key=lambda name: shadows[name], default=None)
        path: Path = ("attacks", most, "shadows") if most and sum(shadows.values()) > seeded else ("seeds",)
        message = (
            f"{models} models would be trained, at most {MAX_MODELS}: take fewer seeds, shadows or trained"
            " defences"
        )
        mistakes.add(path, message)
    needs = {name: cells * targets * _needs(each) for name, (each, targets) in checked.items()}
    if sum(needs.values()) > MAX_NEEDS:
        most = max(needs, key=lambda name: needs[name])
        larger = max(("repeats", "shadows"), key=lambda field: _number(attacks[most], field))
        message = (
            f"the trials need {sum(needs.values())} draws and shadows, at most {MAX_NEEDS}: take fewer of"
            " them, or fewer trials"
        )
        mistakes.add(("attacks", most, larger), message)


def _needs(attack: AttackSpec) -> int:
    """The number of uploads, answers and shadows that an attack's trials on one target need under one defence
    and budget and one seed, counted in every draw."""
    known = attack.knowledge or ()
    draws = sum(_number(attack, "repeats") if each == "averaging" else 1 for each in known)
    return 2 * draws + len(known) * _number(attack, "shadows")


def _number(attack: AttackSpec, field: str) -> int:
    """A parameter that the attack may have."""
    return int((attack.model_extra or {}).get(field, 0))
