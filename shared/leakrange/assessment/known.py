"""What audits said of models whose truth is known: how often they err, and where a figure lies among theirs.

The figures in ``known_models.yaml`` are what ``python -m leakrange.load.bench.audits --write FILE`` measured.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from statistics import fmean, stdev
from typing import Literal

import yaml

from leakrange.strict import Strict

__all__ = ["KnownModels", "Outcomes", "known_models", "nearest"]


class Outcomes(Strict):
    """What audits said of so many ``models``, and the lead of the strongest attack on each: its AUC less what
    can be guessed without the model."""

    models: int
    leaks: int
    passes: int
    cannot_tell: int
    leads: tuple[float, ...]


class KnownModels(Strict):
    """Models that were audited with so many ``records`` of either side: those that are ``leaking``, and the
    others."""

    about: Literal["membership", "attribute"]
    records: int
    leaking: Outcomes
    others: Outcomes

    def z(self, lead: float) -> float | None:
        """By how many deviations a lead is above those of the models that do not leak; None where these are
        all alike."""
        spread = stdev(self.others.leads)
        return (lead - fmean(self.others.leads)) / spread if spread > 0.0 else None

    @property
    def sentence(self) -> str:
        """How often an audit errs, in words."""
        leaking, others = self.leaking, self.others
        return (
            f"How often such an audit errs: with {self.records:,} records of either side, of "
            f"{leaking.models} known models that leak by {_about(self.about)} it said so of {leaking.leaks},"
            f" let {leaking.passes} pass, and could not tell of {leaking.cannot_tell}; of {others.models}"
            f" that do not, it accused {others.leaks}, let {others.passes} pass, and could not tell of"
            f" {others.cannot_tell}. These are models of scikit-learn on drawn tables, attacked without"
            " models of the attackers' own."
        )


def _about(question: str) -> str:
    return "who was trained on" if question == "membership" else "an attribute"


@cache
def known_models() -> tuple[KnownModels, ...]:
    """All that are known, the fewest records first."""
    text = files("leakrange.assessment").joinpath("known_models.yaml").read_text(encoding="utf-8")
    rows = [KnownModels.model_validate(each) for each in yaml.safe_load(text)]
    return tuple(sorted(rows, key=lambda each: each.records))


def nearest(about: str, records: int) -> KnownModels | None:
    """Those that were audited with the most records of either side, but no more than that; the fewest where
    all had more. None for a question that none was asked."""
    rows = [each for each in known_models() if each.about == about]
    fitting = [each for each in rows if each.records <= records] or rows[:1]
    return fitting[-1] if fitting else None
