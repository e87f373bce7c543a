"""Limits on the size of a scenario's plan. The size is computed before anything of the plan is made."""

from __future__ import annotations

from collections.abc import Mapping

from leakrange.scenario.document import AttackSpec, Head
from leakrange.scenario.mistakes import Mistakes, Path

__all__ = ["MAX_MODELS", "MAX_NEEDS", "MAX_REQUESTS", "MAX_TRIALS", "check_bounds"]

MAX_TRIALS = 20_000
MAX_MODELS = 10_000
"""Models to train, attackers' shadows among them."""
MAX_NEEDS = 500_000
"""Draws and shadows that all trials together name."""
MAX_REQUESTS = 200_000
"""Sessions of users and chunks of attackers' questions, counted by `leakrange.scenario.matrix`, which knows
how many samples there are."""


def check_bounds(
    head: Head, providers: int, defences: int, attacks: Mapping[str, AttackSpec], mistakes: Mistakes
) -> None:
    """Note a mistake where so many ``providers`` and ``defences``, and these checked ``attacks``, make a plan
    beyond the bounds."""
    cells = len(head.seeds) * len(head.budgets) * defences
    trials = cells * sum(len(each.providers or ()) * len(each.knowledge or ()) for each in attacks.values())
    if trials > MAX_TRIALS:
        said = f"the matrix has {trials} trials, at most {MAX_TRIALS}: take fewer seeds, budgets or defences"
        mistakes.add((), said)
    shadows = {name: len(each.providers or ()) * _number(each, "shadows") for name, each in attacks.items()}
    models = len(head.seeds) * providers + sum(shadows.values())
    if models > MAX_MODELS:
        most = max(shadows, key=lambda name: shadows[name], default=None)
        path: Path = ("attacks", most, "shadows") if most and shadows[most] else ("seeds",)
        said = f"{models} models would be trained, at most {MAX_MODELS}: take fewer seeds or shadows"
        mistakes.add(path, said)
    needs = {name: cells * len(each.providers or ()) * _needs(each) for name, each in attacks.items()}
    if sum(needs.values()) > MAX_NEEDS:
        most = max(needs, key=lambda name: needs[name])
        larger = max(("repeats", "shadows"), key=lambda field: _number(attacks[most], field))
        said = (
            f"the trials need {sum(needs.values())} draws and shadows, at most {MAX_NEEDS}: take fewer of"
            " them, or fewer trials"
        )
        mistakes.add(("attacks", most, larger), said)


def _needs(attack: AttackSpec) -> int:
    """What its trials on one provider need under one defence and budget and one seed: uploads and answers in
    every draw, and the shadows."""
    known = attack.knowledge or ()
    draws = sum(_number(attack, "repeats") if each == "averaging" else 1 for each in known)
    return 2 * draws + len(known) * _number(attack, "shadows")


def _number(attack: AttackSpec, field: str) -> int:
    """A parameter that the attack may have."""
    return int((attack.model_extra or {}).get(field, 0))
